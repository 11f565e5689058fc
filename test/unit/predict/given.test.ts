import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workloadLoss } from '../../../src-main/services/models/loss.ts';
import { unitOrder } from '../../../src-workers/bench/unit-loop.ts';
import { isPadded } from '../../../src-workers/domain/design.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { countLengths } from '../../../src-workers/models/workload/generated.ts';
import { empiricalLaw } from '../../../src-workers/models/workload/laws.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { arrangeUnits } from '../../../src-workers/predict/dealing/arrange.ts';
import { listBlocks } from '../../../src-workers/predict/dealing/blocks.ts';
import * as deal from '../../../src-workers/predict/dealing/deal.ts';
import { readFetchedOrder } from '../../../src-workers/predict/dealing/fetched-order.ts';
import { computeGivenLaunch, hasTrend } from '../../../src-workers/predict/dealing/given-launch.ts';
import * as given from '../../../src-workers/predict/dealing/given.ts';
import { computeMean } from '../../../src-workers/predict/depth/discrete-law.ts';
import { countSliceUnits } from '../../../src-workers/predict/depth/padded.ts';
import { makeGivenLengths, makeUnitLaw, repeatUnits } from '../../../src-workers/predict/ordered.ts';
import { forAll, forAllOf, whole } from '../../for-all.ts';
import { dealingOf } from './oracle.ts';

const { computeLossInOrder, readGiven } = given;
const ROOT = join(import.meta.dirname, '../../..');

function bruteForce(lengths: readonly number[], n: number) {
  let [lockstep, work, losses, groups] = [0, 0, 0, 0];
  for (let from = 0; from < lengths.length; from += n) {
    const group = lengths.slice(from, from + n);
    const sum = group.reduce((a, b) => a + b, 0);
    const steps = group.length * Math.max(...group);
    lockstep += steps;
    work += sum;
    losses += sum > 0 ? steps / sum : 1;
    groups += 1;
  }
  return { aggregateLoss: lockstep / work, meanLoss: losses / groups };
}

// The expected values are published for 32 units, in order and shuffled.
it.each([
  ['mtx:db/examples/cage8.mtx', 1.13, 1.58],
  ['mtx:test/data/matrices/lp_ship04l.mtx', 3.9, 5.1],
  ['example:collatz', 1.87, 2.07],
  ['example:mandelbrot(256,256,1000)', 1.466, 4.041],
])('losses in the given order for %s are %f, and %f if shuffled', async (workload, inOrder, shuffled) => {
  const [row] = unwrap(await workloadLoss(workload, [32], ROOT)).rows;
  expect(row.givenOrder!.aggregateLoss).toBeNear(inOrder, 0.015);
  expect(row.aggregateLoss).toBeNear(shuffled, 0.015);
});

it('losses in the given order are null if the workload has no order', async () => {
  const [row] = unwrap(await workloadLoss('file:acts-propagation-steps.csv', [32], join(ROOT, 'db/examples'))).rows;
  expect(row.givenOrder).toBeNull();
  expect(unwrap(await workloadLoss('geometric(0.1)', [32], ROOT)).rows[0].givenOrder).toBeNull();
});

const lengthsOf = (maxLength: number) =>
  fc.array(whole(0, 30), { minLength: 1, maxLength }).map((lengths) => Float64Array.from(lengths));

it('losses in the given order equal those of the units one by one, whether repeated or cut off', () =>
  forAll(lengthsOf(40), whole(1, 400), whole(1, 33), (lengths, units, n) => {
    const expected = bruteForce(Array.from(repeatUnits(lengths, units)), n);
    const found = computeLossInOrder(lengths.subarray(0, units), units, n);
    if (Number.isFinite(expected.aggregateLoss)) expect(found.aggregateLoss).toBeNear(expected.aggregateLoss, 1e-12);
    expect(found.meanLoss).toBeNear(expected.meanLoss, 1e-12);
  }));

function arranged(lengths: Float64Array, units: number, n: number) {
  return arrangeUnits(lengths, units, makeUnitLaw('x', makeGivenLengths(lengths), units), { kind: 'none' }, n);
}

const balancing: fc.Arbitrary<given.GivenBalancing> = fc.oneof(
  fc.constant({ kind: 'none' } as const),
  whole(1, 50).map((units) => ({ kind: 'window-sort', units }) as const),
  whole(1, 5).map((k) => ({ kind: 'quantile-buckets', k }) as const),
  whole(1, 4).map((k) => ({ kind: 'best-buckets', k }) as const),
  fc.constant({ kind: 'padded' } as const),
  whole(1, 50).map((units) => ({ kind: 'padded-slice', units }) as const),
);

const launch = fc
  .record({
    lengths: lengthsOf(60),
    units: whole(1, 500),
    n: fc.constantFrom(1, 2, 4, 8),
    W: whole(1, 4),
    missing: fc.constantFrom(0, 0, 0, 1),
    rounds: whole(1, 6),
    loop: fc.constantFrom('nested' as const, 'flattened' as const),
    setupIterations: fc.constantFrom(0, 0, 2),
    balancing,
  })
  .map(({ lengths, units, n, W, missing, rounds, loop, setupIterations, balancing: kind }) => {
    const slotsPerBlock = n * W - Math.min(missing, n - 1);
    const gridBlocks = Math.ceil(units / (slotsPerBlock * rounds));
    const law = makeUnitLaw('x', makeGivenLengths(lengths), units);
    const dealing = { ...dealingOf(units, n, W, rounds), slotsPerBlock, gridBlocks, loop, setupIterations };
    return { lengths, law, kind, dealing };
  });

describe('a given order', () => {
  it('is the same as in measurements', () =>
    forAll(launch, ({ lengths, law, kind, dealing: { units, unitsPerGroup, ...rest } }) => {
      const all = repeatUnits(lengths, units);
      const order = arrangeUnits(lengths, units, law, kind, unitsPerGroup);
      const { lengthAt } = readGiven(order, { units, unitsPerGroup, ...rest });
      if (isPadded(kind)) {
        const slice = countSliceUnits(kind, units);
        for (let position = 0; position < units; position++) {
          const from = position - (position % slice);
          expect(lengthAt(position)).toBe(Math.max(...all.subarray(from, from + slice)));
        }
        return;
      }
      const expected = unwrap(unitOrder(Uint32Array.from(all), kind, unitsPerGroup));
      for (let position = 0; position < units; position++) expect(lengthAt(position)).toBe(all[expected[position]]);
    }));

  it('leaves a bucket empty whose share is less than half a unit', () => {
    const lengths = Float64Array.of(5, 3, 4);
    const law = unwrap(empiricalLaw(countLengths(lengths), 'x'));
    expect([...arrangeUnits(lengths, 3, law, { kind: 'quantile-buckets', k: 8 }, 32).lengths]).toEqual([3, 4, 5]);
  });

  it('has the law of its units', () =>
    forAll(lengthsOf(30), whole(1, 200), (lengths, units) => {
      const expected = unwrap(empiricalLaw(countLengths(repeatUnits(lengths, units)), 'x'));
      const { support, probability } = makeUnitLaw('x', makeGivenLengths(lengths), units);
      expect(support).toEqual(expected.support);
      probability.forEach((p, i) => expect(Math.abs(p - expected.probability[i])).toBeLessThan(1e-12));
    }));

  it('is dealt like any other order, and a launch knows the depth of every group', () => {
    forAllOf(300)(launch, ({ lengths, law, kind, dealing }) => {
      const { units, unitsPerGroup: n, groupsPerBlock: W, gridBlocks: G } = dealing;
      const order = arrangeUnits(lengths, units, law, kind, n);
      const blocks = listBlocks(computeGivenLaunch(order, dealing, 1).depths, W);
      expect(blocks.lives.length).toBe(G);
      const scratch = deal.getDealingScratch(dealing);
      const { lengthAt } = readGiven(order, dealing);
      // This reader reads units one by one, and knows nothing about the order.
      const longestOf = (position: number, count: number) =>
        Math.max(...Array.from({ length: Math.min(count, units - position) }, (_, i) => lengthAt(position + i)));
      const plain: deal.UnitOrder = {
        lengthAt,
        longestSum: (first, count, stride) => deal.sumLongest(longestOf, units, first, count, stride),
        ascends: () => false,
      };
      for (let block = 0; block < G; block++) {
        const expected = Array.from(Array(W).keys(), (g) => deal.computeGroupDepth(plain, dealing, block, g, scratch));
        expected.sort((a, b) => a - b);
        expect(Array.from(blocks.depths.subarray(block * W, (block + 1) * W).sort())).toEqual(expected);
        expect(blocks.lives[block]).toBe(expected[W - 1]);
      }
    });
  });

  it('has a trend if some parts of a launch have more work, however the launch is dealt', () => {
    const rising = Float64Array.from({ length: 4096 }, (_, i) => 1 + Math.floor(i / 64));
    const even = Float64Array.from({ length: 4096 }, (_, i) => 1 + ((i * 37) % 64));
    const trendOf = (lengths: Float64Array, units: number, rounds: number): boolean =>
      hasTrend(arranged(lengths, units, 32), dealingOf(units, 32, 2, rounds));
    expect(trendOf(rising, 4096, 1)).toBe(true);
    expect(trendOf(even, 4096, 1)).toBe(false);
    // If the order repeats many times, each part of the launch has the same lengths.
    expect(trendOf(rising, 4096 * 64, 1)).toBe(false);
    expect(trendOf(rising, 4096 * 64, 64)).toBe(true);
    // Half of the blocks have one round more.
    expect(trendOf(even, 4096, 1.5)).toBe(true);
  });

  it.each(['nested', 'flattened'] as const)('is sampled with its mean depth and its longest unit: %s loops', (loop) => {
    // One unit is far longer than all others.
    const lengths = Float64Array.from({ length: 2 ** 17 }, (_, i) => (i === 77_777 ? 5000 : 1 + ((i * 7919) % 37)));
    const units = 2 ** 18;
    const dealing: deal.Dealing = { ...dealingOf(units, 32, 4, 2), loop };
    const order = arranged(lengths, units, 32);
    const all = listBlocks(computeGivenLaunch(order, dealing, 1).depths, 4);
    const meanLength = Array.from(order.lengths).reduce((a, b) => a + b) / 2 ** 17;
    const { depths, weights } = computeGivenLaunch(order, dealing, meanLength, true);
    const blocks = listBlocks(depths, 4);
    expect(all.lives.length).toBe(1024);
    expect(blocks.lives.length).toBeLessThan(600);
    expect(Math.max(...blocks.lives) / Math.max(...all.lives)).toBeGreaterThan(0.95);
    const total = weights!.reduce((a, b) => a + b);
    expect(total).toBeNear(1024, 1e-9);
    const mean = blocks.means.reduce((sum, own, at) => sum + own * weights![at], 0) / total;
    const sum = all.means.reduce((a, b) => a + b);
    expect(mean * 1024).toBeNear(sum, 0.01);
    // A launch scales the depths, and the cached order must not contain this scaling.
    expect(listBlocks(computeGivenLaunch(order, dealing, meanLength, true).depths, 4).means).toEqual(blocks.means);
    const idle = computeGivenLaunch(arranged(new Float64Array(2 ** 17), units, 32), dealing, 0, true);
    expect(idle.depths.every((depth) => depth === 0)).toBe(true);
  });

  it('is sampled evenly if a launch has too many groups, so that the mean life is that of all blocks', () => {
    const lengths = Float64Array.from({ length: 5000 }, (_, i) => (i % 4999 === 0 ? 4000 : 1 + (i % 37)));
    const units = 400_000;
    const dealing = dealingOf(units, 1, 4, 1);
    const { depths } = computeGivenLaunch(arranged(lengths, units, 1), dealing, 1);
    const blocks = listBlocks(depths, 4);
    expect(blocks.lives.length).toBeLessThan(dealing.gridBlocks / 2);
    let life = 0;
    for (let from = 0; from < units; from += 4) {
      const longest = Math.max(...Array.from({ length: 4 }, (_, i) => lengths[(from + i) % lengths.length]));
      life += longest / dealing.gridBlocks;
    }
    const sampled = blocks.lives.reduce((sum, each) => sum + each, 0) / blocks.lives.length;
    expect(sampled).toBeNear(life, 0.05);
  });
});

const orderOf = (lengths: readonly number[], units: number) => arranged(Float64Array.from(lengths), units, 1);

/** Simulates, iteration by iteration, groups of lanes that fetch until nothing is left. */
function playedByIteration(
  lengthOf: (unit: number) => number,
  units: number,
  { groups, lanes, perFetch, setup }: { groups: number; lanes: number; perFetch: number; setup: number },
) {
  const idle = () => Array.from({ length: lanes }, () => ({ left: 0, held: 0, next: 0 }));
  const slots = Array.from({ length: groups }, () => ({ wait: 0, lanes: idle() }));
  let [taken, starts, fetches, active] = [0, 0, 0, true];
  while (active) {
    active = false;
    for (const group of slots) {
      if (group.wait > 0) {
        group.wait -= 1;
        active = true;
        continue;
      }
      let [begun, fetched] = [false, false];
      for (const lane of group.lanes) {
        if (lane.left > 0) continue;
        if (lane.held === 0 && taken < units) {
          lane.next = taken;
          lane.held = Math.min(perFetch, units - taken);
          taken += lane.held;
          fetched = true;
        }
        if (lane.held === 0) continue;
        lane.held -= 1;
        lane.left = lengthOf(lane.next++);
        begun = true;
      }
      starts += Number(begun);
      fetches += Number(fetched);
      if (begun) group.wait = setup;
      if (group.wait > 0) {
        group.wait -= 1;
        active = true;
        continue;
      }
      for (const lane of group.lanes) {
        if (lane.left === 0) continue;
        lane.left -= 1;
        active = true;
      }
    }
  }
  return { starts, fetches };
}

describe('the units that groups fetch from a given order', () => {
  it('are the same as those of lanes that fetch one after another', () =>
    forAll(
      fc.array(whole(1, 12), { minLength: 1, maxLength: 60 }),
      whole(1, 6),
      fc.constantFrom(1, 2, 8),
      whole(1, 9),
      fc.constantFrom(1, 3),
      fc.constantFrom(0, 2),
      (lengths, groups, lanes, fetchesPerLane, perFetch, setup) => {
        const unitsPerLane = fetchesPerLane * perFetch;
        const units = groups * lanes * unitsPerLane;
        const group = readFetchedOrder(orderOf(lengths, units), perFetch, lanes).group(unitsPerLane, setup);
        const device = { groups, lanes, perFetch, setup };
        const { starts, fetches } = playedByIteration((unit) => lengths[unit % lengths.length], units, device);
        expect(Math.abs(group.starts * groups - starts)).toBeLessThan(1e-6);
        expect(Math.abs((group.events + 1) * groups - fetches)).toBeLessThan(1e-6);
      },
    ));

  it('lose no work: it is either done or still left when the units run out', () =>
    forAll(lengthsOf(200), whole(1, 40), whole(1, 20), (lengths, lanes, unitsPerLane) => {
      const units = lanes * unitsPerLane * 16;
      const { depth, iterations } = readFetchedOrder(arranged(lengths, units, 1), 1, lanes).group(unitsPerLane, 0);
      const mean = repeatUnits(lengths, units).reduce((a, b) => a + b) / units;
      // The lanes of a group need at least the mean of their work, and at most one unit more.
      expect(computeMean(depth.values, depth.survival)).toBeGreaterThanOrEqual(unitsPerLane * mean - 1e-6);
      expect(depth.values.at(-1)).toBeLessThanOrEqual(unitsPerLane * mean + Math.max(...lengths) + 1e-6);
      expect(iterations).toBeLessThanOrEqual(unitsPerLane * mean + 1e-6);
      depth.survival.forEach((above, i) => expect(above).toBeWithin(0, i === 0 ? 1 : depth.survival[i - 1]));
    }));

  it('end with those that are fetched last, so long units matter at the end of the order and not at its beginning', () => {
    const short = Array.from({ length: 4000 }, () => 5);
    const long = Array.from({ length: 100 }, () => 500);
    const lanesOf = (lengths: number[]) => readFetchedOrder(orderOf(lengths, 4100), 1, 1).group(41, 0);
    const last = lanesOf([...short, ...long]).depth;
    // A lane runs 40 short units on average, and then one of the hundred long units, which takes 500 iterations.
    expect(last.values.at(-1)! - last.values[0]).toBeGreaterThan(450);
    const first = lanesOf([...long, ...short]).depth;
    expect(first.values.at(-1)! - first.values[0]).toBeLessThanOrEqual(5);
  });

  it('start at different times less often if neighbours are alike, in a part of the groups as in all', () => {
    const random = mersenneTwister(4);
    const alike = Array.from({ length: 1 << 17 }, (_, i) => 10 + ((i >> 9) % 20));
    const drawn = alike.map((length) => ({ length, at: random() }));
    const shuffled = drawn.sort((a, b) => a.at - b.at).map(({ length }) => length);
    const startsOf = (lengths: number[], units: number) =>
      readFetchedOrder(orderOf(lengths, units), 1, 32).group(16, 2).starts;
    expect(startsOf(alike, 1 << 17)).toBeLessThan(0.4 * startsOf(shuffled, 1 << 17));
    // The simulation plays only a part of the groups of the longer order, but all groups of the shorter one.
    expect(startsOf(shuffled, 1 << 17)).toBeNear(startsOf(shuffled, 1 << 15), 0.05);
  });

  it('have the mean loss of the order if a group fetches for all its lanes', () => {
    const lengths = Array.from({ length: 1000 }, (_, i) => 1 + ((i * 37) % 90) + (i % 7));
    const order = orderOf(lengths, 5000);
    const { meanLoss } = computeLossInOrder(Float64Array.from(lengths), 5000, 16);
    expect(readFetchedOrder(order, 'group', 16).meanLoss).toBe(meanLoss);
    expect(readFetchedOrder(order, 4, 16).meanLoss).toBeNull();
  });
});
