import { Piscina, queueOptionsSymbol } from 'piscina';
import { FailureError, type Failure } from '../../src-workers/domain/result.ts';
import { sharedSteps, viewSteps } from '../../src-workers/numeric/steps.ts';
import type * as tasks from '../../src-workers/worker.ts';

export type WorkerTasks = typeof tasks;

/** The worker pool. Only this file and the worker itself use Piscina. */
export interface Pool {
  readonly workers: number;
  /** The number of tasks of a run that can run at once, on the workers or on agents. */
  capacity(): number;
  /**
   * Runs one named task in a worker. Rejects with the signal's reason when it fires, and with a `FailureError` if the
   * task hangs. Tasks that the user waits for come before tasks of runs and of background work.
   * @param worker from 0: the preferred worker, which keeps data from an earlier task of this kind; used if it is idle
   * @param runId the run of the task, which agents may then do
   * @param background work that the user did not request: it releases its worker if other tasks wait, and restarts
   * later
   */
  run<Name extends keyof WorkerTasks>(
    name: Name,
    input: Parameters<WorkerTasks[Name]>[0],
    options?: {
      readonly signal?: AbortSignal;
      readonly worker?: number;
      readonly runId?: number;
      readonly background?: boolean;
    },
  ): Promise<Awaited<ReturnType<WorkerTasks[Name]>>>;
  close(): Promise<void>;
}

/** When a task counts as hung. The limits are processor time, so a busy machine ends no task. */
export interface TaskLimits {
  /** The limit of one step, ms. A design or a replication takes a second or two at most. */
  readonly stepMs: number;
  /** The limit of a task without steps, ms, such as reading a file of gigabytes. */
  readonly taskMs: number;
  /** The time between two checks of the tasks on the clock, ms. */
  readonly lookMs: number;
  /** A cancelled task stops between two steps. After this time, its worker is ended with all its caches, ms. */
  readonly stopMs: number;
}

const LIMITS: TaskLimits = { stepMs: 60_000, taskMs: 600_000, lookMs: 1000, stopMs: 3000 };

interface Task {
  readonly name: string;
  /** Whether the user waits for it. */
  readonly urgent: boolean;
  readonly background: boolean;
  /** Gives the task a worker. */
  readonly begin: () => void;
  /** Ends the worker of the task. */
  readonly end: AbortController;
  /** The id of the worker's thread, and the data that it shares. */
  threadId: number;
  cells: Int32Array | null;
  /** The steps at the last check, and whether there were more than at the start. */
  steps: number;
  counts: boolean;
  /** The worker's processor time at the last check with a new step, ms; 0 before the first check. */
  steppedMs: number;
  stopping: NodeJS.Timeout | undefined;
  givesWay: boolean;
  failure: FailureError | null;
}

/**
 * Records the progress of a task. Returns why it must end, or null.
 * @param nowMs processor time of its worker
 */
function takeProgress(task: Task, nowMs: number, steps: number, limits: TaskLimits): Failure | null {
  if (steps !== task.steps) task.counts = true;
  if (steps !== task.steps || task.steppedMs === 0) task.steppedMs = nowMs;
  task.steps = steps;
  const limitMs = task.counts ? limits.stepMs : limits.taskMs;
  const seconds = Math.round((nowMs - task.steppedMs) / 1000);
  if (nowMs - task.steppedMs > limitMs)
    return {
      code: 'internal',
      message: `A task of the engine (${task.name}) made no progress in ${seconds} s of processor time and was stopped. Change an input, or try again.`,
    };
  return null;
}

/**
 * Memory of a worker for new objects, MB. Most of them die at once, whatever this size is. V8's default size takes some
 * 150 MB more. A sweep of spmv-skewed takes as much processor time as with 24 MB, and 10 % more with 6 MB.
 */
const MAX_YOUNG_MB = 12;
/**
 * Memory of a worker for older objects, MB. A worker needs some 30. Without this limit, V8 lets a heap grow fourfold
 * before it collects old objects; with it, not quite twofold. So the engine takes 100 MB less after 25 edits. Edits
 * take 3 % more processor time, a sweep of spmv-skewed the same.
 */
const MAX_OLD_MB = 1900;

/** Creates the threads. A task gets the thread that it prefers if that one is idle. */
function createThreads(workerFile: string, shared: Int32Array, workers: number, ready: number): Piscina {
  return new Piscina({
    filename: workerFile,
    workerData: shared,
    minThreads: ready,
    maxThreads: workers,
    // An idle worker keeps the laws of the study on screen, which take seconds to make.
    idleTimeout: 600_000,
    // A worker keeps the tables of its sweep between chunks. A second task at a time would only slow the first one
    // down.
    concurrentTasksPerWorker: 1,
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB, maxOldGenerationSizeMb: MAX_OLD_MB },
    loadBalancer({ [queueOptionsSymbol]: options }, all) {
      const { worker, task } = options as unknown as { readonly worker?: number; readonly task: Task };
      const idle = all.filter(({ currentUsage }) => currentUsage === 0);
      const wanted = worker === undefined ? undefined : all.toSorted((a, b) => a.id - b.id)[worker];
      const chosen = idle.find((one) => one === wanted) ?? idle[0] ?? null;
      if (chosen) {
        task.threadId = chosen.id;
        task.cells = viewSteps(shared, chosen.id);
        [task.steps] = task.cells;
        task.cells[1] = 0;
      }
      return chosen;
    },
  });
}

/** @param ready workers that start at once, before there is a task for them */
export function openPool(workerFile: string, workers: number, ready: number, limits = LIMITS): Pool {
  const shared = sharedSteps();
  const piscina = createThreads(workerFile, shared, workers, ready);

  // Piscina never gets more tasks than workers, because a task in its own queue would wait for an ended worker.
  const waiting: Task[] = [];
  const running = new Set<Task>();
  const next = (): void => {
    while (running.size < workers) {
      const isUrgent = [...running].some((task) => task.urgent);
      const urgent = waiting.findIndex((task) => task.urgent);
      const at = urgent >= 0 ? urgent : waiting.findIndex(({ background }) => !background || !isUrgent);
      if (at < 0) return;
      const [task] = waiting.splice(at, 1);
      running.add(task);
      task.begin();
    }
  };
  const stop = (task: Task): void => {
    if (!task.cells) return task.end.abort();
    Atomics.store(task.cells, 1, 1);
    task.stopping ??= setTimeout(() => task.end.abort(), limits.stopMs);
  };
  const cancel = (task: Task): void => {
    const at = waiting.indexOf(task);
    if (at < 0) return stop(task);
    waiting.splice(at, 1);
    task.begin();
  };
  /** Frees the worker of one background task: the last one that began, because it loses least. */
  const makeRoom = (): void => {
    const background = [...running].filter((task) => task.background && !task.givesWay);
    const last = background.at(-1);
    if (!last) return;
    last.givesWay = true;
    stop(last);
  };

  const look = async (task: Task): Promise<void> => {
    const worker = piscina.threads.find(({ threadId }) => threadId === task.threadId);
    // Node before 24.6 does not report it, and neither does a worker that is ending.
    const used = await worker?.cpuUsage?.().catch(() => undefined);
    if (!used || !task.cells || !running.has(task)) return;
    const nowMs = (used.user + used.system) / 1000;
    const overrun = takeProgress(task, nowMs, Atomics.load(task.cells, 0), limits);
    if (overrun === null) return;
    task.failure = new FailureError(overrun);
    // A task without progress would not notice a request to stop either.
    task.end.abort();
  };
  const looking = setInterval(() => running.forEach((task) => void look(task)), limits.lookMs).unref();

  return {
    workers,
    capacity: () => workers,
    async run(name, input, { signal, worker, runId, background = false } = {}) {
      for (;;) {
        const { promise: hasWorker, resolve: begin } = Promise.withResolvers<void>();
        const task: Task = {
          name,
          urgent: runId === undefined && !background,
          background,
          begin,
          end: new AbortController(),
          threadId: -1,
          cells: null,
          steps: 0,
          counts: false,
          steppedMs: 0,
          stopping: undefined,
          givesWay: false,
          failure: null,
        };
        const cancelled = (): void => cancel(task);
        try {
          signal?.throwIfAborted();
          signal?.addEventListener('abort', cancelled);
          waiting.push(task);
          next();
          if (task.urgent && waiting.includes(task)) makeRoom();
          await hasWorker;
          signal?.throwIfAborted();
          const options = { name, signal: task.end.signal };
          return await piscina.run({ ...input, [queueOptionsSymbol]: { worker, task } }, options);
        } catch (error) {
          signal?.throwIfAborted();
          if (task.failure) throw task.failure;
          if (!task.givesWay) throw error;
        } finally {
          signal?.removeEventListener('abort', cancelled);
          clearTimeout(task.stopping);
          running.delete(task);
          // The caller may add more tasks at once, which go first.
          setImmediate(next);
        }
      }
    },
    async close() {
      clearInterval(looking);
      await piscina.destroy();
    },
  };
}
