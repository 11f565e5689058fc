import type { RunKind, RunProgress, RunState, RunSummary, SpaceSize } from '../../src-main/contract/api.ts';
import { BEST_DESIGNS, isMeasuring } from '../../src-main/contract/counts.ts';
import { count, counted } from './numbers.ts';

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
  const designs = counted(size.valid ?? size.enumerated, 'design');
  return bestOnly ? `Find the best ${count(BEST_DESIGNS)} of ${designs}` : `Predict ${designs}`;
}

/** Leaves out the options of the command line in a message about an import: the page asks instead. */
export function withoutOptions(message: string): string {
  return message.replaceAll(/ \(import --[^)]*\)/g, '');
}

const STAGES = { sweep: 'predicting', simulate: 'simulating', bench: 'measuring', import: 'saving' } as const;

/** The progress of a run in another program, whose events do not reach this one: what it has saved so far. */
export function savedProgress(run: RunSummary): RunProgress | null {
  const done = run.valid + run.invalid;
  if (run.state !== 'running' || done === 0) return null;
  const { id: runId, kind, enumerated: total, bestTimeMs, elapsedMs } = run;
  return { runId, stage: STAGES[kind], done, total, bestTimeMs, elapsedMs, remainingMs: null };
}

export function canOpen(run: Pick<RunSummary, 'kind' | 'valid'>): boolean {
  return run.valid > 0 || isMeasuring(run);
}

export function runOutcome({ kind, state, bestTimeMs }: Pick<RunSummary, 'kind' | 'state' | 'bestTimeMs'>): {
  readonly mark: RunState;
  readonly text: string;
} {
  return kind === 'bench' && state === 'complete' && bestTimeMs === null
    ? { mark: 'failed', text: 'complete, nothing measured' }
    : { mark: state, text: state };
}
