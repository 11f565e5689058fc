import type { RunKind, RunSummary, SpaceSize } from '../../src-main/contract/api.ts';
import { BEST_DESIGNS } from '../../src-main/contract/counts.ts';
import { count } from './numbers.ts';

export const RUN_VERBS: Readonly<Record<RunKind, string>> = {
  sweep: 'predict',
  simulate: 'simulate',
  bench: 'measure',
  import: 'import',
};

export const RUN_PARTICIPLES: Readonly<Record<RunKind, string>> = {
  sweep: 'predicted',
  simulate: 'simulated',
  bench: 'measured',
  import: 'imported',
};

export function predictText(size: SpaceSize | null, bestOnly: boolean): string {
  if (!size) return bestOnly ? `Find the best ${count(BEST_DESIGNS)}` : 'Predict';
  const designs = `${count(size.valid ?? size.enumerated)} designs`;
  return bestOnly ? `Find the best ${count(BEST_DESIGNS)} of ${designs}` : `Predict ${designs}`;
}

/** Whether a run has measured times, from this machine or from a file. */
export function isMeasuring({ kind }: { readonly kind: RunKind }): boolean {
  return kind === 'bench' || kind === 'import';
}

/** Whether a run has something to show. A measurement has at least its failures. */
export function canOpen(run: Pick<RunSummary, 'kind' | 'valid'>): boolean {
  return run.valid > 0 || isMeasuring(run);
}
