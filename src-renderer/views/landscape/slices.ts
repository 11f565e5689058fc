import type { ProcedureOutput } from '../../../src-main/contract/procedures.ts';
import { shortNames } from '../../format/devices.ts';
import { count } from '../../format/numbers.ts';

/** A line through the space along one axis, ready to draw. */
export interface Slice {
  readonly axis: string;
  readonly title: string;
  readonly values: readonly string[];
  readonly timeMs: Float64Array;
  readonly designIndex: Float64Array;
  readonly at: number;
}

/** Without what the title of the axis says: `16 per SM` → `16`, `grid 3584` → `3584`. */
const bareText = (text: string) => text.replace(/ per .*$/, '').replace(/^grid /, '');

/** A value of an axis as its label says it: `grid 3584` → `3,584`. */
export function axisText(text: string): string {
  const bare = bareText(text);
  const value = Number(bare);
  return Number.isFinite(value) ? count(value) : bare;
}

/** Brings slices into the order asked for, ascending where their values are numbers, with short texts. */
export function prepareSlices(
  slices: ProcedureOutput<'ranking.slices'>,
  order: readonly (string | null)[],
  title: (axis: string) => string,
): readonly Slice[] {
  const place = (axis: string) => (order.includes(axis) ? order.indexOf(axis) : order.length);
  return [...slices]
    .sort((a, b) => place(a.axis) - place(b.axis))
    .map(({ axis, values, timeMs, designIndex, at }) => {
      const texts = axis === 'device' ? shortNames(values) : values.map(bareText);
      const numbers = texts.map((text) => (text === 'none' ? Infinity : Number(text)));
      const ascending = axis !== 'launch' && numbers.every((value) => !Number.isNaN(value));
      const by = values.map((_, i) => i);
      if (ascending) by.sort((a, b) => numbers[a]! - numbers[b]!);
      return {
        axis,
        title: title(axis),
        values: by.map((i) => axisText(texts[i]!)),
        timeMs: Float64Array.from(by, (i) => timeMs[i]!),
        designIndex: Float64Array.from(by, (i) => designIndex[i]!),
        at: by.indexOf(at),
      };
    });
}
