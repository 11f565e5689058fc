import type { Ability } from '../../../src-workers/domain/ability.ts';
import type {
  BenchBackend,
  BenchCase,
  BenchPlan,
  PlanLine,
  UnitLoopProfile,
  FirstUnitLoopProfile,
  UnitLoopWorkload,
} from '../../../src-workers/domain/benchmark.ts';
import type { KernelProfile } from '../../../src-workers/domain/kernel.ts';
import { fail, ok, type Result, unsupported, badInput, conflict } from '../../../src-workers/domain/result.ts';
import { AXIS, type Implementation } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { oldUnitLoop, standInPlan, unitLoopProfile } from '../../../src-workers/bench/stand-in.ts';
import { MAX_MEASURED_UNITS } from '../../../src-workers/bench/unit-loop.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { bundleLengths, drawLengths, type OrderedLengths } from '../../../src-workers/predict/ordered.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { takePartOfPlan } from '../../../src-workers/predict/plan.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { axisPosition, entryOf, timeOf } from '../../../src-workers/sweep/ranking.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { limitText, type RunnableDesigns } from '../../contract/runnable.ts';
import { runnableDesigns, takesWholeUnits } from './runnable.ts';
import type { Context } from '../context.ts';
import { checkPredicted, deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import type { RunStudy } from '../studies/studies.ts';
import { resolveLengths, unpackLengths } from '../studies/workloads.ts';
import { listText } from '../../../src-workers/domain/text.ts';

/** @param kernel whether the user's own kernel is measured. Like a program, it may have several implementations. */
export function measuredDeviceId(
  view: RunView,
  backend: BenchBackend,
  named: string | undefined,
  kernel = false,
): Result<string> {
  const runId = view.run.id;
  const own = kernel || backend === 'program';
  if (view.ranking.axes.implementations && !own) return severalKernels(view, view.ranking.axes.implementations);
  const [kind, words] = own ? [null, 'device'] : backend === 'cpu' ? ['cpu', 'CPU'] : ['gpu', 'GPU'];
  const devices = view.devices.filter((device) => own || device.kind === kind).map((device) => device.id);
  if (named !== undefined) {
    const filter = deviceFilter(view, named);
    if (!filter.ok) return filter;
    if (devices.includes(named)) return ok(named);
    return unsupported(
      `The device "${named}" is not a ${words}, but ${backend} measures only a ${words}. Specify another device.`,
    );
  }
  if (devices.length === 1) return ok(devices[0]);
  return devices.length === 0
    ? unsupported(
        `Run ${runId} has no design for a ${words}, but ${backend} measures only a ${words}. Specify another run or target.`,
      )
    : badInput(`Run ${runId} has several ${words}s. Specify the one to measure for (--device): ${devices.join(', ')}.`);
}

/**
 * Designs that the request names are all measured. Otherwise designs are chosen from those that the target can run,
 * which may be fewer than requested. `leftOut` is null if the target can run all.
 * @param ability is called only if it is needed
 */
export async function chosenDesigns(
  view: RunView,
  deviceId: string,
  input: Omit<ProcedureArguments<'bench.start'>, 'target' | 'limits'>,
  ability: () => Promise<Ability>,
): Promise<Result<{ readonly designs: readonly number[]; readonly leftOut: RunnableDesigns | null }>> {
  const runId = view.run.id;
  if (input.choose === 'named' || input.designs) {
    if (!input.designs) return badInput('Specify the numbers of the designs to measure (designs).');
    for (const design of input.designs) {
      const predicted = checkPredicted(view, design);
      if (!predicted.ok) return predicted;
      const of = view.ranking.axes.devices[axisPosition(view.ranking, AXIS.device, design)].id;
      if (of !== deviceId)
        return badInput(`Design ${design} belongs to the device ${of}. Specify designs of ${deviceId}.`);
      const { blockWidth } = describeDesign(view.predictor, design).design;
      if (blockWidth !== undefined && !(await ability()).tiles)
        return unsupported(
          `The blocks of design ${design} are tiles, but the stand-in loop has blocks of one row. Specify other designs, or your own program (lockstep bench --exec).`,
        );
    }
    return ok({ designs: [...new Set(input.designs)], leftOut: null });
  }
  const among = runnableDesigns(view, deviceId, await ability());
  if (!among.ok) return among;
  const { list, found } = among.value;
  if (found.designs === 0) return conflict(`Run ${runId} has no valid design on ${deviceId} to measure.`);
  if (found.runnable === 0) {
    const limits = found.limits
      .map((limit) => limitText(limit, { thread: 'thread', threads: 'threads', block: 'block' }))
      .join(', ');
    return unsupported(
      `The target supports ${limits}, so it can run none of the ${found.designs} designs of run ${runId} on ${deviceId}. Choose another target, or predict a space that it can run.`,
    );
  }
  const designs = picked(list, input.choose, Math.min(input.count, list.length), view.run.seed ?? 0);
  return ok({ designs, leftOut: found.runnable < found.designs ? found : null });
}

function severalKernels({ run, ranking: { axes } }: RunView, all: readonly Implementation[]): Result<never> {
  const names = (some: readonly Implementation[]): string => listText(some.map(({ name }) => name));
  const can = all.filter(({ allows }) => (allows.balancing ?? axes.balancing).some(takesWholeUnits));
  const cannot = all.filter((one) => !can.includes(one));
  return unsupported(
    [
      `Run ${run.id} has ${all.length} implementations, but the measurement replaces the kernel by a single loop.`,
      ...(cannot.length > 0
        ? [`The loop has no padding and no even shares, so it cannot replace ${names(cannot)}.`]
        : []),
      ...(can.length > 0
        ? [`The loop can replace one of these, in a copy of the study without the others: ${names(can)}.`]
        : []),
      'To measure all implementations, use your own program or kernel (lockstep bench --exec or --kernel).',
    ].join(' '),
  );
}

export function spreadOver<Entry>(list: ArrayLike<Entry>, count: number): readonly Entry[] {
  const chosen = Math.min(count, list.length);
  const step = chosen > 1 ? (list.length - 1) / (chosen - 1) : 0;
  return Array.from({ length: chosen }, (_, at) => list[Math.round(at * step)]);
}

function picked(
  list: Uint32Array,
  choose: 'best' | 'spread' | 'random',
  count: number,
  seed: number,
): readonly number[] {
  switch (choose) {
    case 'best':
      return Array.from(list.subarray(0, count));
    case 'spread':
      return spreadOver(list, count);
    case 'random': {
      // The first entries of a shuffled list (Fisher and Yates) are a random choice.
      const uniform = mersenneTwister(seed);
      const drawn = list.slice();
      for (let i = 0; i < count; i += 1) {
        const j = i + Math.floor(uniform() * (drawn.length - i));
        [drawn[i], drawn[j]] = [drawn[j], drawn[i]];
      }
      return Array.from(drawn.subarray(0, count));
    }
  }
}

/**
 * Returns the cases of designs, with predictions for the measured loop and number of units. Designs with more blocks
 * than these units fill are left out.
 * @param profile the loop; null if the kernel itself or a CPU is measured
 */
export async function designCases(
  { pool }: Context,
  view: RunView,
  designs: readonly number[],
  profile: UnitLoopProfile | null,
  part: number | null,
): Promise<Result<readonly BenchCase[]>> {
  if (profile === null && part === null)
    return ok(
      designs.map((design) => {
        const residentBlocks = view.ranking.columns.residentBlocks[entryOf(view.ranking, design)];
        return designCase(view.predictor, design, timeOf(view.ranking, design), residentBlocks);
      }),
    );
  const { plan } = view.predictor;
  const ofPart = part === null ? plan : takePartOfPlan(plan, part);
  const predictor = createPredictor(profile === null ? ofPart : standInPlan(ofPart, profile));
  const ranges = designs.map((first) => ({ first, count: 1 }));
  const { chunks } = await pool.run('predict', { plan: predictor.plan, ranges });
  const cases = chunks.flatMap((found) =>
    found.invalidReason[0] === 0
      ? [designCase(predictor, found.firstDesign, found.timeMs[0], found.residentBlocks[0])]
      : [],
  );
  return cases.length > 0
    ? ok(cases)
    : unsupported(`Each of these designs has more blocks than ${part} units can fill. Specify more units.`);
}

function designCase(predictor: Predictor, designIndex: number, predictedMs: number, residentBlocks: number): BenchCase {
  return {
    id: `design-${designIndex}`,
    benchmark: 'unit-loop',
    parameters: {
      design: describeDesign(predictor, designIndex).design,
      designIndex,
      predictedMs,
      residentBlocks: residentBlocks || null,
    },
  };
}

export function standInOf(kernel: KernelProfile, backend: BenchBackend): UnitLoopProfile | null {
  if (backend === 'cuda' || backend === 'hip') return unitLoopProfile(kernel, 'cuda');
  return backend === 'webgpu' ? unitLoopProfile(kernel, backend) : null;
}

/** For the user's own program and a CPU, no loop stands in for the kernel. */
const NO_LOOP: FirstUnitLoopProfile = { parallelSteps: 0, serialSteps: 0, dependentLoads: 0, tableWords: 1 };

/**
 * For a GPU or the user's own program, the units are the lengths in their own order, or draws from the law with the
 * seed of the sweep. For a CPU, they are the bundles of units that its prediction partitions, with the traffic of
 * each. A second call returns the same units unless a file has changed.
 * @param part the number of units to measure, except on a CPU
 */
export async function measuredUnits(
  context: Context,
  study: RunStudy,
  backend: BenchBackend,
  seed: number,
  part = study.study.workload.units,
): Promise<Result<{ readonly workload: UnitLoopWorkload; readonly digest: string }>> {
  const { workload, kernel } = study.study;
  if (backend !== 'cpu' && workload.units > MAX_MEASURED_UNITS)
    return unsupported(`At most ${MAX_MEASURED_UNITS} units can be measured, and the study has ${workload.units}.`, {
      field: 'workload.units',
    });
  const stored = await context.store.getWorkload(study.workloadHash);
  if (!stored.ok) return stored;
  if (!stored.value)
    return fail('storage', `The lengths ${workload.lengths} of the sweep are missing from the database.`);
  const { law, provenance } = stored.value;
  let order = await unpackLengths(provenance);
  let [units, traffic] = [
    workload.units,
    { bytesPerIteration: kernel.bytesPerIteration, bytesPerUnit: kernel.bytesPerUnit },
  ];
  if (backend === 'cpu') {
    // `planLengths` gives the prediction the same lengths, and `computeCoreLoads` scales the traffic in the same way.
    order = bundleLengths(order ?? drawLengths(law, workload.units, study.study.seed));
    units = order.iterations.length;
    traffic = {
      bytesPerIteration: (kernel.bytesPerIteration * workload.units) / order.units,
      bytesPerUnit: (kernel.bytesPerUnit * workload.units) / units,
    };
  } else {
    order ??= await orderOfFile(context, study, law);
    if (order?.iterations.length !== order?.units) order = null;
  }
  const longest = (order?.iterations ?? law.support).reduce((most, length) => Math.max(most, length), 0);
  if (longest >= 2 ** 32)
    return unsupported(`The longest unit has ${longest} iterations, but at most ${2 ** 32 - 1} can be measured.`);
  // A worker draws the lengths, because tens of millions of draws and their digest would delay other requests.
  const iterations = order?.iterations ?? null;
  const { lengths, digest } = await context.pool.run('unitLengths', {
    law,
    order: iterations,
    units,
    part: backend === 'cpu' ? units : part,
    seed,
  });
  const profile = standInOf(kernel, backend) ?? NO_LOOP;
  return ok({ workload: { label: law.label, lengths, profile, traffic }, digest });
}

async function orderOfFile(context: Context, study: RunStudy, law: LengthLaw): Promise<OrderedLengths | null> {
  const { lengths, truncation } = study.study.workload;
  const again = await resolveLengths(context, lengths, study.baseFolder, truncation);
  if (!again.ok || !again.value.order) return null;
  const same = (a: Float64Array, b: Float64Array): boolean =>
    a.length === b.length && a.every((value, at) => value === b[at]);
  const { support, probability } = again.value.law;
  return same(support, law.support) && same(probability, law.probability) ? again.value.order : null;
}

/** Fails if the lengths are no longer the ones that were measured. */
export async function restoredPlan(
  context: Context,
  line: PlanLine,
  study: RunStudy | null,
  seed: number,
): Promise<Result<BenchPlan>> {
  const { workload } = line.plan;
  if (!workload) return ok({ ...line.plan, workload: null });
  if (!line.plan.kernel && ['cuda', 'webgpu'].includes(line.plan.backend) && workload.profile.version !== 3)
    return oldUnitLoop();
  if (!study) return fail('storage', 'the study whose units were measured is missing from the run');
  const units = await measuredUnits(context, study, line.plan.backend, seed, workload.units);
  if (!units.ok) return units;
  if (units.value.digest !== line.lengthsDigest)
    return conflict(
      `the units of ${workload.label} are not those that were measured before: their file has changed or is gone. Start a new run`,
    );
  return ok({ ...line.plan, workload: { ...units.value.workload, profile: workload.profile } });
}
