import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { arrangeUnits } from '../../../src-workers/predict/dealing/arrange.ts';
import { computeLossInOrder, type GivenOrder } from '../../../src-workers/predict/dealing/given.ts';
import { computeMean } from '../../../src-workers/predict/depth/discrete-law.ts';
import { readFetchedOrder } from '../../../src-workers/predict/dealing/fetched-order.ts';
import { makeGivenLengths, makeUnitLaw } from '../../../src-workers/predict/ordered.ts';
import { forAll } from '../../for-all.ts';

function orderOf(lengths: readonly number[], units: number): GivenOrder {
  const own = Float64Array.from(lengths);
  return arrangeUnits(own, units, makeUnitLaw('lengths', makeGivenLengths(own), units), { kind: 'none' }, 1);
}

/** Simulates, iteration by iteration, groups of lanes that fetch until nothing is left. */
function playedByIteration(
  lengthOf: (unit: number) => number,
  units: number,
  { groups, lanes, perFetch, setup }: { groups: number; lanes: number; perFetch: number; setup: number },
) {
  const slots = Array.from({ length: groups }, () => {
    return { wait: 0, lanes: Array.from({ length: lanes }, () => ({ left: 0, held: 0, next: 0 })) };
  });
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
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom(1, 2, 8),
      fc.integer({ min: 1, max: 9 }),
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

  it('lose no work: it is either done or still left when the units run out', () => {
    forAll(
      fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 20 }),
      (lengths, lanes, unitsPerLane) => {
        const units = lanes * unitsPerLane * 16;
        const { depth, iterations } = readFetchedOrder(orderOf(lengths, units), 1, lanes).group(unitsPerLane, 0);
        const mean =
          Array.from({ length: units }, (_, i) => lengths[i % lengths.length]).reduce((a, b) => a + b) / units;
        const longest = Math.max(...lengths);
        // The lanes of a group need at least the mean of their work, and at most one unit more.
        expect(computeMean(depth.values, depth.survival)).toBeGreaterThanOrEqual(unitsPerLane * mean - 1e-6);
        expect(depth.values.at(-1)).toBeLessThanOrEqual(unitsPerLane * mean + longest + 1e-6);
        expect(iterations).toBeLessThanOrEqual(unitsPerLane * mean + 1e-6);
        depth.survival.forEach((above, i) => expect(above).toBeWithin(0, i === 0 ? 1 : depth.survival[i - 1]));
      },
    );
  });

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
    const shuffled = alike
      .map((length) => ({ length, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ length }) => length);
    const startsOf = (lengths: number[], units: number): number =>
      readFetchedOrder(orderOf(lengths, units), 1, 32).group(16, 2).starts;
    expect(startsOf(alike, 1 << 17)).toBeLessThan(0.4 * startsOf(shuffled, 1 << 17));
    // The simulation plays only a part of the groups of the longer order, but all groups of the shorter one.
    expect(Math.abs(startsOf(shuffled, 1 << 17) / startsOf(shuffled, 1 << 15) - 1)).toBeLessThan(0.05);
  });

  it('have the mean loss of the order if a group fetches for all its lanes', () => {
    const lengths = Array.from({ length: 1000 }, (_, i) => 1 + ((i * 37) % 90) + (i % 7));
    const order = orderOf(lengths, 5000);
    expect(readFetchedOrder(order, 'group', 16).meanLoss).toBe(
      computeLossInOrder(Float64Array.from(lengths), 5000, 16).meanLoss,
    );
    expect(readFetchedOrder(order, 4, 16).meanLoss).toBeNull();
  });
});
