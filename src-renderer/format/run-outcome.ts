import type { RunState, RunSummary } from '../../src-main/contract/api.ts';

/** How a run ended, as its mark shows it and its words say it: a measurement that is complete without a single time has failed. */
export function runOutcome({ kind, state, bestTimeMs }: Pick<RunSummary, 'kind' | 'state' | 'bestTimeMs'>): {
  readonly mark: RunState;
  readonly text: string;
} {
  return kind === 'bench' && state === 'complete' && bestTimeMs === null
    ? { mark: 'failed', text: 'complete, nothing measured' }
    : { mark: state, text: state };
}
