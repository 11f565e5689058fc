import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as standIn from '../../src-workers/bench/stand-in.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { forAll } from '../for-all.ts';

const THREADS = [1, 2, 4, 8, 16, 32];
const KERNEL: KernelProfile = { ...KERNEL_DEFAULTS, name: 'k', registersPerThread: 40, instructionsPerIteration: 40 };
const kernels = fc
  .record({
    instructionsPerIteration: fc.double({ min: 1, max: 600, noNaN: true }),
    shares: fc.array(fc.double({ min: 0, max: 0.33, noNaN: true }), { minLength: 3, maxLength: 3 }),
    serialFraction: fc.double({ min: 0, max: 1, noNaN: true }),
    cooperationCost: fc.double({ min: 0, max: 0.5, noNaN: true }),
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
