import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as standIn from '../../src-workers/bench/stand-in.ts';
import * as unitLoop from '../../src-workers/bench/unit-loop.ts';
import type { WholeUnitBalancing } from '../../src-workers/domain/design.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { listBucketRanges } from '../../src-workers/predict/depth/prepared-law.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { empiricalLaw } from '../../src-workers/models/workload/laws.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { forAll, real, whole } from '../for-all.ts';

/** Sorts units by length in the simplest way. Units of equal length keep their order. */
function sorted(lengths: Uint32Array, from = 0, to = lengths.length): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i).sort((a, b) => lengths[a] - lengths[b] || a - b);
}

const lengthsOf = (length: fc.Arbitrary<number>) =>
  fc.array(length, { minLength: 1, maxLength: 300 }).map((lengths) => Uint32Array.from(lengths));
const someLengths = lengthsOf(fc.oneof(whole(0, 9), whole(0, 0xffffffff)));
const orderOf = (...of: Parameters<typeof unitLoop.unitOrder>) => [...unwrap(unitLoop.unitOrder(...of))];

describe('order of the units', () => {
  it('leaves units in their order if nothing sorts them, and refuses a workload without units', () => {
    for (const kind of ['none', 'dynamic-fetch'] as const)
      expect(orderOf(Uint32Array.of(3, 1, 2), { kind }, 4)).toEqual([0, 1, 2]);
    const refused = unitLoop.unitOrder(new Uint32Array(0), { kind: 'none' }, 1);
    expect(refused).toFail('bad-input', /^The number of units must be from 1 to \d+, not 0\.$/);
  });

  it('sorts all units, or each window in its place, and the sort is stable', () =>
    forAll(someLengths, whole(1, 400), (lengths, window) => {
      expect(orderOf(lengths, { kind: 'full-sort' }, 4)).toEqual(sorted(lengths));
      const windows: number[] = [];
      for (let from = 0; from < lengths.length; from += window)
        windows.push(...sorted(lengths, from, Math.min(lengths.length, from + window)));
      expect(orderOf(lengths, { kind: 'window-sort', units: window }, 4)).toEqual(windows);
    }));

  it.each(['quantile-buckets', 'best-buckets'] as const)('takes each %s in turn, and keeps the order inside', (kind) =>
    forAll(lengthsOf(whole(0, 40)), whole(1, 8), (drawn, k) => {
      const counts = new Map<number, number>();
      for (const length of drawn) counts.set(length, (counts.get(length) ?? 0) + 1);
      const expected: number[] = [];
      let passed = 0;
      for (const { share } of listBucketRanges(unwrap(empiricalLaw(counts)), 8, { kind, k })) {
        passed += share;
        const bucket = sorted(drawn).slice(expected.length, Math.round(passed * drawn.length));
        expected.push(...bucket.sort((a, b) => a - b));
      }
      expect(orderOf(drawn, { kind, k }, 8)).toEqual(expected);
    }),
  );

  it('starts blocks at random exactly if the whole order is sorted', () => {
    const identity = Array.from({ length: 64 }, (_, i) => i);
    const blocks = (balancing: WholeUnitBalancing) => [...unitLoop.blockOrder(balancing, 64, seededRandom(1))];
    for (const random of [
      { kind: 'full-sort' },
      { kind: 'best-buckets', k: 4 },
      { kind: 'quantile-buckets', k: 4 },
    ] as const) {
      expect(blocks(random)).not.toEqual(identity);
      expect(blocks(random).sort((a, b) => a - b)).toEqual(identity);
    }
    for (const kept of [{ kind: 'none' }, { kind: 'window-sort', units: 8 }, { kind: 'dynamic-fetch' }] as const)
      expect(blocks(kept)).toEqual(identity);
  });
});

const slotsOf = (threadsPerUnit: number, blockThreads: number, gridBlocks: number, units: number) =>
  unitLoop.slotLayout({ threadsPerUnit, blockThreads, gridBlocks }, 32, units);
it('a launch has slots, groups and rounds, also for blocks that end within a thread group', () => {
  const expected = { slotsPerBlock: 20, unitsPerGroup: 8, groupsPerBlock: 3, slots: 60, rounds: 3 };
  expect(unwrap(slotsOf(4, 80, 3, 121))).toEqual(expected);
  expect(unwrap(slotsOf(2, 8, 1, 1)).unitsPerGroup).toBe(4);
});

it.each([
  [3, 96, 1, /^threads per unit must be a power of two .*, not 3$/],
  [48, 96, 1, /^threads per unit must be .*, not 48$/],
  [8, 36, 1, /^A block of 36 threads is not a multiple of the 8/],
  [8, 32, 0, /^The grid has 0 blocks/],
  [64, 64, 1, /stands in for a kernel/],
])('a launch of %d threads per unit, %d threads per block and %d blocks is refused', (threads, block, grid, message) =>
  expect(slotsOf(threads, block, grid, 100)).toFail(threads === 64 ? 'unsupported' : 'bad-input', message),
);

describe('the unit loop', () => {
  /** The same result is computed in whole numbers modulo 2³². */
  const word = (v: bigint): bigint => BigInt.asUintN(32, v);
  const wideMix = (value: bigint): bigint => {
    const v = word((value ^ (value >> 16n)) * 0x7feb352dn);
    return v ^ (v >> 15n);
  };

  it('computes the result of its definition', () =>
    forAll(fc.array(whole(0, 70), { minLength: 1, maxLength: 20 }), (lengths) => {
      const results = unitLoop.referenceResults(Uint32Array.from(lengths));
      lengths.forEach((length, unit) => {
        const factor = wideMix(BigInt(unit + 1)) | 1n;
        let x = factor;
        for (let i = 1; i <= length; i++) x = word(x + BigInt(i) * factor);
        expect(results[unit]).toBe(Number(x));
      });
    }));

  it('computes the same for the longest possible unit, and mixes whole words', () => {
    const length = 2 ** 32 - 1;
    const factor = wideMix(1n) | 1n;
    const places = (BigInt(length) * BigInt(length + 1)) / 2n;
    expect(unitLoop.referenceResults(Uint32Array.of(length))[0]).toBe(Number(word(factor * (1n + places))));
    expect([unitLoop.mix(0), unitLoop.mix(0xffffffff)]).toEqual([0, Number(wideMix(0xffffffffn))]);
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

const THREADS = [1, 2, 4, 8, 16, 32];
const KERNEL: KernelProfile = { ...KERNEL_DEFAULTS, name: 'k', registersPerThread: 40, instructionsPerIteration: 40 };
const kernels = fc
  .record({
    instructionsPerIteration: real(1, 600),
    shares: fc.array(real(0, 0.33), { minLength: 3, maxLength: 3 }),
    serialFraction: real(0, 1),
    cooperationCost: real(0, 0.5),
    dependentLoadsPerIteration: fc.constantFrom(0, 0.5, 1, 2, 3.3),
    bytesPerIteration: fc.constantFrom(0, 4, 8, 12, 40, 100),
    sharing: fc.constantFrom('deal' as const, 'split' as const),
  })
  .map(({ shares: [integerShare, fp64Share, specialShare], ...rest }) => {
    return { ...KERNEL, integerShare, fp64Share, specialShare, ...rest };
  });

it('the loop that stands in for a kernel is predicted by the instructions and loads of its own passes, with the classes of the kernel', () => {
  forAll(kernels, fc.constantFrom('cuda', 'webgpu'), fc.constantFrom(...THREADS), (kernel, backend, u) => {
    const profile = standIn.unitLoopProfile(kernel, backend);
    const shape = standIn.unitLoopShape(profile, u);
    const own = standIn.standInKernel(kernel, profile, u);
    const { serialFraction: σ, cooperationCost: κ, instructionsPerIteration, sharing } = kernel;
    const wanted = instructionsPerIteration * (sharing === 'deal' ? 1 : (1 - σ) / u + σ + κ * Math.log2(u));
    expect(own.instructionsPerIteration).toBe(shape.instructions);
    // A pass has a whole number of instructions: as many as the profile wants, unless the pass itself needs more.
    const least = shape.integerInstructions + shape.exchanges + shape.loads + shape.streamed + 4 + shape.doubles + shape.specials; // prettier-ignore
    expect(shape.instructions).toBeGreaterThanOrEqual(Math.floor(Math.min(wanted, least)) - 2);
    if (wanted > 2 * least) expect(Math.abs(shape.instructions - wanted)).toBeLessThanOrEqual(4);
    for (const [share, steps] of [
      [profile.fp64Share, shape.doubles],
      [profile.specialShare, shape.specials],
    ] as const) {
      expect(steps > 0).toBe(share > 0);
      if (share * wanted > 1) expect(Math.abs(steps - share * wanted)).toBeLessThanOrEqual(0.5 + 1e-9);
    }
    expect(own.integerShare! + own.fp64Share! + own.specialShare!).toBeLessThanOrEqual(1 + 1e-9);
    expect(own.fp64Share! * shape.instructions).toBeCloseTo(shape.doubles, 9);
    expect(Math.min(shape.floats, shape.integers)).toBeGreaterThanOrEqual(0);
    const share = wanted / instructionsPerIteration;
    expect(own.dependentLoadsPerIteration).toBeCloseTo(share * kernel.dependentLoadsPerIteration, 2);
    // If there are many loads, each brings a part of a sector to a lane, and all parts may exceed the profile's bytes.
    const bytes = Math.max((32 * kernel.dependentLoadsPerIteration) / 32, kernel.bytesPerIteration);
    expect(Math.abs(own.bytesPerIteration - share * bytes)).toBeLessThanOrEqual(0.05 + 0.01 * share * bytes);
    expect(standIn.lanesPerSector(profile)).toBeLessThanOrEqual(32);
  });
});

it('the loop that stands in for a kernel deals units if the kernel does, and has its phases', () => {
  const dealt = { sharing: 'deal', unit: { instructions: 90 }, combine: { instructions: 12 } } as const;
  const kernel = { ...KERNEL, ...dealt };
  const profile = standIn.unitLoopProfile(kernel, 'cuda');
  for (const u of THREADS) {
    expect(standIn.unitLoopShape(profile, u).exchanges).toBe(0);
    expect(standIn.standInKernel(kernel, profile, u)).toMatchObject({ ...dealt, instructionsPerIteration: 40 });
  }
});

it('the loop that stands in for a kernel is predicted by a separate kernel for each number of threads per unit, and older loops by one kernel', () => {
  const kernel = { ...KERNEL, fp64Share: 0.5, serialFraction: 0.1, instructionsPerIteration: 60 };
  const plan = { id: 'p', kernel, axes: { threadsPerUnit: [1, 32] } } as unknown as SweepPlan;
  const { kernelsByThreads } = standIn.standInPlan(plan, standIn.unitLoopProfile(kernel, 'cuda'));
  expect(kernelsByThreads![1].instructionsPerIteration).toBe(60);
  const wide = kernelsByThreads![32];
  expect(wide.instructionsPerIteration).toBeLessThan(30);
  expect(wide.fp64Share! * wide.instructionsPerIteration).toBeGreaterThanOrEqual(1);
  const first = standIn.standInPlan(plan, { parallelSteps: 8, serialSteps: 2, dependentLoads: 1, tableWords: 2 ** 25 });
  expect(first.kernel).toMatchObject({ instructionsPerIteration: 71, integerShare: 1, bytesPerIteration: 32 });
  expect(first.kernel.serialFraction).toBeCloseTo(23 / 71, 12);
  const { sharing: _sharing, unitInstructions: _unit, combineInstructions: _combine, ...numbers } = standIn.unitLoopProfile(kernel, 'cuda'); // prettier-ignore
  const second = standIn.standInPlan(plan, { ...numbers, version: 2 });
  expect(second.kernel).toMatchObject({ instructionsPerIteration: 60, fp64Share: 0.5, serialFraction: 0.1, unit: { instructions: 24 } }); // prettier-ignore
  expect([first.kernelsByThreads, second.kernelsByThreads]).toEqual([undefined, undefined]);
});
