import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { calibrateBandwidth } from '../../../src-workers/models/calibration/bandwidth.ts';
import { chooseSimplest } from '../../../src-workers/models/calibration/choice.ts';
import { fitDivergence, type DivergentRun } from '../../../src-workers/models/calibration/divergence.ts';
import * as fits from '../../../src-workers/models/calibration/fit.ts';
import { runLoops } from '../../../src-workers/models/divergence/figures.ts';
import { mersenneTwister, standardNormal } from '../../../src-workers/numeric/random.ts';

type FitProblem = fits.FitProblem;
const { calibrationFigures, dealFolds, fitParameters, heldOutPredictions } = fits;
const cost = { lower: 1e-6, upper: 1e6, coordinate: 'log', step: 1e-4, knownWithin: 0.5 } as const;

/** Makes the problem of fitting time = a + b·x + c·z with c ≥ 0, whose bound applies if the true time ignores z. */
function lines(count: number, time: (x: number, z: number) => number): FitProblem & { readonly x: Float64Array } {
  const uniform = mersenneTwister(21);
  const x = Float64Array.from({ length: count }, () => 10 * uniform());
  const z = Float64Array.from({ length: count }, () => 5 * uniform());
  return {
    x,
    parameters: [
      { name: 'a', initial: 1, ...cost },
      { name: 'b', initial: 1, ...cost },
      { name: 'c', initial: 0, lower: 0, upper: 10, coordinate: 'linear', step: 1e-4, knownWithin: 0.1 },
    ],
    predict: ([a, b, c]) => x.map((value, i) => a + b * value + c * z[i]),
    measuredMs: x.map((value, i) => time(value, z[i])),
    relativeErrors: new Float64Array(count),
    starts: [[1, 1, 0]],
  };
}

function addNoise({ measuredMs }: FitProblem, deviation: number, uniform: () => number): void {
  measuredMs.forEach((time, i) => (measuredMs[i] = time * Math.exp(deviation * standardNormal(uniform))));
}

describe('a fit', () => {
  it('finds exact parameters exactly, and reports that they are determined', () => {
    const { values, standardErrors, held } = unwrap(fitParameters(lines(12, (x, z) => 3 + 0.2 * x + 0.7 * z)));
    // The fit ends at a step that changes the cost by less than 1e-7 of it.
    [3, 0.2, 0.7].forEach((truth, j) => expect(values[j]).toBeNear(truth, 1e-5));
    expect(held).toEqual([false, false, false]);
    expect(standardErrors.every((error) => error! < 1e-3)).toBe(true);
  });

  it('is robust against one design in ten that is far off', () => {
    const problem = lines(40, (x) => 3 + 0.2 * x);
    for (let i = 0; i < 40; i += 10) problem.measuredMs[i] *= 4;
    const { values } = unwrap(fitParameters(problem));
    // Least squares would be off by a tenth. The remaining error comes from the robust loss in the last round.
    expect(values[0]).toBeNear(3, 5e-3);
    expect(values[1]).toBeNear(0.2, 5e-3);
  });

  it('stops at a bound', () => {
    const problem = lines(30, (x, z) => 10 + 0.2 * x - 0.3 * z);
    expect(unwrap(fitParameters(problem)).values[2]).toBe(0);
  });

  it('keeps the initial values of parameters that the data do not determine, and fits the rest', () => {
    const problem = lines(20, (x) => 2 * x);
    const blind: FitProblem = { ...problem, predict: ([, b]) => problem.x.map((value) => b * value) };
    const { values, held, standardErrors } = unwrap(fitParameters(blind));
    expect(held).toEqual([true, false, true]);
    expect([values[0], values[2], standardErrors[0]]).toEqual([1, 0, null]);
    expect(values[1]).toBeNear(2, 1e-6);
  });

  it('holds the second of two parameters that only have a joint effect', () => {
    const problem = lines(20, (x) => 6 * x);
    const product: FitProblem = {
      ...problem,
      parameters: problem.parameters.slice(0, 2).map((parameter) => ({ ...parameter, initial: 2 })),
      predict: ([a, b]) => problem.x.map((value) => a * b * value),
      starts: [[2, 2]],
    };
    const { values, held } = unwrap(fitParameters(product));
    expect(held).toEqual([false, true]);
    expect(values[1]).toBe(2);
    expect(values[0]).toBeNear(3, 1e-6);
  });

  it('keeps a bound that the data imply, for a parameter that is neither determined nor held', () => {
    // Every small value of `a` fits, but the initial value of 500 does not.
    const problem = lines(20, (x) => 2 * x + 10);
    const bounded: FitProblem = {
      ...problem,
      parameters: ['b', 'a'].map((name) => ({ name, initial: name === 'a' ? 500 : 1, ...cost })),
      predict: ([b, a]) => problem.x.map((value) => Math.hypot(b * (value + 5), a)),
      starts: [[1, 500], [1, 1]], // prettier-ignore
    };
    const { values, held, standardErrors } = unwrap(fitParameters(bounded));
    expect(held).toEqual([false, false]);
    expect(standardErrors[1]).toBeNull();
    expect(values[1]).toBeLessThan(1);
    expect(values[0]).toBeNear(2, 1e-3);
  });

  it('trusts precise times more', () => {
    const problem = lines(30, (x) => 3 + 0.2 * x);
    const relativeErrors = new Float64Array(30);
    // A third of the times are 20 % too long, and state an error of 20 %.
    for (let i = 0; i < 30; i += 3) {
      problem.measuredMs[i] *= 1.2;
      relativeErrors[i] = 0.2;
    }
    const uniform = mersenneTwister(4);
    problem.measuredMs.forEach((time, i) => (problem.measuredMs[i] = time * (1 + 0.01 * standardNormal(uniform))));
    const weighted = unwrap(fitParameters({ ...problem, relativeErrors })).values[0];
    expect(Math.abs(weighted - 3)).toBeLessThan(Math.abs(unwrap(fitParameters(problem)).values[0] - 3));
    expect(weighted).toBeNear(3, 0.02);
  });

  it('states standard errors that are correct', () => {
    const experiments = 200;
    let inside = 0;
    const uniform = mersenneTwister(9);
    for (let e = 0; e < experiments; e++) {
      const problem = lines(30, (x, z) => 3 + 0.2 * x + 0.5 * z);
      addNoise(problem, 0.05, uniform);
      const { values, standardErrors } = unwrap(fitParameters(problem));
      if (Math.abs(values[1] - 0.2) < 1.96 * standardErrors[1]!) inside++;
    }
    // Asymptotically, 95 % are inside. With 27 degrees of freedom and an estimated clipping, it is a few points less.
    expect(inside / experiments).toBeGreaterThan(0.88);
  });

  it('refuses too few designs, invalid times, and a model without a time', () => {
    const few =
      'The fit needs at least 5 measured designs (parameters: 3, measured designs: 4). Measure more designs, spread over the ranking.';
    expect(fitParameters(lines(4, (x) => 1 + x))).toFail('bad-input', few);
    const broken = lines(10, (x) => 1 + x);
    broken.measuredMs[7] = 0;
    expect(fitParameters(broken)).toMatchObject({ ok: false, error: { context: { design: 7 } } });
    const silent = lines(10, (x) => 1 + x);
    const predict = () => silent.x.map((_, i) => (i === 3 ? NaN : 1));
    const message = 'The model predicts NaN ms for design 3, which is not a positive time.';
    expect(fitParameters({ ...silent, predict })).toFail(null, message);
  });
});

it('held-out error deals nearly equal folds', () => {
  const fold = dealFolds(23, 5, mersenneTwister(1));
  expect([0, 1, 2, 3, 4].map((f) => fold.filter((own) => own === f).length).sort()).toEqual([4, 4, 5, 5, 5]);
  expect(Array.from(fold).join('')).not.toBe(Array.from(fold).sort().join(''));
});

const leaveOut = (problem: FitProblem, uniform: () => number): Float64Array =>
  unwrap(heldOutPredictions(problem, dealFolds(problem.measuredMs.length, 5, uniform)));

it('held-out error is larger than the error of the fit if parameters follow noise', () => {
  const uniform = mersenneTwister(31);
  let [fitted, heldOut] = [0, 0];
  for (let e = 0; e < 30; e++) {
    const problem = lines(10, (x, z) => 3 + 0.2 * x + 0.5 * z);
    addNoise(problem, 0.1, uniform);
    fitted += calibrationFigures(unwrap(fitParameters(problem)).predictedMs, problem.measuredMs).medianError;
    heldOut += calibrationFigures(leaveOut(problem, uniform), problem.measuredMs).medianError;
  }
  expect(heldOut).toBeGreaterThan(1.2 * fitted);
});

const EXACT = [1, 1, 1, 1];
const NEARLY = [1.0005, 1, 1.0005, 1];
const OFF = [1.1, 1.3, 1.2, 1.1];
const CLOSE = [1.03, 1, 1.01, 1.03];
it.each([
  { taken: 0, predicted: [NEARLY, EXACT, EXACT] },
  { taken: 1, predicted: [OFF, [1.02, 0.98, 1.02, 0.98], CLOSE] },
  { taken: 1, predicted: [OFF, CLOSE, null] },
  { taken: 2, predicted: [OFF, [1.2, 0.8, 1.2, 0.8], CLOSE] },
])('the simplest prediction within noise of the best is taken ($taken)', ({ taken, predicted }) => {
  const candidates = predicted.map((times) => times && Float64Array.from(times));
  expect(chooseSimplest(candidates, new Float64Array(4).fill(1))).toBe(taken);
});

it('held-out error never predicts a design from its own time', () => {
  // The time of one design is 50 % wrong. The fit that predicts this design does not use its time.
  const problem = lines(20, (x) => 3 + 0.2 * x);
  problem.measuredMs[5] *= 1.5;
  expect(leaveOut(problem, mersenneTwister(2))[5]).toBeNear(3 + 0.2 * problem.x[5], 1e-3);
});

describe('divergent loops', () => {
  const lanes = Array.from({ length: 32 }, (_, n) => n);
  const uniform = mersenneTwister(6);
  const runs = (loops: 'single' | 'double', branch: number, spill: number, noise: number): DivergentRun[] =>
    lanes.map((divergentLanes) => {
      const run = runLoops(loops, divergentLanes);
      const cycles = 1800 + branch * run.divergentBranches + spill * run.spills + noise * standardNormal(uniform);
      return { loops, divergentLanes, cycles };
    });

  it('reproduce the published costs of Kepler', () => {
    const fit = unwrap(fitDivergence([...runs('single', 32, 84, 0), ...runs('double', 32, 84, 0)]));
    // These are sums of 64 terms of up to some ten thousand cycles.
    expect(Math.abs(fit.cyclesPerDivergentBranch - 32)).toBeLessThan(1e-9);
    expect(Math.abs(fit.cyclesPerSpillAndLoad! - 84)).toBeLessThan(1e-9);
    expect(Math.abs(fit.baseCycles.single! - 1800)).toBeLessThan(1e-8);
    expect(fit.explained).toBeCloseTo(1, 12);
  });

  it('determine both costs within their errors under noise', () => {
    const fit = unwrap(fitDivergence(runs('single', 26, 176, 15)));
    expect(Math.abs(fit.cyclesPerDivergentBranch - 26)).toBeLessThan(3 * fit.branchStandardError!);
    // The noise of a single run is 15 cycles, and 32 runs determine the step.
    expect(Math.abs(fit.cyclesPerSpillAndLoad! - 176)).toBeLessThan(15);
    expect(fit.baseCycles.double).toBeNull();
    // A device without a stack that spills shows no step.
    const even = unwrap(fitDivergence(runs('single', 40, 0, 15)));
    expect(even.cyclesPerSpillAndLoad).toBeNull();
    expect(Math.abs(even.cyclesPerDivergentBranch - 40)).toBeLessThan(3 * even.branchStandardError!);
  });

  it('refuse points without a slope, and lanes that a group does not have', () => {
    const point = (divergentLanes: number): DivergentRun => ({ loops: 'single', divergentLanes, cycles: 10 });
    expect(fitDivergence(lanes.map(() => point(3)))).toMatchObject({ ok: false });
    expect(fitDivergence([point(40)])).toMatchObject({ ok: false, error: { context: { run: 0 } } });
  });
});

it('bandwidth by cores equals the measured points, is linear between them, and determines β, ρ and K', () => {
  const measured = (...points: readonly (readonly [cores: number, bandwidthGbS: number])[]) =>
    calibrateBandwidth(points.map(([cores, bandwidthGbS]) => ({ cores, bandwidthGbS })));
  const found = unwrap(measured([4, 40], [1, 14], [1, 15], [1, 16], [2, 30], [8, 41]));
  expect([...found.curve]).toEqual([0, 15, 30, 35, 40, 40.25, 40.5, 40.75, 41]);
  expect(found).toMatchObject({ memory: { singleCoreBandwidthGbS: 15, fullBandwidthGbS: 41 }, saturatingCores: 3 });
  // The fit needs a bandwidth of one core alone, and valid bandwidths.
  for (const refused of [measured(), measured([2, 3]), measured([1, 0])]) expect(refused).toMatchObject({ ok: false });
});
