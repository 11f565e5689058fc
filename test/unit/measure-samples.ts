import type * as measuring from '../../src-main/contract/measuring.ts';
import { measuredTime } from '../../src-main/services/measuring/times.ts';
import { CALIBRATION_PARAMETERS, type CalibrationProfile } from '../../src-workers/domain/calibration.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { agreement } from '../../src-workers/models/calibration/agreement.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { ordinalRanks } from '../../src-workers/numeric/statistics.ts';
import { designOf, measuringDevice } from '../measuring.ts';

/** Makes invented measurements for tests of the Measure view. Their structure is real, but their numbers are not. */

const SAMPLE_DEVICE = measuringDevice({ name: 'NVIDIA A100-SXM4-40GB', fingerprint: 'sample', clockMhz: 1410 });

export const sampleDesign = (change: Partial<Design> = {}): Design =>
  designOf({ threadsPerUnit: 4, unitsPerThread: 19, loop: 'flattened', blockThreads: 128, gridBlocks: 1728, registerCap: 64, ...change }); // prettier-ignore

export function sampleTime(medianMs: number, change: Partial<measuring.MeasuredTime> = {}): measuring.MeasuredTime {
  const uniform = mersenneTwister(Math.round(medianMs * 1e6) % 2 ** 31);
  const timesMs = Array.from({ length: 15 }, () => medianMs * (1 + 0.012 * (uniform() - 0.45) ** 3 * 8));
  const warmUpMs = [medianMs * 1.21, medianMs * 1.04, medianMs * 1.006];
  return { ...measuredTime({ timesMs, detail: { warmUpMs, clockMhz: 1395 } })!, ...change };
}

export function sampleCase(position: number, change: Partial<measuring.MeasuredCase> = {}): measuring.MeasuredCase {
  const design = change.design === undefined ? sampleDesign() : change.design;
  const predictedMs = change.predictedMs === undefined ? 4 : change.predictedMs;
  return {
    position,
    case: {
      id: `design-${position}`,
      benchmark: 'unit-loop',
      parameters: { design: design ?? sampleDesign(), designIndex: 1000 + position, predictedMs, residentBlocks: 2 },
    },
    label: `design ${1000 + position}`,
    deviceId: 'nvidia-a100-sxm4-40gb',
    designIndex: 1000 + position,
    design,
    predictedMs,
    measured: null,
    correct: true,
    failure: null,
    registersPerThread: 40,
    values: {},
    ...change,
  };
}

const THREADS = [1, 2, 4, 8];
const BLOCKS = [64, 128, 256, 512];

/** Makes designs whose times differ from the prediction by an effect of the threads per unit. Design 17 has failed. */
export function sampleCases(count = 40): readonly measuring.MeasuredCase[] {
  const uniform = mersenneTwister(7);
  return Array.from({ length: count }, (_, i) => {
    const threadsPerUnit = THREADS[i % 4];
    const design = sampleDesign({
      threadsPerUnit,
      blockThreads: BLOCKS[Math.floor(i / 4) % 4],
      gridBlocks: 432 * (1 + (i % 7)),
      registerCap: i % 3 === 0 ? 56 : 64,
    });
    const predictedMs = 4.1 * (1 + 0.03 * i) * (1 + 0.02 * uniform());
    const medianMs = 1.32 * predictedMs * (1 + 0.06 * Math.log2(threadsPerUnit)) * (1 + 0.05 * (uniform() - 0.5));
    const failed = { correct: null, failure: 'too many resources requested for launch' };
    return sampleCase(i, { design, predictedMs, ...(i === 17 ? failed : { measured: sampleTime(medianMs) }) });
  });
}

export function sampleDetail(
  cases: readonly measuring.MeasuredCase[] = sampleCases(),
  change: Partial<measuring.MeasuringDetail> = {},
): measuring.MeasuringDetail {
  return {
    runId: 12,
    request: {
      target: 'cuda:0',
      backend: 'cuda',
      suite: 'designs',
      sourceRunId: 1,
      deviceId: 'nvidia-a100-sxm4-40gb',
      repeats: 15,
      warmUps: 3,
      cases: cases.length,
    },
    device: SAMPLE_DEVICE,
    cases,
    warnings: [],
    ...change,
  }; // prettier-ignore
}

/** Compares the sample with its predictions as the engine does. `correction` multiplies the predictions. */
export function sampleComparison(
  detail: measuring.MeasuringDetail,
  correction: (design: Design) => number = () => 1,
): measuring.MeasuringComparison {
  const cases = detail.cases.filter(({ measured }) => measured !== null);
  const predictedMs = Float64Array.from(cases, (each) => each.predictedMs! * correction(each.design!));
  const measuredMs = Float64Array.from(cases, ({ measured }) => measured!.medianMs);
  const axes = (['threadsPerUnit', 'blockThreads', 'registerCap'] as const)
    .map((axis) => ({ axis, values: cases.map(({ design }) => String(design![axis])) }))
    .filter(({ values }) => new Set(values).size > 1);
  const found = unwrap(agreement({ predictedMs, measuredMs, axes }, { uniform: mersenneTwister(1) }));
  const [predictedRanks, measuredRanks] = [ordinalRanks(predictedMs), ordinalRanks(measuredMs)];
  return {
    runId: detail.runId,
    sourceRunId: 1,
    deviceId: 'nvidia-a100-sxm4-40gb',
    device: 'A100 SXM4 40 GB',
    measuredOn: SAMPLE_DEVICE.name,
    basis: 'prediction',
    clockMhz: null,
    designs: cases.map(({ designIndex, design, measured }, i) => ({
      designIndex: designIndex!,
      design: design!,
      predictedRank: predictedRanks[i],
      measuredRank: measuredRanks[i],
      predictedMs: predictedMs[i],
      medianMs: measuredMs[i],
      lowMs: measured!.lowMs,
      highMs: measured!.highMs,
      residual: found.residuals[i],
    })),
    scale: found.scale.value,
    medianError: found.medianError.value,
    p95Error: found.p95Error.value,
    unscaledMedianError: found.unscaled.medianError,
    spearman: found.spearman.value,
    kendall: found.kendall.value,
    intervals: { scale: found.scale.interval, medianError: null, spearman: found.spearman.interval },
    regret: found.shortlists.map(({ k, regret }) => ({ k, fraction: regret })),
    randomEquivalent: found.shortlists.map(({ k, randomMeasurements }) => ({ k, measurements: randomMeasurements })),
    axes: found.axes.map(({ axis, explained, values }) => ({
      axis,
      explained: explained ?? NaN,
      values: values.map(({ value, designs, medianResidual, lowerQuartile, upperQuartile }) => ({
        value: String(value),
        medianResidual,
        lowResidual: lowerQuartile,
        highResidual: upperQuartile,
        count: designs,
      })),
    })),
    warnings: [],
  };
}

export function sampleProfile(change: Partial<CalibrationProfile> = {}): CalibrationProfile {
  const held = new Set(['cooperationCost', 'divergentBranchCycles']);
  return {
    version: 1,
    deviceId: 'nvidia-a100-sxm4-40gb',
    deviceName: 'A100 SXM4 40 GB',
    fingerprint: SAMPLE_DEVICE.fingerprint,
    backend: 'cuda',
    parameters: {
      latencyCycles: 6120,
      issueCycles: 291,
      kneeSoftness: 5.8,
      schedulers: 4,
      serialFraction: 0.083,
      cooperationCost: 0,
      setupIterationsPerUnit: 2.9,
      divergentBranchCycles: null,
      launchOverheadMs: 0.0061,
    },
    identified: Object.fromEntries(
      CALIBRATION_PARAMETERS.map((parameter, i) => [
        parameter,
        { standardError: held.has(parameter) || parameter === 'schedulers' ? null : [180, 4, 3.9, 0, 0.004, 0, 0.3, 0, 0.0008][i], held: held.has(parameter) },
      ]),
    ) as unknown as CalibrationProfile['identified'],
    fit: { designs: 39, medianError: 0.011, p95Error: 0.031, spearman: 0.991 },
    heldOut: { folds: 5, medianError: 0.014, p95Error: 0.041, spearman: 0.987 },
    before: { designs: 39, medianError: 0.052, p95Error: 0.121, spearman: 0.93 },
    sourceRunIds: [12],
    ...change,
  }; // prettier-ignore
}

export function sampleSavedProfile(id: number, change: Partial<measuring.SavedProfile> = {}): measuring.SavedProfile {
  return { id, name: 'A100, run 12', createdAt: '2026-11-20T14:05:00.000Z', profile: sampleProfile(), ...change };
}

export const SAMPLE_TARGETS: readonly measuring.MeasuringTarget[] = [
  {
    id: 'cuda',
    backend: 'cuda',
    available: false,
    label: 'No CUDA device',
    device: null,
    advice: 'Install the CUDA toolkit, or make a bundle for a machine that has it.',
  },
  { id: 'webgpu', backend: 'webgpu', available: true, label: 'SwiftShader', device: null, advice: '' },
  { id: 'cpu', backend: 'cpu', available: true, label: 'CPU with 2 cores', device: null, advice: '' },
];
