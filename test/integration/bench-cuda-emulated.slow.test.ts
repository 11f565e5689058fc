import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it as always, vi } from 'vitest';
import { readImportFile } from '../../src-main/services/imports/file-kind.ts';
import { makeBundle, planLine } from '../../src-workers/bench/cuda/bundle.ts';
import { compileCuda, type CudaCompilation } from '../../src-workers/bench/cuda/compile.ts';
import { nvccVersion } from '../../src-workers/bench/cuda/toolkit.ts';
import {
  cudaPlan,
  DEVICES_OBJECT,
  EXIT_HUNG,
  HOST_OBJECT,
  type CudaObject,
} from '../../src-workers/bench/cuda/cuda-plan.ts';
import { cudaCommand, writeCudaPlan } from '../../src-workers/bench/cuda/write.ts';
import type {
  BenchCase,
  BenchParameters,
  BenchPlan,
  BenchRecord,
  UnitLoopProfile,
} from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { parsePlanLine } from '../../src-workers/parse/bench-records.ts';
import {
  EMULATED_NAME,
  EMULATING_HIPCC,
  EMULATING_NVCC,
  NO_FILES,
  ofType,
  planOf,
  probe,
  PROFILE,
  recordsOf,
  runToEnd,
  SOURCES,
  WORKLOAD,
  type Ended,
} from './bench-cuda-plans.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { dataFile } from '../data.ts';
import { unitLoop } from '../measuring.ts';

const it = always.skipIf(lacks('g++'));

// Makes complete measurements on the emulation, which compiles, reads and prints as a GPU's program does.

const folder = testFolder();
afterEach(() => vi.unstubAllEnvs());

function compilation(objects: readonly CudaObject[], change: Partial<CudaCompilation> = {}): CudaCompilation {
  return {
    nvcc: EMULATING_NVCC,
    sources: SOURCES,
    objects,
    architectures: ['sm_90'],
    cacheFolder: join(folder, 'cache'),
    timeLimitMs: 300_000,
    ...change,
  };
}

type Environment = Readonly<Record<string, string>>;
type Spoil = (folder: string) => Promise<void>;
let plans = 0;
/** Writes, compiles and runs a plan. `spoil` may change the plan's files before the program sees them. */
async function measure(
  plan: BenchPlan,
  environment: Environment = {},
  spoil: Spoil = async () => {},
  compiler: Partial<CudaCompilation> = {},
): Promise<{ readonly ended: Ended; readonly records: readonly BenchRecord[] }> {
  const planFolder = join(folder, `plan-${plans++}`);
  const written = unwrap(await writeCudaPlan(plan, planFolder, NO_FILES));
  const compiled = unwrap(await compileCuda(compilation(written.objects, compiler)));
  await spoil(planFolder);
  const command = cudaCommand(compiled.program, planFolder, 0);
  const ended = await runToEnd(command.program, command.args, command.cwd, environment);
  return { ended, records: recordsOf(ended.stdout) };
}

const ONE = planOf([unitLoop('a', {})]);
const HIP = { backend: 'hip', threadGroupWidth: 64 } as const;
const idOf = (text: string): string => text.replace(/\W+/g, '-');
const checksOf = (records: readonly BenchRecord[]) =>
  ofType(records, 'check').map(({ case: id, correct }) => [id, correct] as const);
const samplesOf = (records: readonly BenchRecord[]): readonly string[] =>
  ofType(records, 'sample').map(({ case: id, repeat, warmUp }) => `${id} ${warmUp ? 'w' : 'r'}${repeat}`);
const changes = (ids: readonly string[]): number => ids.filter((id, at) => at > 0 && id !== ids[at - 1]).length;

const UNITS = [1, 2, 4, 8, 16, 32] as const;
const CAPPED = { threadsPerUnit: 8, registerCap: 24 };
const BALANCINGS = ['none', 'quantile-buckets(3)', 'best-buckets(3)', 'window-sort(20)', 'full-sort', 'dynamic-fetch'];

/** These cases combine all numbers of threads per unit, loops and balancings. Some blocks end within a thread group. */
const LOOPS: readonly BenchCase[] = [
  ...UNITS.flatMap((u) =>
    (['nested', 'flattened', 'dynamic-fetch', 'dynamic-fetch(3)', 'dynamic-fetch(group)'] as const).flatMap(
      (dispatch) =>
        [Math.max(u, 32), 3 * u, 40 % u === 0 ? 40 : 2 * u].map((blockThreads, at) =>
          unitLoop(`${idOf(dispatch)}-u${u}-${at}`, {
            threadsPerUnit: u,
            loop: dispatch === 'flattened' ? dispatch : 'nested',
            balancing: dispatch.startsWith('dynamic') ? dispatch : 'none',
            blockThreads,
            gridBlocks: at === 0 ? 1 : 3,
            // The emulation has no registers, so one program with a cap is enough. The bundle below has the same cap.
            registerCap: u === CAPPED.threadsPerUnit && at === 1 ? CAPPED.registerCap : null,
          }),
        ),
    ),
  ),
  ...BALANCINGS.flatMap((balancing) =>
    (['nested', 'flattened'] as const).map((loop) =>
      unitLoop(`${idOf(balancing)}-${loop}`, { balancing, loop, threadsPerUnit: 4, blockThreads: 96, gridBlocks: 2 }),
    ),
  ),
  unitLoop('wide', { blockThreads: 128, gridBlocks: 9 }),
  // The first of these launches requests fewer resident blocks than would fit, and the second requests more.
  unitLoop('held', { blockThreads: 64, gridBlocks: 9 }, 3),
  unitLoop('not-held', { blockThreads: 64, gridBlocks: 9 }, 1000),
];

type MatrixPower = BenchParameters['matrix-power'];
const power = (id: string, parameters: Pick<MatrixPower, 'unitsPerGroup'> & Partial<MatrixPower>): BenchCase => ({
  id,
  benchmark: 'matrix-power',
  parameters: { lengths: 'geometric(0.2)', workGroups: 10, execution: 'lockstep', synchronised: false, ...parameters },
});
const POWERS: readonly BenchCase[] = [1, 3, 32].flatMap((unitsPerGroup) =>
  (['lockstep', 'independent'] as const).flatMap((execution) =>
    [false, true].map((synchronised) =>
      power(`power-${unitsPerGroup}-${execution}-${synchronised}`, { unitsPerGroup, execution, synchronised }),
    ),
  ),
);

/** The program of this case draws so many lengths that their mean is known. */
const MANY = power('many', { lengths: 'geometric(0.6)', unitsPerGroup: 2, workGroups: 1000 });

const SMALL: readonly BenchCase[] = [
  ...(['single', 'double'] as const).flatMap((loops) =>
    [0, 5, 31].map((divergentLanes): BenchCase => ({
      id: `${loops}-${divergentLanes}`,
      benchmark: 'divergent-loops',
      parameters: { loops, divergentLanes, iterations: 32 },
    })),
  ),
  { id: 'grid', benchmark: 'launch-grid', parameters: { blocks: 5, threads: 96, elements: 200 } },
];

const PROBES: readonly BenchCase[] = [
  probe('limits'),
  { ...probe('resident-blocks', { blockThreads: 96, spinCycles: 5000 }), id: 'resident-96' },
  { ...probe('resident-blocks', { blockThreads: 512, spinCycles: 5000 }), id: 'resident-512' },
  { ...probe('resident-blocks', { blockThreads: 32, spinCycles: 5000, sharedBytes: 20_000 }), id: 'resident-shared' },
  probe('state-buffers', { spinCycles: 5000, mostThreadGroups: 3 }),
  ...'float-add float-multiply float-multiply-add double-multiply-add integer-add integer-multiply-add special schedulers'
    .split(' ')
    .map((name) => probe(name, { rounds: 1 })),
  ...['logic', 'shuffle', 'match'].map((name) => probe(name, { rounds: 1, mostThreadGroups: 2 })),
  probe('shared-memory', { mostThreadGroups: 2 }),
  probe('fetch'),
  probe('cache-parts', { lines: 32 }),
  probe('random-sectors', { cachedBytes: 2 ** 16, bytes: 2 ** 18 }),
  probe('cache-l1', { leastBytes: 1024, mostBytes: 16_384 }),
  probe('cache-l2', { leastBytes: 8192, mostBytes: 32_768, strideBytes: 64 }),
  probe('bandwidth', { bytes: 65_536 }),
];

describe('measuring with the emulation', () => {
  let records: readonly BenchRecord[];
  beforeAll(async () => {
    const all = await measure(planOf([...LOOPS, ...POWERS, MANY, ...SMALL, ...PROBES]));
    expect(all.ended).toMatchObject({ code: 0, stderr: '' });
    records = all.records;
  });

  const ofCase = (id: string): readonly BenchRecord[] =>
    records.filter((record) => 'case' in record && record.case === id);
  const valuesOf = (id: string): Readonly<Record<string, number | readonly number[]>> =>
    ofType(ofCase(id), 'values')[0].values;

  it('finds the results of the reference for every sharing, loop, balancing and shape', () => {
    const check = { type: 'check', correct: true, message: '150 of 150 results compared' };
    for (const { id } of LOOPS) expect(ofType(ofCase(id), 'check'), id).toEqual([{ case: id, ...check }]);
  });

  it('keeps no more blocks resident than requested, even if more would fit', () => {
    const [held, free] = ['held', 'not-held'].map((id) => ofType(ofCase(id), 'compiled')[0]);
    expect([held.residentBlocks, free.sharedMemoryBytes]).toEqual([3, 0]);
    expect(held.sharedMemoryBytes).toBeGreaterThan(0);
    expect(free.residentBlocks).toBeGreaterThan(3);
  });

  it('names the emulation, and records the compilation, every warm-up and every repeat, and the check at the end', () => {
    expect(records[0]).toMatchObject({ type: 'device', name: EMULATED_NAME, backend: 'cuda', clockMhz: null });
    expect(ofType(records, 'device')[0].fingerprint).toContain(EMULATED_NAME);
    for (const { id } of [...LOOPS, ...POWERS, ...SMALL, PROBES.at(-1)!]) {
      const found = ofCase(id);
      expect(found[0].type, id).toBe('compiled');
      expect(samplesOf(found)).toEqual(['w0', 'r0', 'r1'].map((sample) => `${id} ${sample}`));
      for (const { timeNs, clockMhz } of ofType(found, 'sample')) expect([timeNs > 0, clockMhz]).toEqual([true, null]);
      expect(found.at(-1), id).toMatchObject({ type: 'check', correct: true });
    }
    expect(ofType(records, 'failed')).toEqual([]);
    expect(records.at(-1)!.type).toBe('done');
  });

  it('measures the loss of a work group exactly, by the emulated clock', () => {
    for (const { id, parameters } of POWERS) {
      const { unitsPerGroup: n, execution } = parameters as { unitsPerGroup: number; execution: string };
      const values = valuesOf(id) as Readonly<Record<string, readonly number[]>>;
      const [depths, works] = [values['groupDepth'], values['groupIterations']];
      expect(depths.length).toBe(10);
      // Each iteration and the end read the clock. In lockstep, the whole group reads it; otherwise, every unit does.
      const tick = 1024;
      const lockstep = depths.map((depth, i) => tick * (execution === 'lockstep' ? n * (depth + 1) : works[i] + n));
      expect(values['groupLockstepCycles'], id).toEqual(lockstep);
      expect(values['groupOwnCycles'], id).toEqual(works.map((work) => work * tick));
      const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0);
      const losses = lockstep.map((cycles, i) => cycles / (works[i] * tick));
      if (execution === 'independent' && n > 1) {
        expect(values).not.toHaveProperty('meanLoss');
        continue;
      }
      for (const found of values['meanLoss']) expect(found).toBeCloseTo(sum(losses) / losses.length, 12);
      for (const found of values['aggregateLoss']) expect(found).toBeCloseTo(sum(lockstep) / (sum(works) * tick), 12);
      expect(values['meanLossOfLengths']).toBeCloseTo(sum(depths.map((depth, i) => (n * depth) / works[i])) / 10, 12);
    }
    const [alone, together] = ['power-32-independent-false', 'power-32-lockstep-false'].map(valuesOf);
    expect(alone['groupIterations']).toEqual(together['groupIterations']);
  });

  it('draws lengths with the mean of their law', () => {
    const values = valuesOf('many') as Readonly<Record<string, number>>;
    const [expected] = lossMoments(unwrap(geometricLaw(0.6)), [2]);
    // The tolerances are five standard errors. A length has the mean 1/p and the standard deviation √(1−p)/p.
    const error = (5 * expected.standardDeviationLoss) / Math.sqrt(1000);
    expect(Math.abs(values['meanLossOfLengths'] - expected.meanLoss)).toBeLessThan(error);
    const lengthError = (5 * Math.sqrt(0.4)) / 0.6 / Math.sqrt(2000);
    expect(Math.abs(values['iterations'] / 2000 - 1 / 0.6)).toBeLessThan(lengthError);
  });

  // Reading the emulated clock takes 1024 cycles, and nothing else takes time. A chain has 256 operations.
  const CHAIN = { latencyCycles: 1024 / 256 };
  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['limits', { threadsPerBlock: 1024, gridX: 4095, gridY: 1023, gridZ: 63, sharedBytesPerBlock: 49_152, sharedBytesPerBlockOptIn: 65_536 }], // prettier-ignore
    ['resident-96', { multiprocessors: 2, residentBlocks: 8, residentBlocksStated: 8 }],
    ['resident-512', { residentBlocks: 2 }],
    ['resident-shared', { residentBlocks: 3 }],
    ['state-buffers', { multiprocessors: 2, blockSlots: 8, threadGroupSlots: 24, sharedBytes: 65_536 }],
    ['float-add', { cyclesByThreadGroups: { length: 32 } }],
    ['schedulers', { schedulers: 32 }],
    ['logic', CHAIN],
    ['shuffle', CHAIN],
    ['match', CHAIN],
    ['fetch', CHAIN],
    ['shared-memory', { ...CHAIN, bytesPerCycle: (4 * 64) / (1024 / 256), strideWords: [1, 2, 4, 8, 16, 32] }],
    ['cache-l1', { sizesBytes: { length: 17 } }],
    ['cache-l2', { cyclesPerLoad: { length: 9 } }],
    ['cache-parts', { nearCycles: 16, farCycles: 16, lineCycles: Array(32).fill(16) }],
    ['random-sectors', { cachedBytes: 2 ** 16, bytes: 2 ** 18 }],
    ['single-31', { laneCycles: { length: 32 } }],
  ])('reports the exact values of %s', (id, values) => expect(valuesOf(id)).toMatchObject(values));

  it('reports rates by the real clock, one line of the cache, and the counter of all fetches', () => {
    expect(valuesOf('bandwidth')['bandwidthGbS']).toBeGreaterThan(0);
    expect(valuesOf('fetch')['fetchesPerMicrosecond']).toBeGreaterThan(0);
    expect(valuesOf('cache-l1')['lineBytes']).toBe(valuesOf('cache-l1')['sectorBytes']);
    expect(ofType(ofCase('fetch'), 'check')[0].message).toBe('the counter is 8192 after 8192 fetches');
  });
});

it('thread groups of 64 lanes, as in HIP, give the same results, and name the backend', async () => {
  const cases: readonly BenchCase[] = [
    ...[33, 64].map((unitsPerGroup) =>
      power(`power-${unitsPerGroup}`, { unitsPerGroup, workGroups: 4, synchronised: true }),
    ),
    { id: 'loops', benchmark: 'divergent-loops', parameters: { loops: 'double', divergentLanes: 63, iterations: 8 } },
    { id: 'grid', benchmark: 'launch-grid', parameters: { blocks: 3, threads: 96, elements: 20 } },
    probe('shuffle', { rounds: 1, mostThreadGroups: 2 }),
    probe('shared-memory', { mostThreadGroups: 2 }),
    probe('fetch'),
    probe('limits'),
    ...['none', 'full-sort', 'dynamic-fetch', 'dynamic-fetch(group)'].flatMap((balancing) =>
      (balancing.startsWith('dynamic') ? (['nested'] as const) : (['nested', 'flattened'] as const)).map((loop) =>
        // The last group of a block is not full.
        unitLoop(`${idOf(balancing)}-${loop}`, { threadsPerUnit: 4, balancing, loop, blockThreads: 160 }),
      ),
    ),
    ...(['nested', 'flattened'] as const).map((loop) =>
      unitLoop(`whole-group-${loop}`, { threadsPerUnit: 64, loop, blockThreads: 128 }),
    ),
  ];
  const hip = { nvcc: EMULATING_HIPCC, hip: { threadGroupWidth: 64 }, architectures: ['gfx90a'] };
  const { records } = await measure(planOf(cases, HIP), {}, undefined, hip);
  const versions = expect.objectContaining({ hipcc: expect.anything() as unknown }) as object;
  expect(ofType(records, 'device')).toMatchObject([{ backend: 'hip', threadGroupWidth: 64, versions }]);
  expect(checksOf(records)).toEqual(cases.map(({ id }) => [id, true]));
  const valuesOf = (id: string) => ofType(records, 'values').find((record) => record.case === id)!.values;
  expect(valuesOf('loops')['laneCycles']).toHaveLength(64);
  expect(valuesOf('shared-memory')['strideWords']).toEqual([1, 2, 4, 8, 16, 32, 64]);
});

describe('launches of several cases', () => {
  const cases = LOOPS.filter(({ id }) => /-u4-0$|^wide$|^held$/.test(id));

  it('alternate at random, each as often as when measured alone, and in the order of the seed', async () => {
    const plan = planOf(cases, { alternating: 3, cache: 'flush', repeats: 4 });
    const { records } = await measure(plan);
    expect(records.at(-1)!.type).toBe('done');
    const each = cases.flatMap(({ id }) => ['w0', 'r0', 'r1', 'r2', 'r3'].map((sample) => `${id} ${sample}`));
    expect(samplesOf(records).toSorted()).toEqual(each.toSorted());
    expect(checksOf(records).sort()).toEqual(cases.map(({ id }) => [id, true]).sort());
    // At most three cases are active at a time, and they alternate.
    const order = ofType(records, 'sample').map((sample) => sample.case);
    expect(changes(order)).toBeGreaterThan(cases.length);
    for (const at of order.keys())
      expect(new Set(order.slice(0, at).filter((id) => order.slice(at).includes(id))).size).toBeLessThanOrEqual(3);
    // Before each sample, the reader knows which case launches next.
    const spoken = records.filter((record) => 'case' in record);
    for (const [at, record] of spoken.entries())
      if (record.type === 'sample')
        expect(spoken.slice(0, at).findLast(({ type }) => type === 'turn')?.case).toBe(record.case);
    const warm = await measure({ ...plan, cache: 'warm' });
    expect(samplesOf(warm.records)).toEqual(samplesOf(records));
  });

  it('are measured again one by one if the device has no room for several', async () => {
    const big = (id: string): BenchCase => ({ ...probe('bandwidth', { bytes: 65_536 }), id });
    const plan = planOf([big('a'), big('b')], { alternating: 2 });
    const { records } = await measure(plan, { CUDA_SHIM_MEMORY: '300000' });
    expect(ofType(records, 'sample').map(({ case: id }) => id)).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    expect(checksOf(records)).toEqual(['a', 'b'].map((id) => [id, true]));
  });
});

describe('what cases share', () => {
  // The order, the lengths and the results of 20,000 units need a buffer each, with 4 bytes per unit.
  const UNITS_BYTES = 80_000;
  const workload = { ...WORKLOAD, lengths: new Uint32Array(20_000).fill(1) };
  const launched = async (balancings: readonly string[], memory: number): Promise<readonly string[]> => {
    const cases = balancings.map((balancing, at) => unitLoop(`${idOf(balancing)}-${at}`, { balancing }));
    const plan = planOf(cases, { alternating: 2, repeats: 3, workload });
    const { records } = await measure(plan, { CUDA_SHIM_MEMORY: String(memory) });
    expect(checksOf(records).map(([, correct]) => correct)).toEqual(cases.map(() => true));
    return ofType(records, 'sample').map(({ case: id }) => id);
  };

  it('is the order of units on the device, which two cases hold once', async () => {
    const memory = 4.5 * UNITS_BYTES;
    // Two cases with the same order fit into memory together, so launches alternate. Those with two orders do not.
    expect(changes(await launched(['none', 'none'], memory))).toBeGreaterThan(1);
    expect(changes(await launched(['none', 'full-sort'], memory))).toBe(1);
  });

  it('is given up when another order needs its memory', async () => {
    const memory = 3.5 * UNITS_BYTES;
    const orders = ['none', 'full-sort', 'window-sort(20)', 'none'];
    expect(new Set(await launched(orders, memory)).size).toBe(orders.length);
  });
});

it("reads the conditions of a launch, during the launch, from the driver's library", async () => {
  // This library replaces NVIDIA's management library. Its clock becomes slower with each launch.
  const args = ['-shared', '-fPIC', dataFile('cuda/nvml.cpp'), '-o', 'libnvidia-ml.so.1'];
  expect((await runToEnd('g++', args, folder)).stderr).toBe('');
  const { records } = await measure(ONE, { LD_LIBRARY_PATH: folder });
  expect(ofType(records, 'device')[0].driver).toBe('1.2.3');
  const steady = { memoryClockMhz: 9001, powerW: 250.5, temperatureC: 65, throttleReasons: 4 };
  const clocks = [1400, 1300, 1200].map((clockMhz) => ({ clockMhz, ...steady }));
  expect(ofType(records, 'sample')).toMatchObject(clocks);
});

// One profile has the fewest steps, one has many, and one deals the iterations of a unit to its threads.
it.each<readonly [threadsPerUnit: number, change: Partial<UnitLoopProfile>]>([
  [32, { instructionsPerIteration: 12, serialFraction: 0.3, dependentLoadsPerIteration: 0, bytesPerIteration: 0 }],
  [1, { instructionsPerIteration: 300, integerShare: 1, dependentLoadsPerIteration: 2.5, bytesPerIteration: 0 }],
  [32, { sharing: 'deal', unitInstructions: 50, combineInstructions: 9 }],
])(
  'iterations of every shape leave the same results as the reference: %d threads per unit, %j',
  async (threadsPerUnit, change) => {
    const lengths = Uint32Array.of(3, 0, 1, 29, 5);
    const workload = { label: '', lengths, profile: { ...PROFILE, ...change } as UnitLoopProfile, traffic: null };
    const cases = (['nested', 'flattened'] as const).map((loop) =>
      unitLoop(loop, { threadsPerUnit, blockThreads: 32, gridBlocks: 1, loop }),
    );
    const { records } = await measure(planOf(cases, { workload, warmUps: 0, repeats: 1 }));
    expect(checksOf(records)).toEqual(cases.map(({ id }) => [id, true]));
  },
);

describe('what goes wrong', () => {
  /** Returns a function that replaces a word in a file of the plan. */
  const changing = (file: string, at: number, change: (word: number) => number) => async (where: string) => {
    const words = await readFile(join(where, file));
    words.writeUInt32LE(change(words.readUInt32LE(at * 4)) >>> 0, at * 4);
    await writeFile(join(where, file), words);
  };

  it('fails one case and continues with the next', async () => {
    const cases = [
      unitLoop('too-wide', { blockThreads: 2048 }),
      unitLoop('capped', { registerCap: 12 }),
      probe('bandwidth', { bytes: 2 ** 31 }),
      probe('luck'),
      probe('resident-blocks', { blockThreads: 2048 }),
      unitLoop('fine', {}),
    ];
    const { ended, records } = await measure(planOf(cases));
    expect(ended.code).toBe(0);
    expect(ofType(records, 'failed').map(({ case: id, message }) => `${id}: ${message}`)).toEqual([
      'too-wide: launch: cudaErrorInvalidConfiguration, invalid configuration argument',
      'capped: the compiler could not keep to 12 registers per thread; it used 16',
      'bandwidth: cudaMalloc: cudaErrorMemoryAllocation, out of memory',
      expect.stringMatching(/^luck: probe luck is not known. Use one of bandwidth, cache-l1, /),
      'resident-blocks: a block of 2048 threads and 0 bytes of shared memory cannot be launched',
    ]);
    expect(ofType(records, 'check')).toMatchObject([{ case: 'fine', correct: true }]);
    expect(records.at(-1)!.type).toBe('done');
  });

  it('stops a case that takes too long', async () => {
    const { records } = await measure({ ...ONE, caseTimeLimitMs: 1, repeats: 1000 });
    const message = /^Stopped after [\d.]+ s \(limit 0\.001 s\), \d+ of 1001 launches done\.$/;
    expect(ofType(records, 'failed')).toMatchObject([{ message }]);
    expect(ofType(records, 'check')).toEqual([]);
  });

  it('ends if the device is lost', async () => {
    // The first launches fill the table, raise the clocks and make a sample. The sixth belongs to the next sample. A
    // sample takes two launches, because one occupies the device while the host submits the other.
    const two = planOf([unitLoop('a', {}), unitLoop('b', {})]);
    const { ended, records } = await measure(two, { CUDA_SHIM_FAULT_LAUNCH: '6' });
    expect(ended.code).toBe(1);
    expect(records.map(({ type }) => type)).toEqual(['device', 'compiled', 'sample', 'failed', 'lost']);
    expect(records.at(-1)).toMatchObject({ message: /cudaErrorLaunchFailure, unspecified launch failure, in case a$/ });
  });

  it('ends if a launch hangs', async () => {
    const cases = [unitLoop('a', {}), unitLoop('hangs', { gridBlocks: 9 }), unitLoop('b', {})];
    const plan = planOf(cases, { caseTimeLimitMs: 1000, alternating: 3 });
    const { ended, records } = await measure(plan, { CUDA_SHIM_HANG_BLOCKS: '9' });
    const failed = { type: 'failed', case: 'hangs', message: 'Stopped within a launch (limit 1 s).' };
    expect([ended.code, records.at(-1)]).toEqual([EXIT_HUNG, failed]);
  });

  const planText = (text: string) => (where: string) => writeFile(join(where, 'plan.txt'), text);
  const otherResult = changing('expected.u32', 7, (word) => word ^ 1);
  const otherUnit = changing('order-0.u32', 0, () => 150);
  const WIDER =
    /^this program was built for thread groups of 32 lanes, but the device has 64: compile with -DLOCKSTEP_GROUP_WIDTH=64$/;
  const slowLaunch = { CUDA_SHIM_FAULT_LAUNCH: '6', CUDA_SHIM_FAULT: '702' };
  it.each<[string, 'lost' | 'failed' | 'check', Environment | Spoil, RegExp]>([
    ['a slow launch', 'lost', slowLaunch, /in case a; it draws a screen, .* fewer units .* TdrDelay/],
    ['no code for the device', 'lost', { CUDA_SHIM_NO_CODE: '1' }, /does not run on compute capability 0\.0$/],
    ['a wider device', 'lost', { CUDA_SHIM_WIDTH: '64' }, WIDER],
    ['a wrong result', 'check', otherResult, /^unit 7 is \d+ instead of \d+ \(150 of 150 results compared, 1 wrong\)$/],
    ['a plan cut short', 'lost', planText('lockstep-cuda-plan 1\n'), /plan.txt is cut short/],
    ['a plan of another version', 'lost', planText('lockstep-cuda-plan 2\n'), /begins with/],
    ['a plan without its units', 'lost', (where) => rm(join(where, 'expected.u32')), /^cannot open expected.u32/],
    ['an unknown unit', 'failed', otherUnit, /^order-0.u32 names 150, which is not less than 150$/],
  ])('reports %s', async (_what, type, fault, message) => {
    const spoils = typeof fault === 'function';
    const { ended, records } = await measure(ONE, spoils ? {} : fault, spoils ? fault : undefined);
    expect(ended.code).toBe(type === 'lost' ? 1 : 0);
    expect(ofType(records, type)).toMatchObject([{ message, ...(type === 'check' && { correct: false }) }]);
    if (type === 'lost') expect(records.at(-1)!.type).toBe('lost');
  });
});

describe('devices', () => {
  const listed = async (environment: Environment, object = DEVICES_OBJECT, ...args: readonly string[]) => {
    const { program } = unwrap(await compileCuda(compilation([object], { architectures: [] })));
    const { code, stdout } = await runToEnd(program, args, folder, environment);
    return [code, recordsOf(stdout)] as const;
  };

  it('are listed with their numbers', async () => {
    const [, two] = await listed({ CUDA_SHIM_DEVICES: '2' });
    expect(ofType(two, 'device').map(({ properties }) => properties['ordinal'])).toEqual([0, 1]);
    const third = await listed({ CUDA_SHIM_DEVICES: '2' }, HOST_OBJECT, '--plan', 'plan.txt', '--device', '2');
    expect(third[1]).toEqual([{ type: 'lost', message: 'device 2 does not exist; this machine has 2' }]);
  });

  it.each([
    [{ CUDA_SHIM_DEVICES: '0' }, 'looking for CUDA devices: cudaErrorNoDevice, no CUDA-capable device is detected'],
    [{ CUDA_SHIM_DRIVER: '12020' }, 'the driver is for CUDA 12.2 and older, and this program was built with CUDA 13.0, which needs driver 580.65 or newer: update the driver, or build with CUDA 12 (set NVCC=/path/to/nvcc)'], // prettier-ignore
    [{ CUDA_SHIM_DRIVER: '0' }, 'no NVIDIA driver is loaded on this machine'],
  ])('are reported as missing with the reason: %o', async (environment: Record<string, string>, message) => {
    expect(await listed(environment)).toEqual([1, [{ type: 'lost', message }]]);
  });
});

describe('compiling', () => {
  /** Folder of sources that take almost no time to compile. */
  let sources: string;
  beforeAll(async () => {
    sources = join(folder, 'tiny-sources');
    await mkdir(sources);
    await writeFile(join(sources, 'main.cu'), 'int main() { return 0; }\n');
    await writeFile(join(sources, 'unit-loop.cu'), 'int cap() { return LOCKSTEP_REGISTER_CAP; }\n');
  });
  const capped: CudaObject = { name: 'unit-loop-24', source: 'unit-loop.cu', flags: ['-DLOCKSTEP_REGISTER_CAP=24'] };
  /** Writes a compiler that prints its version if asked, and otherwise runs the lines of `body`. */
  const compiler = async (name: string, body: string): Promise<string> => {
    const version = '[ "$1" = --version ] && { echo "Cuda compilation tools, release 0.0, V0.0.1"; exit 0; }';
    await writeFile(join(folder, name), `#!/bin/sh\n${version}\n${body}\n`, { mode: 0o755 });
    return join(folder, name);
  };

  it('happens once for the same sources, flags and compiler, even for two requests at the same time', async () => {
    const request = compilation([HOST_OBJECT, capped], { sources, cacheFolder: join(folder, 'shared-cache') });
    const [one, other] = (await Promise.all([compileCuda(request), compileCuda(request)])).map(unwrap);
    expect(one.program).toBe(other.program);
    expect(unwrap(await compileCuda(request))).toMatchObject({ program: one.program, compiled: [] });
    const other24 = { ...capped, flags: ['-DLOCKSTEP_REGISTER_CAP=32'] };
    const changed = unwrap(await compileCuda({ ...request, objects: [HOST_OBJECT, other24] }));
    expect(changed.compiled).toEqual(['unit-loop-24']);
    expect(changed.program).not.toBe(one.program);
    expect((await readdir(request.cacheFolder)).filter((name) => name.startsWith('draft'))).toEqual([]);
    // nvcc's own settings in the environment change its output.
    vi.stubEnv('NVCC_APPEND_FLAGS', '-lineinfo');
    expect(unwrap(await compileCuda(request)).compiled).toEqual(['main', 'unit-loop-24']);
    expect(unwrap(await compileCuda(request)).compiled).toEqual([]);
  });

  it('compiles a damaged program and a damaged object again', async () => {
    const request = compilation([HOST_OBJECT, capped], { sources, cacheFolder: join(folder, 'damaged-cache') });
    const { program } = unwrap(await compileCuda(request));
    await writeFile(program, 'not a program');
    expect(unwrap(await compileCuda(request)).compiled).toEqual([]);
    expect((await runToEnd(program, ['--list'], folder)).code).toBe(0);
    for (const entry of await readdir(request.cacheFolder))
      if ((await readdir(join(request.cacheFolder, entry))).includes('unit-loop-24.o'))
        await writeFile(join(request.cacheFolder, entry, 'unit-loop-24.o'), '');
    await rm(dirname(program), { recursive: true });
    expect(unwrap(await compileCuda(request)).compiled).toEqual(['unit-loop-24']);
    expect((await runToEnd(program, ['--list'], folder)).code).toBe(0);
  });

  it('keeps the programs that were used last, within its limit', async () => {
    // This compiler writes 100,000 bytes to its output file.
    const nvcc = await compiler('copying-nvcc', 'while [ "$1" != -o ]; do shift; done\nhead -c 100000 /dev/zero >"$2"');
    const cacheFolder = join(folder, 'small-cache');
    const compiled = async (cap: number): Promise<number> => {
      const object = { ...HOST_OBJECT, name: `main-${cap}`, flags: [`-DCAP=${cap}`] };
      // The cache records times of use with a resolution of 1 ms.
      await pause(5);
      const change = { nvcc, cacheFolder, maxCacheBytes: 450_000 };
      return unwrap(await compileCuda(compilation([object], change))).compiled.length;
    };
    const stale = join(cacheFolder, 'draft-of-a-killed-process');
    await mkdir(stale, { recursive: true });
    await utimes(stale, new Date(0), new Date(0));
    await mkdir(join(cacheFolder, 'draft-of-another-process'));
    await mkdir(join(cacheFolder, 'something else'));
    // A plan needs space for an object and a program. The cache has space for two plans besides the compiled one.
    for (const cap of [1, 2, 3]) expect(await compiled(cap)).toBe(1);
    expect(await compiled(1)).toBe(0);
    expect(await compiled(4)).toBe(1);
    expect(await readdir(cacheFolder)).toHaveLength(6 + 2);
    for (const cap of [4, 3, 1]) expect(await compiled(cap)).toBe(0);
    expect(await compiled(2)).toBe(1);
    const others = (await readdir(cacheFolder)).filter((name) => name.length < 64);
    expect(others.sort()).toEqual(['draft-of-another-process', 'something else']);
  });

  it("fails with the compiler's first error, without sources, and with a program that is not a compiler", async () => {
    const broken = join(folder, 'broken-sources');
    await cp(sources, broken, { recursive: true });
    await writeFile(join(broken, 'main.cu'), '\nint main() { return nothing; }\n');
    const compiled = (change: Partial<CudaCompilation>) => compileCuda(compilation([HOST_OBJECT], change));
    const error = /^main: nvcc refused: main\.cu:2:\d+: error: .nothing. was not/;
    expect(await compiled({ sources: broken })).toFail('unsupported', error);
    expect(await compiled({ sources: join(folder, 'nowhere') })).toFail('not-found');
    expect(await compiled({ nvcc: '/bin/true' })).toFail(null, /^\/bin\/true does not print its version: /);
    expect(await nvccVersion(join(folder, 'nvcc'))).toFail('not-found');
  });

  it('is stopped by a cancellation and by its time limit', async () => {
    const request = compilation([HOST_OBJECT], { nvcc: await compiler('slow-nvcc', 'exec sleep 600') });
    expect(await compileCuda({ ...request, signal: AbortSignal.timeout(200) })).toFail('cancelled');
    const late = await compileCuda({ ...request, timeLimitMs: 200 });
    expect(late).toFail(null, /took longer than 200 ms and was stopped$/);
  });
});

/** Unpacks the bundle of a plan into a new folder, and returns the folder. unit/bench-cuda.test.ts unpacks an archive. */
async function bundleIn(name: string, plan: BenchPlan, slurmTasks?: number): Promise<string> {
  const place = join(folder, name);
  const contents = { sourcesFolder: SOURCES, source: null, context: NO_FILES, ...(slurmTasks && { slurmTasks }) };
  for (const { path, bytes, executable } of unwrap(await makeBundle(plan, contents))) {
    await mkdir(dirname(join(place, path)), { recursive: true });
    await writeFile(join(place, path), bytes, { mode: executable ? 0o755 : 0o644 });
  }
  return place;
}

describe('a bundle on a machine without Lockstep', () => {
  const cases = [
    unitLoop('a', {}),
    unitLoop('b', { ...CAPPED, balancing: 'full-sort', gridBlocks: 3 }),
    unitLoop('too-wide', { blockThreads: 2048 }),
    { id: 'grid', benchmark: 'launch-grid', parameters: { blocks: 2, threads: 32, elements: 10 } } as const,
  ];
  const plan = planOf(cases, { caseTimeLimitMs: 2000 });
  const environment = { NVCC: EMULATING_NVCC, LOCKSTEP_ARCHITECTURE: 'sm_90' };
  let place: string;
  const script = (more: Environment = {}, ...args: string[]): Promise<Ended> =>
    runToEnd(join(place, 'run.sh'), args, folder, { ...environment, ...more });
  const results = async (): Promise<string> => readFile(join(place, 'results.jsonl'), 'utf8');
  const recordsAfterPlan = async (): Promise<BenchRecord[]> => {
    const text = await results();
    return recordsOf(text.slice(text.indexOf('\n') + 1));
  };

  beforeAll(async () => {
    place = await bundleIn('a place with spaces', plan, 3);
  });

  it('builds, measures, and writes a file with the results', async () => {
    const words = /\nmeasuring; 0 of 4 cases are done already\n3 cases measured, 1 failed: results\.jsonl\n$/;
    expect(await script()).toMatchObject({ stdout: words, stderr: '' });
    const [first] = (await results()).split('\n');
    expect(unwrap(parsePlanLine(JSON.parse(first)))).toEqual(planLine(plan, null));
    const records = await recordsAfterPlan();
    expect(ofType(records, 'device').map(({ name }) => name)).toEqual([EMULATED_NAME]);
    expect(checksOf(records)).toEqual(['a', 'b', 'grid'].map((id) => [id, true]));
    expect(records.at(-1)!.type).toBe('done');
  });

  it('continues after an interruption, and measures nothing twice', async () => {
    // The file is cut as if the program had stopped in the middle of a line of case b.
    const text = await results();
    const cut = text.indexOf('"case":"b"', text.indexOf('"type":"sample","case":"b"') + 20) + 12;
    await writeFile(join(place, 'results.jsonl'), text.slice(0, cut));
    expect((await script()).stdout).toContain('measuring; 1 of 4 cases are done already');
    const records = await recordsAfterPlan();
    expect(samplesOf(records)).toEqual(['a', 'b', 'grid'].flatMap((id) => [`${id} w0`, `${id} r0`, `${id} r1`]));
    expect(ofType(records, 'failed').map(({ case: id }) => id)).toEqual(['too-wide']);
    expect(ofType(records, 'done').length).toBe(1);
    expect((await script()).stdout).toContain('measuring; 4 of 4 cases are done already');
    expect(ofType(await recordsAfterPlan(), 'sample').length).toBe(9);
  });

  // slurm.slow.test.ts measures the slices of a job array.
  it.each([
    ['run.slurm', {}, /start this by sbatch/],
    ['run.sh', { LOCKSTEP_SLICE: '3/3' }, /^slice 3 is not among 0 to 2\n$/],
    ['run.sh', { LOCKSTEP_SLICE: 'x' }, /^LOCKSTEP_SLICE must be/],
  ])('%s refuses a slice that does not exist: %o', async (name, more: Record<string, string>, words) => {
    expect((await runToEnd(join(place, name), [], place, { ...environment, ...more })).stderr).toMatch(words);
  });

  it('names the missing compiler or device', async () => {
    const missing = await script({ NVCC: join(folder, 'no-such-nvcc') });
    expect(missing).toMatchObject({ code: 1, stderr: /^nvcc was not found/ });
    // Only the program that lists devices is compiled before the missing device is reported.
    await rm(join(place, 'build'), { recursive: true });
    const noDevice = /no CUDA-capable device is detected[^]*this machine has no CUDA device that answers\n$/;
    const bare = { code: 1, stdout: 'compiling build/devices.o\n', stderr: noDevice };
    expect(await script({ CUDA_SHIM_DEVICES: '0' })).toMatchObject(bare);
    expect((await script({}, '1')).stderr).toMatch(/there is no device 1; the devices above are numbered from 0\n$/);
    expect((await script({}, 'one')).stderr).toBe('device one is not a number from 0 on\n');
  });

  it('compiles for the GPUs of the machine, by a compiler that knows them, or says which one would', async () => {
    const bin = join(folder, 'mixed');
    /** Writes a compiler that lists these architectures if asked, and otherwise runs the lines of `body`. */
    const compiler = async (name: string, codes: string, body: string): Promise<string> => {
      const path = join(bin, name, 'bin', 'nvcc');
      await mkdir(dirname(path), { recursive: true });
      const lists = `case $1 in --list-gpu-*) printf '${codes}'; exit 0 ;; esac\n`;
      await writeFile(path, `#!/bin/sh\n${lists}${body}`, { mode: 0o755 });
      return path;
    };
    const working = `while [ "$1" = -gencode ]; do shift 2; done\nexec "${EMULATING_NVCC}" "$@"\n`;
    const refusing = `case $* in *devices* | --version) exec "${EMULATING_NVCC}" "$@" ;; esac\necho "nvcc fatal   : Unsupported gpu architecture 'compute_120'"; exit 1\n`;
    const old = await compiler('old', 'compute_75\\ncompute_90\\n', refusing);
    expect((await script({ NVCC: old })).stderr).toMatch(
      /architecture 'compute_120'\n\S+ does not know this GPU\. .* set LOCKSTEP_ARCHITECTURE .*\ncompute_75\ncompute_90\nnvcc could not make build\/main\.o\n$/,
    );
    await writeFile(join(bin, 'nvidia-smi'), '#!/bin/sh\nprintf "7.0\\r\\n9.0\\n"\n', { mode: 0o755 });
    const newer = await compiler('newer', 'sm_75\\nsm_90\\n', working);
    const both = await compiler('both', 'sm_70\\nsm_90\\n', working);
    const homes = { CUDA_HOME: dirname(dirname(newer)), CUDA_PATH: dirname(dirname(both)) };
    const search = { ...homes, NVCC: '', LOCKSTEP_ARCHITECTURE: '' };
    const one = await script({ ...search, PATH: `${bin}:${process.env.PATH}`, NVCC: newer });
    expect([one.code, one.stderr]).toEqual([0, 'compute capability 7.0 needs CUDA 12.9 or older; set NVCC=/path/to/nvcc\n']); // prettier-ignore
    const chosen = async (more: Record<string, string>): Promise<string> => {
      const { code, stderr } = await script({ ...search, ...more });
      expect([code, stderr]).toEqual([0, '']);
      return readFile(join(place, 'build', 'stamp.txt'), 'utf8');
    };
    const codes = '-gencode arch=compute_70,code=sm_70 -gencode arch=compute_90,code=sm_90';
    expect(await chosen({ PATH: `${bin}:/usr/bin:/bin` })).toContain(`${both}  ${codes}`);
    // If there is no nvidia-smi, CUDA names the GPU.
    const PATH = process.env.PATH!.split(':').filter((path) => path !== '/usr/local/bin').join(':'); // prettier-ignore
    const old70 = `${both}  -gencode arch=compute_70,code=sm_70\n`;
    expect(await chosen({ PATH, CUDA_SHIM_CAPABILITY: '70' })).toContain(old70);
  });

  it('measures the cases after one that hangs, and adds to no results of another plan', async () => {
    await rm(join(place, 'results.jsonl'));
    expect(await script({ CUDA_SHIM_HANG_BLOCKS: '3' })).toMatchObject({
      code: 0,
      stdout: /2 cases measured, 2 failed: results\.jsonl\n$/,
      stderr: '{"type":"failed","case":"b","message":"Stopped within a launch (limit 2 s)."}\n',
    });
    await writeFile(join(place, 'results.jsonl'), '{"type":"plan"}\n');
    expect((await script()).stderr).toBe('results.jsonl belongs to another plan; move it away first\n');
    expect(await readImportFile(folder)).toFail(null, /has neither results\.jsonl/);
  });
});

it('a bundle for HIP says that hipcc is needed, and measures with it', async () => {
  const place = await bundleIn('hip-bundle', planOf([unitLoop('a', { threadsPerUnit: 4 })], HIP));
  const script = (HIPCC: string): Promise<Ended> => runToEnd(join(place, 'run.sh'), [], place, { HIPCC });
  expect((await script(join(folder, 'no-such-hipcc'))).stderr).toMatch(/^hipcc was not found\. Install ROCm/);
  expect(await readFile(join(place, 'README.txt'), 'utf8')).toMatch(/lanes, and ROCm \(hipcc\)(?![^]*nvcc)/);
  expect(await script(EMULATING_HIPCC)).toMatchObject({ stdout: /1 cases measured, 0 failed/, stderr: '' });
});

always.skipIf(lacks('g++', 'hipcc'))('compiles for both widths of AMD, and says if there is no device', async () => {
  const hipcc = findTool('hipcc')!;
  const objectsOf = async (threadGroupWidth: number): Promise<readonly CudaObject[]> =>
      unwrap(await cudaPlan(planOf([unitLoop('a', { threadsPerUnit: threadGroupWidth })], { backend: 'hip', threadGroupWidth }), NO_FILES)).objects; // prettier-ignore
  const [main, loop] = await objectsOf(64);
  const hip = { nvcc: hipcc, hip: { threadGroupWidth: 64 }, architectures: ['gfx90a'] };
  vi.stubEnv('TMPDIR', await mkdtemp(join(folder, 'temporary-')));
  const { program, kernels } = unwrap(await compileCuda(compilation([DEVICES_OBJECT, loop], hip)));
  expect(await readdir(process.env['TMPDIR']!)).toEqual([]);
  expect(kernels.map(({ kernel }) => kernel)).toContainEqual(expect.stringContaining('nested'));
  const listed = await runToEnd(program, [], folder);
  expect([listed.code, recordsOf(listed.stdout)]).toMatchObject([1, [{ type: 'lost', message: /^looking for HIP devices/ }]]); // prettier-ignore

  const compiled = async ({ source, flags }: CudaObject, width: number, ...more: readonly string[]) => {
    const always = ['-x', 'hip', '-std=c++17', `-DLOCKSTEP_GROUP_WIDTH=${width}`, ...more, ...flags, source];
    const { code, stderr } = await runToEnd(hipcc, always, SOURCES, { HIP_PLATFORM: 'amd' });
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  };
  // Optimising the host's code would take most of the time.
  await compiled(main, 64, '--offload-arch=gfx90a', '-O0', '-c', '-o', join(folder, 'main.o'));
  // Only the device's code depends on the width, so nothing else is read, and no code is generated, for the other one.
  for (const object of await objectsOf(32))
    await compiled(object, 32, '--offload-arch=gfx1030', '--cuda-device-only', '-fsyntax-only');
});

/** Compiles a program of the test data on the emulation, and returns its path. */
async function emulated(name: string): Promise<string> {
  const program = join(folder, name);
  const compiled = await runToEnd(EMULATING_NVCC, ['-std=c++17', dataFile(`cuda/${name}.cu`), '-o', program], folder);
  expect(compiled.stderr).toBe('');
  return program;
}

it.each([
  ['fine', ''],
  ['foreign', 'a lane calls with a mask that does not name it'],
  ['gone', 'a mask names a lane that has left the kernel; let it stay, or leave it out of the mask'],
  ['outside', 'a lane reads from a lane that the mask does not name'],
  ['apart', 'lanes wait for others that never come, call something else, or have another mask'],
])('the emulation itself refuses lanes that synchronise wrongly: %s', async (name, verdict) => {
  const ended = await runToEnd(await emulated('meeting'), [name], folder);
  expect(ended.code).toBe(verdict === '' ? 0 : 1);
  expect(ended.stderr.trim().replace('CPU emulation of CUDA: ', '')).toBe(verdict);
});

it('the host finds the line of a cache from usual slow loads, and waits only for the clocks of an idle device', async () =>
  expect((await runToEnd(await emulated('host-checks'), [], folder)).stdout).toBe('32 128 256 0 1 0 0 0 1 1'));
