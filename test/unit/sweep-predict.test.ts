import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { longestUnitText } from '../../src-workers/domain/breakdown.ts';
import { INVALID_REASONS, type InvalidReason } from '../../src-workers/domain/design.ts';
import { classifyDesigns, describeDesign } from '../../src-workers/predict/designs.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { AMD_FILL_MICROSECONDS } from '../../src-workers/predict/launch-costs.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import type { Device, GpuDevice } from '../../src-workers/domain/device.ts';
import { KERNEL, oneDesign, planOf, predicted } from './sweep-plans.ts';
import { cpu, gpu } from '../catalogue.ts';

const EPS = Number.EPSILON;

describe('one design of a constant workload, by hand', () => {
  it('adds the cost that the kernel states for a flattened loop, and nothing for a nested one', async () => {
    const kernel = { ...KERNEL, serialFraction: 0.25, lengthsKnownBeforeLaunch: true };
    const axes = { threadsPerUnit: [1, 4], loop: ['nested', 'flattened'], balancing: ['none', 'dynamic-fetch'], blockThreads: [128], unitsPerThread: [2] }; // prettier-ignore
    const study = (flattenedCost: number) =>
      oneDesign({ workload: { lengths: 'geometric(0.05)', units: 1 << 16 }, kernel: { ...kernel, flattenedCost }, axes } as never); // prettier-ignore
    const [free, charged] = await Promise.all(
      [0, 0.1].map(async (cost) => {
        const predictor = createPredictor(await planOf(study(cost)));
        return Array.from({ length: 8 }, (_, design) => explainDesign(predictor, design)!);
      }),
    );
    // The axes are threads per unit, loop and balancing, which changes fastest. Fetching adds the cost of the counter.
    const factor = [1, 1.1, 1.1, 1.1, 1, 1 + 0.1 / 0.4375, 1 + 0.1 / 0.4375, 1 + 0.1 / 0.4375];
    factor.forEach((expected, i) => {
      const [before, after] = [free[i], charged[i]].map(({ timeMs, parts }) => timeMs - parts.balancing);
      expect(after / before, String(i)).toBeCloseTo(expected, 12);
      expect(charged[i].timeMs / free[i].timeMs).toBeLessThan(expected + 1e-12);
    });
  });

  it('throws if the time is not a number, because readers of columns would take the design for an invalid one', async () => {
    const plan = await planOf(oneDesign({}));
    const predictor = createPredictor({ ...plan, kernel: { ...plan.kernel, instructionsPerIteration: NaN } });
    expect(() => predictChunk(predictor, 0, 1)).toThrow(/time of a valid design is not a number/);
  });

  // Whole waves run in step. The A100 has 108 multiprocessors, 4 schedulers and 64 FP32 lanes each, and 1410 MHz.
  it.each([
    ['one full wave', 108 * 2, 4],
    ['two waves, the second partly filled', 108 * 9, 4],
    ['fewer blocks than multiprocessors', 50, 1],
  ])('%s', async (_, gridBlocks, sharedPerBlockFactor) => {
    const a100 = gpu('nvidia-a100-sxm4-40gb');
    const length = 37;
    const blockThreads = 256;
    const shared = Math.floor(a100.limits.sharedMemoryBytesPerMultiprocessor / (sharedPerBlockFactor + 1)) + 2048;
    const study = oneDesign({
      workload: { lengths: `constant(${length})`, units: gridBlocks * blockThreads },
      kernel: { ...KERNEL, sharedMemoryBytesPerBlock: shared, dependentLoadsPerIteration: 2 },
      axes: { blockThreads: [blockThreads], gridBlocks: [gridBlocks] },
    });
    const { columns } = await predicted(study);
    const resident = columns.residentBlocks[0];
    expect(resident).toBeGreaterThan(0);
    const issue = (40 * 32) / 64;
    const floor = 40 * a100.dependentIssueLatencyCycles + 2 * a100.memoryLatencyCycles;
    const rate = (groups: number): number => (floor ** 6.5 + (issue * 4 * Math.ceil(groups / 4)) ** 6.5) ** (1 / 6.5);
    const perMultiprocessor = Math.ceil(gridBlocks / 108);
    const groups = blockThreads / 32;
    const rest = perMultiprocessor % resident;
    const wholeWaves = Math.floor(perMultiprocessor / resident) * rate(resident * groups);
    const cycles = length * (wholeWaves + (rest > 0 ? rate(rest * groups) : 0));
    // A power of 6.5 of a number near 1e3 has the error of a few dozen roundings.
    expect(columns.timeMs[0]).toBeNear(cycles / (a100.clockMhz * 1e3), 64 * EPS);
    expect(columns.aggregateLoss[0]).toBe(1);
    expect(columns.meanLoss[0]).toBe(1);
  });

  it('a launch of many small blocks takes the time in which the device starts them', async () => {
    const h100 = gpu('nvidia-h100-sxm5-80gb');
    const study = (blockThreads: number): StudyFile =>
      oneDesign({
        workload: { lengths: 'constant(1)', units: 1 << 20 },
        kernel: { ...KERNEL, sharing: 'deal', bytesPerIteration: 0 },
        axes: { threadsPerUnit: [32], blockThreads: [blockThreads], unitsPerThread: [1] },
      });
    const { predictor, columns } = await predicted(study(32), [h100]);
    expect(columns.timeMs[0]).toBeCloseTo(2 ** 20 * 0.604e-6 + h100.launchMicroseconds! / 1e3, 12);
    const { regime, parts, timeMs } = explainDesign(predictor, 0)!;
    expect(regime.id).toBe('block-starts');
    expect(parts.blockTail).toBeGreaterThan(0.3 * timeMs);
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(timeMs, 12);
    // A sixteenth of the blocks starts in a sixteenth of the time. Other work then takes longer than starting them.
    expect((await predicted(study(512), [h100])).columns.timeMs[0]).toBeLessThan(columns.timeMs[0] / 4);
  });

  it.each([
    ['amd-mi100', 8, 8],
    ['amd-rx-7900-xtx', undefined, AMD_FILL_MICROSECONDS],
    ['nvidia-a100-sxm4-40gb', undefined, 0],
  ])(
    'on %s, a launch starts later until it has a block on every multiprocessor',
    async (id, fillMicroseconds, atMost) => {
      const device = { ...gpu(id), fillMicroseconds };
      const grids = [1, 10, device.multiprocessors, 4 * device.multiprocessors];
      const study = oneDesign({
        workload: { lengths: 'constant(100)', units: 1 << 20 },
        axes: { threadsPerUnit: [1], blockThreads: [64], gridBlocks: grids },
      });
      const { timeMs } = (await predicted(study, [device])).columns;
      const { timeMs: without } = (await predicted(study, [{ ...device, fillMicroseconds: 1e-9 }])).columns;
      grids.forEach((blocks, at) => {
        const expected = atMost * Math.min(1, blocks / device.multiprocessors);
        expect((timeMs[at] - without[at]) * 1e3, `${blocks} blocks`).toBeCloseTo(expected, 6);
      });
    },
  );

  it('sharing a unit between u threads takes φ(u) of an iteration', async () => {
    const study = (threadsPerUnit: number): StudyFile =>
      oneDesign({
        workload: { lengths: 'constant(100)', units: 1024 * threadsPerUnit },
        kernel: { ...KERNEL, serialFraction: 0.2, cooperationCost: 0.03 },
        axes: { threadsPerUnit: [threadsPerUnit], blockThreads: [256], gridBlocks: [4 * threadsPerUnit ** 2] },
      });
    const one = (await predicted(study(1))).columns;
    const four = (await predicted(study(4))).columns;
    // Both launches fit in one wave, with the same number of blocks per multiprocessor. Only φ differs.
    expect(one.gridBlocks[0]).toBeLessThanOrEqual(108);
    expect(four.gridBlocks[0]).toBeLessThanOrEqual(108);
    expect(four.timeMs[0] / one.timeMs[0]).toBeCloseTo(0.8 / 4 + 0.2 + 0.03 * 2, 12);
  });
});

const A100 = gpu('nvidia-a100-sxm4-40gb');
const limited = (limits: Partial<typeof A100.limits>): GpuDevice => {
  return { ...A100, occupancy: { family: 'generic' }, limits: { ...A100.limits, ...limits } };
};
const KNOWN = { ...KERNEL, lengthsKnownBeforeLaunch: true };
const IMAGE = { lengths: 'example:mandelbrot(64,64,10)', units: 4096 };
const THOUSAND = { lengths: 'constant(5)', units: 1000 };
/** For each reason, a change of a valid design or of its device that makes the design invalid. */
type Invalid = { readonly change?: Partial<StudyFile>; readonly device?: Device };
const INVALID: Readonly<Record<Exclude<InvalidReason, 'valid'>, Invalid>> = {
  'block-threads': { change: { axes: { blockThreads: [2048] } } },
  registers: { change: { kernel: { ...KERNEL, registersPerThread: 255 }, axes: { blockThreads: [1024] } } },
  'thread-registers': { change: { kernel: { ...KERNEL, registersPerThread: 256 }, axes: { blockThreads: [32] } } },
  'shared-memory': { change: { kernel: { ...KERNEL, sharedMemoryBytesPerBlock: 200_000 } } },
  'grid-blocks': { device: limited({ maxGridBlocks: 1000 }) },
  'block-not-multiple': { change: { axes: { threadsPerUnit: [32], blockThreads: [48] } } },
  'lengths-unknown': { change: { axes: { balancing: ['full-sort'], blockThreads: [256] } } },
  'group-width': {
    change: { axes: { threadsPerUnit: [32], blockThreads: [192] } },
    device: { ...limited({}), threadGroupWidth: 48 },
  },
  implementation: {
    change: {
      axes: { threadsPerUnit: [1, 2], blockThreads: [256] },
      implementations: [{ name: 'pairs', kernel: {}, axes: { threadsPerUnit: [2] } }],
    },
  },
  classes: { change: { kernel: KNOWN, axes: { threadsPerUnit: [2], balancing: ['mixed(2)'], blockThreads: [256] } } },
  'block-shape': { change: { workload: IMAGE, axes: { blockThreads: [96], blockWidth: [64] } } },
  constraint: { change: { constraints: [{ quantity: 'blockThreads', atMost: 128 }] } },
  'no-residency': { device: limited({ maxThreadGroupsPerMultiprocessor: 4 }) },
  'idle-blocks': { change: { workload: THOUSAND, axes: { blockThreads: [256], gridBlocks: [5] } } },
  'not-on-device': { change: { axes: { blockThreads: [256], balancing: ['row-split'] } } },
  cores: {
    change: { axes: { blockThreads: [1], balancing: ['row-split'], cores: [17] } },
    device: cpu('amd-epyc-7302p'),
  },
};

it.each(Object.entries(INVALID))('invalid designs have no time: %s', async (reason, { change, device = A100 }) => {
  const { columns, predictor } = await predicted(oneDesign(change), [device]);
  expect(INVALID_REASONS[columns.invalidReason[0]].code).toBe(reason);
  expect(columns.timeMs[0]).toBeNaN();
  expect(explainDesign(predictor, 0)).toBeNull();
  expect(describeDesign(predictor, 0).invalid).toBe(reason);
  expect(classifyDesigns(predictor, 0, 1)[columns.invalidReason[0]]).toBe(1);
});

it('a grid of exactly as many blocks as have work is valid', async () => {
  const study = oneDesign({ workload: THOUSAND, axes: { blockThreads: [256], gridBlocks: [4] } });
  expect((await predicted(study)).columns.invalidReason[0]).toBe(0);
});

const space = (constraints: StudyFile['constraints']): StudyFile =>
  oneDesign({
    constraints,
    axes: {
      threadsPerUnit: [1, 2, 4],
      blockThreads: { from: 32, to: 1024, step: 32 },
      unitsPerThread: [1, 2, 4],
      gridBlocks: [108, 216, 1000],
      registerCap: [null, 24],
    },
  });
const free = await predicted(space([]));

type Constraint = NonNullable<StudyFile['constraints']>[number];
const designAt = (i: number) => describeDesign(free.predictor, i).design;
const { gridBlocks, residentBlocks, unitsPerThread, occupancyFraction } = free.columns;

it.each<[Constraint, value: (i: number) => number]>([
  [{ quantity: 'threadsPerUnit', atLeast: 2 }, (i) => designAt(i).threadsPerUnit],
  [{ quantity: 'unitsPerThread', atMost: 2 }, (i) => unitsPerThread[i]],
  [{ quantity: 'blockThreads', multipleOf: 96 }, (i) => designAt(i).blockThreads],
  [{ quantity: 'gridBlocks', atLeast: 109, atMost: 999 }, (i) => gridBlocks[i]],
  [{ quantity: 'registerCap', atMost: 24 }, (i) => designAt(i).registerCap ?? 32],
  [{ quantity: 'occupancyFraction', atLeast: 0.75 }, (i) => occupancyFraction[i]],
  [{ quantity: 'residentBlocks', atMost: 7 }, (i) => residentBlocks[i]],
  [{ quantity: 'waves', atLeast: 1.5 }, (i) => gridBlocks[i] / (108 * residentBlocks[i])],
])('the constraint $0 removes exactly the designs outside it', async (constraint, valueOf) => {
  const held = (await predicted(space([constraint]))).columns;
  const code = INVALID_REASONS.findIndex((reason) => reason.code === 'constraint');
  const { atLeast = -Infinity, atMost = Infinity, multipleOf } = constraint;
  const isInside = (x: number): boolean =>
    x >= atLeast && x <= atMost && (multipleOf === undefined || x % multipleOf === 0);
  const { invalidReason, timeMs } = free.columns;
  const expected = invalidReason.map((reason, i) => (reason > 0 || isInside(valueOf(i)) ? reason : code));
  expect(held.invalidReason).toEqual(expected);
  expect(held.timeMs).toEqual(timeMs.map((time, i) => (expected[i] === 0 ? time : NaN)));
  expect([...expected]).toEqual(expect.arrayContaining([0, code]));
});

describe('the reconvergence stack', () => {
  const study = (device: string, unitsPerThread: number): StudyFile =>
    oneDesign({
      workload: { lengths: 'geometric(0.05)', units: 1 << 20 },
      devices: [device],
      axes: { blockThreads: [128], unitsPerThread: [unitsPerThread] },
    });

  it("adds the paper's cost for a Kepler, once per unit", async () => {
    // 32 lengths have 21.65 divergent branches and 2.04 spills: 864 cycles. A group waits for 79.6 · 40 instructions.
    const factor = 1 + 864 / (3.981 * 20 * 40 * gpu('nvidia-k20').dependentIssueLatencyCycles);
    for (const m of [1, 4]) {
      const { predictor, columns } = await predicted(study('nvidia-k20', m));
      expect(explainDesign(predictor, 0)!.parts.divergence / columns.timeMs[0]).toBeNear(1 - 1 / factor, 0.01);
    }
  });

  it('names the longest unit only if its own time limits the launch', async () => {
    const lengths = 'categorical(10:0.99999,1000000:0.00001)';
    const axes = { blockThreads: [64, 256], unitsPerThread: [1] };
    const { predictor, columns } = await predicted(oneDesign({ workload: { lengths, units: 1_000_000 }, axes }));
    for (const design of [0, 1]) {
      const { longestUnit, timeMs } = explainDesign(predictor, design)!;
      expect(longestUnit!.length).toBe(1_000_000);
      expect(timeMs).toBe(columns.timeMs[design]);
      expect(longestUnit!.timeMs / timeMs).toBeBetween(0.5, 1.001);
    }
    const text = longestUnitText(explainDesign(predictor, 0)!);
    expect(text).toMatch(/^The longest unit, 1,000,000 iterations, takes [\d.]+\s[mµ]?s/);
    // With so few units, one long unit is expected, but some launches have none.
    const { predictor: rare } = await predicted(oneDesign({ workload: { lengths, units: 100_000 }, axes }));
    expect(longestUnitText(explainDesign(rare, 0)!)).toContain('because many draws have no unit of this length');
    const { predictor: even } = await predicted(oneDesign());
    expect(explainDesign(even, 0)!.longestUnit).toBeUndefined();
    expect(longestUnitText(explainDesign(even, 0)!)).toBe('');
  });

  it('has no cost if threads are scheduled independently', async () => {
    const { predictor } = await predicted(study('nvidia-a100-sxm4-40gb', 1));
    expect(explainDesign(predictor, 0)!.parts.divergence).toBe(0);
  });
});

it('explains flattened loops over a given order by the rounds of that order', async () => {
  // Neighbours have similar lengths, so lanes of a loop end together. With independent draws, they would wait.
  const { predictor } = await predicted(
    oneDesign({
      workload: { lengths: 'example:mandelbrot', units: 1 << 19 },
      axes: { loop: ['nested', 'flattened'], blockThreads: [128], unitsPerThread: [1, 4, 16] },
    }),
  );
  for (let design = 0; design < 6; design += 1) {
    const { timeMs, order, parts } = explainDesign(predictor, design)!;
    expect(order).toBe('given');
    expect(parts.imbalance).toBeGreaterThan(0);
    expect(parts.lastWave).toBeGreaterThan(-0.02 * timeMs);
  }
});
