import { Piscina, queueOptionsSymbol } from 'piscina';
import type { WorkerTasks } from '../../src-workers/worker.ts';

/** The worker pool: the only file beside the worker itself that knows Piscina. */
export interface Pool {
  readonly workers: number;
  /** Tasks of a run that can be under way at once: the workers, or those of agents. */
  capacity(): number;
  /**
   * Runs one named task in a worker; rejects with an AbortError when the signal fires.
   * @param worker from 0: the worker that runs it where it is idle, since it has what an earlier task of its kind has made
   * @param runId the run that the task is a part of: agents may do it
   */
  run<Name extends keyof WorkerTasks>(
    name: Name,
    input: Parameters<WorkerTasks[Name]>[0],
    options?: { readonly signal?: AbortSignal; readonly worker?: number; readonly runId?: number },
  ): Promise<Awaited<ReturnType<WorkerTasks[Name]>>>;
  close(): Promise<void>;
}

/** @param ready workers that start at once, before there is a task for them */
export function openPool(workerFile: string, workers: number, ready: 0 | 1): Pool {
  const piscina = new Piscina({
    filename: workerFile,
    minThreads: ready,
    maxThreads: workers,
    // An idle worker keeps the laws of the study on screen, which take seconds to make.
    idleTimeout: 600_000,
    // A worker keeps the tables of its sweep between chunks; more than one task at a time would only interleave.
    concurrentTasksPerWorker: 1,
    loadBalancer(task, all) {
      const idle = all.filter(({ currentUsage }) => currentUsage === 0);
      const { worker } = (task[queueOptionsSymbol] ?? {}) as { readonly worker?: number };
      const wanted = worker === undefined ? undefined : all.toSorted((a, b) => a.id - b.id)[worker];
      return idle.find((one) => one === wanted) ?? idle[0] ?? null;
    },
  });
  return {
    workers,
    capacity: () => workers,
    async run(name, input, { signal, worker } = {}) {
      return await piscina.run({ ...input, [queueOptionsSymbol]: { worker } }, { name, ...(signal && { signal }) });
    },
    close: () => piscina.destroy(),
  };
}
