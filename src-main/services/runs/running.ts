import type { RunRecord } from '../../../db/records.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { designsPerMs, withSweep, type FinishedSweep } from '../sweeps/pace.ts';

export interface RunHandle {
  readonly runId: number;
  readonly finished: Promise<Result<RunRecord>>;
  /** The number of units of a sweep, if they are taken in their order. */
  readonly orderedUnits?: number | null;
  cancel(): void;
}

/** Holds all runs that execute in this engine, whichever client started them. Only these can be cancelled here. */
export function openRunningRuns(closing: AbortSignal, changed: () => void, ended: (runId: number) => void) {
  const running = new Map<number, RunHandle>();
  let sweeps: readonly FinishedSweep[] = [];
  const leave = (runId: number): void => {
    if (running.delete(runId)) ended(runId);
  };
  return {
    async start(begin: Promise<Result<RunHandle>>): Promise<Result<{ readonly runId: number }>> {
      const begun = await begin;
      if (!begun.ok) return begun;
      const { runId, finished, cancel, orderedUnits = null } = begun.value;
      running.set(runId, begun.value);
      if (closing.aborted) cancel();
      void finished.then((run) => {
        leave(runId);
        if (run.ok && run.value.kind === 'sweep' && run.value.state === 'complete' && !run.value.kept)
          sweeps = withSweep(sweeps, {
            designs: run.value.enumeratedCount,
            orderedUnits,
            elapsedMs: run.value.elapsedMs,
          });
      });
      changed();
      return ok({ runId });
    },
    get: (runId: number) => running.get(runId),
    /** Removes a run whose end is saved, before `run.finished` is sent, so that listeners do not find the run here. */
    leave,
    designsPerMs: (orderedUnits: number | null) => designsPerMs(sweeps, orderedUnits),
    /** Cancels all runs and waits for their end. `start` cancels a run that was still being prepared. */
    async end(): Promise<void> {
      for (const { cancel } of running.values()) cancel();
      while (running.size > 0) await Promise.allSettled([...running.values()].map(({ finished }) => finished));
    },
  };
}

export type RunningRuns = ReturnType<typeof openRunningRuns>;
