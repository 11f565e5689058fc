import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as unitLoop from '../../src-workers/bench/unit-loop.ts';
import type { WholeUnitBalancing } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { listBucketRanges } from '../../src-workers/predict/depth/prepared-law.ts';
import { empiricalLaw } from '../../src-workers/models/workload/laws.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { forAll } from '../for-all.ts';

/** Sorts units by length in the simplest way. Units of equal length keep their order. */
function sorted(lengths: Uint32Array, from = 0, to = lengths.length): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i).sort((a, b) => lengths[a] - lengths[b] || a - b);
}

const someLengths = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 0xffffffff })), {
    minLength: 1,
    maxLength: 300,
  })
  .map((lengths) => Uint32Array.from(lengths));

describe('order of the units', () => {
  it('leaves units in their order if nothing sorts them', () => {
    for (const kind of ['none', 'dynamic-fetch'] as const)
      expect([...unwrap(unitLoop.unitOrder(Uint32Array.of(3, 1, 2), { kind }, 4))]).toEqual([0, 1, 2]);
  });

  it('sorts all units, or each window in its place, and the sort is stable', () =>
    forAll(someLengths, fc.integer({ min: 1, max: 400 }), (lengths, window) => {
      expect([...unwrap(unitLoop.unitOrder(lengths, { kind: 'full-sort' }, 4))]).toEqual(sorted(lengths));
      const windows: number[] = [];
      for (let from = 0; from < lengths.length; from += window)
        windows.push(...sorted(lengths, from, Math.min(lengths.length, from + window)));
      expect([...unwrap(unitLoop.unitOrder(lengths, { kind: 'window-sort', units: window }, 4))]).toEqual(windows);
    }));

  it.each(['quantile-buckets', 'best-buckets'] as const)(
    'takes each %s in turn, and keeps the order inside',
    (kind) => {
      const lengths = fc
        .array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 300 })
        .map((list) => Uint32Array.from(list));
      forAll(lengths, fc.integer({ min: 1, max: 8 }), (drawn, k) => {
        const order = [...unwrap(unitLoop.unitOrder(drawn, { kind, k }, 8))];
        const counts = new Map<number, number>();
        for (const length of drawn) counts.set(length, (counts.get(length) ?? 0) + 1);
        const expected: number[] = [];
        let passed = 0;
        for (const { share } of listBucketRanges(unwrap(empiricalLaw(counts)), 8, { kind, k })) {
          passed += share;
          const bucket = sorted(drawn).slice(expected.length, Math.round(passed * drawn.length));
          expected.push(...bucket.sort((a, b) => a - b));
        }
        expect(order).toEqual(expected);
      });
    },
  );

  it('refuses a workload without units', () => {
    const refused = unitLoop.unitOrder(new Uint32Array(0), { kind: 'none' }, 1);
    expect(refused).toFail('bad-input', /^The number of units must be from 1 to \d+, not 0\.$/);
  });

  it('starts blocks at random exactly if the whole order is sorted', () => {
    const identity = Array.from({ length: 64 }, (_, i) => i);
    const random: WholeUnitBalancing[] = [
      { kind: 'full-sort' },
      { kind: 'best-buckets', k: 4 },
      { kind: 'quantile-buckets', k: 4 },
    ];
    for (const balancing of random) {
      const order = [...unitLoop.blockOrder(balancing, 64, seededRandom(1))];
      expect(order).not.toEqual(identity);
      expect(order.sort((a, b) => a - b)).toEqual(identity);
    }
    const kept: WholeUnitBalancing[] = [{ kind: 'none' }, { kind: 'window-sort', units: 8 }, { kind: 'dynamic-fetch' }];
    for (const balancing of kept) expect([...unitLoop.blockOrder(balancing, 64, seededRandom(1))]).toEqual(identity);
  });
});

it('slots of a launch counts slots, groups and rounds, also for blocks that end within a thread group', () => {
  const expected = { slotsPerBlock: 20, unitsPerGroup: 8, groupsPerBlock: 3, slots: 60, rounds: 3 };
  expect(unwrap(unitLoop.slotLayout({ threadsPerUnit: 4, blockThreads: 80, gridBlocks: 3 }, 32, 121))).toEqual(
    expected,
  );
  expect(unwrap(unitLoop.slotLayout({ threadsPerUnit: 2, blockThreads: 8, gridBlocks: 1 }, 32, 1)).unitsPerGroup).toBe(
    4,
  );
});

it.each([
  [{ threadsPerUnit: 3, blockThreads: 96, gridBlocks: 1 }, /^threads per unit must be a power of two .*, not 3$/],
  [{ threadsPerUnit: 48, blockThreads: 96, gridBlocks: 1 }, /^threads per unit must be .*, not 48$/],
  [{ threadsPerUnit: 8, blockThreads: 36, gridBlocks: 1 }, /^A block of 36 threads is not a multiple of the 8/],
  [{ threadsPerUnit: 8, blockThreads: 32, gridBlocks: 0 }, /^The grid has 0 blocks/],
])('slots of a launch refuses %j', (design, message) =>
  expect(unitLoop.slotLayout(design, 32, 100)).toFail('bad-input', message),
);

it('slots of a launch has no thread groups that share a unit', () =>
  expect(unitLoop.slotLayout({ threadsPerUnit: 64, blockThreads: 64, gridBlocks: 1 }, 32, 100)).toFail(
    'unsupported',
    /stands in for a kernel/,
  ));

describe('the unit loop', () => {
  /** The same result is computed in whole numbers modulo 2³². */
  const word = (v: bigint): bigint => BigInt.asUintN(32, v);
  const wideMix = (value: bigint): bigint => {
    const v = word((value ^ (value >> 16n)) * 0x7feb352dn);
    return v ^ (v >> 15n);
  };

  it('computes the result of its definition', () =>
    forAll(fc.array(fc.integer({ min: 0, max: 70 }), { minLength: 1, maxLength: 20 }), (lengths) => {
      const results = unitLoop.referenceResults(Uint32Array.from(lengths));
      lengths.forEach((length, unit) => {
        const factor = wideMix(BigInt(unit + 1)) | 1n;
        let x = factor;
        for (let i = 1; i <= length; i++) x = word(x + BigInt(i) * factor);
        expect(results[unit]).toBe(Number(x));
      });
    }));

  it('computes the same for the longest possible unit', () => {
    const length = 2 ** 32 - 1;
    const factor = wideMix(1n) | 1n;
    const places = (BigInt(length) * BigInt(length + 1)) / 2n;
    expect(unitLoop.referenceResults(Uint32Array.of(length))[0]).toBe(Number(word(factor * (1n + places))));
  });

  it('mixes whole words', () => {
    expect(unitLoop.mix(0)).toBe(0);
    expect(unitLoop.mix(0xffffffff)).toBe(Number(wideMix(0xffffffffn)));
  });

  it('walks along one ring through all sectors of a table', () => {
    for (const words of [unitLoop.SECTOR_WORDS, 64, 4096]) {
      const table = unitLoop.ringTable(words);
      const seen = new Set<number>();
      for (let at = 0; !seen.has(at); at = table[at]) seen.add(at);
      expect(seen.size).toBe(words / unitLoop.SECTOR_WORDS);
    }
  });
});
