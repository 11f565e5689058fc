import { describe, expect, it } from 'vitest';
import type { GroupDepth } from '../../../src-workers/domain/depth.ts';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import * as divergentStarts from '../../../src-workers/predict/depth/divergent-starts.ts';
import { getDepthTable } from '../../../src-workers/predict/depth/depth-table.ts';
import { makeGroupDepthLaw } from '../../../src-workers/predict/depth/group-depth.ts';
import { listBucketRanges } from '../../../src-workers/predict/depth/prepared-law.ts';
import { computeWindowActivity } from '../../../src-workers/predict/depth/window.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import * as laws from '../../../src-workers/models/workload/laws.ts';
import { lengthSampler, mersenneTwister, type UniformSource } from '../../../src-workers/numeric/random.ts';
import { lockstep, playLaunch, summary } from './oracle.ts';
import { categorical } from '../../categorical.ts';

const { computeFetchedStarts, computeIndependentStarts, computeOrderedStarts } = divergentStarts;
const geometric = unwrap(laws.geometricLaw(0.05));
const uniform = unwrap(laws.uniformLaw(20, 40));
const withEmpty = unwrap(laws.poissonLaw(1));
const constant = (length: number) => unwrap(laws.constantLaw(length));
const twoLengths = categorical({ 1: 0.5, 30: 0.5 });
const escapes = categorical({ 10: 0.8, 700: 0.2 });
const unitsOf = (law: LengthLaw, count: number) => Array<LengthLaw>(count).fill(law);

function depthOf(law: LengthLaw, n: number, text: string, loop: LoopForm = 'nested', m = 1, setupIterations = 0) {
  return makeGroupDepthLaw(law, n, lockstep(text), loop, m, { setupIterations });
}

function blockOf(depth: GroupDepth, groupsPerBlock: number) {
  const survival = new Float64Array(depth.values.length);
  depth.survivalInto(survival, groupsPerBlock);
  let mean = 0;
  let square = 0;
  survival.forEach((s, i) => {
    const mass = (i === 0 ? 1 : survival[i - 1]) - s;
    mean += mass * depth.values[i];
    square += mass * depth.values[i] ** 2;
  });
  return { survival, mean, deviation: Math.sqrt(Math.max(0, square - mean * mean)) };
}

describe('group depths compared with simulated launches', () => {
  const n = 8;
  const groupsPerBlock = 4;
  const cases = Object.entries({ geometric, uniform, withEmpty, twoLengths }).flatMap(([name, law]) =>
    ['none', 'quantile-buckets(3)', 'best-buckets(4)', 'window-sort(128)', 'full-sort'].flatMap((text) =>
      (['nested', 'flattened'] as const).flatMap((loop) =>
        (text.includes('sort') ? [1] : [1, 3, 24]).map((m) => ({ name, law, text, loop, m })),
      ),
    ),
  );
  it.each(cases)('$name, $text, $loop, $m units per thread', ({ law, text, loop, m }) => {
    const balancing = lockstep(text);
    const depth = makeGroupDepthLaw(law, n, balancing, loop, m, { setupIterations: 0 });
    const played = playLaunch(law, n, balancing, loop, m, { groupsPerBlock, blocks: 1500, seed: 11 });
    const group = summary(played.groups);
    const block = summary(played.blocks);
    // Groups of one block are correlated, so their mean is not known better than the mean of blocks. The model itself
    // has an error of up to 1 %, from the atoms of a law and from the cumulants that replace a long sum.
    const error = 4.5 * Math.max(group.error, block.error);
    expect(Math.abs(depth.meanDepth - group.mean)).toBeLessThan(error + 0.005 * group.mean);
    const predicted = blockOf(depth, groupsPerBlock);
    expect(Math.abs(predicted.mean - block.mean)).toBeLessThan(4.5 * block.error + 0.01 * block.mean);
    expect(Math.abs(predicted.deviation - block.deviation)).toBeLessThan(0.12 * block.deviation + 0.005 * block.mean);
  });

  it.each([
    ['geometric', geometric, [0.015, 0.015, 0.015]],
    ['uniform', uniform, [0.015, 0.015, 0.015]],
    ['with empty units', withEmpty, [0.02, 0.02, 0.02]],
    ['two distant lengths, at most an eighth too short', twoLengths, [0.01, 0.125, 0.01]],
  ] as const)('dynamic fetch, %s, is within the stated error', (_, law, tolerances) => {
    for (const lanes of [8, 32])
      for (const [at, m] of [1, 2, 24].entries()) {
        const tolerance = tolerances[at];
        const balancing = { kind: 'dynamic-fetch' } as const;
        const depth = makeGroupDepthLaw(law, lanes, balancing, 'flattened', m, { setupIterations: 0 });
        const played = playLaunch(law, lanes, balancing, 'flattened', m, { groupsPerBlock, blocks: 800, seed: 5 });
        const [group, block] = [summary(played.groups), summary(played.blocks)];
        const groupError = Math.abs(depth.meanDepth - group.mean);
        expect(groupError, `${lanes} lanes, m = ${m}`).toBeLessThan(4.5 * group.error + tolerance * group.mean);
        const blockError = Math.abs(blockOf(depth, groupsPerBlock).mean - block.mean);
        expect(blockError).toBeLessThan(4.5 * block.error + 2 * tolerance * block.mean);
      }
  });

  it('is never longer than the longest units of all rounds', () => {
    const short = Array.from({ length: 199 }, (_, i) => ({ length: i + 1, probability: 0.75 / 199 }));
    const escape = unwrap(laws.categoricalLaw([...short, { length: 1000, probability: 0.25 }]));
    for (const loop of ['nested', 'flattened'] as const)
      for (const m of [3, 7, 12]) {
        const block = blockOf(depthOf(escape, 32, 'none', loop, m), 32);
        expect(block.mean, `${loop}, m = ${m}`).toBeLessThan(1000 * m * (1 + 1e-9));
      }
  });

  it('has one setup in each round of nested loops', () => {
    for (const text of ['none', 'quantile-buckets(3)']) {
      const with0 = depthOf(geometric, n, text, 'nested', 3, 0);
      const with2 = depthOf(geometric, n, text, 'nested', 3, 2.5);
      expect(with2.meanDepth - with0.meanDepth, text).toBeCloseTo(7.5, 9);
      expect(with2.aggregateLoss, text).toBe(with0.aggregateLoss);
    }
  });

  it('has a set-up whenever a lane of a flattened loop starts a unit', () => {
    const sizes = [1, 2, 8, 32];
    for (const law of [uniform, unwrap(laws.poissonLaw(12)), geometric, twoLengths, escapes])
      for (const m of [1, 2, 5, 24])
        computeIndependentStarts(law, sizes, m).forEach(({ starts }, i) => {
          const sampled = sampledStarts(unitsOf(law, m), sizes[i], 400, mersenneTwister(9));
          expect(starts, `${law.label} n=${sizes[i]} m=${m}: ${starts} ${sampled}`).toBeNear(sampled, 0.03);
        });
    // These lengths do not fit the transform, and these rounds exceed the number that is computed directly.
    const long = unwrap(laws.uniformLaw(1, 30_000));
    const many = sampledStarts(unitsOf(geometric, 150), 32, 40, mersenneTwister(3));
    expect(computeIndependentStarts(geometric, [32], 150)[0].starts).toBeNear(many, 0.03);
    const few = sampledStarts(unitsOf(long, 6), 32, 40, mersenneTwister(3));
    expect(computeIndependentStarts(long, [32], 6)[0].starts).toBeNear(few, 0.03);
    expect(computeIndependentStarts(constant(20), [1, 32], 7).map(({ starts }) => starts)).toEqual([7, 7]);
  });

  it('counts the starts of fetching lanes until all stop', () => {
    const sizes = [1, 4, 32];
    for (const law of [uniform, geometric, twoLengths, escapes]) {
      const fetched = computeFetchedStarts(law, sizes);
      const draw = lengthSampler(law);
      for (const rounds of [2, 9, 60]) {
        const end = rounds * laws.moments(law).mean;
        sizes.forEach((lanes, i) => {
          const uniformSource = mersenneTwister(5);
          let [played, taken] = [0, 0];
          const groups = 6400 / lanes;
          for (let group = 0; group < groups; group += 1) {
            const starts = new Set<number>();
            for (let lane = 0; lane < lanes; lane += 1)
              for (let at = 0; at <= end; at += draw(uniformSource)) {
                starts.add(at);
                taken += 1;
              }
            played += starts.size;
          }
          const model = fetched(taken / (groups * lanes)).starts[i];
          expect(model * groups, `${law.label} n=${lanes} m=${rounds}: ${model}`).toBeNear(played, 0.03);
        });
      }
    }
    expect(computeFetchedStarts(categorical({ 4: 0.98, 1000: 0.02 }), sizes)(1)).toEqual({
      starts: [1, 1, 1],
      iterations: 0,
    });
    const expected = { starts: [7.5, 7.5, 7.5], iterations: 130 };
    expect(computeFetchedStarts(constant(20), sizes)(7.5)).toEqual(expected);
  });

  it('follows lanes from one bucket to the next', () => {
    const short = unwrap(laws.uniformLaw(1, 6));
    const sizes = [2, 8, 32];
    const patterns = [
      [1, 1],
      [4, 1],
      [12, 12],
    ];
    const model = computeOrderedStarts([short, uniform], sizes, patterns);
    patterns.forEach(([few, many], at) =>
      sizes.forEach((lanes, i) => {
        const units = [...unitsOf(short, few), ...unitsOf(uniform, many)];
        const sampled = sampledStarts(units, lanes, 800, mersenneTwister(9));
        expect(model[at][i], `n=${lanes}, ${few} and ${many}`).toBeNear(sampled, 0.02);
      }),
    );
    // Every lane has a short unit and then a long one, which starts within six iterations.
    expect(model[0][2]).toBeLessThanOrEqual(7);
    expect(computeOrderedStarts([constant(3), uniform], [32], [[5, 1]])).toEqual([[expect.closeTo(6, 6)]]);
  });
});

/** Simulates groups, and returns the mean number of distinct iterations in which a lane starts a unit. */
function sampledStarts(units: readonly LengthLaw[], lanes: number, groups: number, uniform: UniformSource): number {
  const draws = units.map(lengthSampler);
  let total = 0;
  for (let group = 0; group < groups; group += 1) {
    const starts = new Set<number>();
    for (let lane = 0; lane < lanes; lane += 1) {
      let at = 0;
      for (const draw of draws) {
        starts.add(at);
        at += draw(uniform);
      }
    }
    total += starts.size;
  }
  return total / groups;
}

it.each(['none', 'quantile-buckets(3)', 'best-buckets(4)', 'dynamic-fetch'])(
  'depths kept for another setup of %s equal those of a new law',
  (text) => {
    for (const loop of ['nested', 'flattened'] as const)
      for (const m of [1, 3]) {
        getDepthTable(depthOf(geometric, 8, text, loop, m, 0.5));
        const kept = depthOf(geometric, 8, text, loop, m, 2);
        const { withoutSetup: _, ...first } = depthOf({ ...geometric }, 8, text, loop, m, 2);
        expect(kept.values).toEqual(first.values);
        const { meanDepth, meanLoss, aggregateLoss } = first;
        expect(kept).toMatchObject({ meanDepth, meanLoss, aggregateLoss });
        const [table, expected] = [getDepthTable(kept), getDepthTable(first)];
        expect(table.edges).toEqual(expected.edges);
        // Shifted values are rounded, and so are the steps between them.
        table.doublings.forEach((row, j) =>
          row.forEach((p, i) => expect(Math.abs(p - expected.doublings[j][i])).toBeLessThan(1e-12)),
        );
      }
  },
);

it.each([1, 2, 3, 4, 5, 7])('blocks with %d groups of sorted windows are as active as counted one by one', (groups) => {
  const units = 6;
  const n = 2;
  const survival = 0.3;
  // For each k, computes the probability that k of a window's units are at most x, and which groups are then active.
  const window = Array.from({ length: units + 1 }, (_, k) => {
    const ways = [1, 6, 15, 20, 15, 6, 1][k];
    const active = [1, 2, 3].map((r) => Number(k < r * n));
    return { probability: ways * (1 - survival) ** k * survival ** (units - k), active };
  });
  const expected = { block: 0, group: 0, pair: 0 };
  const windows = Math.ceil((groups + 2) / 3);
  const count = (probability: number, row: readonly number[]): void => {
    if (row.length < 3 * windows) {
      for (const one of window) count(probability * one.probability, [...row, ...one.active]);
      return;
    }
    // Consecutive blocks start at every position of a window, or all at the same one if a block is whole windows.
    const starts = groups % 3 === 0 ? [0] : [0, 1, 2];
    for (const start of starts) {
      const active = row.slice(start, start + groups).reduce((sum, one) => sum + one, 0);
      expected.block += (probability * Number(active > 0)) / starts.length;
      expected.group += (probability * active) / groups / starts.length;
      if (groups > 1) expected.pair += (probability * active * (active - 1)) / (groups * (groups - 1)) / starts.length;
    }
  };
  count(1, []);
  const got = { block: 0, group: 0, pair: 0 };
  computeWindowActivity({ units, n }, groups)(survival, got);
  for (const key of ['block', 'group', 'pair'] as const) expect(Math.abs(got[key] - expected[key])).toBeLessThan(1e-12);
});

describe('losses', () => {
  it('agrees with the published figures of window sorts, and with the closed form if nothing is balanced', () => {
    // The reference has three decimals.
    expect(Math.abs(depthOf(geometric, 32, 'window-sort(256)').aggregateLoss - 1.503)).toBeLessThan(5e-4);
    expect(Math.abs(depthOf(geometric, 32, 'window-sort(4096)').aggregateLoss - 1.041)).toBeLessThan(5e-4);
    for (const n of [1, 2, 8, 32]) {
      const [exact] = lossMoments(geometric, [n]);
      for (const text of ['none', 'quantile-buckets(1)', 'best-buckets(1)', `window-sort(${n})`, 'dynamic-fetch']) {
        const depth = depthOf(geometric, n, text);
        // Both values are sums of the same few hundred products, in different orders.
        expect(depth.aggregateLoss, text).toBeNear(exact.aggregateLoss, 1e-9);
        expect(depth.meanLoss, text).toBeNear(exact.meanLoss, 1e-9);
      }
    }
  });

  it('keeps the mean of a law with more lengths than the limit of atoms', () => {
    const long = unwrap(laws.lognormalLaw(7, 1));
    expect(long.support.length).toBeGreaterThan(2000);
    for (const n of [2, 32]) {
      const [exact] = lossMoments(long, [n]);
      expect(depthOf(long, n, 'none').aggregateLoss).toBeNear(exact.aggregateLoss, 1e-3);
    }
  });

  it('has the mean loss of ordered and fetched units', () => {
    for (const [text, loop, m] of [
      ['quantile-buckets(3)', 'nested', 1],
      ['best-buckets(4)', 'nested', 1],
      ['window-sort(128)', 'nested', 1],
      ['none', 'flattened', 5],
      ['quantile-buckets(3)', 'flattened', 5],
      ['dynamic-fetch', 'flattened', 5],
    ] as const) {
      const depth = depthOf(geometric, 8, text, loop, m);
      const played = playLaunch(geometric, 8, lockstep(text), loop, m, { groupsPerBlock: 1, blocks: 8000, seed: 9 });
      const { mean, error } = summary(played.losses);
      expect(Math.abs(depth.meanLoss - mean), text).toBeLessThan(4.5 * error + 0.01 * mean);
    }
  });

  it('has the mean loss of rare long units, however many a lane has', () => {
    // The number of long units in a lane of m units is binomial.
    const law = categorical({ 1: 0.98, 200: 0.02 });
    for (const m of [5, 64, 120]) {
      const support = Float64Array.from({ length: m + 1 }, (_, k) => m + 199 * k);
      const probability = new Float64Array(m + 1);
      probability[0] = 0.98 ** m;
      for (let k = 1; k <= m; k++) probability[k] = (probability[k - 1] * (m - k + 1) * 0.02) / (k * 0.98);
      for (const n of [2, 32, 48]) {
        const [exact] = lossMoments({ support, probability }, [n]);
        const { meanLoss } = depthOf(law, n, 'none', 'flattened', m);
        expect(meanLoss, `m = ${m}, n = ${n}`).toBeNear(exact.meanLoss, 1e-3);
      }
    }
  });

  it('ignores lengths that are rarer than the rounding of 1', () => {
    const rare = unwrap(laws.poissonLaw(64));
    for (const text of ['best-buckets(3)', 'quantile-buckets(3)', 'window-sort(256)']) {
      const { aggregateLoss, meanLoss } = depthOf(rare, 32, text);
      for (const loss of [aggregateLoss, meanLoss]) expect(loss, text).toBeGreaterThan(1);
      expect(aggregateLoss, text).toBeLessThan(depthOf(rare, 32, 'none').aggregateLoss);
    }
  });

  it('has no loss for constant lengths, and none without work', () => {
    for (const length of [0, 7])
      for (const text of ['none', 'best-buckets(4)', 'window-sort(64)', 'full-sort', 'dynamic-fetch'])
        for (const m of text.includes('sort') ? [1] : [1, 3, 1000]) {
          const depth = depthOf(constant(length), 32, text, 'flattened', m);
          expect(depth.aggregateLoss, `${text}, m = ${m}`).toBeCloseTo(1, 9);
          expect(depth.meanLoss).toBeCloseTo(1, 9);
          expect(depth.meanDepth).toBeCloseTo(length * m, 6);
        }
  });
});

it('best buckets are the cheapest cuts of all', () => {
  const law = categorical({ 1: 0.3, 2: 0.25, 5: 0.2, 11: 0.1, 12: 0.1, 40: 0.05 });
  const n = 4;
  const cost = (from: number, to: number) => {
    const share = law.probability.slice(from, to).reduce((sum, part) => sum + part, 0);
    let [below, longest] = [0, 0];
    for (let i = from; i < to; i++) {
      const before = below;
      below += law.probability[i] / share;
      longest += law.support[i] * (below ** n - before ** n);
    }
    return share * longest;
  };
  let least = Infinity;
  for (let a = 1; a < 5; a++)
    for (let b = a + 1; b < 6; b++) least = Math.min(least, cost(0, a) + cost(a, b) + cost(b, 6));
  // Both values are sums of the same few products.
  expect(depthOf(law, n, 'best-buckets(3)').meanDepth).toBeNear(least, 1e-12);
  const ranges = listBucketRanges(law, n, { kind: 'best-buckets', k: 3 });
  expect(ranges).toHaveLength(3);
  expect(ranges.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
});

it('buckets cut a length in two where a quantile falls inside it', () => {
  const ranges = listBucketRanges(twoLengths, 4, { kind: 'quantile-buckets', k: 3 });
  expect(ranges.map(({ from, to }) => `${from} to ${to}`)).toEqual(['1 to 1', '1 to 30', '30 to 30']);
  for (const { share } of ranges) expect(share).toBeCloseTo(1 / 3, 12);
});

it('refuses groups and units that are not whole, and several units per thread of sorted units', () => {
  expect(() => depthOf(geometric, 8, 'full-sort', 'nested', 2)).toThrow(RangeError);
  expect(() => depthOf(geometric, 0, 'none')).toThrow(RangeError);
  expect(() => depthOf(geometric, 8, 'none', 'nested', 1.5)).toThrow(RangeError);
});
