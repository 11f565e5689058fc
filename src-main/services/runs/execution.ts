import type { BestDesign, RunRecord } from '../../../db/records.ts';
import type { DesignRange } from '../../../src-workers/advise/best.ts';
import { errorText, fail, FailureError, ok, type Failure, type Result } from '../../../src-workers/domain/result.ts';
import type { RunProgress } from '../../contract/api.ts';
import type { Context } from '../context.ts';
import { runSummary } from './runs.ts';

const REPORT_INTERVAL_MS = 50;

type RunEnd = 'complete' | 'cancelled' | Failure;

/**
 * @param alreadyDone how many designs or cases an earlier attempt has saved
 * @param state returns the stage of the run and its best time so far; null if nothing has a time yet
 */
export function openExecution(
  context: Context,
  run: RunRecord,
  total: number,
  alreadyDone: number,
  state: () => Pick<RunProgress, 'stage' | 'bestTimeMs'>,
) {
  const start = performance.now();
  let done = alreadyDone;
  let lastAtTimes = -Infinity;
  const elapsedMs = (): number => run.elapsedMs + performance.now() - start;
  const progress = (): void => {
    const here = done - alreadyDone;
    const remainingMs = here > 0 ? ((performance.now() - start) / here) * (total - done) : null;
    context.emit('run.progress', { runId: run.id, ...state(), done, total, elapsedMs: elapsedMs(), remainingMs });
  };
  /** Saves how the run ended. The result may be the failure that ended it, or a failure of the store. */
  const finish = async (end: RunEnd, best: BestDesign | null): Promise<Result<RunRecord>> => {
    const failure = typeof end === 'string' ? null : end;
    const record = await context.store.finishRun(run.id, {
      state: typeof end === 'string' ? end : 'failed',
      elapsedMs: elapsedMs(),
      best,
      ...(failure && { failure }),
    });
    if (record.ok) {
      progress();
      context.running.leave(run.id);
      context.emit('run.finished', runSummary(record.value, 0));
      context.changed('runs');
    } else {
      // The store cannot save how the run ended, but the windows must still learn that it ended.
      const error = (failure ?? record.error).message;
      context.emit('run.finished', { ...runSummary(run, 0), state: 'failed', elapsedMs: elapsedMs(), error });
    }
    if (failure) return { ok: false, error: failure };
    return record.ok ? ok(record.value) : record;
  };
  return {
    done: () => done,
    add: (count: number): void => void (done += count),
    progress,
    progressAtTimes(): void {
      const now = performance.now();
      if (now - lastAtTimes < REPORT_INTERVAL_MS) return;
      lastAtTimes = now;
      progress();
    },
    finish,
    async finishAfter(work: () => Promise<{ readonly end: RunEnd; readonly best: BestDesign | null }>) {
      const { end, best } = await work().catch((error: unknown) => ({ end: internal(error), best: null }));
      return finish(end, best);
    },
  };
}

function internal(error: unknown): Failure {
  return { code: 'internal', message: errorText(error) };
}

export interface BestFound {
  readonly timeMs: number;
  readonly designIndex: number;
}

/** If two designs are equally fast, the first is the best. So it does not matter which worker ends first. */
export function isBetter(found: BestFound, best: BestFound | null): boolean {
  return !best || found.timeMs < best.timeMs || (found.timeMs === best.timeMs && found.designIndex < best.designIndex);
}

/**
 * Runs a task of a sweep or a simulation. If the task fails, runs it once more.
 * @returns null if the run was cancelled; otherwise the result of the task, or a failure that names the designs
 */
export async function triedTwice<T>(
  signal: AbortSignal,
  ranges: readonly DesignRange[],
  run: () => Promise<T>,
): Promise<Result<T> | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return ok(await run());
    } catch (error) {
      if (signal.aborted) return null;
      // A task that hung would hang again, so it is not repeated.
      if (attempt < 2 && !(error instanceof FailureError)) continue;
      const designs = ranges.map(({ first, count }) =>
        count === 1 ? `design ${first}` : `designs ${first} to ${first + count - 1}`,
      );
      const [{ first: firstDesign, count }] = ranges;
      return fail('internal', `${designs.join(', ')}: ${internal(error).message}`, { firstDesign, count });
    }
  }
}
