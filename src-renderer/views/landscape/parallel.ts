import { inColumn, type TimeColumn } from '../../format/numbers.ts';
import type { ParallelSample } from '../../../src-main/contract/api.ts';
import { isLabelled, labelStride } from '../../charts/labels.ts';
import type { Narrowing } from '../ranking/address.ts';
import { UNBOUNDED } from '../ranking/narrowing.ts';
import { axisLabels } from './slices.ts';

/** An axis of the parallel coordinates: the positions of lines (0 bottom … 1 top), its ticks, and its filter. */
export interface ParallelAxis {
  readonly id: string;
  readonly label: string;
  readonly place: (value: number) => number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
  /** Converts a brushed interval (low and high position) to a part of the filter; null if that filters nothing. */
  readonly narrow: (low: number, high: number) => Partial<Narrowing> | null;
  /** Converts a filter to its interval on this axis, as positions; null if the filter does not narrow the axis. */
  readonly brushed: (filter: Narrowing) => Span | null;
  /** The number of equal parts of the axis. The keyboard moves the end of a brush by one part. */
  readonly parts: number;
  readonly text: (at: number) => string;
}

export interface Span {
  readonly low: number;
  readonly high: number;
}

const PARTS = 50;

/** Moves one end of a brush by `by` parts, at most to the other end; `null` if the brush then is the whole axis. */
export function movedEnd(axis: ParallelAxis, span: Span | null, end: keyof Span, by: number): Span | null {
  const { parts } = axis;
  const { low, high } = span ?? { low: 0, high: 1 };
  const [from, to] = end === 'low' ? [0, high] : [low, 1];
  const moved = Math.min(to, Math.max(from, (Math.round((end === 'low' ? low : high) * parts) + by) / parts));
  const next = end === 'low' ? { low: moved, high } : { low, high: moved };
  return next.low <= 0 && next.high >= 1 ? null : next;
}

const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

const shortText = (text: string) => text.replace('dynamic-fetch', 'fetch');

/** Converts the values of an axis to numbers. `none` (no register cap) and `row` (whole rows) are above any number. */
function numbersOf(id: string, categories: readonly string[]): readonly number[] {
  return axisLabels(id, categories).map((text) =>
    (text === 'none' && id === 'registerCap') || (text === 'row' && id === 'blockWidth')
      ? Infinity
      : Number(text.replaceAll(',', '')),
  );
}

/** Returns the filter that keeps the designs at these positions of an axis; `null` if the positions are all or none. */
export function axisNarrowing(
  id: string,
  categories: readonly string[],
  chosen: readonly number[],
): Partial<Narrowing> | null {
  // The filter contains no device, because the device is chosen for the whole study.
  if (id === 'device' || chosen.length === 0 || chosen.length === categories.length) return null;
  const numbers = numbersOf(id, categories);
  switch (id) {
    case 'blockThreads':
      return {
        blockThreads: {
          from: Math.min(...chosen.map((i) => numbers[i])),
          to: Math.max(...chosen.map((i) => numbers[i])),
        },
      };
    case 'threadsPerUnit':
      return { threadsPerUnit: chosen.map((i) => numbers[i]) };
    case 'blockWidth':
      return { blockWidth: chosen.map((i) => (categories[i] === 'row' ? null : Number(categories[i]))) };
    case 'registerCap':
      return { registerCap: chosen.map((i) => (categories[i] === 'none' ? null : Number(categories[i]))) };
    default:
      return { [id]: chosen.map((i) => categories[i]) };
  }
}

function categoryAxis(id: string, label: string, categories: readonly string[]): ParallelAxis {
  const last = Math.max(1, categories.length - 1);
  const labels = axisLabels(id, categories);
  const numbers = numbersOf(id, categories);
  const numeric = numbers.every((value) => !Number.isNaN(value));
  const order = categories.map((_, i) => i).sort((a, b) => (numeric ? numbers[a] - numbers[b] : a - b));
  const placeOf = new Map(order.map((category, i) => [category, i / last]));
  const place = (value: number) => placeOf.get(value) ?? 0;
  const inside = (low: number, high: number) =>
    categories.flatMap((_, i) => (place(i) >= low - 0.5 / last && place(i) <= high + 0.5 / last ? [i] : []));
  const span = (wanted: (text: string, i: number) => boolean) => {
    const places = categories.flatMap((text, i) => (wanted(text, i) ? [place(i)] : []));
    return places.length === 0 || places.length === categories.length
      ? null
      : { low: Math.min(...places), high: Math.max(...places) };
  };
  return {
    id,
    label,
    place,
    parts: last,
    text: (at) => shortText(categories[order[Math.round(at * last)]] ?? ''),
    ticks: order.flatMap((category, i) =>
      isLabelled(i, order.length, labelStride(order.length, 100, 15))
        ? [{ at: place(category), text: Number.isFinite(numbers[category]) ? NUMBER.format(numbers[category]) : shortText(labels[category]) }]
        : [],
    ),
    narrow: (low, high) => axisNarrowing(id, categories, inside(low, high)),
    brushed: (filter) => {
      const part = (filter as Record<string, unknown>)[id];
      if (part === undefined) return null;
      if (id === 'blockThreads') {
        const { from, to } = part as { from: number; to: number };
        return span((_, i) => numbers[i] >= from && numbers[i] <= to);
      }
      const list = part as readonly (string | number | null)[];
      return span((text) => list.some((entry) => String(entry ?? 'none') === text));
    },
  }; // prettier-ignore
}

function timeAxis(bestMs: number, times: TimeColumn): ParallelAxis {
  const place = (value: number) => 1 - Math.min(1, Math.max(0, Math.log(value / bestMs) / Math.LN2));
  const value = (at: number) => bestMs * 2 ** (1 - at);
  const round = (ms: number) => Number(ms.toPrecision(4));
  return {
    id: 'timeMs',
    label: `Predicted, ${times.unit.name}`,
    place,
    parts: PARTS,
    text: (at) => (at <= 0 ? 'the slowest' : `${inColumn(value(at), times)}\u00a0${times.unit.name}`),
    ticks: [1, 0.5, 0].map((at) => ({ at, text: `${inColumn(value(at), times, -2)}${at === 0 ? '+' : ''}` })),
    narrow: (low, high) => ({ timeMs: { from: high >= 0.995 ? 0 : round(value(high)), to: low <= 0.005 ? UNBOUNDED : round(value(low)) } }),
    brushed: ({ timeMs }) =>
      timeMs ? { low: timeMs.to >= UNBOUNDED ? 0 : place(timeMs.to), high: timeMs.from <= 0 ? 1 : place(timeMs.from) } : null,
  }; // prettier-ignore
}

const occupancyAxis: ParallelAxis = {
  id: 'occupancyFraction',
  label: 'Occupancy',
  parts: PARTS,
  text: (at) => `${Math.round(at * 100)}\u00a0%`,
  place: (value) => Math.min(1, Math.max(0, value)),
  ticks: [0, 0.5, 1].map((at) => ({ at, text: `${at * 100}\u00a0%` })),
  narrow: (low, high) => ({
    occupancyFraction: {
      from: Math.round(low * 1000) / 1000,
      to: high >= 0.995 ? UNBOUNDED : Math.round(high * 1000) / 1000,
    },
  }),
  brushed: ({ occupancyFraction: range }) =>
    range ? { low: Math.max(0, range.from), high: Math.min(1, range.to) } : null,
};

/** Returns the axes of a sample of designs. The device is not among them, because it is the same for all designs. */
export function parallelAxes(
  sample: ParallelSample,
  bestMs: number,
  times: TimeColumn,
): readonly { readonly axis: ParallelAxis; readonly column: Float64Array }[] {
  return sample.axes.flatMap(({ id, label, categories }, i) => {
    if (id === 'device') return [];
    const axis =
      id === 'timeMs'
        ? timeAxis(bestMs, times)
        : id === 'occupancyFraction'
          ? occupancyAxis
          : categoryAxis(id, label, categories ?? []);
    return [{ axis, column: sample.columns[i] }];
  });
}
