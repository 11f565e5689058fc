import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { calibratedPlan, calibrateFromDesigns, predictMeasured } from '../../src-workers/bench/calibrate.ts';
import { unitLoopProfile } from '../../src-workers/bench/unit-loop.ts';
import type { CalibrationProfile } from '../../src-workers/domain/calibration.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { spearman } from '../../src-workers/numeric/statistics.ts';
import { spaceSize } from '../../src-workers/space/axes.ts';
import { createPredictor, describeDesign } from '../../src-workers/sweep/predict.ts';
import { gpu, planOf } from '../unit/sweep-plans.ts';
import { spreadLengths, timeInTurn } from './swiftshader.ts';

/* Designs of one study, predicted and measured: how well the predictor ranks them, as it stands and calibrated on others. */
const DEVICE = 'software-swiftshader';
const MEASURED = 60;
/** Designs of the same study, none of them among the measured ones, that the calibration sees. */
const CALIBRATED_ON = 30;
const ROUNDS = 6;
const REPEATS = 2;
const LEAST_SPEARMAN = 0.9;

/**
 * An iteration long enough that a pass's own overhead, which the models do not know, is small beside it; and blocks of one to
 * four thread groups: in larger ones the prediction of sorted windows and of buckets strays from the event simulation, which
 * is not what is tested here.
 */
const STUDY: StudyFile = {
  lockstep: 1,
  name: 'SwiftShader',
  workload: { lengths: 'geometric(0.05)', units: 3072 },
  kernel: {
    name: 'unit loop',
    registersPerThread: 32,
    instructionsPerIteration: 448,
    serialFraction: 0.25,
    lengthsKnownBeforeLaunch: true,
  },
  devices: [DEVICE],
  axes: {
    threadsPerUnit: [1, 2, 4],
    loop: ['nested', 'flattened'],
    balancing: ['none', 'quantile-buckets(4)', 'window-sort(64)', 'full-sort', 'dynamic-fetch'],
    blockThreads: [4, 8, 16],
    unitsPerThread: [1, 4],
    gridBlocks: [1, 3, 7],
  },
  seed: 1,
};

interface Row {
  readonly design: Design;
  readonly measuredMs: number;
  readonly predictedMs: number;
  readonly calibratedMs: number;
}

describe('ranking of designs on SwiftShader', () => {
  let rows: Row[] = [];
  let profile: CalibrationProfile | null = null;
  const rank = (of: (row: Row) => number): number =>
    spearman(
      Float64Array.from(rows, (row) => row.measuredMs),
      Float64Array.from(rows, of),
    );

  beforeAll(async () => {
    // As many multiprocessors as SwiftShader has threads; everything else as the catalogue says.
    const device = { ...gpu(DEVICE), multiprocessors: Math.min(16, availableParallelism()) };
    const plan = await planOf(STUDY, [device]);
    const predictor = createPredictor(plan);
    const uniform = mersenneTwister(1);
    const valid = Array.from({ length: spaceSize(plan.axes) }, (_, index) => index).filter((index) => {
      const { invalid, design } = describeDesign(predictor, index);
      // Slots that fetch have no loop form of their own.
      return invalid === null && !(design.balancing === 'dynamic-fetch' && design.loop === 'flattened');
    });
    const chosen = valid
      .map((index) => ({ index, at: uniform() }))
      .sort((a, b) => a.at - b.at)
      .slice(0, MEASURED + CALIBRATED_ON)
      .map(({ index }) => index);
    const designs = chosen.map((index) => describeDesign(predictor, index).design);
    const workload = {
      label: plan.law.label,
      lengths: spreadLengths(plan.law, plan.units, 1),
      profile: unitLoopProfile(plan.kernel),
      traffic: null,
    };
    const timed = await timeInTurn([{ workload, designs }], ROUNDS, REPEATS);
    const measuredMs = timed.samplesNs[0].map((samples) => Math.min(...samples) / 1e6);
    const seen = chosen.slice(MEASURED).map((designIndex, i) => ({
      designIndex,
      timeMs: measuredMs[MEASURED + i],
      halfWidthMs: null,
    }));
    profile = unwrap(
      calibrateFromDesigns(plan, 0, seen, {
        deviceName: timed.device.name,
        fingerprint: timed.device.fingerprint,
        backend: 'webgpu',
        sourceRunIds: [],
        uniform,
      }),
    );
    const measured = chosen.slice(0, MEASURED);
    const predicted = unwrap(predictMeasured(plan, measured));
    const { parameters } = profile;
    const calibrated = unwrap(
      predictMeasured(calibratedPlan(plan, DEVICE, parameters), measured, parameters.launchOverheadMs ?? 0),
    );
    rows = measured.map((_, i) => ({
      design: designs[i],
      measuredMs: measuredMs[i],
      predictedMs: predicted[i],
      calibratedMs: calibrated[i],
    }));
    const file = join(import.meta.dirname, '../../test-results/measured/swiftshader-ranking.json');
    mkdirSync(join(file, '..'), { recursive: true });
    const result = {
      date: new Date().toISOString(),
      device: timed.device,
      study: STUDY,
      multiprocessors: device.multiprocessors,
      spearman: rank((row) => row.predictedMs),
      spearmanCalibrated: rank((row) => row.calibratedMs),
      profile,
      rows,
    };
    writeFileSync(file, JSON.stringify(result, null, 2));
  }, 600_000);

  it('agrees with the predictions by the catalogue', () => {
    expect(rows.length).toBeGreaterThanOrEqual(40);
    expect(rank((row) => row.predictedMs)).toBeGreaterThanOrEqual(LEAST_SPEARMAN);
  });

  it('agrees with the predictions calibrated on other designs', () => {
    expect(rank((row) => row.calibratedMs)).toBeGreaterThanOrEqual(LEAST_SPEARMAN);
  });
});
