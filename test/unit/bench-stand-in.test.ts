import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  iterationsOfPass,
  lanesPerSector,
  standInKernel,
  unitLoopProfile,
  unitLoopShape,
} from '../../src-workers/bench/stand-in.ts';
import type { UnitLoopProfile } from '../../src-workers/domain/benchmark.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';

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
  })
  .map(({ shares: [integerShare, fp64Share, specialShare], ...rest }) => ({
    ...KERNEL,
    integerShare,
    fp64Share,
    specialShare,
    ...rest,
  }));

/** φ(u) of the model. */
const shareOf = ({ serialFraction: σ, cooperationCost: κ }: UnitLoopProfile, u: number): number =>
  (1 - σ) / u + σ + κ * Math.log2(u);

describe('the loop that stands in for a kernel', () => {
  it('issues what its own profile says, on any number of threads per unit', () => {
    fc.assert(
      fc.property(kernels, fc.constantFrom('cuda', 'webgpu'), (kernel, backend) => {
        const profile = unitLoopProfile(kernel, backend);
        for (const u of THREADS) {
          const iterations = iterationsOfPass(profile, u, backend);
          const { instructions, integerInstructions, floats, integers } = unitLoopShape(profile, u, iterations);
          const expected = iterations * profile.instructionsPerIteration * shareOf(profile, u);
          // Whole instructions; links of classes with few steps are not known before.
          expect(Math.abs(instructions - expected), `${u} threads`).toBeLessThanOrEqual(4 + 0.01 * expected);
          expect(integerInstructions).toBeLessThanOrEqual(instructions);
          expect(Math.min(floats, integers)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it('has the profile of the kernel where its own needs allow it', () => {
    const long = {
      ...KERNEL,
      instructionsPerIteration: 400,
      integerShare: 0.3,
      serialFraction: 0.05,
      cooperationCost: 0.05,
      dependentLoadsPerIteration: 1,
      bytesPerIteration: 8,
    };
    for (const backend of ['cuda', 'webgpu'] as const) {
      const { instructionsPerIteration, serialFraction, cooperationCost, integerShare } = unitLoopProfile(
        long,
        backend,
      );
      expect([instructionsPerIteration, serialFraction, cooperationCost, integerShare]).toEqual([400, 0.05, 0.05, 0.3]);
    }
    const short = unitLoopProfile({ ...KERNEL, instructionsPerIteration: 4, serialFraction: 0 }, 'cuda');
    expect(short.instructionsPerIteration).toBeGreaterThan(4);
    expect(short.serialFraction).toBeGreaterThan(0);
  });

  it('loads what the profile says, once for all threads of a unit', () => {
    fc.assert(
      fc.property(kernels, (kernel) => {
        const profile = unitLoopProfile(kernel, 'cuda');
        for (const u of THREADS) {
          const iterations = iterationsOfPass(profile, u, 'cuda');
          const { loads, loadRate, streamed, streamRate } = unitLoopShape(profile, u, iterations);
          const share = iterations * shareOf(profile, u);
          const [walked, read] = [loads + loadRate / 2 ** 32, streamed + streamRate / 2 ** 32];
          expect(walked).toBeCloseTo(share * profile.dependentLoadsPerIteration, 2);
          const bytes = 32 * (walked / lanesPerSector(profile) + read);
          // Where loads are many, each brings a lane a sector's part, which may be more than the profile says.
          const least = (32 * profile.dependentLoadsPerIteration) / 32;
          expect(bytes).toBeCloseTo(share * Math.max(least, kernel.bytesPerIteration), 0);
        }
      }),
    );
  });

  it('is predicted by its own kernel, of either version', () => {
    const own = standInKernel(KERNEL, unitLoopProfile({ ...KERNEL, integerShare: 0.5 }, 'cuda'));
    expect(own).toMatchObject({ name: 'k', registersPerThread: 40, instructionsPerIteration: 40, integerShare: 0.5 });
    const first = standInKernel(KERNEL, { parallelSteps: 8, serialSteps: 2, dependentLoads: 1, tableWords: 2 ** 25 });
    expect(first).toMatchObject({ instructionsPerIteration: 71, integerShare: 1, bytesPerIteration: 32 });
    expect(first.serialFraction).toBeCloseTo(23 / 71, 12);
  });
});
