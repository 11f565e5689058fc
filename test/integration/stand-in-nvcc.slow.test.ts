import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { unitLoopDefinitions } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { standInKernel, unitLoopProfile, unitLoopShape } from '../../src-workers/bench/stand-in.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { findTool, lacks } from '../tools.mjs';
import { innerLoops, type InnerLoop } from './bench-cuda-machine-code.ts';
import { runToEnd, SOURCES } from './bench-cuda-plans.ts';
import { testFolder } from '../workplace.ts';

// A stand-in must execute the instructions with which its time is predicted. The test counts them in the machine code.

const THREADS = [1, 2, 4, 8, 16, 32];
/** One architecture for each compiler of nvcc, which uses the newer compiler from 10.0 on. */
const ARCHITECTURES = [80, 120];
const MIXES: readonly Partial<KernelProfile>[] = [
  {},
  { fp64Share: 0.5 },
  { specialShare: 0.3, integerShare: 0.2 },
  { integerShare: 0.6, dependentLoadsPerIteration: 1 },
  { fp64Share: 0.1, specialShare: 0.05, integerShare: 0.3, dependentLoadsPerIteration: 1.5, bytesPerIteration: 40 },
  { integerShare: 0.25, bytesPerIteration: 12, unit: { instructions: 60 }, combine: { instructions: 9 } },
  { fp64Share: 0.05, dependentLoadsPerIteration: 0.5, serialFraction: 0.4 },
  { specialShare: 0.02, integerShare: 0.9 },
];
const INSTRUCTIONS = [60, 24, 130, 40, 300, 90, 16];
/** Every number of threads with each architecture and each way to share a unit. Mixes and lengths of loops vary. */
const CASES = Array.from({ length: 12 }, (_, at) => ({
  threads: THREADS[at % 6],
  architecture: ARCHITECTURES[(at + Math.floor(at / 6)) % 2],
  kernel: {
    ...KERNEL_DEFAULTS,
    name: 'k',
    registersPerThread: 32 + 8 * (at % 3),
    instructionsPerIteration: INSTRUCTIONS[(3 * at) % INSTRUCTIONS.length],
    serialFraction: 0.1,
    cooperationCost: 0.03,
    sharing: at < 6 ? 'deal' : 'split',
    ...MIXES[at % MIXES.length],
  } satisfies KernelProfile,
}));

describe.skipIf(lacks('nvcc'))('the loop that stands in for a kernel, as nvcc compiles it', () => {
  const folder = testFolder();

  const compiled: { readonly nested: InnerLoop; readonly flattened: InnerLoop }[] = [];
  beforeAll(async () => {
    const programs = join(folder, 'loop.fatbin');
    for (const { kernel, threads, architecture } of CASES) {
      const flags = [
        ...['-std=c++17', '-O3', '--no-compress', `-arch=sm_${architecture}`, '-DLOCKSTEP_REGISTER_CAP=0'],
        ...unitLoopDefinitions(unitLoopProfile(kernel, 'cuda'), threads),
      ];
      const ended = await runToEnd(findTool('nvcc')!, [...flags, '-fatbin', 'unit-loop.cu', '-o', programs], SOURCES);
      expect(ended.stderr).toBe('');
      const [kernels] = innerLoops(readFileSync(programs));
      const loop = (name: string): InnerLoop => [...kernels].find(([entry]) => entry.includes(`${name}E`))![1];
      compiled.push({ nested: loop('6nested'), flattened: loop('9flattened') });
    }
  }, 1_200_000);

  it('is compiled for every number of threads per unit, on every architecture and for both ways to share a unit', () => {
    expect(new Set(CASES.map(({ threads, architecture }) => `${threads} ${architecture}`)).size).toBe(12);
    expect(new Set(CASES.map(({ threads, kernel }) => `${threads} ${kernel.sharing}`)).size).toBe(12);
  });

  const rows = CASES.map((one, at) => [at, one.threads, `sm_${one.architecture}`, one.kernel.sharing] as const);
  it.each(rows)('executes the predicted instructions: case %d, %d threads, %s, %s', (at, threads) => {
    const { kernel } = CASES[at];
    const { nested, flattened } = compiled[at];
    const profile = unitLoopProfile(kernel, 'cuda');
    const shape = unitLoopShape(profile, threads);
    const own = standInKernel(kernel, profile, threads);
    const all = own.instructionsPerIteration;
    /**
     * Allows a difference of a tenth or of `few` instructions, because the assembler chooses some instructions
     * itself.
     */
    const near = (what: string, found: number, predicted: number, few: number): void =>
      expect(Math.abs(found - predicted), `${what}: ${found}, predicted ${predicted}`).toBeLessThanOrEqual(
        Math.max(few, 0.1 * predicted),
      );
    for (const share of ['fp64Share', 'specialShare'] as const) expect(own[share]! > 0).toBe((kernel[share] ?? 0) > 0);
    const loads = shape.loads + Math.sign(shape.loadRate) + shape.streamed + Math.sign(shape.streamRate);
    const counted = { fp32: shape.floats, fp64: own.fp64Share! * all, special: own.specialShare! * all };
    const { fp32, fp64, special } = nested;
    for (const [name, count] of Object.entries({ fp32, fp64, special }))
      expect(count, name).toBeCloseTo(counted[name as keyof typeof counted], 6);
    expect([nested.loads, nested.shuffles, nested.local]).toEqual([loads, shape.exchanges, 0]);
    near('pass', nested.instructions, all, 1);
    const integers = nested.instructions - fp32 - fp64 - special - nested.loads - nested.shuffles - 1;
    near('integers', integers, own.integerShare! * all, 3);

    const combining = kernel.sharing === 'deal' ? Math.log2(threads) * own.combine!.instructions : 0;
    // The instructions between two units differ between architectures.
    near('unit', nested.outer.instructions, all + own.unit!.instructions + combining, 15);
    const inOneLoop = all * (1 + own.flattenedCost!) + own.refill!.instructions + combining;
    near('one loop', flattened.outer.instructions, inOneLoop, 1);
    const combined = kernel.sharing === 'deal' ? Math.log2(threads) * shape.combineSteps : 0;
    expect(flattened.outer.fp32).toBe(shape.floats + shape.unitSteps + combined);
    expect([flattened.outer.fp64, flattened.outer.special]).toEqual([fp64, special]);
  });
});
