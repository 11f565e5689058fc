import type { Recommendation, Uncertainty, WorthKnowing } from '../../src-main/contract/advice.ts';
import { parseBalancing } from '../../src-workers/domain/balancing.ts';
import { blockText, isCpuDesign, type Design } from '../../src-workers/domain/design.ts';
import { assumedFacts, ORIGINS, type InputFact } from '../../src-workers/domain/provenance.ts';
import { midSentence } from '../../src-workers/domain/text.ts';
import { simplerSentence } from '../../src-workers/domain/times.ts';
import type { Term } from '../../src-workers/domain/terms.ts';
import { NBSP, change, count, counted, factor, plain, timeRange, timeText, percent } from '../format/numbers.ts';
import { originName } from '../format/origins.ts';

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
          : `dynamic fetch, ${counted(value.fetch, 'unit')} at a time`;
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

export function designWords(design: Design, say: Term): { readonly main: string; readonly rest: string } {
  const { threadsPerUnit, unitsPerThread, gridBlocks, loop, balancing, registerCap } = design;
  const named = design.implementation === undefined ? '' : `${design.implementation}, `;
  if (isCpuDesign(design)) return { main: `${named}${counted(gridBlocks, 'core')}`, rest: balancingWords(balancing) };
  const threads = say('thread', threadsPerUnit === 1 ? 'one' : 'many');
  const words = balancingWords(balancing);
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

function againstText(baseline: NonNullable<Recommendation['baseline']>, design: Design, say: Term): string {
  const name = baselineName(baseline);
  if (baseline.chosen || baseline.threadsPerUnit !== 1 || isCpuDesign(design) || design.threadsPerUnit === 1)
    return name;
  return `${name} with one ${say('thread', 'one')} per unit`;
}

export function headline(
  { row: { design }, time, baseline }: Recommendation,
  known: Uncertainty | null,
  say: Term,
): string {
  const said: string[] = [];
  if (baseline) {
    const against = againstText(baseline, design, say);
    const ratio = baseline.ms / time.ms;
    if (Math.abs(ratio - 1) < 0.005) said.push(`as fast as ${against}`);
    else said.push(`${ratio > 1 ? `${factor(ratio)} as fast as` : `${factor(1 / ratio)} the time of`} ${against}`);
  }
  if (known) said.push(sureText(known));
  const worth = known?.worthKnowing.at(0);
  const decided =
    worth && worth.gain >= WORTH_DOING ? `; decided by ${midSentence(worth.input.label)}, which is assumed` : '';
  const { main } = designWords(design, say);
  return `${main}${said.length > 0 ? `: ${said.join(', ')}` : ''}${decided}.`;
}

/** Says why the recommended design of a device is not its fastest one; `null` if it is, or before `known` arrives. */
export function whyNotFastest(
  { device, designIndex, row, time }: Recommendation,
  known: Uncertainty | null,
  fastest: { readonly designIndex: number; readonly predictedMs: number },
  say: Term,
): string | null {
  if (!known || designIndex === fastest.designIndex) return null;
  const excess = time.ms / fastest.predictedMs - 1;
  const reason =
    known.robust.designIndex === known.point.designIndex
      ? simplerSentence(excess, 'the fastest design below')
      : `With the usual value of each assumed input, this design takes ${percent(excess)} longer than the fastest design below. Over all values of these inputs, it is closest to the fastest design on average.`;
  return `The recommendation for ${device.name} is ${designWords(row.design, say).main}. ${reason}`;
}

export const intervalText = ({ lowMs, highMs }: Recommendation['time']): string => timeRange(lowMs, highMs);

export function whisker(
  { lowMs, highMs }: Pick<Recommendation['time'], 'lowMs' | 'highMs'>,
  scaleMs: number,
): { readonly from: number; readonly to: number; readonly beyond: boolean } {
  return { from: lowMs / scaleMs, to: Math.min(1, highMs / scaleMs), beyond: highMs > scaleMs };
}

export function changeText({ ms }: Recommendation['time'], baseline: NonNullable<Recommendation['baseline']>): string {
  return `${change(ms, baseline.ms)}${NBSP}%`;
}

export function lineText(
  { device, row, time, baseline }: Recommendation,
  known: Uncertainty | null,
  say: Term,
): string {
  const { main, rest } = designWords(row.design, say);
  const against = baseline ? `, ${changeText(time, baseline)} against ${baselineName(baseline)}` : '';
  return `${device.name}: ${main}, ${rest}; ${timeText(time.ms)}, ${intervalText(time)}${against}${known ? `; ${sureText(known)}` : ''}`;
}

function baselineName({ chosen }: NonNullable<Recommendation['baseline']>): string {
  return chosen ? 'the baseline' : 'the plain design';
}

const SHORT_UNITS: Readonly<Record<string, string>> = {
  iterations: 'iter.',
  'B per block': 'B',
  'instructions per register': 'per reg.',
};

export function factValue({ value, unit: long }: Pick<InputFact, 'value' | 'unit'>): string {
  const unit = SHORT_UNITS[long] ?? long;
  const text = typeof value === 'number' ? plain(value, value >= 1000 ? 15 : 4) : value;
  return unit === '' ? text : `${text}${NBSP}${unit}`;
}

export function assumptions(inputs: readonly InputFact[], worth: readonly WorthKnowing[]): readonly InputFact[] {
  const order = worth.map(({ input }) => input.label);
  const place = ({ label }: InputFact): number => (order.includes(label) ? order.indexOf(label) : order.length);
  return assumedFacts(inputs).toSorted((a, b) => place(a) - place(b));
}

export type NextStep =
  | { readonly kind: 'copy' }
  | { readonly kind: 'learn'; readonly worth: WorthKnowing }
  | { readonly kind: 'measure' };

const WORTH_DOING = 0.01;

export function nextStep(known: Uncertainty | null): NextStep {
  if (!known) return { kind: 'copy' };
  const { robust, separation } = known;
  const worth = known.worthKnowing.at(0);
  const measured = separation ? robust.expectedRegret - separation.within : 0;
  if (worth && worth.gain >= Math.max(WORTH_DOING, measured)) return { kind: 'learn', worth };
  return { kind: measured >= WORTH_DOING ? 'measure' : 'copy' };
}

export function toMeasure(known: Uncertainty | null): readonly number[] {
  return known?.separation?.designs.slice(0, known.separation.measure) ?? [];
}

/** Shown while only the middle value of each assumed input has been predicted, so the answer may still change. */
export const WEIGHING = 'still weighing the assumed inputs';

/** The highest chance that is shown: chances come from a limited number of draws, so none is certain. */
const MOST_CERTAIN = 0.99;

export function sureText({ robust, within }: Uncertainty): string {
  if (robust.chanceBest > MOST_CERTAIN)
    return `over ${percent(MOST_CERTAIN, 0)} sure to be within ${percent(within, 0)} of the best`;
  if (robust.chanceBest >= 0.5)
    return `${percent(robust.chanceBest, 0)} sure to be within ${percent(within, 0)} of the best`;
  return `on average ${percent(Math.expm1(robust.expectedRegret), 0)} slower than the best`;
}

export function originsText(inputs: readonly InputFact[]): string {
  const parts = ORIGINS.flatMap((origin) => {
    const of = inputs.filter((input) => input.origin === origin).length;
    return of === 0 ? [] : [`${of} ${originName(origin)}`];
  });
  return `${counted(inputs.length, 'input')}: ${parts.join(', ')}`;
}

export function coverageText({ predicted, of, invalid }: Pick<Recommendation, 'predicted' | 'of' | 'invalid'>): string {
  if (predicted < of) return `${count(predicted)} of ${count(of)} designs compared so far`;
  return of - invalid === 1 ? 'only one design is valid' : `all ${count(of - invalid)} valid designs compared`;
}
