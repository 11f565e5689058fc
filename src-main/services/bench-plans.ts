import type {
  BenchCase,
  BenchPlan,
  PlanLine,
  PlanSource,
  UnitLoopWorkload,
} from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { MAX_MEASURED_UNITS, unitLoopProfile } from '../../src-workers/bench/unit-loop.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import type { OrderedLengths } from '../../src-workers/sweep/ordered.ts';
import { describeDesign } from '../../src-workers/sweep/predict.ts';
import { axisPosition, rankedDesigns } from '../../src-workers/sweep/ranking.ts';
import type { ProcedureArguments } from '../contract/procedures.ts';
import type { Context } from './context.ts';
import { deviceFilter, type RunView } from './run-view.ts';
import { resolveLengths, type RunStudy } from './sweeps.ts';
import { unpackLengths } from './workloads.ts';

/** What is measured: which designs of a sweep, on units drawn as the sweep's own law says. */

export type MeasuringInput = Omit<ProcedureArguments<'bench.start'>, 'target'>;

/** The device of a sweep whose designs are measured: the GPU that is named, or the only one. */
export function measuredDeviceId(view: RunView, named: string | undefined): Result<string> {
  const runId = view.run.id;
  const gpus = view.devices.filter((device) => device.kind === 'gpu').map((device) => device.id);
  if (named !== undefined) {
    const filter = deviceFilter(view, named);
    if (!filter.ok) return filter;
    return gpus.includes(named) ? ok(named) : fail('unsupported', `device "${named}" is no GPU; expected one`);
  }
  if (gpus.length === 1) return ok(gpus[0]!);
  return gpus.length === 0
    ? fail('unsupported', `run ${runId} has no design for a GPU, which is where designs are measured`)
    : fail('bad-input', `run ${runId} has several devices; expected the one to measure for: ${gpus.join(', ')}`);
}

/** The designs that a request means, in the order in which they are measured. */
export function chosenDesigns(view: RunView, deviceId: string, input: MeasuringInput): Result<readonly number[]> {
  const runId = view.run.id;
  if (input.choose === 'named' || input.designs) {
    if (!input.designs)
      return fail('bad-input', 'designs: got nothing, expected the numbers of the designs to measure');
    const total = view.ranking.columns.timeMs.length;
    for (const design of input.designs) {
      if (design >= total)
        return fail('not-found', `design ${design} is not in run ${runId}; expected 0 to ${total - 1}`);
      const { invalid } = describeDesign(view.predictor, design);
      if (invalid !== null) return fail('conflict', `design ${design} is invalid (${invalid}); expected a valid one`);
      if (Number.isNaN(view.ranking.columns.timeMs[design]!))
        return fail('conflict', `design ${design} of run ${runId} is not predicted yet; expected one that is`);
      const of = view.ranking.axes.devices[axisPosition(view.ranking, 0, design)]!.id;
      if (of !== deviceId)
        return fail('bad-input', `design ${design} is of the device ${of}; expected designs of ${deviceId}`);
    }
    return ok([...new Set(input.designs)]);
  }
  const filter = deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const list = rankedDesigns(view.ranking, filter.value, 'timeMs');
  if (list.length === 0) return fail('conflict', `run ${runId} has no valid design on ${deviceId} to measure`);
  const count = Math.min(input.count, list.length);
  switch (input.choose) {
    case 'best':
      return ok(Array.from(list.subarray(0, count)));
    case 'spread': {
      const step = count > 1 ? (list.length - 1) / (count - 1) : 0;
      return ok(Array.from({ length: count }, (_, at) => list[Math.round(at * step)]!));
    }
    case 'random': {
      // The first entries of a shuffled list: Fisher and Yates, stopped early.
      const uniform = mersenneTwister(view.run.seed ?? 0);
      const drawn = list.slice();
      for (let i = 0; i < count; i += 1) {
        const j = i + Math.floor(uniform() * (drawn.length - i));
        [drawn[i], drawn[j]] = [drawn[j]!, drawn[i]!];
      }
      return ok(Array.from(drawn.subarray(0, count)));
    }
  }
}

export function designCases(view: RunView, designs: readonly number[]): readonly BenchCase[] {
  return designs.map((designIndex) => ({
    id: `design-${designIndex}`,
    benchmark: 'unit-loop',
    parameters: {
      design: describeDesign(view.predictor, designIndex).design,
      designIndex,
      predictedMs: view.ranking.columns.timeMs[designIndex]!,
      residentBlocks: view.ranking.columns.residentBlocks[designIndex]! || null,
    },
  }));
}

/** The units of a measurement, and the digest by which they are known again. */
export interface MeasuredUnits {
  readonly workload: UnitLoopWorkload;
  readonly digest: string;
}

/**
 * The units of a sweep for measuring: the lengths in their own order where the workload tells one for every unit, otherwise
 * drawn from the sweep's law by its seed. Asked again it gives the same, unless a file has changed.
 */
export async function measuredUnits(context: Context, study: RunStudy, seed: number): Promise<Result<MeasuredUnits>> {
  const { workload, kernel } = study.study;
  if (workload.units > MAX_MEASURED_UNITS)
    return fail(
      'unsupported',
      `workload.units: got ${workload.units}, and at most ${MAX_MEASURED_UNITS} units can be measured`,
      { field: 'workload.units' },
    );
  const stored = await context.store.getWorkload(study.workloadHash);
  if (!stored.ok) return stored;
  if (!stored.value)
    return fail('storage', `the workload ${workload.lengths} of the sweep is missing from the database`);
  const { law, provenance } = stored.value;
  const longest = law.support.at(-1)!;
  if (longest >= 2 ** 32) return fail('unsupported', `units of up to ${longest} iterations; at most ${2 ** 32 - 1}`);
  const order = unpackLengths(provenance) ?? (await orderOfFile(context, study, law));
  const complete = order && order.units === workload.units && order.iterations.length === workload.units;
  // Tens of millions of draws, and their digest, would hold up whoever else asks.
  const { lengths, digest } = await context.pool.run('unitLengths', {
    law,
    order: complete ? order.iterations : null,
    units: workload.units,
    seed,
  });
  return ok({ workload: { label: law.label, lengths, profile: unitLoopProfile(kernel) }, digest });
}

/** The order of a workload file that is still there and still says what the sweep read. */
async function orderOfFile(context: Context, study: RunStudy, law: LengthLaw): Promise<OrderedLengths | null> {
  const { lengths, truncation } = study.study.workload;
  const again = await resolveLengths(context, lengths, study.baseFolder, truncation);
  if (!again.ok || !again.value.order) return null;
  const same = (a: Float64Array, b: Float64Array): boolean =>
    a.length === b.length && a.every((value, at) => value === b[at]);
  const { support, probability } = again.value.law;
  return same(support, law.support) && same(probability, law.probability) ? again.value.order : null;
}

/** A plan as a run keeps it, which is how a result file begins: with a digest in place of the lengths, which are drawn again. */
export function keptPlan(plan: BenchPlan, digest: string | null, source: PlanSource | null): PlanLine {
  const { workload } = plan;
  const units = workload && { label: workload.label, units: workload.lengths.length, profile: workload.profile };
  return { type: 'plan', plan: { ...plan, workload: units }, lengthsDigest: digest, source };
}

/** A kept plan with its lengths drawn again; fails where they are not those that were measured. */
export async function restoredPlan(
  context: Context,
  line: PlanLine,
  study: RunStudy | null,
  seed: number,
): Promise<Result<BenchPlan>> {
  const { workload } = line.plan;
  if (!workload) return ok({ ...line.plan, workload: null });
  if (!study) return fail('storage', 'the study whose units were measured is missing from the run');
  const units = await measuredUnits(context, study, seed);
  if (!units.ok) return units;
  if (units.value.digest !== line.lengthsDigest)
    return fail(
      'conflict',
      `the units of ${workload.label} are not those that were measured before: their file has changed or is gone. Start a new run`,
    );
  return ok({ ...line.plan, workload: { ...units.value.workload, profile: workload.profile } });
}
