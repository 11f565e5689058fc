import { beforeAll, describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { studyWithProfile } from '../../src-main/services/measuring/calibrations.ts';
import {
  calibratedPlan,
  calibrateFromDesigns,
  predictMeasured,
  type CalibrationOptions,
  type MeasuredDesign,
} from '../../src-workers/bench/calibrate.ts';
import { CALIBRATION_PARAMETERS, type CalibratedParameters } from '../../src-workers/domain/calibration.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { calibrationFigures } from '../../src-workers/models/calibration/fit.ts';
import { mersenneTwister, standardNormal } from '../../src-workers/numeric/random.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { makeGivenLengths, makeUnitLaw } from '../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { oneDesign, planOf } from './sweep-plans.ts';
import { cpu, exampleStudy, gpu } from '../catalogue.ts';

const A100 = 'nvidia-a100-sxm4-40gb';
const KERNEL: StudyFile['kernel'] = {
  name: 'k',
  registersPerThread: 40,
  instructionsPerIteration: 40,
  dependentLoadsPerIteration: 1,
  serialFraction: 0.1,
  cooperationCost: 0.02,
  lengthsKnownBeforeLaunch: true,
};
/** True properties of the device, which its data sheet does not state. */
const TRUTH: CalibratedParameters = {
  latencyCycles: 1500,
  issueCycles: 61,
  kneeSoftness: 3.2,
  schedulers: 4,
  serialFraction: 0.22,
  cooperationCost: 0.05,
  setupIterationsPerUnit: 3,
  divergentBranchCycles: null,
  launchOverheadMs: 0.015,
};
/** The traffic of this kernel depends on the threads per unit. */
const { kernel: MOVING } = exampleStudy('spmv-implementations');
const OWN = { setupIterationsPerUnit: 18 / 8, launchOverheadMs: null };
const MOVING_TRUTH = { ...TRUTH, ...OWN, latencyCycles: 3000, issueCycles: 16, transferScale: 1.4 };
const options = (): CalibrationOptions => ({
  deviceName: 'A100, the one in the cellar',
  fingerprint: 'a100 driver 1',
  backend: 'cuda',
  sourceRunIds: [4, 7],
  uniform: mersenneTwister(1),
  folds: 2,
});

/** Computes kernel times of random valid designs with the true parameters, or the data sheet's, and a small error. */
function measure(
  plan: SweepPlan,
  truth: CalibratedParameters | null,
  count: number,
  noise: number,
  by: 'predictor' | 'simulator',
): MeasuredDesign[] {
  const device = createPredictor(truth ? calibratedPlan(plan, A100, truth) : plan);
  const uniform = mersenneTwister(5);
  const size = spaceSize(plan.axes);
  const measured: MeasuredDesign[] = [];
  while (measured.length < count) {
    const designIndex = Math.floor(uniform() * size);
    const breakdown = explainDesign(device, designIndex);
    if (!breakdown) continue;
    const wholeMs =
      by === 'predictor'
        ? breakdown.timeMs
        : unwrap(simulateDesign(device, designIndex, { seed: 1, halfWidth: 0.02, maxReplications: 5 })).medianMs;
    const kernelMs = wholeMs - breakdown.parts.balancing + (truth?.launchOverheadMs ?? 0);
    measured.push({ designIndex, timeMs: kernelMs * Math.exp(noise * standardNormal(uniform)), halfWidthMs: null });
  }
  return measured;
}

/** Calibrates. The errors must be those of a new predictor, with no values that the old predictor cached. */
function fitted(of: SweepPlan, measured: readonly MeasuredDesign[]) {
  const profile = unwrap(calibrateFromDesigns(of, 0, measured, options()));
  const { parameters, fit, fitInStudy = fit } = profile;
  const indices = measured.map(({ designIndex }) => designIndex);
  const predicted = unwrap(predictMeasured(calibratedPlan(of, A100, parameters), indices));
  const timesMs = Float64Array.from(measured, ({ timeMs }) => timeMs);
  const whole = predicted.map((time) => time + (parameters.launchOverheadMs ?? 0));
  expect([fit, fitInStudy]).toEqual([calibrationFigures(whole, timesMs), calibrationFigures(predicted, timesMs)]);
  return profile;
}

let plan: SweepPlan;
let moving: StudyFile;
let movingPlan: SweepPlan;
beforeAll(async () => {
  const axes: StudyFile['axes'] = { blockThreads: [32, 128, 512, 1024], unitsPerThread: [1, 2, 8] };
  const loops: Partial<StudyFile['axes']> = { loop: ['nested', 'flattened'], balancing: ['none', 'window-sort(4096)'] };
  const workload = { lengths: 'geometric(0.05)', units: 1 << 15 };
  plan = await planOf(oneDesign({ workload, kernel: KERNEL, axes: { threadsPerUnit: [1, 4, 16], ...loops, ...axes } }));
  const long = { lengths: 'geometric(0.02)', units: 200_000 };
  moving = oneDesign({ workload: long, kernel: MOVING, axes: { ...axes, threadsPerUnit: [1, 4, 16, 32] } });
  movingPlan = await planOf(moving);
});

describe('calibration from measured designs', () => {
  it('finds the true parameters from times with an error of 2 %', () => {
    const measured = measure(plan, TRUTH, 40, 0.02, 'predictor');
    const { parameters, identified, fit, heldOut, before, ...about } = fitted(plan, measured);
    const { uniform: _uniform, folds: _folds, ...given } = options();
    expect(about).toMatchObject({ version: 1, deviceId: A100, ...given });
    for (const name of CALIBRATION_PARAMETERS) {
      if (['transferScale', 'schedulers', 'divergentBranchCycles', 'launchOverheadMs'].includes(name)) continue;
      const { standardError, held } = identified[name];
      expect([name, held]).toEqual([name, false]);
      // Standard errors are asymptotic, and 40 designs are few, so the limit is four standard errors.
      expect(Math.abs(parameters[name]! - TRUTH[name]!), name).toBeLessThan(4 * standardError!);
    }
    expect(parameters).toMatchObject({ schedulers: 4, divergentBranchCycles: null });
    expect(identified.schedulers).toEqual({ standardError: null, held: true });
    // The times have an error of 2 % · N(0, 1), whose median size is 1.35 %.
    expect(fit.medianError).toBeLessThan(0.018);
    expect(heldOut!.medianError).toBeLessThan(0.025);
    expect(heldOut!.spearman).toBeGreaterThan(0.98);
    expect(heldOut!.folds).toBe(2);
    expect(before.medianError).toBeGreaterThan(0.3);
  });

  it('finds the factor on the traffic of a kernel that moves data, at several threads per unit', () => {
    const measured = measure(movingPlan, MOVING_TRUTH, 30, 0.02, 'predictor');
    const { parameters, identified, heldOut, choice } = fitted(movingPlan, measured);
    expect(choice!.taken).toBe('parameters');
    for (const name of ['transferScale', 'latencyCycles', 'issueCycles'] as const)
      expect(Math.abs(parameters[name]! - MOVING_TRUTH[name]), name).toBeLessThan(4 * identified[name].standardError!);
    expect(heldOut!.medianError).toBeLessThan(0.025);
  });

  it.each([
    ['factor', 1.15],
    ['unchanged', 1],
  ])('takes no more parameters than the times support: %s', (taken, factor) => {
    const uniform = mersenneTwister(3);
    const measured = measure(movingPlan, null, 30, 0, 'predictor').map(({ timeMs, ...design }) => ({
      ...design,
      timeMs: timeMs * factor * (0.9 + 0.2 * uniform()),
    }));
    const profile = { ...fitted(movingPlan, measured), backend: 'program' } as const;
    expect(profile.choice!.taken).toBe(taken);
    expect(profile.heldOut!.medianError).toBeLessThan(0.07);
    const used = studyWithProfile(unwrap(parseStudy(JSON.stringify(moving))), A100, profile);
    if (taken === 'unchanged') expect(used).toFail('conflict', /the calibration changes nothing/);
    else expect(unwrap(used).pipeline[A100].transferScale).toBe(profile.choice!.factor);
  });

  it('predicts held-out designs of the event simulator, which is a different model', async () => {
    const blockThreads = { from: 64, to: 512, step: 64 };
    const axes = { threadsPerUnit: [1, 2, 4, 8, 16], blockThreads, unitsPerThread: [1, 4] };
    const workload = { lengths: 'geometric(0.05)', units: 1 << 16 };
    const played = await planOf(oneDesign({ workload, kernel: KERNEL, axes }));
    const measured = measure(played, { ...TRUTH, launchOverheadMs: null }, 36, 0.01, 'simulator');
    const { parameters, fit, heldOut, before } = fitted(played, measured);
    // The median difference between the analytical model and the simulator is 1.5 %, and the noise is 1 %.
    expect(fit.medianError).toBeLessThan(0.025);
    expect(heldOut!.medianError).toBeLessThan(0.03);
    expect(heldOut!.p95Error).toBeLessThan(0.12);
    expect(before.medianError).toBeGreaterThan(0.3);
    // The data hardly determine the serial part of an iteration, so this parameter absorbs the error of the model.
    for (const name of ['latencyCycles', 'issueCycles', 'serialFraction'] as const)
      expect(Math.abs(parameters[name]! / TRUTH[name]! - 1), name).toBeLessThan(0.4);
  });

  it('is fitted to units in their order', () => {
    const ordered = makeGivenLengths(Float64Array.from({ length: plan.units }, (_, at) => 1 + (at >> 10)));
    const inOrder = { ...plan, id: 'in order', law: makeUnitLaw('in order', ordered, plan.units), ordered };
    const measured = measure(inOrder, TRUTH, 16, 0.02, 'predictor');
    expect(fitted(inOrder, measured).fit.medianError).toBeLessThan(0.03);
  });

  it('holds parameters that the designs do not determine', async () => {
    const kernel = { ...KERNEL, sharedMemoryBytesPerBlock: 80_000 };
    const axes = { threadsPerUnit: [1], blockThreads: [32, 64], unitsPerThread: { from: 1, to: 12 } };
    const sparse = await planOf(oneDesign({ workload: { lengths: 'uniform(20,40)', units: 6912 }, kernel, axes }));
    const measured = measure(sparse, { ...TRUTH, serialFraction: 0.1, cooperationCost: 0.02 }, 14, 0.01, 'predictor');
    const { parameters, identified } = fitted(sparse, measured);
    const sheet = 40 * (32 / 64);
    expect(identified.issueCycles.held).toBe(true);
    // The value was converted to a logarithm and back.
    expect(Math.abs(parameters.issueCycles / sheet - 1)).toBeLessThan(1e-12);
    for (const name of ['serialFraction', 'cooperationCost', 'kneeSoftness'] as const)
      expect(identified[name]).toEqual({ standardError: null, held: true });
    expect(parameters).toMatchObject({ serialFraction: 0.1, cooperationCost: 0.02 });
    expect(identified.latencyCycles.held).toBe(false);
    expect(Math.abs(parameters.latencyCycles / TRUTH.latencyCycles - 1)).toBeLessThan(0.1);
  });

  it('finds the cost of a divergent branch from divergent loops', () => {
    const measured = measure(plan, TRUTH, 12, 0.02, 'predictor');
    const divergence = {
      baseCycles: { single: 1800, double: null },
      cyclesPerDivergentBranch: 41,
      branchStandardError: 0.5,
      cyclesPerSpillAndLoad: null,
      explained: 0.99,
    };
    const calibrated = calibrateFromDesigns(plan, 0, measured, { ...options(), divergence });
    const { parameters, identified } = unwrap(calibrated);
    expect(parameters.divergentBranchCycles).toBe(41);
    expect(identified.divergentBranchCycles).toEqual({ standardError: 0.5, held: false });
  });

  it('refuses times that do not depend on the designs', () => {
    const measured = measure(plan, TRUTH, 16, 0.02, 'predictor');
    const shifted = measured.map(({ designIndex }, i) => ({ ...measured[(i + 5) % 16], designIndex }));
    const useless = /has an error of \d+ %, hardly less than with the same time for all designs \(\d+ %\)/;
    expect(calibrateFromDesigns(plan, 0, shifted, options())).toFail('conflict', useless);
  });

  it('refuses designs of another device, without a time or that cannot run, and too few designs', () => {
    const [first] = measure(plan, TRUTH, 1, 0, 'predictor');
    const many = Array.from({ length: 12 }, () => first);
    const calibrate = (measured: readonly MeasuredDesign[], of = plan, deviceAt = 0) =>
      calibrateFromDesigns(of, deviceAt, measured, options());
    expect(calibrate(many, plan, 3)).toFail('bad-input', 'The plan has no device 3, only 1 device.');
    expect(calibrate([{ ...first, designIndex: 1e6 }])).toFail('bad-input', /no design 1000000 in the plan/);
    const few = /^A calibration needs at least 4 measured designs, not 3\. Measure more designs, /;
    expect(calibrate(many.slice(0, 3))).toFail('bad-input', few);
    // One factor does not explain these times, and a fit of seven parameters to nine designs cannot be judged.
    const unjudged = /Measure at least 10 designs, which a fit of all parameters needs\.$/;
    expect(calibrate(measure(plan, TRUTH, 9, 0.02, 'predictor'))).toFail('conflict', unjudged);
    const none = /^Measured design 11: predicted .* ms, measured 0 ms\. Both times must be positive\.$/;
    expect(calibrate([...many.slice(1), { ...first, timeMs: 0 }])).toFail('bad-input', none);
    const devices = [gpu(A100), gpu('nvidia-v100-sxm2-16gb'), cpu('amd-epyc-7302p')];
    const axes = { devices, threadsPerUnit: [1], balancing: ['full-sort'], blockThreads: [256] };
    const kernel = { ...plan.kernel, lengthsKnownBeforeLaunch: false };
    const [loop, launch] = [['nested'] as const, plan.axes.launch.slice(0, 1)];
    const two: SweepPlan = { ...plan, kernel, axes: { ...plan.axes, ...axes, loop, launch } };
    const unknown = /^Design 0 cannot run: the balancing needs lengths that are not known before launch/;
    expect(calibrate([{ ...first, designIndex: 0 }], two)).toFail('conflict', unknown);
    expect(calibrate([{ ...first, designIndex: 1 }], two)).toFail('bad-input', /^design 1 belongs to V100/);
    expect(calibrate(many, two, 2)).toFail('unsupported');
  });
});
