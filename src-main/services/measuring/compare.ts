import { calibratedPlan, predictMeasured } from '../../../src-workers/bench/calibrate.ts';
import { isStandIn } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, conflict } from '../../../src-workers/domain/result.ts';
import { AXIS, AXIS_ORDER } from '../../../src-workers/domain/space.ts';
import { median, ordinalRanks } from '../../../src-workers/numeric/statistics.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { replanClock } from '../../../src-workers/predict/plan.ts';
import { axisPosition, rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import type { MeasuringComparison, SavedProfile } from '../../contract/measuring.ts';
import { comparableDesigns, timedBackend, type MeasuredSweep } from './calibrations.ts';
import type { Context } from '../context.ts';
import { isSameDevice } from './device.ts';
import { measuringWarnings } from './measured.ts';
import type { MeasuredCaseDetail } from './records.ts';
import { ALL_VALID, axisTexts, orderingMs } from '../ranking/rows.ts';
import { MODEL_VERSION } from '../version.ts';

export async function compareMeasured(
  context: Context,
  sweep: MeasuredSweep,
  profile: SavedProfile | null,
): Promise<Result<MeasuringComparison>> {
  const { run, view, deviceId, deviceAt, measuring, records } = sweep;
  if (profile && profile.profile.deviceId !== deviceId)
    return conflict(
      `Calibration ${profile.id} is for ${profile.profile.deviceId}, but run ${run.id} was predicted for ${deviceId}.`,
    );
  const measured = comparableDesigns(sweep);
  if (measured.length < 2)
    return conflict(
      `A comparison needs at least 2 designs with a time and a correct result, but run ${run.id} has ${measured.length}.`,
    );
  const indices = measured.map(({ designIndex }) => designIndex);
  // A calibration already belongs to the clock of its measurement. Other predictions are made for the measured clock.
  const clockMhz = profile ? null : measuredClockMhz(sweep);
  const plan = clockMhz === null ? view.predictor.plan : replanClock(view.predictor.plan, deviceId, clockMhz);
  const predicted = profile
    ? predictMeasured(
        calibratedPlan(plan, deviceId, profile.profile.parameters),
        indices,
        profile.profile.parameters.launchOverheadMs ?? 0,
      )
    : predictMeasured(plan, indices);
  if (!predicted.ok) return predicted;
  const { ranking } = view;
  const device = view.devices[deviceAt];
  const axes = AXIS_ORDER.flatMap((axis, at) => {
    const texts = axisTexts(view, at);
    const values = indices.map((design) => texts[axisPosition(ranking, at, design)]);
    return new Set(values).size > 1 ? [{ axis, values }] : [];
  });
  const measuredMs = Float64Array.from(measured, ({ timeMs }) => timeMs);
  const found = await context.pool.run('agree', {
    designs: {
      predictedMs: predicted.value,
      measuredMs,
      axes,
      designsOfRun: rankedDesigns(
        ranking,
        { ...ALL_VALID, positions: { [AXIS.device]: new Set([deviceAt]) } },
        'timeMs',
      ).length,
    },
    seed: run.seed ?? 0,
  });
  if (!found.ok) return found;
  const { scale, medianError, p95Error, unscaled, spearman, kendall, residuals, shortlists, notes } = found.value;
  const predictedRank = ordinalRanks(predicted.value);
  const measuredRank = ordinalRanks(measuredMs);
  const designs = measured
    .map(({ designIndex, timeMs, lowMs, highMs }, at) => ({
      designIndex,
      design: describeDesign(view.predictor, designIndex).design,
      predictedRank: predictedRank[at],
      measuredRank: measuredRank[at],
      predictedMs: predicted.value[at],
      balancingMs: orderingMs(view, designIndex),
      medianMs: timeMs,
      lowMs,
      highMs,
      residual: residuals[at],
    }))
    .sort((a, b) => a.medianMs - b.medianMs || a.designIndex - b.designIndex);
  return ok({
    runId: run.id,
    sourceRunId: view.run.id,
    deviceId,
    device: device.name,
    measuredOn: measuring.name,
    basis: profile ? { profileId: profile.id, name: profile.name } : 'prediction',
    clockMhz,
    designs,
    scale: scale.value,
    medianError: medianError.value,
    p95Error: p95Error.value,
    unscaledMedianError: unscaled.medianError,
    spearman: spearman.value,
    kendall: kendall.value,
    intervals: { scale: scale.interval, medianError: medianError.interval, spearman: spearman.interval },
    regret: shortlists.map(({ k, regret }) => ({ k, fraction: regret })),
    randomEquivalent: shortlists.map(({ k, randomMeasurements }) => ({ k, measurements: randomMeasurements })),
    axes: found.value.axes.map(({ axis, explained, values }) => ({
      axis,
      explained: explained ?? NaN,
      values: values.map((one) => ({
        value: String(one.value),
        medianResidual: one.medianResidual,
        lowResidual: one.lowerQuartile,
        highResidual: one.upperQuartile,
        count: one.designs,
      })),
    })),
    warnings: [...measuringWarnings(run, sweep.request, records, []), ...basisWarnings(sweep, profile), ...notes],
  });
}

const SAME_CLOCK = 0.005;

/** Returns the median measured clock, MHz; null if it is unknown, equals the predicted one, or is of another device. */
function measuredClockMhz({ view, deviceAt, measuring, records }: MeasuredSweep): number | null {
  const device = view.devices[deviceAt];
  const clocksMhz = records.flatMap(({ detail }) => (detail as MeasuredCaseDetail).clockMhz ?? []);
  if (device.kind !== 'gpu' || clocksMhz.length === 0 || !isSameDevice(device, measuring)) return null;
  const clockMhz = median(Float64Array.from(clocksMhz));
  return Math.abs(clockMhz / device.clockMhz - 1) > SAME_CLOCK ? clockMhz : null;
}

function basisWarnings(
  { run, view, measuring, request, standIn }: MeasuredSweep,
  profile: SavedProfile | null,
): readonly string[] {
  const warnings: string[] = [];
  if (standIn) {
    const { kernel, kernelsByThreads = {} } = view.predictor.plan;
    const counts = [kernel, ...Object.values(kernelsByThreads)].map((one) => one.instructionsPerIteration);
    const [least, most] = [Math.min(...counts).toFixed(0), Math.max(...counts).toFixed(0)];
    warnings.push(
      `The measurement and the prediction are for ${standIn.version === 3 ? 'a' : 'an older'} loop that stands in for the kernel: ${least === most ? least : `${least} to ${most}`} instructions per iteration${least === most ? '' : ', by threads per unit'}. Measure your kernel with lockstep bench --exec or --kernel.`,
    );
  }
  if (!profile) {
    const version = view.run.modelVersions.prediction ?? '';
    if (version !== MODEL_VERSION)
      warnings.push(`The predictions of the sweep are by the model ${version}, but these are by ${MODEL_VERSION}.`);
    return warnings;
  }
  if (profile.profile.sourceRunIds.includes(run.id))
    warnings.push('The calibration was fitted to these measurements. Other designs have the held-out error.');
  const ofStandIn = isStandIn(profile.profile.backend);
  if (ofStandIn !== isStandIn(timedBackend({ request, measuring })))
    warnings.push(
      ofStandIn
        ? 'The calibration is for the loop that stands in for a kernel, but these measurements are of the kernel itself.'
        : 'The calibration is for the kernel itself, but these measurements are of the loop that stands in for it.',
    );
  if (profile.profile.fingerprint !== measuring.fingerprint)
    warnings.push(`The calibration is for ${profile.profile.deviceName}, but ${measuring.name} was measured.`);
  return warnings;
}
