import type { RunSummary } from './api.ts';

/** What a sweep kept of its designs, in words. */
export function countsText({ enumerated, valid, kept }: Pick<RunSummary, 'enumerated' | 'valid' | 'kept'>): string {
  const number = (count: number): string => count.toLocaleString('en');
  if (!kept) return `${number(enumerated)} designs, ${number(valid)} valid`;
  if (kept.predicted === null) return `the best ${number(kept.wanted)} of ${number(enumerated)} designs, not found yet`;
  return `the best ${number(valid)} of ${number(enumerated)} designs; ${number(kept.predicted)} predicted, the others cannot be among them`;
}
