import { Piscina, queueOptionsSymbol } from 'piscina';
import { FailureError, type Failure } from '../../src-workers/domain/result.ts';
import { sharedSteps, viewSteps } from '../../src-workers/numeric/steps.ts';
import type * as tasks from '../../src-workers/worker.ts';

export type WorkerTasks = typeof tasks;

/** The worker pool. Only this file and the worker itself use Piscina. */
export interface Pool {
  readonly workers: number;
  capacity(): number;
  /**
   * Rejects with the signal's reason when the signal fires, and with a `FailureError` if the task hangs. Tasks that the
   * user waits for come before tasks of runs and before background work.
   * @param worker the preferred worker, from 0, with data from an earlier task. If it is idle, it gets the task.
   * @param runId the run to which the task belongs. Agents may then do the task.
   * @param background whether the user did not request the work. If others wait, it stops and starts again later.
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

/** When a task counts as hung. The limits are in processor time, so a busy machine makes no task count as hung. */
export interface TaskLimits {
  /** The limit of one step, ms. A design or a replication takes a second or two at most. */
  readonly stepMs: number;
  /** The limit of a task that has no steps, ms. Such a task may read a file of gigabytes. */
  readonly taskMs: number;
  /** The time between two checks of the tasks, ms of real time. */
  readonly lookMs: number;
  /** How long a cancelled task may take to reach a step, ms. After that, its worker is ended and loses its caches. */
  readonly stopMs: number;
}

const LIMITS: TaskLimits = { stepMs: 60_000, taskMs: 600_000, lookMs: 1000, stopMs: 3000 };

interface Task {
  readonly name: string;
  readonly urgent: boolean;
  readonly background: boolean;
  readonly begin: () => void;
  readonly end: AbortController;
  /** The id of the worker's thread. `cells` is the memory that the task shares with this thread. */
  threadId: number;
  cells: Int32Array | null;
  /** The number of steps at the last check. `counts` is true if the task has reported any step. */
  steps: number;
  counts: boolean;
  /** The worker's processor time at the last check that found a new step, ms; 0 before the first check. */
  steppedMs: number;
  stopping: NodeJS.Timeout | undefined;
  givesWay: boolean;
  failure: FailureError | null;
}

/** @param nowMs processor time of the worker so far */
function takeProgress(task: Task, nowMs: number, steps: number, limits: TaskLimits): Failure | null {
  if (steps !== task.steps) task.counts = true;
  if (steps !== task.steps || task.steppedMs === 0) task.steppedMs = nowMs;
  task.steps = steps;
  const limitMs = task.counts ? limits.stepMs : limits.taskMs;
  const seconds = Math.round((nowMs - task.steppedMs) / 1000);
  if (nowMs - task.steppedMs > limitMs)
    return {
      code: 'internal',
      message: `A task of the engine (${task.name}) made no progress in ${seconds} s of processor time and was stopped. Try again, or change an input.`,
    };
  return null;
}

/**
 * Memory of a worker for new objects, MB. V8's default takes some 150 MB more. A sweep is as fast as with 24 MB, but
 * takes a tenth more processor time with 6 MB.
 */
const MAX_YOUNG_MB = 12;
/**
 * Limit of a worker's memory for older objects, MB. A worker needs about 30 MB. Below a limit of 2 GB, V8 collects when
 * the heap has doubled, not quadrupled. This saves 100 MB after 25 edits, which take 3 % more processor time.
 */
const MAX_OLD_MB = 1900;

function createThreads(workerFile: string, shared: Int32Array, workers: number, ready: number): Piscina {
  return new Piscina({
    filename: workerFile,
    workerData: shared,
    minThreads: ready,
    maxThreads: workers,
    // An idle worker keeps the laws of the study on screen, which take seconds to make.
    idleTimeout: 600_000,
    // A worker keeps the tables of its sweep between two chunks. A second task at a time would only slow it down.
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

/** @param ready the number of workers that start at once, before the first task */
export function openPool(workerFile: string, workers: number, ready: number, limits = LIMITS): Pool {
  const shared = sharedSteps();
  const piscina = createThreads(workerFile, shared, workers, ready);

  // Piscina gets no more tasks than workers. A task in Piscina's own queue might wait for a worker that has been ended.
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
  /** Stops the background task that began last, because it loses least. */
  const makeRoom = (): void => {
    const background = [...running].filter((task) => task.background && !task.givesWay);
    const last = background.at(-1);
    if (!last) return;
    last.givesWay = true;
    stop(last);
  };

  const look = async (task: Task): Promise<void> => {
    const worker = piscina.threads.find(({ threadId }) => threadId === task.threadId);
    // Node before 24.6 cannot report the processor time. Neither can a worker that is ending.
    const used = await worker?.cpuUsage?.().catch(() => undefined);
    if (!used || !task.cells || !running.has(task)) return;
    const nowMs = (used.user + used.system) / 1000;
    const overrun = takeProgress(task, nowMs, Atomics.load(task.cells, 0), limits);
    if (overrun === null) return;
    task.failure = new FailureError(overrun);
    // A task without steps would not notice a request to stop, so its worker is ended.
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
          // The caller may add tasks at once. Urgent ones come first.
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
