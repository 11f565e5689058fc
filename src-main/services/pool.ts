import { Piscina } from 'piscina';
import type { WorkerTasks } from '../../src-workers/worker.ts';

/** The worker pool: the only file beside the worker itself that knows Piscina. */
export interface Pool {
  readonly workers: number;
  /** Runs one named task in a worker; rejects with an AbortError when the signal fires. */
  run<Name extends keyof WorkerTasks>(
    name: Name,
    input: Parameters<WorkerTasks[Name]>[0],
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<WorkerTasks[Name]>>>;
  close(): Promise<void>;
}

export function openPool(workerFile: string, workers: number): Pool {
  const piscina = new Piscina({
    filename: workerFile,
    minThreads: 1,
    maxThreads: workers,
    idleTimeout: 30_000,
    // A worker keeps the tables of its sweep between chunks; more than one task at a time would only interleave.
    concurrentTasksPerWorker: 1,
  });
  return {
    workers,
    async run(name, input, signal) {
      return await piscina.run(input, signal ? { name, signal } : { name });
    },
    close: () => piscina.destroy(),
  };
}
