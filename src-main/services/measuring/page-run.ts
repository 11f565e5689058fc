import type { RunRecord } from '../../../db/records.ts';
import type { BenchPlan, BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Failure, type Result, conflict } from '../../../src-workers/domain/result.ts';
import type { RunHandle } from '../runs/running.ts';
import type { MeasuringSession } from './session.ts';

/** How long a page may be silent before its run ends, ms. It is silent while it computes the expected results. */
export const PAGE_SILENCE_MS = 14_000;
const PINGS = 4;

export interface PageRun extends RunHandle {
  plan(): BenchPlan;
  record(records: readonly BenchRecord[]): Promise<Result<null>>;
}

/**
 * Runs a measurement on a page, which requests the plan and sends records in batches. Silence alone does not show that
 * the page is gone: timers are slow in a page in the background, and one launch may take a minute. Therefore the engine
 * asks (`bench.ping`), and the page answers with its records.
 * @param silenceMs longest time between the last answer of the page and the end of the run; null for no limit
 */
export function runOnPage(session: MeasuringSession, silenceMs: number | null, ping: () => void): PageRun {
  const { promise: finished, resolve } = Promise.withResolvers<Result<RunRecord>>();
  let ended = false;
  let queue: Promise<unknown> = Promise.resolve();

  const end = async (how: 'complete' | 'cancelled' | Failure): Promise<void> => {
    if (ended) return;
    ended = true;
    clearInterval(watch);
    const settled = await session.programEnded();
    resolve(await session.finish(typeof how === 'string' && !settled.ok ? settled.error : how));
  };
  let unanswered = 0;
  // The limit counts pings instead of time, because a machine that was asleep has sent no pings.
  const askPage = (): void => {
    if (unanswered === PINGS - 1) {
      const message = 'The measuring page has gone. Its measurements are saved, and a page can resume the run.';
      return void end({ code: 'cancelled', message });
    }
    unanswered += 1;
    ping();
  };
  const watch = silenceMs === null ? undefined : setInterval(askPage, silenceMs / PINGS);
  watch?.unref();

  const take = async (records: readonly BenchRecord[]): Promise<Result<null>> => {
    if (ended) return conflict(`Run ${session.run.id} has ended.`);
    for (const record of records) {
      const taken = await session.take(record);
      if (!taken.ok) {
        await end(taken.error);
        return taken;
      }
    }
    const { answered, begun, done, failed, lost } = session.state();
    if (lost !== null) {
      const message = answered ? `the device was lost: ${lost}` : lost;
      const at = begun && failed === null ? await session.giveUp(message) : ok(null);
      await end(at.ok ? { code: 'unsupported', message } : at.error);
    } else if (done) await end('complete');
    return ok(null);
  };
  return {
    runId: session.run.id,
    finished,
    cancel: () => void end('cancelled'),
    plan() {
      unanswered = 0;
      return session.remaining();
    },
    record(records) {
      unanswered = 0;
      const taken = queue.then(() => take(records));
      queue = taken.catch(() => undefined);
      return taken;
    },
  };
}
