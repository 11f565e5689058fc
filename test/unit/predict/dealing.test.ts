import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import * as deal from '../../../src-workers/predict/dealing/deal.ts';
import { readSorted, makeSortedOrder } from '../../../src-workers/predict/dealing/order.ts';
import { computeAllBlocks, sampleBlocks, type SampledBlocks } from '../../../src-workers/predict/dealing/sample.ts';
import { tabulateRounds } from '../../../src-workers/predict/dealing/units-per-slot.ts';
import { listRoundPatterns } from '../../../src-workers/predict/depth/buckets.ts';
import { geometricLaw, uniformLaw, zipfLaw } from '../../../src-workers/models/workload/laws.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { dealtUnits } from '../../../src-workers/simulate/units.ts';
import { categorical } from '../../categorical.ts';
import { dealingOf } from './oracle.ts';
import { forAll, forAllOf, real, whole } from '../../for-all.ts';

const geometric = unwrap(geometricLaw(0.05));
const uniform = unwrap(uniformLaw(1, 100));
const zipf = unwrap(zipfLaw(1.6, 2000));
/** In this law, a few units are long. Each of them takes longer than all other units of a slot. */
const rare = categorical({ 5: 1 - 1 / 6000, 4000: 1 / 6000 });

it('a sorted order is ascending within every window, and contains the lengths of the law as often as they are likely', () =>
  forAllOf(40)(fc.constantFrom(geometric, uniform, rare), whole(1000, 30_000), whole(1, 6000), (law, units, wanted) => {
    const window = Math.min(wanted, units);
    const { lengths } = makeSortedOrder(law, units, window);
    expect(lengths).toHaveLength(units);
    expect(lengths.findIndex((length, i) => i % window !== 0 && !(length >= lengths[i - 1]))).toBe(-1);
    const counts = new Map<number, number>();
    for (const length of lengths) counts.set(length, (counts.get(length) ?? 0) + 1);
    law.support.forEach((length, i) =>
      expect(Math.abs((counts.get(length) ?? 0) - law.probability[i] * units)).toBeLessThan(1 + 1e-6),
    );
  }));

// The law is geometric(0.05), in groups of 32.
it.each([
  { window: 256, loss: 1.503 },
  { window: 4096, loss: 1.041 },
])('a sorted order has the loss of the binomial law of ranks: $loss in windows of $window', ({ window, loss }) => {
  const units = 2 ** 18;
  const { lengths } = makeSortedOrder(geometric, units, window);
  let longest = 0;
  for (let i = 31; i < units; i += 32) longest += 32 * lengths[i];
  const work = Array.from(lengths).reduce((sum, length) => sum + length, 0);
  expect(Math.abs(longest / work - loss)).toBeLessThan(0.006);
});

it('a sorted order represents more units than it stores, with the same lengths in each window and rank', () => {
  const dealing = dealingOf(5_000_000, 32, 8, 4);
  for (const window of [4096, 5_000_000]) {
    const order = makeSortedOrder(geometric, dealing.units, window);
    expect(order.lengths.length).toBeLessThanOrEqual(2 ** 18);
    const { lengthAt } = readSorted(order, dealing);
    let sum = 0;
    for (let position = 7; position < dealing.units; position += 101) sum += lengthAt(position);
    expect(sum / Math.ceil((dealing.units - 7) / 101)).toBeNear(20, 0.02);
    for (let i = 1; i < window; i += Math.ceil(window / 5000))
      expect(lengthAt(i)).toBeGreaterThanOrEqual(lengthAt(i - 1));
  }
});

describe('a reader of a sorted order', () => {
  /** Generates launches whose groups, blocks and strides may or may not fit the windows. */
  const launch = fc
    .record({
      window: fc.constantFrom(1, 20, 64, 96, 100, 256, 4096, 5000),
      units: whole(1, 6000),
      n: fc.constantFrom(1, 3, 8, 32, 64),
      W: whole(1, 6),
      missing: fc.constantFrom(0, 0, 1, 4),
      rounds: whole(1, 6),
      block: fc.nat({ max: 100 }),
      group: fc.nat({ max: 5 }),
    })
    .map(({ window, units, n, W, missing, rounds, block, group }) => {
      const full = dealingOf(units, n, W, rounds);
      const slotsPerBlock = full.slotsPerBlock - Math.min(missing, n - 1);
      const dealing: deal.Dealing = { ...full, slotsPerBlock, gridBlocks: Math.ceil(units / (slotsPerBlock * rounds)) };
      const at = { block: block % dealing.gridBlocks, group: group % W };
      return { window: Math.min(window, units), dealing, ...at };
    });

  it('adds up the longest units of groups and of whole blocks, wherever windows end', () => {
    forAllOf(400)(launch, ({ window, dealing, block, group }) => {
      const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks } = dealing;
      const reader = readSorted(makeSortedOrder(geometric, units, window), dealing);
      const slots = slotsPerBlock * gridBlocks;
      for (const [first, count] of [
        [block * slotsPerBlock + group * n, Math.min(n, slotsPerBlock - group * n)],
        [block * slotsPerBlock, slotsPerBlock],
      ]) {
        let expected = 0;
        let ascends = true;
        for (let position = first; position < units; position += slots) {
          const lengths: number[] = [];
          for (let at = position; at < Math.min(units, position + count); at++) lengths.push(reader.lengthAt(at));
          const longest = Math.max(...lengths);
          expected += longest;
          ascends &&= lengths[lengths.length - 1] === longest;
        }
        expect(reader.longestSum(first, count, slots)).toBe(expected);
        // The reader may miss a run that ascends across the end of a window.
        if (reader.ascends(first, count, slots)) expect(ascends).toBe(true);
      }
    });
  });

  it('computes the same depth of a group as adding up its lanes one by one', () => {
    forAllOf(400)(launch, fc.constantFrom('nested', 'flattened'), fc.nat({ max: 2 }), (one, loop, setupIterations) => {
      const { window, block, group } = one;
      const dealing: deal.Dealing = { ...one.dealing, loop, setupIterations };
      const reader = readSorted(makeSortedOrder(geometric, dealing.units, window), dealing);
      const longestOf = (position: number, units: number) =>
        Math.max(...Array.from({ length: units }, (_, i) => reader.lengthAt(position + i)));
      const slow: deal.UnitOrder = {
        lengthAt: reader.lengthAt,
        longestSum: (first, count, stride) => deal.sumLongest(longestOf, dealing.units, first, count, stride),
        ascends: () => false,
      };
      const scratch = deal.getDealingScratch(dealing);
      const depthOf = (order: deal.UnitOrder) => deal.computeGroupDepth(order, dealing, block, group, scratch);
      const { units, slotsPerBlock, gridBlocks } = dealing;
      // If the units end within the last round of a group, its last lane has one unit fewer than the others.
      const isWhole = units % (slotsPerBlock * gridBlocks) === 0;
      if (isWhole || loop === 'nested') expect(depthOf(reader)).toBe(depthOf(slow));
      else expect(depthOf(reader)).toBeGreaterThanOrEqual(depthOf(slow));
    });
  });
});

describe('depths of dealt units', () => {
  /** Returns the mean depth of groups and of blocks, and the standard deviation of blocks. */
  function momentsOf({ depths, weights, groupsPerBlock: W }: SampledBlocks) {
    let [group, block, squares, total] = [0, 0, 0, 0];
    for (let b = 0; b < depths.length / W; b++) {
      const weight = weights ? weights[b] : 1;
      const longest = depths[(b + 1) * W - 1];
      total += weight;
      block += weight * longest;
      squares += weight * longest * longest;
      for (let g = 0; g < W; g++) group += (weight * depths[b * W + g]) / W;
    }
    const mean = block / total;
    return { group: group / total, block: mean, deviation: Math.sqrt(Math.max(0, squares / total - mean * mean)) };
  }

  /** Simulates launches of units drawn from the law, and returns the mean and standard deviation of the depths. */
  function played(law: LengthLaw, window: number, dealing: deal.Dealing) {
    const { gridBlocks, groupsPerBlock, units } = dealing;
    const kind = window < units ? 'window-sort' : 'full-sort';
    const source = unwrap(dealtUnits({ ...dealing, law, balancing: { kind, units: window } }));
    const depths = new Float64Array(8 * gridBlocks * groupsPerBlock);
    for (let i = 0, at = 0; i < 8; i++) {
      const next = source(seededRandom(i + 1));
      for (let b = 0; b < gridBlocks; b++, at += groupsPerBlock) {
        const block = depths.subarray(at, at + groupsPerBlock);
        next(block);
        block.sort();
      }
    }
    return momentsOf({ depths, weights: null, groupsPerBlock });
  }

  it.each([
    { window: 4096, units: 65_536, n: 32, W: 8, rounds: 1, loop: 'nested', setup: 0 },
    { window: 4096, units: 65_536, n: 32, W: 8, rounds: 4, loop: 'flattened', setup: 0 },
    { window: 4096, units: 71_417, n: 32, W: 8, rounds: 4, loop: 'nested', setup: 3 },
    { window: 5000, units: 71_417, n: 32, W: 4, rounds: 6, loop: 'flattened', setup: 0 },
    { window: 256, units: 65_536, n: 8, W: 16, rounds: 9, loop: 'nested', setup: 0 },
    { window: 20, units: 65_536, n: 32, W: 2, rounds: 3, loop: 'nested', setup: 0 },
    { window: 1024, units: 65_536, n: 32, W: 4, rounds: 8, loop: 'flattened', setup: 3 },
    { window: 71_417, units: 71_417, n: 32, W: 8, rounds: 4, loop: 'nested', setup: 2 },
    { window: 71_417, units: 71_417, n: 8, W: 3, rounds: 2, loop: 'flattened', setup: 0 },
  ] as const)('equal those of simulated units: windows of $window, $rounds rounds, $loop, setup $setup', (one) => {
    const { window, units, n, W, rounds, loop, setup } = one;
    for (const law of [geometric, uniform, zipf]) {
      const dealing = { ...dealingOf(units, n, W, rounds), loop, setupIterations: setup };
      const expected = played(law, window, dealing);
      const got = momentsOf(computeAllBlocks(readSorted(makeSortedOrder(law, units, window), dealing), dealing));
      // The simulation of heavy tails has an error of about 1 %.
      expect(got.group).toBeNear(expected.group, 0.025);
      expect(got.block).toBeNear(expected.block, 0.025);
    }
  });

  it.each([
    { window: 5000, units: 71_424, n: 4, W: 2, rounds: 12, loop: 'flattened', setup: 24, all: true },
    // With a full sort, depths decrease in the block in which the last round ends, so all its groups are computed.
    { window: 99_991, units: 99_991, n: 32, W: 20, rounds: 6, loop: 'flattened', setup: 0, all: false },
  ] as const)('are exact if groups differ: windows of $window, setup $setup', (one) => {
    const { window, units, n, W, rounds, loop, setup } = one;
    const dealing = { ...dealingOf(units, n, W, rounds), loop, setupIterations: setup };
    const reader = readSorted(makeSortedOrder(geometric, units, window), dealing);
    const { depths } = computeAllBlocks(reader, dealing);
    const scratch = deal.getDealingScratch(dealing);
    const last = Math.floor((units % (dealing.slotsPerBlock * dealing.gridBlocks)) / dealing.slotsPerBlock);
    for (let block = one.all ? 0 : last; block < (one.all ? dealing.gridBlocks : last + 1); block++) {
      const depthOf = (group: number) => deal.computeGroupDepth(reader, dealing, block, group, scratch);
      const exact = Float64Array.from(Array(W).keys(), depthOf);
      expect(depths.subarray(block * W, (block + 1) * W)).toEqual(exact.sort());
    }
  });

  it.each([
    { window: 256, n: 8, W: 4, gridBlocks: 512, slotsPerBlock: 32, loop: 'nested', setup: 0 },
    { window: 4096, n: 32, W: 8, gridBlocks: 512, slotsPerBlock: 256, loop: 'nested', setup: 0 },
    { window: 4096, n: 32, W: 20, gridBlocks: 101, slotsPerBlock: 640, loop: 'flattened', setup: 2 },
    // The last group is not full, and does not align with the windows.
    { window: 4096, n: 32, W: 11, gridBlocks: 150, slotsPerBlock: 336, loop: 'nested', setup: 1 },
    { window: 5000, n: 32, W: 8, gridBlocks: 128, slotsPerBlock: 256, loop: 'flattened', setup: 0 },
    { window: 256, n: 8, W: 4, gridBlocks: 165, slotsPerBlock: 32, loop: 'nested', setup: 0 },
    { window: 1000, n: 16, W: 4, gridBlocks: 110, slotsPerBlock: 64, loop: 'flattened', setup: 0 },
    { window: 131_072, n: 32, W: 8, gridBlocks: 510, slotsPerBlock: 256, loop: 'nested', setup: 0 },
  ] as const)('are the same for a sample as for all blocks: windows of $window, $gridBlocks blocks, $loop', (one) => {
    const { window, n, W, gridBlocks, slotsPerBlock, loop, setup } = one;
    const units = 131_072;
    for (const law of [geometric, uniform]) {
      const launch = { slotsPerBlock, gridBlocks, loop, setupIterations: setup };
      const dealing: deal.Dealing = { ...dealingOf(units, n, W, 1), ...launch };
      const reader = readSorted(makeSortedOrder(law, units, window), dealing);
      const all = momentsOf(computeAllBlocks(reader, dealing));
      const sample = sampleBlocks(reader, dealing);
      expect(sample.weights).not.toBeNull();
      expect(sample.weights!.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(gridBlocks, 6);
      const got = momentsOf(sample);
      expect(got.group).toBeNear(all.group, 0.03);
      expect(got.block).toBeNear(all.block, 0.03);
      expect(Math.abs(got.deviation - all.deviation) / all.block).toBeLessThan(0.1);
    }
  });

  it.each([
    { gridBlocks: 712, slotsPerBlock: 32, units: 200_000 },
    { gridBlocks: 1864, slotsPerBlock: 32, units: 250_000 },
    { gridBlocks: 3132, slotsPerBlock: 34, units: 250_000 },
  ])('contain, in a sample, long units of only a few of $gridBlocks blocks', ({ gridBlocks, slotsPerBlock, units }) => {
    const dealing: deal.Dealing = { ...dealingOf(units, slotsPerBlock, 1, 1), gridBlocks };
    const reader = readSorted(makeSortedOrder(rare, units, 4096), dealing);
    const all = computeAllBlocks(reader, dealing);
    const sample = sampleBlocks(reader, dealing);
    expect(Math.max(...sample.depths)).toBeGreaterThanOrEqual(3000);
    expect(momentsOf(sample).block).toBeNear(momentsOf(all).block, 0.35);
  });

  it('are the sum of the longest units of the rounds in nested loops, and the longest sum in a flattened one', () =>
    forAll(
      fc.array(whole(0, 50), { minLength: 1, maxLength: 200 }),
      whole(1, 8),
      whole(1, 4),
      whole(1, 5),
      whole(0, 3),
      fc.constantFrom('nested', 'flattened'),
      (lengths, n, W, gridBlocks, setupIterations, loop) => {
        const units = lengths.length;
        const dealing: deal.Dealing = { ...dealingOf(units, n, W, 1), gridBlocks, loop, setupIterations };
        const slots = n * W * gridBlocks;
        const longestOf = (position: number, count: number) => Math.max(...lengths.slice(position, position + count));
        const order: deal.UnitOrder = {
          lengthAt: (position) => lengths[position],
          longestSum: (first, count, stride) => deal.sumLongest(longestOf, units, first, count, stride),
          ascends: () => false,
        };
        const scratch = deal.getDealingScratch(dealing);
        for (let block = 0; block < gridBlocks; block++)
          for (let g = 0; g < W; g++) {
            const lanes = Array.from({ length: n }, (_, lane) => {
              const own: number[] = [];
              for (let at = (block * W + g) * n + lane; at < units; at += slots) own.push(lengths[at]);
              return own;
            });
            const rounds = Math.max(...lanes.map((own) => own.length));
            const sums = lanes.map((own) => own.reduce((sum, length) => sum + length, 0));
            const startsOf = (own: number[]) => own.map((_, j) => own.slice(0, j).reduce((sum, each) => sum + each, 0));
            const starts = new Set(lanes.flatMap(startsOf));
            const nested = Array.from({ length: rounds }, (_, j) => Math.max(...lanes.map((own) => own[j] ?? 0)));
            const expected =
              loop === 'nested'
                ? nested.reduce((sum, length) => sum + length + setupIterations, 0)
                : Math.max(...sums) + setupIterations * (n > 1 && setupIterations > 0 ? starts.size : rounds);
            expect(deal.computeGroupDepth(order, dealing, block, g, scratch)).toBe(expected);
          }
      },
    ));
});

it('the starts of a group are counted once each, for any number of them and for lengths that are not whole', () => {
  const scratch = deal.getDealingScratch({ unitsPerGroup: 4 });
  const random = seededRandom(5);
  // At 700 starts, the number of the group wraps around. No old entry may count then.
  for (const count of [3, 5000, 40, 700, 5000]) {
    if (count === 700) scratch.group = 2 ** 31 - 2;
    deal.beginGroup(scratch);
    const starts = Array.from({ length: count }, (_, i) => (i % 3 ? Math.floor(random() * count) : random() * 20));
    const added = [...starts, ...starts].map((start) => deal.addStart(scratch, start));
    expect(added.reduce((sum, one) => sum + one, 0)).toBe(new Set(starts).size);
  }
});

it('units of buckets over rounds that are not whole add up to the shares, and the remaining round belongs to the last bucket', () =>
  forAll(fc.array(real(0.01, 1), { minLength: 1, maxLength: 6 }), real(1, 40), (parts, rounds) => {
    const total = parts.reduce((sum, part) => sum + part, 0);
    const shares = parts.map((part) => part / total);
    const patterns = listRoundPatterns(shares, rounds);
    expect(patterns.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 9);
    shares.forEach((share, b) => {
      const units = patterns.reduce((sum, { weight, counts }) => sum + weight * counts[b], 0);
      expect(units).toBeCloseTo(share * rounds, 6);
    });
    for (const { counts } of patterns) {
      expect(counts.every((count) => count >= 0)).toBe(true);
      const played = counts.reduce((sum, count) => sum + count, 0);
      expect(played === Math.floor(rounds + 1e-9) || played === Math.ceil(rounds - 1e-9)).toBe(true);
    }
  }));

it('units of buckets over rounds that are not whole are tabulated for slightly more units than exist, never for fewer', () => {
  forAll(real(0.2, 5000), (mean) => {
    const { units, scale } = tabulateRounds(mean);
    expect(units).toBeWithin(Math.max(1, mean * (1 - 1e-9)), Math.max(1, mean) * (1 + 1 / 32 + 1e-9));
    expect(scale * units).toBeCloseTo(mean, 9);
  });
  const keys = Array.from({ length: 4000 }, (_, i) => tabulateRounds(1 + i / 50));
  expect(new Set(keys.map(({ key }) => key)).size).toBe(new Set(keys.map(({ units }) => units)).size);
});
