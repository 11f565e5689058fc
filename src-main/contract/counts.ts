import type { RunSummary } from './api.ts';
import { MAX_DESIGNS } from './study.ts';

export const BEST_DESIGNS = 10_000;

export const TOO_MANY_TEXT = `A space can be predicted completely if it has at most ${MAX_DESIGNS.toLocaleString('en')} designs. Keep only the best designs, or use fewer values.`;

export function isMeasuring({ kind }: Pick<RunSummary, 'kind'>): boolean {
  return kind === 'bench' || kind === 'import';
}

export function countsText({ enumerated, valid, kept }: Pick<RunSummary, 'enumerated' | 'valid' | 'kept'>): string {
  const number = (count: number): string => count.toLocaleString('en');
  if (!kept) return `${number(enumerated)} designs, ${number(valid)} valid`;
  if (kept.predicted === null) return `the best ${number(kept.wanted)} of ${number(enumerated)} designs, not found yet`;
  return `the best ${number(valid)} of ${number(enumerated)} designs; ${number(kept.predicted)} were predicted, and the others cannot be among the best`;
}

/** Says that only a part of the designs is predicted. Null if all are, or if the sweep keeps only the best designs. */
export function partialText({
  id,
  enumerated,
  valid,
  invalid,
  kept,
}: Pick<RunSummary, 'id' | 'enumerated' | 'valid' | 'invalid' | 'kept'>): string | null {
  const predicted = valid + invalid;
  if (kept || predicted >= enumerated) return null;
  return `Run ${id} has predicted ${predicted.toLocaleString('en')} of ${enumerated.toLocaleString('en')} designs; others may be faster. lockstep runs resume ${id} continues a stopped run.`;
}

/** Returns how many designs share the best predicted time. The model has no order for them. */
export function countTiedFirst(designs: readonly { readonly predictedMs: number }[]): number {
  const best = designs.reduce((least, { predictedMs }) => Math.min(least, predictedMs), Infinity);
  return designs.filter(({ predictedMs }) => predictedMs === best).length;
}
