import { setTimeout } from 'node:timers/promises';
import type { Piscina } from 'piscina';

// All engines of a process use the same worker threads in turn, because loading all models takes most of the time of a
// small sweep. A pool that is closed during a task ends its threads as usual, unless it waits for the task.

type Options = NonNullable<ConstructorParameters<typeof Piscina>[0]>;
interface KeptPool {
  readonly pool: Piscina;
  /** Number of engines that have used the pool. */
  uses: number;
}

const idle = new Map<string, KeptPool[]>();

/** Makes `destroy` keep a pool for the next engine, if the pool is idle or its tasks end within `patienceMs`. */
function makeKept(pool: Piscina, others: KeptPool[], patienceMs: number): KeptPool {
  const kept = { pool, uses: 0 };
  const run = pool.run.bind(pool);
  const destroy = pool.destroy.bind(pool);
  const running = new Set<Promise<unknown>>();
  pool.run = async (task: { readonly plan?: { readonly id?: string } }, options) => {
    // Threads cache tables by the id of a plan, but plans of two engines may have the same id: the number of a run.
    const plan = task.plan?.id === undefined ? task.plan : { ...task.plan, id: `${kept.uses} ${task.plan.id}` };
    const result = run({ ...task, ...(plan && { plan }) }, options) as Promise<unknown>;
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  };
  pool.destroy = async () => {
    if (patienceMs > 0) await Promise.race([Promise.allSettled(running), setTimeout(patienceMs)]);
    if (running.size > 0) await destroy();
    else others.push(kept);
  };
  return kept;
}

/** Returns a Piscina that keeps the engine's worker pools when they are closed, and uses them again. */
export const keepWorkers = (original: typeof Piscina, patienceMs = 0): typeof Piscina =>
  new Proxy(original, {
    construct(target, [options]: [Options]) {
      if (!options.filename!.endsWith('src-workers/worker.ts')) return new target(options);
      const key = `${options.filename} ${options.maxThreads}`;
      const kept = idle.get(key) ?? [];
      idle.set(key, kept);
      const one = kept.pop() ?? makeKept(new target(options), kept, patienceMs);
      one.uses += 1;
      return one.pool;
    },
  });
