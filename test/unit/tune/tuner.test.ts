import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { createTuner, shownSkill, type TuningSpace } from '../../../src-workers/tune/tuner.ts';
import { forAllOf, whole } from '../../for-all.ts';

/** Makes designs that are slower farther from the best one. `wrong` is the error of ln(time) along a coordinate. */
function grid(side: number, wrong: number): { readonly space: TuningSpace; readonly trueMs: Float64Array } {
  const x = Float64Array.from({ length: side * side }, (_, at) => Math.floor(at / side));
  const y = Float64Array.from({ length: side * side }, (_, at) => at % side);
  const predictedMs = x.map((value, at) => 1 + 0.05 * Math.abs(value - 2) + 0.08 * Math.abs(y[at] - 3));
  return {
    space: { predictedMs, coordinates: [x, y].map((values) => ({ values, range: 2, deviation: 0.1 })), deviation: 0.1 },
    trueMs: predictedMs.map((time, at) => 7 * time * Math.exp((wrong * Math.abs(x[at] - (side - 2))) / side)),
  };
}

/** Tunes a space, and returns the designs in the order of measurement and the last estimate. */
function tuned({ space, trueMs }: ReturnType<typeof grid>, budget: number, { seed = 1, step = 3, scale = 1 } = {}) {
  const tuner = createTuner(space, seed);
  const measured: number[] = [];
  while (measured.length < budget) {
    const designs = tuner.propose(Math.min(step, budget - measured.length));
    if (designs.length === 0) break;
    for (const design of designs) {
      tuner.observe(design, scale * trueMs[design], 0.01);
      measured.push(design);
    }
  }
  return { measured, estimate: tuner.estimate() };
}

const bestOf = (times: Float64Array): number => times.indexOf(Math.min(...times));

describe('createTuner', () => {
  it('measures the best design first if the prediction is right, and expects little further gain', () => {
    const right = grid(8, 0);
    const { measured, estimate } = tuned(right, 12);
    expect(measured[0]).toBe(bestOf(right.trueMs));
    expect(estimate!.design).toBe(bestOf(right.trueMs));
    expect(estimate!.timeMs).toBeNear(Math.min(...right.trueMs), 0.03);
    expect(estimate!.expectedRegret).toBeLessThan(0.03);
  });

  it('finds the best design of a space whose prediction is wrong along a coordinate', () => {
    const wrong = grid(8, 0.8);
    const best = bestOf(wrong.trueMs);
    const rank = wrong.space.predictedMs.toSorted().indexOf(wrong.space.predictedMs[best]);
    const { measured, estimate } = tuned(wrong, 14);
    expect(rank).toBeGreaterThan(15);
    expect(measured).toContain(best);
    expect(wrong.trueMs[estimate!.design]).toBeLessThan(1.03 * wrong.trueMs[best]);
  });

  it('expects more regret after a few measurements that contradict the prediction than after as many that agree', () => {
    const [agrees, contradicts] = [0, 0.8].map((wrong) => tuned(grid(8, wrong), 4).estimate!.expectedRegret);
    expect(contradicts).toBeGreaterThan(agrees);
  });

  it('does not underestimate the regret if predictions tell nothing about times that differ by a factor of 30', () => {
    const found = Array.from({ length: 12 }, (_, seed) => {
      const { space } = grid(8, 0);
      const uniform = mersenneTwister(seed);
      const trueMs = space.predictedMs.map(() => 30 ** uniform());
      const { estimate } = tuned({ space, trueMs }, 12, { seed, step: 4 });
      return [Math.log1p(estimate!.expectedRegret), Math.log(trueMs[estimate!.design] / Math.min(...trueMs))];
    });
    const [expected, real] = [0, 1].map((at) => found.reduce((sum, one) => sum + one[at], 0));
    expect(expected).toBeGreaterThan(real);
    for (const [each] of found) expect(each).toBeGreaterThan(0.03);
  });

  it('finds the best design if the prediction is the reverse of the truth', () => {
    const { space } = grid(16, 0);
    const trueMs = space.predictedMs.map((time) => 1 / time);
    for (const seed of [1, 2, 3]) {
      const { measured } = tuned({ space, trueMs }, 32, { seed, step: 4 });
      expect(measured).toContain(bestOf(trueMs));
    }
  });

  it('begins with the best prediction, and spreads the next designs over the space', () => {
    const { space } = grid(16, 0);
    const first = createTuner(space, 1).propose(12);
    expect(first[0]).toBe(bestOf(space.predictedMs));
    const [high, low] = [first.filter((one) => one >= 128), first.filter((one) => one < 128)];
    expect(Math.min(high.length, low.length)).toBeGreaterThanOrEqual(3);
  });

  it('expects at least the regret that the last two thirds of the measurements gained', () => {
    const { space } = grid(8, 0);
    const tuner = createTuner(space, 1);
    Array.from({ length: 30 }, (_, at) => tuner.observe(at, at < 20 ? 10 : 8, 0.01));
    expect(tuner.estimate()!.expectedRegret).toBeGreaterThan(0.2);
  });

  it('never proposes a design twice, nor a rejected one, and ends when none is left', () =>
    forAllOf(40)(whole(1, 5), whole(1, 7), fc.nat(1000), (side, step, seed) => {
      const { space, trueMs } = grid(side, 0.5);
      const tuner = createTuner(space, seed);
      const uniform = mersenneTwister(seed);
      const seen: number[] = [];
      for (let designs = tuner.propose(step); designs.length > 0; designs = tuner.propose(step)) {
        expect(designs.length).toBeLessThanOrEqual(step);
        for (const design of designs) {
          if (uniform() < 0.3) tuner.reject(design);
          else tuner.observe(design, trueMs[design], 0.02);
          seen.push(design);
        }
      }
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from(trueMs.keys()));
    }));

  it('depends on the times up to a common scale, on the seed, and on no proposal that was not measured', () => {
    const one = tuned(grid(7, 0.6), 16);
    const other = tuned(grid(7, 0.6), 16, { scale: 1024 });
    expect(other.measured).toEqual(one.measured);
    expect(other.estimate!.expectedRegret).toBeCloseTo(one.estimate!.expectedRegret, 8);
    const equal = grid(6, 0);
    equal.space.predictedMs.fill(1);
    const first = (seed: number): readonly number[] => createTuner(equal.space, seed).propose(4);
    expect(first(3)).toEqual(first(3));
    expect(new Set([1, 2, 3, 4, 5].map((seed) => first(seed)[0])).size).toBeGreaterThan(1);
    const { space, trueMs } = grid(6, 0.4);
    const [plain, asked] = [createTuner(space, 2), createTuner(space, 2)];
    for (const design of [3, 17, 30]) {
      asked.propose(5);
      for (const tuner of [plain, asked]) tuner.observe(design, trueMs[design], 0.01);
    }
    expect(asked.propose(5)).toEqual(plain.propose(5));
    expect(asked.estimate()).toEqual(plain.estimate());
    expect(() => plain.observe(3, 1, 0.01)).toThrow('Design 3');
  });
});

it('shownSkill is the rank correlation as soon as there are enough measurements', () => {
  const times = Array.from({ length: 12 }, (_, at) => at + 1);
  expect(shownSkill(times, times)).toBeCloseTo(1);
  expect(shownSkill(times, times.toReversed())).toBeCloseTo(-1);
  expect(shownSkill(times.slice(1), times.slice(1))).toBeNull();
  expect(shownSkill(new Array<number>(12).fill(1), times)).toBeNull();
});
