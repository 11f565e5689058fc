import { median, spearman } from '../../../src-workers/numeric/statistics.ts';
import type { BestDesign, RunRecord, SimulationRecord } from '../../../db/records.ts';
import { fail, ok, type Failure, type Result, unsupported, conflict } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { axisPosition, rankedDesigns, timeOf } from '../../../src-workers/sweep/ranking.ts';
import type { SimulationOptions } from '../../../src-workers/simulate/simulate-design.ts';
import type { SimulatedDesign, SimulationTimeline } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { thisMachine } from '../machine/machine.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import {
  intervalsOverlap,
  simulatedDesigns,
  type SimulatedDesigns,
  type SimulationDetail,
} from '../ranking/fidelity.ts';
import { ALL_VALID, checkDesign, checkPredicted, deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { isBetter, openExecution, triedTwice, type BestFound } from '../runs/execution.ts';
import type { RunHandle } from '../runs/running.ts';
import type { RunStudy } from '../studies/studies.ts';
import { APP_VERSION, MODEL_VERSION, SIMULATOR_VERSION } from '../version.ts';
import type { SimulatedDistribution } from '../../../src-workers/domain/simulation.ts';

interface SimulationStudy extends RunStudy {
  readonly simulation: {
    readonly sourceRunId: number;
    readonly designs: readonly number[];
    readonly halfWidth: number;
    readonly maxReplications: number;
  };
}

export function simulationRequest(run: RunRecord): Result<SimulationStudy['simulation']> {
  const { simulation } = (run.study ?? {}) as { readonly simulation?: Partial<SimulationStudy['simulation']> | null };
  const { sourceRunId, designs, halfWidth, maxReplications } = simulation ?? {};
  if (
    typeof sourceRunId !== 'number' ||
    typeof halfWidth !== 'number' ||
    typeof maxReplications !== 'number' ||
    !Array.isArray(designs)
  )
    return fail('storage', `Run ${run.id} is not a simulation that this version can read.`);
  return ok({ sourceRunId, designs, halfWidth, maxReplications });
}

function chosenDesigns(view: RunView, input: ProcedureArguments<'simulations.start'>): Result<readonly number[]> {
  const runId = view.run.id;
  if (input.designs) {
    for (const design of input.designs) {
      const predicted = checkPredicted(view, design);
      if (!predicted.ok) return predicted;
      if (view.ranking.axes.devices[axisPosition(view.ranking, AXIS.device, design)].kind !== 'gpu')
        return unsupported(`Design ${design} is for a CPU, and CPUs are not simulated. Specify designs of a GPU.`);
    }
    return ok([...new Set(input.designs)]);
  }
  const gpus = new Set(view.ranking.axes.devices.flatMap(({ kind }, at) => (kind === 'gpu' ? [at] : [])));
  const filter =
    input.deviceId === undefined
      ? ok({ ...ALL_VALID, positions: { [AXIS.device]: gpus } })
      : deviceFilter(view, input.deviceId);
  if (!filter.ok) return filter;
  const designs = Array.from(rankedDesigns(view.ranking, filter.value, 'timeMs').subarray(0, input.top));
  const where = input.deviceId === undefined ? '' : ` on ${input.deviceId}`;
  return designs.length > 0 ? ok(designs) : conflict(`Run ${runId} has no valid design${where} to simulate.`);
}

export async function startSimulations(
  context: Context,
  input: ProcedureArguments<'simulations.start'>,
): Promise<Result<RunHandle>> {
  const opened = await context.views.open(input.runId);
  if (!opened.ok) return opened;
  const view = opened.value;
  const designs = chosenDesigns(view, input);
  if (!designs.ok) return designs;
  const { halfWidth, maxReplications } = input;
  const study: SimulationStudy = {
    ...view.study,
    simulation: { sourceRunId: view.run.id, designs: designs.value, halfWidth, maxReplications },
  };
  const run = await context.store.createRun({
    kind: 'simulate',
    name: view.run.name,
    studyId: view.run.studyId,
    study,
    appVersion: APP_VERSION,
    modelVersions: { prediction: view.run.modelVersions.prediction ?? MODEL_VERSION, simulation: SIMULATOR_VERSION },
    seed: view.run.seed,
    machine: thisMachine(),
    sourceRunId: view.run.id,
    enumeratedCount: designs.value.length,
    devices: view.run.devices,
    axes: null,
  });
  if (!run.ok) return run;
  return ok(runSimulations(context, view, run.value, study.simulation, []));
}

export async function resumeSimulations(context: Context, run: RunRecord): Promise<Result<RunHandle>> {
  const request = simulationRequest(run);
  if (!request.ok) return request;
  const view = await context.views.open(request.value.sourceRunId);
  if (!view.ok) return view;
  const done = await context.store.listSimulations(run.id);
  if (!done.ok) return done;
  return ok(runSimulations(context, view.value, run, request.value, done.value));
}

function runSimulations(
  context: Context,
  view: RunView,
  run: RunRecord,
  request: SimulationStudy['simulation'],
  before: readonly SimulationRecord[],
): RunHandle {
  const controller = new AbortController();
  const { plan } = view.predictor;
  const { designs, halfWidth, maxReplications } = request;
  const options: SimulationOptions = { seed: run.seed ?? 0, halfWidth, maxReplications };
  const known = new Set(before.map((record) => record.designIndex));
  const todo = designs.filter((design) => !known.has(design));
  const total = designs.length;
  let best: BestFound | null = null;
  let failure: Failure | null = null;
  const consider = (timeMs: number, designIndex: number): void => {
    const found = { timeMs, designIndex };
    if (isBetter(found, best)) best = found;
  };
  for (const { meanMs, designIndex } of before) if (designIndex !== null) consider(meanMs, designIndex);
  const execution = openExecution(context, run, total, total - todo.length, () => ({
    stage: 'simulating',
    bestTimeMs: best?.timeMs ?? null,
  }));

  const stop = (error: Failure): void => {
    failure ??= error;
    controller.abort();
  };

  const simulate = async (design: number): Promise<void> => {
    const tried = await triedTwice(controller.signal, [{ first: design, count: 1 }], () =>
      context.pool.run('simulate', { plan, design, options }, { signal: controller.signal, runId: run.id }),
    );
    if (!tried) return;
    if (!tried.ok) return stop(tried.error);
    const result = tried.value;
    if (!result.ok) return stop({ ...result.error, message: `design ${design}: ${result.error.message}` });
    const stored = await context.store.saveSimulations(run.id, [simulationRecord(view, design, result.value)]);
    if (!stored.ok) return stop(stored.error);
    execution.add(1);
    consider(result.value.meanMs, design);
    context.views.dropFindings();
    execution.progress();
  };

  const finished = execution.finishAfter(async () => {
    execution.progress();
    const waiting = todo.values();
    const lane = async (): Promise<void> => {
      for (const design of waiting) {
        if (controller.signal.aborted) return;
        await simulate(design);
      }
    };
    await Promise.all(Array.from({ length: context.pool.capacity() }, lane));
    const end = failure ?? (execution.done() === total ? 'complete' : 'cancelled');
    return { end, best: bestDesign(view, best) };
  });

  return { runId: run.id, finished, cancel: () => controller.abort() };
}

function bestDesign(view: RunView, best: BestFound | null): BestDesign | null {
  return best && { timeMs: best.timeMs, design: designText(describeDesign(view.predictor, best.designIndex).design) };
}

function simulationRecord(view: RunView, design: number, found: SimulatedDistribution): SimulationRecord {
  const described = describeDesign(view.predictor, design);
  const { lowMs, highMs, precise, ...times } = found;
  return {
    sourceRunId: view.run.id,
    designIndex: design,
    deviceId: described.device.id,
    design: described.design,
    predictedMs: timeOf(view.ranking, design),
    ...times,
    detail: { lowMs, highMs, precise } satisfies SimulationDetail,
  };
}

export function simulatedRows(view: RunView, { times, order }: SimulatedDesigns): readonly SimulatedDesign[] {
  const first = order[0] === undefined ? null : times.get(order[0])!;
  return order.map((designIndex, at) => {
    const simulated = times.get(designIndex)!;
    const { device, design } = describeDesign(view.predictor, designIndex);
    const predictedMs = timeOf(view.ranking, designIndex);
    const breakdown = explainDesign(view.predictor, designIndex);
    return {
      rank: at + 1,
      tied: first !== null && intervalsOverlap(simulated, first),
      designIndex,
      deviceId: device.id,
      device: device.name,
      design,
      predictedMs,
      simulated,
      difference: predictedMs / simulated.meanMs - 1,
      regime: breakdown?.regime ?? null,
      order: breakdown?.order ?? null,
    };
  });
}

export function predictionAgreement(rows: readonly SimulatedDesign[]): {
  /** Spearman's rank correlation; null below two designs, or if all predictions or all means are equal. */
  readonly spearman: number | null;
  readonly medianAbsoluteDifference: number;
} {
  // If two times differ only by rounding, they count as equal.
  const rounded = (time: number): number => Number(time.toPrecision(6));
  const order = spearman(
    Float64Array.from(rows, (row) => rounded(row.predictedMs)),
    Float64Array.from(rows, (row) => rounded(row.simulated.meanMs)),
  );
  return {
    spearman: Number.isFinite(order) ? order : null,
    medianAbsoluteDifference:
      rows.length > 0 ? median(Float64Array.from(rows, (row) => Math.abs(row.difference))) : NaN,
  };
}

export async function ownSimulations(context: Context, runId: number): Promise<Result<SimulatedDesigns>> {
  const records = await context.store.listSimulations(runId);
  return records.ok ? ok(simulatedDesigns(records.value.map((record) => ({ ...record, runId })))) : records;
}

export async function simulationTimeline(
  context: Context,
  view: RunView,
  { designIndex, replication }: Pick<ProcedureArguments<'simulations.timeline'>, 'designIndex' | 'replication'>,
  signal: AbortSignal,
): Promise<Result<SimulationTimeline>> {
  const known = checkDesign(view, designIndex);
  if (!known.ok) return known;
  const { plan } = view.predictor;
  const task = { plan, design: designIndex, seed: view.run.seed ?? 0, replication };
  const drawn = await context.pool.run('timeline', task, { signal });
  return drawn.ok ? ok({ designIndex, replication, ...drawn.value }) : drawn;
}
