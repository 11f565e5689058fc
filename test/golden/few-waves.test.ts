import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { gpu, KERNEL, oneDesign, planOf } from '../unit/sweep-plans.ts';

/*
 * Single designs on draws from the laws of the example workloads whose launches are over after few waves, where it
 * matters which blocks come last and how they are dealt out. The simulated means are known to one percent and
 * deterministic; what the prediction may be off beside that is the most it was over some hundred such designs but for
 * one in twenty.
 */
const HALF_WIDTH = 0.01;
const TOLERANCE = 0.06;

type Example = 'acts' | 'collatz' | 'geometric' | 'mandelbrot' | 'spmv-skewed';

interface Few {
  readonly units: number;
  readonly device: string;
  readonly block: number;
  readonly registers: number;
  readonly instructions: number;
  readonly threadsPerUnit?: number;
  readonly loop?: 'nested' | 'flattened';
  readonly launch: { readonly unitsPerThread: [number] } | { readonly blocksPerMultiprocessor: [number] };
}

async function difference(example: Example, few: Few): Promise<number> {
  const file = join(import.meta.dirname, `../../db/examples/${example}.json`);
  const study = JSON.parse(readFileSync(file, 'utf8')) as StudyFile;
  const drawn: StudyFile = {
    ...study,
    workload: { ...study.workload, units: few.units },
    kernel: { ...study.kernel, registersPerThread: few.registers, instructionsPerIteration: few.instructions },
    devices: [few.device],
    axes: {
      threadsPerUnit: [few.threadsPerUnit ?? 1],
      loop: [few.loop ?? 'nested'],
      balancing: ['none'],
      blockThreads: [few.block],
      ...few.launch,
    },
    constraints: [],
  };
  const predictor = createPredictor(await planOf(drawn, undefined, false));
  const { meanMs } = unwrap(simulateDesign(predictor, 0, { seed: 1, halfWidth: HALF_WIDTH, maxReplications: 60 }));
  return predictChunk(predictor, 0, 1).timeMs[0] / meanMs - 1;
}

/*
 * Nearly every group holds a pixel that runs to the limit, so multiprocessors end their waves at the same instant and
 * share the blocks of the last one evenly: predicted as if the first of them took all it can hold, these were up to
 * half too late.
 */
const TIED: Few[] = [
  {
    units: 159_146,
    device: 'nvidia-rtx-a6000',
    block: 512,
    registers: 24,
    instructions: 3,
    loop: 'flattened',
    launch: { unitsPerThread: [1] },
  },
  {
    units: 121_325,
    device: 'nvidia-p100-sxm2-16gb',
    block: 128,
    registers: 64,
    instructions: 3,
    launch: { unitsPerThread: [2] },
  },
  {
    units: 86_159,
    device: 'nvidia-v100-pcie-16gb',
    block: 192,
    registers: 72,
    instructions: 9,
    launch: { unitsPerThread: [1] },
  },
];
it.each(TIED)('deals the last wave of $units pixels evenly on $device', async (few) => {
  expect(Math.abs(await difference('mandelbrot', few))).toBeLessThan(0.02);
});

/* A block of 96 threads is one group and a half where groups are 64 wide. */
const HALF_EMPTY: (Few & { readonly example: Example })[] = [
  {
    example: 'spmv-skewed',
    units: 57_755,
    device: 'amd-r9-fury-x',
    block: 96,
    registers: 24,
    instructions: 24,
    threadsPerUnit: 4,
    loop: 'flattened',
    launch: { unitsPerThread: [2] },
  },
  {
    example: 'geometric',
    units: 49_801,
    device: 'amd-mi25',
    block: 96,
    registers: 24,
    instructions: 120,
    threadsPerUnit: 8,
    launch: { unitsPerThread: [2] },
  },
];
it.each(HALF_EMPTY)('knows the half-empty groups of $example on $device', async ({ example, ...few }) => {
  expect(Math.abs(await difference(example, few))).toBeLessThan(TOLERANCE);
});

/* Grids that do not divide the units give their first blocks one unit per slot more. */
const UNEVEN: (Few & { readonly example: Example })[] = [
  {
    example: 'spmv-skewed',
    units: 14_209,
    device: 'nvidia-k20',
    block: 384,
    registers: 96,
    instructions: 8,
    launch: { blocksPerMultiprocessor: [2] },
  },
  {
    example: 'mandelbrot',
    units: 89_335,
    device: 'nvidia-v100-pcie-16gb',
    block: 192,
    registers: 168,
    instructions: 3,
    loop: 'flattened',
    launch: { blocksPerMultiprocessor: [4] },
  },
  {
    example: 'collatz',
    units: 182_880,
    device: 'nvidia-a100-sxm4-80gb',
    block: 96,
    registers: 32,
    instructions: 7,
    loop: 'flattened',
    launch: { blocksPerMultiprocessor: [13] },
  },
];
it.each(UNEVEN)(
  'starts the fuller blocks of $units units of $example first on $device',
  async ({ example, ...few }) => {
    expect(Math.abs(await difference(example, few))).toBeLessThan(TOLERANCE);
  },
);

/* One unit more than every slot has makes one slot longer, not a block of them: some of these were 11 to 24 % too late. */
const ONE_MORE = [
  { lengths: 'categorical(10:0.9, 200:0.1)', threadsPerUnit: 1, loop: 'nested' },
  { lengths: 'categorical(10:0.9, 200:0.1)', threadsPerUnit: 1, loop: 'flattened' },
] as const;
it.each(ONE_MORE)(
  'gives one unit of $lengths more to one slot, $threadsPerUnit thread(s) wide, $loop',
  async (more) => {
    const blocksPerMultiprocessor = 6;
    const slots = (128 / more.threadsPerUnit) * blocksPerMultiprocessor * 108;
    const study = oneDesign({
      workload: { lengths: more.lengths, units: slots + 1 },
      devices: ['nvidia-a100-pcie-80gb'],
      axes: {
        threadsPerUnit: [more.threadsPerUnit],
        loop: [more.loop],
        blockThreads: [128],
        blocksPerMultiprocessor: [blocksPerMultiprocessor],
      },
    });
    const predictor = createPredictor(await planOf(study));
    const { meanMs } = unwrap(simulateDesign(predictor, 0, { seed: 1, halfWidth: HALF_WIDTH, maxReplications: 60 }));
    expect(Math.abs(predictChunk(predictor, 0, 1).timeMs[0] / meanMs - 1)).toBeLessThan(TOLERANCE);
  },
);

/*
 * Launches whose blocks are no draws from one law: as many of a bucket as there are, one that is the longest, and those
 * of a window in its order. As draws in any order, these were between a fifth too late and almost half too soon.
 */
const ORDERED = [
  {
    lengths: 'categorical(2:0.95132, 80:0.04868)',
    balancing: 'best-buckets(3)',
    units: 3840,
    multiprocessors: 8,
    residentBlocks: 1,
    block: 256,
    issue: 10,
  },
  {
    lengths: 'zipf(1.57, 267)',
    balancing: 'full-sort',
    units: 240,
    multiprocessors: 8,
    residentBlocks: 2,
    block: 64,
    threadsPerUnit: 8,
    issue: 268,
  },
  {
    lengths: 'geometric(0.2709)',
    balancing: 'window-sort(16384)',
    units: 56_587,
    multiprocessors: 80,
    residentBlocks: 1,
    block: 128,
    setup: 3,
    issue: 295,
  },
  {
    lengths: 'file:acts-propagation-steps.csv',
    balancing: 'window-sort(16384)',
    units: 1550,
    multiprocessors: 40,
    residentBlocks: 2,
    block: 256,
    unitsPerThread: 2,
    threadsPerUnit: 32,
    issue: 18,
  },
];
it.each(ORDERED)('knows the blocks of $units units of $lengths in $balancing', async (ordered) => {
  const { lengths, balancing, units, multiprocessors, residentBlocks, block, issue } = ordered;
  const a100 = gpu('nvidia-a100-sxm4-40gb');
  const device = {
    ...a100,
    multiprocessors,
    occupancy: { family: 'generic' } as const,
    limits: { ...a100.limits, maxBlocksPerMultiprocessor: residentBlocks },
  };
  const study = oneDesign({
    workload: { lengths, units },
    kernel: {
      ...KERNEL,
      unit: { instructions: (ordered.setup ?? 0) * KERNEL.instructionsPerIteration },
      lengthsKnownBeforeLaunch: true,
    },
    axes: {
      threadsPerUnit: [ordered.threadsPerUnit ?? 1],
      loop: ['flattened'],
      balancing: [balancing],
      blockThreads: [block],
      unitsPerThread: [ordered.unitsPerThread ?? 1],
    },
  });
  const plan = await planOf(study, [device]);
  const pipeline = { [device.id]: { latencyCycles: 1500, issueCycles: issue, kneeSoftness: 3 } };
  const predictor = createPredictor({ ...plan, pipeline });
  const { meanMs } = unwrap(simulateDesign(predictor, 0, { seed: 1, halfWidth: HALF_WIDTH, maxReplications: 2000 }));
  expect(Math.abs(predictChunk(predictor, 0, 1).timeMs[0] / meanMs - 1)).toBeLessThan(0.08);
});

/*
 * Groups that take their units from one counter, on a grid that gives some multiprocessors a block more: the others are
 * faster and take more of the units. Predicted as if each group had as many, these were up to 67 % too late.
 */
it.each([
  { lengths: 'geometric(0.02)', units: 60_000, threadsPerUnit: 16, unitsPerThread: 16, block: 512 },
  { lengths: 'lognormal(2.5, 1)', units: 60_000, threadsPerUnit: 16, unitsPerThread: 29, block: 256 },
  { lengths: 'zipf(1.6, 4000)', units: 60_000, threadsPerUnit: 16, unitsPerThread: 16, block: 512 },
])('lets multiprocessors with fewer blocks fetch more of $units units of $lengths', async (given) => {
  const { lengths, units, threadsPerUnit, unitsPerThread, block } = given;
  const plan = await planOf(
    oneDesign({
      workload: { lengths, units },
      kernel: { ...KERNEL, registersPerThread: 40, instructionsPerIteration: 20 },
      devices: ['nvidia-a100-sxm4-80gb'],
      axes: {
        threadsPerUnit: [threadsPerUnit],
        loop: ['nested'],
        balancing: ['dynamic-fetch'],
        blockThreads: [block],
        unitsPerThread: [unitsPerThread],
      },
    }),
  );
  const predictor = createPredictor(plan);
  const { meanMs } = unwrap(simulateDesign(predictor, 0, { seed: 1, halfWidth: HALF_WIDTH, maxReplications: 60 }));
  expect(Math.abs(predictChunk(predictor, 0, 1).timeMs[0] / meanMs - 1)).toBeLessThan(TOLERANCE);
});
