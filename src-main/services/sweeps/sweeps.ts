import { randomUUID } from 'node:crypto';
import type { BestDesign, RunRecord } from '../../../db/records.ts';
import type { DesignRange } from '../../../src-workers/advise/best.ts';
import type { PredictionChunk } from '../../../src-workers/domain/columns.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { fail, ok, type Failure, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { AXIS, axisCounts, productOf, type SpaceAxes, spaceSize } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { Study } from '../../contract/study.ts';
import type { Catalogue } from '../devices/catalogue.ts';
import type { Context } from '../context.ts';
import { thisMachine } from '../machine/machine.ts';
import { runBest } from './best.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import { atMiddle } from '../../../src-workers/advise/assumed.ts';
import { storedAxes, studyAxes, sweepPlan } from '../studies/plan.ts';
import { isBetter, openExecution, triedTwice, type BestFound } from '../runs/execution.ts';
import { runPlan } from '../runs/run-view.ts';
import type { RunHandle } from '../runs/running.ts';
import type { LocatedStudy, RunStudy } from '../studies/studies.ts';
import { APP_VERSION, MODEL_VERSION } from '../version.ts';
import { digestOf, packLengths, planLengths, prepareLaw, resolveLengths } from '../studies/workloads.ts';
import type { OrderedLengths } from '../../../src-workers/predict/ordered.ts';

/** Tasks are small, so that progress is smooth and all workers end at about the same time. */
const TASKS_PER_WORKER = 8;
const TASK_DESIGNS = 32_768;
/** Number of designs in the smallest chunk and, with many devices, in the largest. Each chunk is one transaction. */
const MIN_CHUNK_DESIGNS = 128;
const MANY_DEVICES_CHUNK_DESIGNS = 4096;
/** The workers pause if more chunks than this wait to be saved. This limits the memory. */
const MAX_UNSAVED_CHUNKS = 8;

export interface PreparedStudy {
  readonly study: Study;
  readonly devices: readonly Device[];
  readonly axes: SpaceAxes;
  readonly law: LengthLaw;
  /** The order of the units, if the workload has one. It is stored with the law, and a resumed run reads it again. */
  readonly order: OrderedLengths | null;
  readonly plan: SweepPlan;
}

export async function studyDevices(catalogue: Catalogue, { devices }: Study): Promise<Result<readonly Device[]>> {
  const found = await catalogue.devices([...new Set(devices)]);
  if (found.ok) return found;
  const { code, message, context } = found.error;
  return fail(code, context ? `${String(context.field)}: ${message}` : message, context);
}

/** Refuses bounds that no design can meet. The format accepts them, because older runs with them must still open. */
export function wrongBound({ constraints }: Study): Result<never> | null {
  for (const [at, { quantity, ...bounds }] of constraints.entries())
    for (const name of ['atLeast', 'atMost'] as const) {
      const bound = bounds[name];
      if (quantity !== 'occupancyFraction' || bound === undefined || (bound >= 0 && bound <= 1)) continue;
      const field = `constraints[${at}].${name}`;
      return badInput(`${field} must be a fraction from 0 to 1 (50 % is 0.5), not ${bound}.`, { field });
    }
  for (const [at, { quantity, atLeast = -Infinity }] of constraints.entries())
    for (const [other, { quantity: limited, atMost = Infinity }] of constraints.entries()) {
      if (limited !== quantity || atLeast <= atMost) continue;
      const field = `constraints[${at}].atLeast`;
      return badInput(
        `${field} is ${atLeast}, but constraints[${other}].atMost is ${atMost}, so no value of ${quantity} meets both. Change one of them.`,
        { field },
      );
    }
  return null;
}

export async function prepareStudy(context: Context, located: LocatedStudy): Promise<Result<PreparedStudy>> {
  const wrong = wrongBound(located.study);
  if (wrong) return wrong;
  const devices = await studyDevices(context.catalogue, located.study);
  if (!devices.ok) return devices;
  const study = atMiddle(located.study, devices.value);
  const axes = studyAxes(study, devices.value);
  if (!axes.ok) return axes;
  const lengths = await resolveLengths(context, study.workload.lengths, located.baseFolder, study.workload.truncation);
  if (!lengths.ok) return lengths;
  const { law } = lengths.value;
  const planned = planLengths(study, axes.value, law, lengths.value.order);
  if (planned) await prepareLaw(context.pool, law.label, planned, study.workload.units);
  const plan = sweepPlan(randomUUID(), study, axes.value, law, planned);
  return ok({ study, devices: devices.value, axes: axes.value, law, order: lengths.value.order, plan });
}

/** @param best how many of the best designs are kept; by default all designs are kept */
export async function startSweep(
  context: Context,
  located: LocatedStudy,
  prepared: PreparedStudy,
  studyId: number | null,
  best?: number,
): Promise<Result<RunHandle>> {
  const { law, order } = prepared;
  const parts = [
    Buffer.from(law.label),
    bytesOf(law.support),
    bytesOf(law.probability),
    ...(order ? [bytesOf(order.iterations)] : []),
  ];
  const workloadHash = await digestOf(...parts);
  const provenance = {
    lengths: prepared.study.workload.lengths,
    ...(order ? { order: await packLengths(order) } : {}),
  };
  const stored = await context.store.saveWorkload({ hash: workloadHash, law, provenance });
  if (!stored.ok) return stored;
  const run = await context.store.createRun({
    kind: 'sweep',
    name: prepared.study.name,
    studyId,
    study: { ...located, study: prepared.study, workloadHash } satisfies RunStudy,
    appVersion: APP_VERSION,
    modelVersions: { prediction: MODEL_VERSION },
    seed: prepared.study.seed,
    machine: thisMachine(),
    enumeratedCount: spaceSize(prepared.axes),
    bestWanted: best,
    devices: prepared.devices,
    implementations: prepared.axes.implementations?.length ?? 1,
    blockWidths: prepared.axes.blockWidth?.length ?? 1,
    axes: storedAxes(prepared.axes),
  });
  if (!run.ok) return run;
  return ok(
    best === undefined
      ? runSweep(context, run.value, prepared.plan, [])
      : runBest(context, run.value, prepared.plan, best),
  );
}

export async function resumeSweep(context: Context, run: RunRecord): Promise<Result<RunHandle>> {
  const planned = await runPlan(context.store, run);
  if (!planned.ok) return planned;
  if (run.kept) return ok(runBest(context, run, planned.value.plan, run.kept.wanted));
  const chunks = await context.store.listChunks(run.id);
  if (!chunks.ok) return chunks;
  return ok(runSweep(context, run, planned.value.plan, chunks.value));
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function runSweep(
  context: Context,
  run: RunRecord,
  plan: SweepPlan,
  saved: readonly { readonly firstDesign: number; readonly count: number }[],
): RunHandle {
  const controller = new AbortController();
  const total = spaceSize(plan.axes);
  const todo = missingTasks(axisCounts(plan.axes), saved, context.pool.capacity());
  const alreadyDone = saved.reduce((sum, chunk) => sum + chunk.count, 0);
  let best: BestFound | null = null;
  const execution = openExecution(context, run, total, alreadyDone, () => ({
    stage: execution.done() > alreadyDone ? 'predicting' : 'preparing',
    bestTimeMs: best?.timeMs ?? null,
  }));

  let failure: Failure | null = null;
  const stop = (error: Failure): void => {
    failure ??= error;
    controller.abort();
  };
  const saving = new Set<Promise<void>>();

  const save = async (chunk: PredictionChunk): Promise<void> => {
    const result = await context.store.savePredictionChunk(run.id, chunk);
    if (!result.ok) return stop(result.error);
    execution.add(chunk.count);
    execution.progressAtTimes();
  };

  const predict = async (ranges: readonly DesignRange[], worker: number): Promise<void> => {
    const predicted = await triedTwice(controller.signal, ranges, () =>
      context.pool.run('predict', { plan, ranges }, { signal: controller.signal, runId: run.id, worker }),
    );
    if (!predicted) return;
    if (!predicted.ok) return stop(predicted.error);
    const found = predicted.value;
    if (found.best && isBetter(found.best, best)) best = found.best;
    for (const chunk of found.chunks) {
      const tracked: Promise<void> = save(chunk).finally(() => saving.delete(tracked));
      saving.add(tracked);
      while (saving.size > MAX_UNSAVED_CHUNKS) await Promise.race(saving);
    }
  };

  const bestOf = async (found: typeof best): Promise<BestDesign | null> => {
    const predictor = createPredictor(plan);
    let timeMs = found?.timeMs ?? Infinity;
    let designIndex = found?.designIndex ?? -1;
    if (alreadyDone > 0) {
      const columns = await context.store.loadRunColumns(run.id);
      if (columns.ok)
        columns.value.timeMs.forEach((time, at) => {
          if (columns.value.invalidReason[at] === 0 && time < timeMs) [timeMs, designIndex] = [time, at];
        });
    }
    return designIndex < 0 ? null : { timeMs, design: designText(describeDesign(predictor, designIndex).design) };
  };

  const finished = execution.finishAfter(async () => {
    execution.progressAtTimes();
    const queues = contiguousQueues(todo, context.pool.capacity());
    const lanes = queues.map(async (own, worker) => {
      while (!controller.signal.aborted) {
        const ranges = own.shift() ?? longestOf(queues).pop();
        if (!ranges) return;
        await predict(ranges, worker);
      }
    });
    await Promise.all(lanes);
    await Promise.all(saving);
    const end = failure ?? (execution.done() === total ? 'complete' : 'cancelled');
    return { end, best: await bestOf(best) };
  });

  const orderedUnits = plan.ordered && plan.units;
  return { runId: run.id, finished, cancel: () => controller.abort(), orderedUnits };
}

/**
 * Neighbouring tasks need the same orders and laws, so each worker takes consecutive ones. A worker without tasks takes
 * the last tasks of the worker that has most left.
 */
function contiguousQueues<T>(tasks: readonly T[], workers: number): T[][] {
  const each = tasks.length / workers;
  return Array.from({ length: workers }, (_, at) => tasks.slice(Math.round(at * each), Math.round((at + 1) * each)));
}

function longestOf<T>(queues: readonly T[][]): T[] {
  return queues.reduce((most, queue) => (queue.length > most.length ? queue : most));
}

/**
 * Returns the tasks of a sweep that are not `saved`. A task has the same designs on every device, because these share
 * depth laws.
 * @param counts the number of values on each axis, in the order of AXIS_ORDER
 */
export function missingTasks(
  counts: readonly number[],
  saved: readonly { readonly firstDesign: number; readonly count: number }[],
  workers: number,
): readonly (readonly DesignRange[])[] {
  const total = productOf(counts);
  const devices = counts[AXIS.device];
  const perDevice = total / devices;
  const most = Math.max(MANY_DEVICES_CHUNK_DESIGNS, Math.floor(TASK_DESIGNS / devices));
  const wanted = Math.min(most, Math.max(MIN_CHUNK_DESIGNS, Math.ceil(perDevice / (TASKS_PER_WORKER * workers))));
  // Designs that differ in launch, cap or block size share depth laws, so they stay together if there are enough tasks.
  const perLaunch = counts[AXIS.registerCap] * counts[AXIS.blockThreads];
  const family = counts[AXIS.launch] * perLaunch;
  const sharing = family <= most && perDevice >= TASKS_PER_WORKER * workers * family ? family : perLaunch;
  const stretch = sharing < most ? sharing * Math.max(1, Math.round(wanted / sharing)) : wanted;

  const tasks = new Map<number, DesignRange[]>();
  const add = (from: number, to: number): void => {
    for (let first = from; first < to;) {
      const device = Math.floor(first / perDevice);
      const within = first - device * perDevice;
      const end = Math.min(
        to,
        (device + 1) * perDevice,
        device * perDevice + (Math.floor(within / stretch) + 1) * stretch,
      );
      const task = tasks.get(within);
      if (task) task.push({ first, count: end - first });
      else tasks.set(within, [{ first, count: end - first }]);
      first = end;
    }
  };
  let at = 0;
  for (const chunk of [...saved].sort((a, b) => a.firstDesign - b.firstDesign)) {
    if (chunk.firstDesign > at) add(at, chunk.firstDesign);
    at = Math.max(at, chunk.firstDesign + chunk.count);
  }
  add(at, total);
  return [...tasks.values()];
}
