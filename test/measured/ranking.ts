import { availableParallelism } from 'node:os';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { calibratedPlan, calibrateFromDesigns, predictMeasured } from '../../src-workers/bench/calibrate.ts';
import { unitLoopProfile } from '../../src-workers/bench/stand-in.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { agreement } from '../../src-workers/models/calibration/agreement.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { spreadLengths, timeInTurn } from './swiftshader.ts';
import { gpu } from '../catalogue.ts';

/*
 * Predicts and measures designs of one study, to judge how well the predictor ranks them, both unchanged and after a
 * calibration on other designs.
 *
 * The space was chosen before it was measured: every way to share and order units that WebGPU runs, blocks from one
 * thread group to the largest, one to eight units per thread. Designs are drawn at random, equally many of each number
 * of threads per unit. A narrower space (blocks of up to four thread groups, grids of very few) is ranked better, but
 * shows less. The models do not know that on this device a block of one thread group takes no longer per iteration than
 * its share of a larger one.
 *
 * Not covered: lengths of another law, loads from memory, caps on registers, and more than one block at a time on a
 * core.
 */
const DEVICE = 'software-swiftshader';
const THREADS_PER_UNIT = [1, 2, 4];
/** The number of judged designs for each number of threads per unit, and the number that the calibration uses. */
const MEASURED = 20;
const CALIBRATED_ON = 20;
const ROUNDS = 6;
const REPEATS = 2;

/**
 * The instructions that change a unit in the flattened form of `unit-loop-shader.ts`, counted there: two comparisons,
 * storing the result, the next position, two loads with their addresses, the first mix, and a selection for each of
 * four variables. SwiftShader masks branches and never jumps over them, so every pass executes them.
 */
const CHANGE_INSTRUCTIONS = 24;

/** An iteration is long, so that the overhead of a pass, which the models do not know, is small beside it. */
const STUDY: StudyFile = {
  lockstep: 1,
  name: 'SwiftShader',
  workload: { lengths: 'geometric(0.05)', units: 12_288 },
  kernel: {
    name: 'unit loop',
    registersPerThread: 32,
    instructionsPerIteration: 1792,
    integerShare: 1,
    serialFraction: 0.25,
    flattenedCost: CHANGE_INSTRUCTIONS / 1792,
    lengthsKnownBeforeLaunch: true,
  },
  devices: [DEVICE],
  axes: {
    threadsPerUnit: THREADS_PER_UNIT,
    loop: ['nested', 'flattened'],
    balancing: ['none', 'quantile-buckets(4)', 'window-sort(64)', 'window-sort(1024)', 'full-sort', 'dynamic-fetch'],
    blockThreads: [4, 8, 16, 32, 64, 128, 256],
    unitsPerThread: [1, 2, 4, 8],
  },
  seed: 1,
};

interface Row {
  readonly design: Design;
  /** The times of the fastest launch of all rounds, of the even rounds and of the odd ones, ms. */
  readonly measuredMs: number;
  readonly evenMs: number;
  readonly oddMs: number;
  readonly predictedMs: number;
  readonly calibratedMs: number;
}

/**
 * Returns the relative difference that 95 of 100 designs do not exceed when they are measured again with half the
 * rounds.
 */
function resolutionOf(rows: readonly Row[]): number {
  const differences = Float64Array.from(rows, ({ evenMs, oddMs }) => Math.abs(Math.log(evenMs / oddMs))).sort();
  return sortedQuantile(differences, 0.95);
}

/**
 * Returns Kendall's τ over the pairs of designs whose measured times differ by more than the resolution, and their
 * share of all.
 */
function resolvedKendall(rows: readonly Row[], predictedOf: (row: Row) => number): { tau: number; pairs: number } {
  const resolution = resolutionOf(rows);
  let resolved = 0;
  let sum = 0;
  rows.forEach((a, i) =>
    rows.slice(0, i).forEach((b) => {
      const difference = Math.log(a.measuredMs / b.measuredMs);
      if (Math.abs(difference) <= resolution) return;
      resolved++;
      sum += Math.sign(difference) * Math.sign(predictedOf(a) - predictedOf(b));
    }),
  );
  return { tau: sum / resolved, pairs: resolved / ((rows.length * (rows.length - 1)) / 2) };
}

function figures(rows: readonly Row[], predictedOf: (row: Row) => number) {
  const { spearman, kendall, scale, medianError, p95Error, shortlists } = unwrap(
    agreement(
      {
        measuredMs: Float64Array.from(rows, ({ measuredMs }) => measuredMs),
        predictedMs: Float64Array.from(rows, predictedOf),
      },
      { uniform: mersenneTwister(1), shortlists: [1, 5] },
    ),
  );
  return {
    spearman,
    kendall,
    resolvedKendall: resolvedKendall(rows, predictedOf),
    scale,
    medianError,
    p95Error,
    shortlists,
  };
}

/** Measures designs of the study, and predicts them from the catalogue and with a calibration on other designs. */
export async function measureRanking() {
  // The number of multiprocessors is SwiftShader's number of threads; all else is from the catalogue.
  const device = { ...gpu(DEVICE), multiprocessors: Math.min(16, availableParallelism()) };
  const plan = await planOf(STUDY, [device]);
  const predictor = createPredictor(plan);
  const uniform = mersenneTwister(2);
  const valid = Array.from({ length: spaceSize(plan.axes) }, (_, index) => index).filter((index) => {
    const { invalid, design } = describeDesign(predictor, index);
    // Fetching slots have no loop form of their own.
    return invalid === null && !(design.balancing === 'dynamic-fetch' && design.loop === 'flattened');
  });
  const shuffled = valid
    .map((index) => ({ index, at: uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ index }) => index);
  const drawn = THREADS_PER_UNIT.map((u) =>
    shuffled.filter((index) => describeDesign(predictor, index).design.threadsPerUnit === u),
  );
  const judged = drawn.flatMap((indices) => indices.slice(0, MEASURED));
  const others = drawn.flatMap((indices) => indices.slice(MEASURED, MEASURED + CALIBRATED_ON));
  const designs = [...judged, ...others].map((index) => describeDesign(predictor, index).design);
  const workload = {
    label: plan.law.label,
    lengths: spreadLengths(plan.law, plan.units, 1),
    profile: unitLoopProfile(plan.kernel, 'webgpu'),
    traffic: null,
  };
  const timed = await timeInTurn([{ workload, designs }], ROUNDS, REPEATS);
  const samplesNs = timed.samplesNs[0];
  const fastestMs = (samples: readonly number[], keep = (_round: number): boolean => true): number =>
    Math.min(...samples.filter((_, i) => keep(Math.floor(i / REPEATS)))) / 1e6;
  const seen = others.map((designIndex, i) => ({
    designIndex,
    timeMs: fastestMs(samplesNs[judged.length + i]),
    halfWidthMs: null,
  }));
  const profile = unwrap(
    calibrateFromDesigns(plan, 0, seen, {
      deviceName: timed.device.name,
      fingerprint: timed.device.fingerprint,
      backend: 'webgpu',
      sourceRunIds: [],
      uniform,
    }),
  );
  const predictedMs = unwrap(predictMeasured(plan, judged));
  const { parameters } = profile;
  const calibratedMs = unwrap(
    predictMeasured(calibratedPlan(plan, DEVICE, parameters), judged, parameters.launchOverheadMs ?? 0),
  );
  const rows = judged.map((_, i): Row => ({
    design: designs[i],
    measuredMs: fastestMs(samplesNs[i]),
    evenMs: fastestMs(samplesNs[i], (round) => round % 2 === 0),
    oddMs: fastestMs(samplesNs[i], (round) => round % 2 === 1),
    predictedMs: predictedMs[i],
    calibratedMs: calibratedMs[i],
  }));
  return {
    device: timed.device,
    study: STUDY,
    multiprocessors: device.multiprocessors,
    validDesigns: valid.length,
    resolution: resolutionOf(rows),
    uncalibrated: figures(rows, ({ predictedMs: ms }) => ms),
    calibrated: figures(rows, ({ calibratedMs: ms }) => ms),
    profile,
    rows,
  };
}
