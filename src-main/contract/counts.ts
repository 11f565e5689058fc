import type { RunSummary } from './api.ts';
import { MAX_DESIGNS } from './study.ts';

/** Number of designs that a sweep keeps if only the answer is wanted and no number is named. */
export const BEST_DESIGNS = 10_000;

/** The reason for which a space cannot be predicted as a whole, and the remedy. */
export const TOO_MANY_TEXT = `All designs of a space are predicted where they are at most ${MAX_DESIGNS.toLocaleString('en')}. Keep only the best ones, or use fewer values.`;

/** Text for the number of designs that a sweep kept. */
export function countsText({ enumerated, valid, kept }: Pick<RunSummary, 'enumerated' | 'valid' | 'kept'>): string {
  const number = (count: number): string => count.toLocaleString('en');
  if (!kept) return `${number(enumerated)} designs, ${number(valid)} valid`;
  if (kept.predicted === null) return `the best ${number(kept.wanted)} of ${number(enumerated)} designs, not found yet`;
  return `the best ${number(valid)} of ${number(enumerated)} designs; ${number(kept.predicted)} predicted, the others cannot be among them`;
}

/**
 * Says that a run has predicted only a part of its designs. Null for all other runs, and for a sweep that keeps only
 * the best ones.
 */
export function partialText({
  id,
  enumerated,
  valid,
  invalid,
  kept,
}: Pick<RunSummary, 'id' | 'enumerated' | 'valid' | 'invalid' | 'kept'>): string | null {
  const predicted = valid + invalid;
  if (kept || predicted >= enumerated) return null;
  return `Run ${id} has predicted ${predicted.toLocaleString('en')} of ${enumerated.toLocaleString('en')} designs: others may be faster. lockstep runs resume ${id} continues a run that stopped.`;
}
