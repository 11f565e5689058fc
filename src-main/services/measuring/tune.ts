import { resolve } from 'node:path';
import type { MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { axisPosition, entryOf, timeOf } from '../../../src-workers/sweep/ranking.ts';
import { tuningSpace } from '../../../src-workers/tune/space.ts';
import { shownSkill, type KnownDesign } from '../../../src-workers/tune/tuner.ts';
import type { TuningStep } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { errorDeviation } from '../evidence/tie-band.ts';
import { measuredRunStudy } from './records.ts';
import { measuredTime } from './times.ts';
import { orderingMs } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { kernelAbility } from './own-kernel.ts';
import { measuredDeviceId } from './plans.ts';
import { runnableDesigns } from './runnable.ts';
import { checkLimits, EMULATION_TARGET, targetAbility, targetBackend, type Targets } from './targets.ts';

/** A step chooses among the measured and at most this many other designs. Its duration is proportional to both. */
const MAX_CONSIDERED = 16_384;
/** The share of the considered designs that are the best by prediction, until it is known how good predictions are. */
const BEST_SHARE = 0.5;
/**
 * The smallest assumed standard deviation of ln(time), because repeats within a minute show too little noise.
 * `UNKNOWN_NOISE` is assumed for a design with too few repeats for an interval.
 */
const MIN_NOISE = 0.01;
const UNKNOWN_NOISE = 0.03;
/** Half the width of a 95 % interval, in standard deviations. */
const INTERVAL = 1.96;

interface MeasuredBefore extends KnownDesign {
  readonly runId: number;
  readonly failure: string | null;
}

export async function nextDesigns(
  context: Context,
  targets: Targets,
  input: ProcedureArguments<'bench.next'>,
): Promise<Result<TuningStep>> {
  const { runId, target, limits, program, kernel } = input;
  const backend = targetBackend(target);
  if (!backend.ok) return backend;
  if (target === EMULATION_TARGET)
    return unsupported('The emulation has no times for tuning. Check results with lockstep bench, and tune on cuda:0.', { field: 'target' }); // prettier-ignore
  const limited = checkLimits(target, limits);
  if (!limited.ok) return limited;
  const opened = await context.views.open(runId);
  if (!opened.ok) return opened;
  const view = opened.value;
  const deviceId = measuredDeviceId(view, backend.value, input.deviceId, kernel !== undefined);
  if (!deviceId.ok) return deviceId;
  const ability = await targetAbility(targets, target, backend.value, limits);
  const among = runnableDesigns(view, deviceId.value, kernel ? kernelAbility(ability) : ability);
  if (!among.ok) return among;
  const known = await knownDesigns(context, view, deviceId.value, { target, program, kernel });
  if (!known.ok) return known;
  const { list, found } = among.value;
  if (list.length === 0)
    return unsupported(
      `The target ${target} can run none of the ${found.designs} designs of run ${runId} on ${deviceId.value}. Specify another target or device.`,
    );
  const predictedMs = (design: number): number => timeOf(view.ranking, design);
  const timed = known.value.filter((one) => one.timeMs !== null);
  const skill = shownSkill(
    timed.map(({ design }) => predictedMs(design)),
    timed.map(({ timeMs }) => timeMs!),
  );
  const considered = [
    ...new Set([...consideredAmong(list, skill ?? BEST_SHARE), ...known.value.map(({ design }) => design)]),
  ];
  const place = new Map(considered.map((design, at) => [design, at]));
  const { residentBlocks } = view.ranking.columns;
  const device = view.ranking.axes.devices[axisPosition(view.ranking, AXIS.device, considered[0])];
  const answer = await context.pool.run('tune', {
    space: tuningSpace(
      device,
      considered.map((design) => ({
        design: describeDesign(view.predictor, design).design,
        timeMs: predictedMs(design),
        residentBlocks: residentBlocks[entryOf(view.ranking, design)],
      })),
      errorDeviation(device),
    ),
    known: known.value.map(({ design, timeMs: measuredMs, noise }) => ({
      design: place.get(design)!,
      timeMs: measuredMs,
      noise,
    })),
    count: input.count,
    seed: view.run.seed ?? 0,
  });
  const { next, estimate, randomMs } = answer;
  const measured = timed.length;
  const best = estimate && considered[estimate.design];
  return ok({
    runId,
    deviceId: deviceId.value,
    considered: considered.length,
    measured,
    failed: known.value.length - measured,
    best:
      estimate === null || best === null
        ? null
        : {
            designIndex: best,
            design: describeDesign(view.predictor, best).design,
            measuredMs: known.value.find(({ design }) => design === best)!.timeMs!,
            expectedMs: estimate.timeMs,
            predictedMs: predictedMs(best),
          },
    expectedRegret: estimate?.expectedRegret ?? null,
    skill,
    history: known.value.map(({ design, runId: measuredBy, timeMs: measuredMs, failure }) => ({
      designIndex: design,
      design: describeDesign(view.predictor, design).design,
      runId: measuredBy,
      predictedMs: predictedMs(design),
      measuredMs,
      failure,
    })),
    randomMs: [...randomMs],
    next: next.map((at) => considered[at]),
  });
}

/**
 * Chooses the best designs by prediction, and others that are spread evenly over the rest, because a poor prediction
 * does not show where the best design is.
 * @param list the designs in the order of prediction
 * @param bestShare the share of the best designs: the rank correlation of predicted and measured times, at most 1
 */
export function consideredAmong(list: Uint32Array, bestShare: number, most = MAX_CONSIDERED): readonly number[] {
  if (list.length <= most) return [...list];
  const best = Math.round(Math.max(0, bestShare) * most);
  const others = (list.length - best) / (most - best);
  return Array.from({ length: most }, (_, at) => list[at < best ? at : best + Math.floor((at - best) * others)]);
}

/**
 * Returns the designs that were measured on this target by this program or kernel, with all units: each with its newest
 * measurement. The predicted time of ordering the units is added, because measurements do not include it. If the runs
 * were on different devices, only the newest device counts.
 */
async function knownDesigns(
  { store }: Context,
  view: RunView,
  deviceId: string,
  { target, program, kernel }: Pick<ProcedureArguments<'bench.next'>, 'target' | 'program' | 'kernel'>,
): Promise<Result<readonly MeasuredBefore[]>> {
  const records = await store.listMeasurementsOf(view.run.id);
  if (!records.ok) return records;
  const fingerprints = new Map<number, string>();
  for (const runId of new Set(records.value.map((record) => record.runId))) {
    const run = await store.getRun(runId);
    if (!run.ok) return run;
    const study = measuredRunStudy(run.value);
    const device = run.value.measuringDevice as MeasuringDevice | null;
    if (!study.ok || !device) continue;
    const { request } = study.value;
    const sameProgram =
      request.program?.exec === program?.exec &&
      (request.program?.build ?? null) === (program?.build ?? null) &&
      request.kernel?.file === (kernel && resolve(kernel.file));
    if (request.target === target && request.deviceId === deviceId && sameProgram && !request.part)
      fingerprints.set(runId, device.fingerprint);
  }
  const newest = fingerprints.get(Math.max(...fingerprints.keys()));
  const designs = new Map<number, MeasuredBefore>();
  for (const record of records.value) {
    const { designIndex: design, failure, correct, runId } = record;
    if (design === null || fingerprints.get(runId) !== newest || !fingerprints.has(runId)) continue;
    const time = failure === null && correct !== false ? measuredTime(record) : null;
    if (!time || time.medianMs === 0) {
      const why =
        failure ??
        (correct === false ? 'The result was wrong.' : "The time is below the resolution of the device's timer.");
      designs.set(design, { design, runId, timeMs: null, noise: 0, failure: why });
    } else {
      const { medianMs, lowMs, highMs } = time;
      const known = lowMs === null || highMs === null ? UNKNOWN_NOISE : (highMs - lowMs) / (2 * INTERVAL * medianMs);
      designs.set(design, {
        design,
        runId,
        failure: null,
        timeMs: medianMs + orderingMs(view, design),
        noise: Math.max(MIN_NOISE, known),
      });
    }
  }
  return ok([...designs.values()]);
}
