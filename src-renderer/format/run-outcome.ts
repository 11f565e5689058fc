import type { RunState, RunSummary } from '../../src-main/contract/api.ts';

/** Returns how a run ended. A measurement without a single time has failed. */
export function runOutcome({ kind, state, bestTimeMs }: Pick<RunSummary, 'kind' | 'state' | 'bestTimeMs'>): {
  readonly mark: RunState;
  readonly text: string;
} {
  return kind === 'bench' && state === 'complete' && bestTimeMs === null
    ? { mark: 'failed', text: 'complete, nothing measured' }
    : { mark: state, text: state };
}
