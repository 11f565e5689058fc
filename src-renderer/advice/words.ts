import type { InputSensitivity, Recommendation, Takeover } from '../../src-main/contract/advice.ts';
import { parseBalancing } from '../../src-workers/domain/balancing.ts';
import { blockText, isCpuDesign, type Design } from '../../src-workers/domain/design.ts';
import { assumedFacts, ORIGINS, type InputFact } from '../../src-workers/domain/provenance.ts';
import type { Term } from '../../src-workers/domain/terms.ts';
import { NBSP, change, count, counted, factor, plain, signed, timeRange, timeText } from '../format/numbers.ts';
import { ORIGIN_NAMES, rangeText } from '../format/origins.ts';

/** How units are balanced, as one says it: `dynamic fetch`, `4 quantile buckets`; empty where nothing is done to them. */
export function balancingWords(text: string): string {
  const parsed = parseBalancing(text);
  if (!parsed.ok) return text;
  const { value } = parsed;
  switch (value.kind) {
    case 'none':
      return '';
    case 'shuffle':
      return 'units shuffled';
    case 'quantile-buckets':
      return `${value.k} quantile buckets`;
    case 'best-buckets':
      return `${value.k} best buckets`;
    case 'window-sort':
      return `windows of ${count(value.units)} sorted`;
    case 'full-sort':
      return 'all units sorted';
    case 'dynamic-fetch':
      return value.fetch === undefined
        ? 'dynamic fetch'
        : value.fetch === 'group'
          ? 'dynamic fetch by group'
          : `dynamic fetch, ${count(value.fetch)} units at a time`;
    case 'mixed':
      return typeof value.classes === 'number'
        ? `up to ${value.classes} classes of length`
        : `${value.classes.length} classes of length`;
    case 'padded':
      return 'padded';
    case 'padded-slice':
      return `padded in slices of ${count(value.units)}`;
    case 'row-split':
      return 'row split';
    case 'nonzero-split':
      return 'non-zero split';
    case 'merge-path':
      return 'merge path';
  }
}

/** A design in words: what decides most first, then the rest of it. */
export function designWords(design: Design, say: Term): { readonly main: string; readonly rest: string } {
  const { threadsPerUnit, unitsPerThread, gridBlocks, loop, balancing, registerCap } = design;
  const named = design.implementation === undefined ? '' : `${design.implementation}, `;
  if (isCpuDesign(design)) return { main: `${named}${counted(gridBlocks, 'core')}`, rest: balancingWords(balancing) };
  const threads = say('thread', threadsPerUnit === 1 ? 'one' : 'many');
  const words = balancingWords(balancing);
  // A kernel that is named after its balancing says it once.
  const order = words === design.implementation?.toLowerCase() ? '' : words;
  return {
    main: `${named}${threadsPerUnit} ${threads} per unit, ${say('block', 'many')} of ${blockText(design)}${order && `, ${order}`}`,
    rest: [
      counted(gridBlocks, say('block'), say('block', 'many')),
      `${counted(unitsPerThread, 'unit')} per slot`,
      ...(words ? [] : ['units as they come']),
      ...(loop === 'flattened' ? ['one loop over all units'] : []),
      registerCap === null ? 'no register cap' : `at most ${registerCap} ${say('register', 'many')}`,
    ].join(', '),
  };
}

/** How a baseline is named in a sentence: a design of one thread per unit is what one would write without any of this. */
function againstText({ chosen }: NonNullable<Recommendation['baseline']>, design: Design, say: Term): string {
  if (chosen) return 'the baseline';
  return isCpuDesign(design) || design.threadsPerUnit === 1 ? 'a plain design' : `a ${say('thread', 'one')} per unit`;
}

/** The answer in a sentence: `4 threads per unit, blocks of 128: 1.26 × as fast as a thread per unit.` */
export function headline({ row: { design }, time, baseline }: Recommendation, say: Term): string {
  const { main } = designWords(design, say);
  if (!baseline) return `${main}.`;
  const against = againstText(baseline, design, say);
  const ratio = baseline.ms / time.ms;
  if (Math.abs(ratio - 1) < 0.005) return `${main}: as fast as ${against}.`;
  return `${main}: ${ratio > 1 ? `${factor(ratio)} as fast as` : `${factor(1 / ratio)} the time of`} ${against}.`;
}

/** `11.9 to 12.8 ms`. */
export function intervalText({ lowMs, highMs }: Recommendation['time']): string {
  return timeRange(lowMs, highMs);
}

/**
 * Where the interval of a time is drawn along its bar, as parts of a width that stands for `scaleMs`; and whether it goes on beyond that,
 * which a mark at the edge says.
 */
export function whisker(
  { lowMs, highMs }: Pick<Recommendation['time'], 'lowMs' | 'highMs'>,
  scaleMs: number,
): { readonly from: number; readonly to: number; readonly beyond: boolean } {
  return { from: lowMs / scaleMs, to: Math.min(1, highMs / scaleMs), beyond: highMs > scaleMs };
}

/** `−58.1 %` of the time of the baseline; `as fast` where they are one. */
export function changeText({ ms }: Recommendation['time'], baseline: NonNullable<Recommendation['baseline']>): string {
  return `${change(ms, baseline.ms)}${NBSP}%`;
}

/** The whole in one line, as it is read aloud and put under headers. */
export function lineText({ device, row, time, baseline, ties }: Recommendation, say: Term): string {
  const { main, rest } = designWords(row.design, say);
  const against = baseline ? `, ${changeText(time, baseline)} against ${baselineName(baseline)}` : '';
  return `${device.name}: ${main}, ${rest}; ${timeText(time.ms)}, ${intervalText(time)}${against}; ${tieText(ties)}`;
}

export function baselineName({ chosen }: NonNullable<Recommendation['baseline']>): string {
  return chosen ? 'the baseline' : 'a plain design';
}

/** `214 designs tie`, `no other design ties`; before all are counted `at least 12 designs tie`. */
export function tieText({ count: tied, atLeast }: Recommendation['ties']): string {
  if (tied === null) return atLeast > 1 ? `at least ${count(atLeast)} designs tie` : 'counting ties';
  return tied > 1 ? `${count(tied)} designs tie` : 'no other design ties';
}

/** Units in few letters, for rows. */
const SHORT_UNITS: Readonly<Record<string, string>> = {
  iterations: 'iter.',
  'B per block': 'B',
  'instructions per register': 'per reg.',
};

function shortUnit(unit: string): string {
  return SHORT_UNITS[unit] ?? unit;
}

/** A value as the card writes it: `0.05`, `1,048,576`, `8 B`. */
export function factValue({ value, unit: long }: Pick<InputFact, 'value' | 'unit'>): string {
  const unit = shortUnit(long);
  const text = typeof value === 'number' ? plain(value, value >= 1000 ? 15 : 4) : value;
  return unit === '' ? text : `${text}${NBSP}${unit}`;
}

/** A bar of the tornado: how far the time of the recommended design goes either way while one input takes its values. */
export interface Swing {
  readonly field: string;
  readonly label: string;
  /** Time at its shortest and longest over the present time, less 1; 0 where it does not move. */
  readonly low: number;
  readonly high: number;
  /** `0.01 to 0.25`: the values tried. */
  readonly range: string;
  /** What takes over beyond which value; empty where the advice holds over all of them. */
  readonly takeovers: readonly string[];
  readonly spoken: string;
}

/** The bars of a tornado, in the order given, of inputs that decide or move the time at all. */
export function swings(inputs: readonly InputSensitivity[], timeMs: number): readonly Swing[] {
  return inputs
    .map(({ input, values, recommendedMs, below, above }) => {
      const changes = recommendedMs.filter((time) => Number.isFinite(time)).map((time) => time / timeMs - 1);
      const low = Math.min(0, ...changes);
      const high = Math.max(0, ...changes);
      const unit = shortUnit(input.unit);
      const range = rangeText([values[0], values.at(-1)!], unit);
      const takeovers = [
        ...(below ? [takeoverText('below', below, unit)] : []),
        ...(above ? [takeoverText('above', above, unit)] : []),
      ];
      const spoken = `${input.label} from ${range}: time ${swingText({ low, high })}. ${takeovers.length === 0 ? 'The advice holds.' : `It decides: ${takeovers.join('; ')}.`}`;
      return { field: input.field, label: input.label, low, high, range, takeovers, spoken };
    })
    .filter(({ low, high, takeovers }) => takeovers.length > 0 || high - low >= SMALLEST_SWING);
}
/** Moves of less are below what the model can say. */
const SMALLEST_SWING = 0.0005;

/** `below 0.027 → 8 threads per unit, blocks of 896 threads (−12 %)`. */
function takeoverText(side: 'below' | 'above', { at, text, gain }: Takeover, unit: string): string {
  const place = `${side} ${plain(Number(at.toPrecision(3)))}${unit && `${NBSP}${unit}`}`;
  if (gain >= 1) return `${place} it cannot run; then ${text}`;
  return `${place} → ${text}${gain >= SMALLEST_SWING ? ` (${swingText({ low: -gain, high: 0 })})` : ''}`;
}

/** `−12 / +34 %`; one number where it goes one way only. */
export function swingText({ low, high }: Pick<Swing, 'low' | 'high'>): string {
  const write = (value: number): string => signed(value * 100, Math.abs(value) < 0.0995 ? 1 : 0);
  const parts = [low, high].filter((value) => Math.abs(value) >= SMALLEST_SWING).map(write);
  return parts.length === 0 ? `±0.0${NBSP}%` : `${parts.join(' / ')}${NBSP}%`;
}

/** Bars of a tornado are drawn by the logarithm of the time, and end at half and at twice the present one. */
export const SWING_LIMIT = 2;
/** Where a change is drawn, −1 at half the time to 1 at twice. */
export function swingPlace(change: number): number {
  return Math.min(1, Math.max(-1, Math.log(1 + change) / Math.log(SWING_LIMIT)));
}

/** Assumed inputs, those that decide first, then those that move the time most, then the others as they come. */
export function assumptions(
  inputs: readonly InputFact[],
  sensitivities: readonly InputSensitivity[],
): readonly InputFact[] {
  const order = sensitivities.map(({ input }) => input.field);
  const place = ({ field }: InputFact): number => (order.includes(field) ? order.indexOf(field) : order.length);
  return assumedFacts(inputs)
    .map((input, at) => ({ input, at }))
    .sort((a, b) => place(a.input) - place(b.input) || a.at - b.at)
    .map(({ input }) => input);
}

/** `14 inputs: 5 given, 1 imported, 8 assumed`. */
export function originsText(inputs: readonly InputFact[]): string {
  const parts = ORIGINS.flatMap((origin) => {
    const of = inputs.filter((input) => input.origin === origin).length;
    return of === 0 ? [] : [`${of} ${ORIGIN_NAMES[origin]}`];
  });
  return `${counted(inputs.length, 'input')}: ${parts.join(', ')}`;
}

/** How many designs were compared: `all 9,216 valid designs compared`; before that `300 of 10,752 designs examined`. */
export function coverageText({ predicted, of, invalid }: Pick<Recommendation, 'predicted' | 'of' | 'invalid'>): string {
  if (predicted < of) return `${count(predicted)} of ${count(of)} designs examined`;
  return `all ${count(of - invalid)} valid designs compared`;
}
