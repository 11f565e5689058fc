import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assemble, F64, I32, PAGE_BYTES } from '../../src-workers/bench/cpu/assembler.ts';
import { BARRIER_WORDS } from '../../src-workers/bench/cpu/barrier.ts';
import { cpuDevice, lastLevelCacheBytes } from '../../src-workers/bench/cpu/device.ts';
import { kernelBytes, STREAMED_ROWS, type Kernels } from '../../src-workers/bench/cpu/kernels.ts';
import { measureCpu } from '../../src-workers/bench/cpu/measure.ts';
import { contentionCases, cpuPlan, standardBytes } from '../../src-workers/bench/cpu/cpu-plan.ts';
import { caseShares, designShares, MAX_MEMORY_BYTES, packedStart } from '../../src-workers/bench/cpu/shares.ts';
import { runThread, type ThreadMessage } from '../../src-workers/bench/cpu/thread.ts';
import { writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import type { BenchCase, BenchPlan, BenchRecord } from '../../src-workers/domain/benchmark.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { createCpuLoads, type CpuLoads } from '../../src-workers/predict/cpu.ts';
import { makeGivenLengths } from '../../src-workers/predict/ordered.ts';
import { designOf } from '../measuring.ts';
import { recordsOf } from './bench-cuda-plans.ts';
import { testFolder } from '../workplace.ts';
import { forAll } from '../for-all.ts';

const CHILD = new URL('../../src-workers/bench/cpu/child.ts', import.meta.url);
const BARRIER = new URL('../../src-workers/bench/cpu/barrier.ts', import.meta.url);
const folder = testFolder();

/** The plan moves megabytes instead of gigabytes, because speed is not tested here. */
const SMALL = { ...cpuPlan({ cores: 3, totalBytes: 2 ** 20 }), warmUps: 1, repeats: 3, caseTimeLimitMs: 30_000 };
const MACHINE = { passBytes: 2 ** 20, maxThreads: 3 };

async function planFolder(name: string, plan: BenchPlan): Promise<string> {
  const path = join(folder, name);
  await writePlanFolder(path, plan);
  return path;
}
const ofCase = (id: string, records: readonly BenchRecord[]) =>
  records.filter((record) => 'case' in record && record.case === id);
const samplesOf = (records: readonly BenchRecord[]) =>
  records.flatMap((record) => (record.type === 'sample' ? [record] : []));
const failuresOf = (records: readonly BenchRecord[]) =>
  records.flatMap((record) => (record.type === 'failed' ? [[record.case, record.message]] : []));
const total = (values: readonly number[]): number => values.reduce((a, b) => a + b);
const numbered = (memory: ArrayBufferLike): Float64Array => {
  const all = new Float64Array(memory);
  for (let i = 0; i < all.length; i += 1) all[i] = (i * 7919) % 31;
  return all;
};
type Values = Readonly<Record<'loadBytes' | 'threadEndNs' | 'threadOnCoreFraction' | 'bandwidthGbS', number[]>> &
  Readonly<Record<'cores' | 'copies', number>>;
function valuesOf(records: readonly BenchRecord[]): Values {
  const last = records.at(-1)!;
  if (last.type !== 'values') throw new Error('expected values');
  return last.values as Values;
}
function checkEnds({ cores, threadEndNs }: Values, records: readonly BenchRecord[]): void {
  const counted = samplesOf(records).filter(({ warmUp }) => !warmUp);
  expect(threadEndNs).toHaveLength(SMALL.repeats * cores);
  const ends = counted.map((_, at) => Math.max(...threadEndNs.slice(at * cores, (at + 1) * cores)));
  expect(ends).toEqual(counted.map(({ timeNs }) => timeNs));
}

async function measured(plan: Partial<BenchPlan>): Promise<BenchRecord[]> {
  const records: BenchRecord[] = [];
  await measureCpu({ ...SMALL, ...plan }, CHILD, MACHINE, (record) => records.push(record));
  return records;
}
const runChild = (...args: readonly string[]) =>
  spawnSync(process.execPath, [fileURLToPath(CHILD), ...args], { encoding: 'utf8' });
const CORRECT = { type: 'check', correct: true, message: '' };

function kernels() {
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65536, shared: true });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(kernelBytes()), { host: { memory } });
  return { memory: memory.buffer, ...(instance.exports as unknown as Kernels) };
}

test('the triad writes its share and nothing else', () => {
  const { memory, triad } = kernels();
  const all = new Float64Array(memory).fill(-1);
  const [a, b, c] = [1, 2, 3].map((array) => new Float64Array(memory, array * 16384 + 64, 24));
  for (let i = 0; i < 24; i += 1) [b[i], c[i]] = [i, 100 + i];
  triad(a.byteOffset, b.byteOffset, c.byteOffset, 24 * 8, 3);
  expect([...a]).toEqual(Array.from({ length: 24 }, (_, i) => i + 3 * (100 + i)));
  // The three arrays have 24 elements each. Only they have changed.
  expect(all.filter((value) => value !== -1)).toHaveLength(72);
});

test('a row of any length, at any start, gives the plain sum', () => {
  const { memory, dot } = kernels();
  const all = numbered(memory);
  forAll(fc.nat(300), fc.nat(500), fc.nat(500), (length, row, x) => {
    let expected = 0;
    for (let j = 0; j < length; j += 1) expected += all[row + j] * all[1000 + x + j];
    // The products are small whole numbers and therefore exact, so no tolerance is needed.
    expect(dot(row * 8, (1000 + x) * 8, length * 8)).toBe(expected);
  });
});

test('rows that are processed side by side give the plain sums of their whole passes, and write only their four places', () => {
  const { memory, dotRows } = kernels();
  const all = numbered(memory);
  const y = new Float64Array(memory, 200_000, STREAMED_ROWS + 2);
  forAll(fc.nat(300), fc.nat(500), fc.nat(500), (length, row, x) => {
    y.fill(-1);
    dotRows(row * 8, (5000 + x) * 8, y.byteOffset + 8, length * 8);
    const expected = Array.from({ length: STREAMED_ROWS }, (_, k) => {
      const start = row + k * length + (k * (k - 1)) / 2;
      let sum = 0;
      for (let j = 0; j < length - (length % 8); j += 1) sum += all[start + j] * all[5000 + x + j];
      return sum;
    });
    // The products are small whole numbers and therefore exact, so no tolerance is needed.
    expect([...y]).toEqual([-1, ...expected, -1]);
  });
});

test('triangles of any number of rows are computed correctly, also beside cases that cannot be run', async () => {
  const triangles = [1, 3, 4, 5, 37].map((rows): BenchCase => {
    return { id: `triangle-${rows}`, benchmark: 'triangular', parameters: { cores: 2, rows: 2 * rows } };
  });
  const records = await measured({
    cases: [
      { id: 'large', benchmark: 'stream', parameters: { cores: 2, bytesPerCore: 2 ** 33 } },
      { id: 'gpu', benchmark: 'probe', parameters: { probe: 'limits', arguments: {} } },
      ...triangles,
    ],
  });
  for (const { id } of triangles) expect(ofCase(id, records)).toContainEqual({ ...CORRECT, case: id });
  expect(failuresOf(records)).toEqual([
    ['large', expect.stringMatching(/^The case needs \d+ bytes/)],
    ['gpu', 'The benchmark probe runs on a GPU, but this device is a CPU.'],
  ]);
});

test('core i of P has work ∝ 2i − 1 of a triangle', () => {
  forAll(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 60 }), (cores, rowsPerCore) => {
    const rows = cores * rowsPerCore;
    const { loadBytes } = unwrap(caseShares({ id: 'a', benchmark: 'triangular', parameters: { cores, rows } }));
    // A share has 2i − 1 parts of a triangle, and one diagonal entry per row. All have equally many rows.
    const beyondDiagonal = loadBytes.map((bytes) => bytes / 8 - (rowsPerCore * (rowsPerCore + 1)) / 2);
    expect(beyondDiagonal).toEqual(loadBytes.map((_, i) => i * rowsPerCore ** 2));
    expect(total(loadBytes)).toBe(8 * packedStart(rows));
  });
});

test('the first core of an imbalanced triad has P + 1 shares, and each other core has one', () => {
  forAll(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 192, max: 1e6 }), (cores, bytesPerShare) => {
    const parameters = { cores, bytesPerShare };
    const { loadBytes } = unwrap(caseShares({ id: 'a', benchmark: 'imbalanced-stream', parameters }));
    const share = Math.floor(bytesPerShare / 192) * 192;
    expect(loadBytes).toEqual(Array.from({ length: cores }, (_, w) => (w === 0 ? (cores + 1) * share : share)));
  });
});

test('shares follow one another within one memory, in arrays that do not overlap', () => {
  forAll(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 192, max: 1e7 }), (cores, bytesPerCore) => {
    const shares = unwrap(caseShares({ id: 'a', benchmark: 'stream', parameters: { cores, bytesPerCore } }));
    if (shares.kind !== 'triad') throw new Error('expected a triad');
    const bytes = shares.firstElement.at(-1)! * 8;
    expect(shares.firstElement).toEqual([...shares.firstElement].sort((a, b) => a - b));
    const [a, b, c] = shares.arrays;
    expect([b - a >= bytes, c - b >= bytes, c + bytes <= shares.memoryBytes]).toEqual([true, true, true]);
  });
  const stream = (cores: number, bytesPerCore: number) =>
    caseShares({ id: 'a', benchmark: 'stream', parameters: { cores, bytesPerCore } });
  const wide = /^The case needs \d+ bytes, more than the limit of 4294901760\.$/;
  expect(stream(2, MAX_MEMORY_BYTES)).toFail(null, wide);
  expect(stream(0.5, 1e6)).toFail(null, 'The number of cores must be an integer from 1 to 1024, not 0.5.');
  const triangle = caseShares({ id: 'a', benchmark: 'triangular', parameters: { cores: 8, rows: 7 } });
  expect(triangle).toFail(null, 'The number of rows must be an integer from 8 (one per core) to 65536, not 7.');
});

test('the suite goes from one core to all of them, with the same bytes in every case', () => {
  const totalBytes = 100e6;
  const cases = contentionCases({ cores: 4, totalBytes });
  const unequal = ['triangular', 'imbalanced-stream'].flatMap((name) => [2, 3, 4].map((cores) => `${name}-${cores}`));
  expect(cases.map(({ id }) => id)).toEqual(['stream-1', 'stream-2', 'stream-3', 'stream-4', ...unequal]);
  for (const each of cases) {
    const bytes = total(unwrap(caseShares(each)).loadBytes);
    // Shares are rounded down to passes of 192 bytes, and a triangle to whole rows, of up to 40 kB here.
    expect(bytes).toBeLessThanOrEqual(totalBytes);
    expect(bytes).toBeGreaterThan(totalBytes * 0.999);
  }
});

test('the bytes of a case exceed the cache, but not half of the free memory', () => {
  expect(standardBytes(2 ** 25, 2 ** 35)).toBe(2 ** 28);
  expect(standardBytes(2 ** 27, 2 ** 35)).toBe(2 ** 29);
  expect(standardBytes(2 ** 27, 2 ** 28)).toBe(2 ** 27);
  expect(standardBytes(2 ** 40, 2 ** 45)).toBeLessThan(MAX_MEMORY_BYTES);
});

test('no thread passes the barrier before all have arrived', async () => {
  const [threads, rounds] = [3, 500];
  const state = new Int32Array(new SharedArrayBuffer(4 * BARRIER_WORDS));
  // Each round has its own count. A thread that has passed the barrier of a round must see the complete count.
  const counts = new Int32Array(new SharedArrayBuffer(4 * rounds));
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.barrier).then(({ arriveAndWait }) => {
      let early = 0;
      for (let round = 0; round < workerData.rounds; round += 1) {
        Atomics.add(workerData.counts, round, 1);
        arriveAndWait(workerData.state, workerData.threads, round % 2 ? 0 : 1000);
        if (Atomics.load(workerData.counts, round) !== workerData.threads) early += 1;
      }
      parentPort.postMessage(early);
    });`;
  const workerData = { barrier: BARRIER.href, state, counts, rounds, threads };
  const early = Array.from({ length: threads }, () => once(new Worker(code, { eval: true, workerData }), 'message'));
  expect(await Promise.all(early)).toEqual([[0], [0], [0]]);
});

test('the program measures a plan: each case is correct, each launch is reported, and its threads end with it', async () => {
  const path = await planFolder('small', SMALL);
  const { status, stdout, stderr } = runChild(path);
  expect([status, stderr]).toEqual([0, '']);
  const records = recordsOf(stdout);
  expect(records[0]).toMatchObject({ type: 'device', backend: 'cpu', properties: { threadPinning: 'none' } });
  expect(records.at(-1)!.type).toBe('done');
  for (const each of SMALL.cases) {
    const own = ofCase(each.id, records);
    expect(own.map(({ type }) => type)).toEqual(['sample', 'sample', 'sample', 'sample', 'check', 'values']);
    const samples = samplesOf(own);
    expect(samples.map(({ repeat, warmUp }) => [repeat, warmUp])).toEqual([[0, true], [0, false], [1, false], [2, false]]); // prettier-ignore
    expect(own).toContainEqual({ ...CORRECT, case: each.id });
    const values = valuesOf(own);
    expect(values.cores).toBe((each.parameters as { cores: number }).cores);
    checkEnds(values, own);
    expect(values.threadOnCoreFraction).toHaveLength(3 * values.cores);
    for (const fraction of values.threadOnCoreFraction) expect(fraction).toBeWithin(0, 1);
    // A launch takes some time on any machine, and at most the time limit of the case.
    for (const { timeNs } of samples) expect(timeNs).toBeBetween(0, SMALL.caseTimeLimitMs * 1e6);
    for (const value of values.bandwidthGbS) expect(value).toBeBetween(0, Infinity);
  }
});

test('the program refuses plans that it cannot run, with the reason', async () => {
  const list = runChild('--list');
  expect([list.status, recordsOf(list.stdout).map(({ type }) => type)]).toEqual([0, ['device']]);
  expect([runChild().status, runChild('--nothing').status]).toEqual([2, 2]);
  const stderr = `${join(folder, 'cuda')}: the plan is for cuda, not for cpu\n`;
  const cuda = await planFolder('cuda', { ...SMALL, backend: 'cuda' });
  expect(runChild('--plan', cuda)).toMatchObject({ status: 1, stderr, stdout: '' });
});

test('a case that exceeds its time is stopped, and its threads end', async () => {
  const records = await measured({ repeats: 1e6, caseTimeLimitMs: 200, cases: SMALL.cases.slice(0, 1) });
  expect(records.filter(({ type }) => type !== 'sample')).toMatchObject([
    { type: 'failed', case: 'stream-1', message: 'stopped, because it took longer than the limit of 200 ms' },
    { type: 'done' },
  ]);
});

const cpuDesign = (balancing: string, gridBlocks: number): Design =>
  designOf({ balancing, gridBlocks, blockThreads: 1 });
/** Twelve units have 1 … 12 iterations, 78 in all. */
const LENGTHS = Uint32Array.from({ length: 12 }, (_, unit) => unit + 1);
const TRAFFIC = { bytesPerIteration: 16, bytesPerUnit: 20 };
const BYTES = 78 * 16 + 12 * 20;
const loadsOf = (lengths: Uint32Array, traffic = TRAFFIC): CpuLoads =>
  createCpuLoads(traffic, lengths.length, makeGivenLengths(Float64Array.from(lengths)));

test.each([
  // Each core has four units: 1 … 4, 5 … 8, 9 … 12.
  ['row-split', [10 * 16 + 4 * 20, 26 * 16 + 4 * 20, 42 * 16 + 4 * 20]],
  // Each core has 26 iterations. The totals are 1, 3, 6, 10, 15, 21, 28, …, so 6 units end within 26, and 9 within 52.
  ['nonzero-split', [26 * 16 + 6 * 20, 26 * 16 + 3 * 20, 26 * 16 + 3 * 20]],
  // Each core has 30 of the 90 steps, an iteration or the end of a unit each: 24 + 6, 27 + 3, and the rest.
  ['merge-path', [24 * 16 + 6 * 20, 27 * 16 + 3 * 20, 27 * 16 + 3 * 20]],
])('%s gives every core the bytes of its units', (balancing, expected) => {
  const { passBytes } = MACHINE;
  // With the first factor, a pass takes several copies of the units. With the second, the units need several passes.
  for (const factor of [1, 2 ** 12]) {
    const traffic = { bytesPerIteration: 16 * factor, bytesPerUnit: 20 * factor };
    const { shares, copies } = unwrap(designShares(cpuDesign(balancing, 3), loadsOf(LENGTHS, traffic), MACHINE));
    if (shares.kind !== 'triad') throw new Error('expected a triad');
    expect(shares.passes).toBe(Math.ceil((BYTES * factor) / passBytes));
    expect(copies).toBeCloseTo((shares.passes * passBytes) / (BYTES * factor), 9);
    expect(copies).toBeGreaterThanOrEqual(1);
    // In each pass, a share is rounded to eight elements of 24 bytes.
    const rounding = (96 * shares.passes) / copies;
    shares.loadBytes.forEach((bytes, core) =>
      expect(Math.abs(bytes / copies - expected[core] * factor)).toBeLessThanOrEqual(rounding),
    );
  }
});

test('cores without a unit move nothing, and a core with all units moves everything', () => {
  const machine = { passBytes: 192_000, maxThreads: 8 };
  const { shares } = unwrap(designShares(cpuDesign('row-split', 8), loadsOf(Uint32Array.of(5, 5)), machine));
  // The number of units before core w, ⌊w·2/8⌋, becomes 1 at the fourth core and 2 at the eighth.
  expect(shares.loadBytes).toEqual([0, 0, 0, 96_000, 0, 0, 0, 96_000]);
});

test('designs are measured on as many threads as they have cores, and a design for a GPU is refused', async () => {
  const designs = ['row-split 3', 'merge-path 2', 'row-split 1', 'row-split 4', 'full-sort 2'].map((text) => {
    const [balancing, cores] = text.split(' ');
    return cpuDesign(balancing, Number(cores));
  });
  const cases = designs.map((design, at): BenchCase => ({
    id: `design-${at}`,
    benchmark: 'unit-loop',
    parameters: { design, designIndex: at, predictedMs: 1, residentBlocks: null },
  }));
  const profile = { parallelSteps: 1, serialSteps: 0, dependentLoads: 0, tableWords: 1 };
  const workload = { label: 'twelve', lengths: LENGTHS, profile, traffic: TRAFFIC };
  const records = await measured({ cases, workload });
  expect(failuresOf(records)).toEqual([
    ['design-3', 'The design uses 4 cores, but this machine has only 3 threads.'],
    ['design-4', 'The balancing full-sort is for a GPU. Use a balancing for the cores of a CPU.'],
  ]);
  designs.slice(0, 3).forEach(({ gridBlocks: cores }, at) => {
    const own = ofCase(`design-${at}`, records);
    expect(own).toContainEqual({ ...CORRECT, case: `design-${at}` });
    const values = valuesOf(own);
    expect(values).toMatchObject({ cores, copies: 2 ** 20 / BYTES });
    checkEnds(values, own);
    // The time is for one copy: the bytes of the copy over the bandwidth of all copies.
    const bytes = total(values.loadBytes);
    expect(Math.abs(bytes - BYTES)).toBeLessThanOrEqual((96 * cores) / values.copies);
    const counted = samplesOf(own).filter(({ warmUp }) => !warmUp);
    expect(values.bandwidthGbS).toEqual(counted.map(({ timeNs }) => bytes / timeNs));
  });

  const noBytes = { bytesPerIteration: 8, bytesPerUnit: 0 };
  for (const [told, message] of [
    [{ ...workload, traffic: null }, 'The plan lacks the bytes that an iteration moves (traffic). The loop on a CPU needs them.'], // prettier-ignore
    [null, 'The plan has a unit loop, but no workload.'],
    [{ ...workload, lengths: Uint32Array.of(0), traffic: noBytes }, 'The workload moves 0 bytes, so there is nothing to measure.'], // prettier-ignore
  ] as const) {
    const none = await measured({ cases: cases.slice(0, 1), workload: told });
    expect(failuresOf(none)).toEqual([['design-0', message]]);
  }
});

test('a kernel that computes nothing is detected', async () => {
  const idle = assemble([
    { name: 'triad', parameters: [I32, I32, I32, I32, F64], result: null, locals: [], body: [] },
    { name: 'dot', parameters: [I32, I32, I32], result: F64, locals: [F64], body: [[0x20, 3]] },
    { name: 'dotRows', parameters: [I32, I32, I32, I32], result: null, locals: [], body: [] },
  ]);
  const messages: ThreadMessage[] = [];
  for (const one of [
    { id: 'a', benchmark: 'stream', parameters: { cores: 1, bytesPerCore: 4800 } },
    { id: 'a', benchmark: 'triangular', parameters: { cores: 1, rows: 50 } },
  ] as const) {
    const shares = unwrap(caseShares(one));
    expect(shares.memoryBytes).toBeLessThan(PAGE_BYTES);
    const barrier = new Int32Array(new SharedArrayBuffer(4 * BARRIER_WORDS));
    const clock = new BigInt64Array(new SharedArrayBuffer(16));
    const onCore = new Float64Array(new SharedArrayBuffer(8));
    const module = new WebAssembly.Module(idle);
    await runThread({ rank: 0, threads: 1, shares, module, barrier, clock, onCore, launches: 1, seed: 1, ports: [] }, (message) => messages.push(message)); // prettier-ignore
  }
  const checks = messages.flatMap((message) => (message.kind === 'checked' ? [message.message] : []));
  // Rows are processed side by side, so no written sum exists that could be checked.
  expect(checks).toEqual(['element 0 is -1 instead of 7', 'Row 0 of the result is NaN instead of a number.']);
});

test('the device reports its name, and the source of its cache size', () => {
  const device = cpuDevice();
  expect(device.multiprocessors).toBeGreaterThanOrEqual(1);
  expect(device.properties.lastLevelCacheFrom).toBe(lastLevelCacheBytes() === null ? 'assumed' : 'system');
  expect(device.properties.lastLevelCacheBytes).toBeGreaterThan(0);
  expect(lastLevelCacheBytes(join(folder, 'no-system'))).toBeNull();
  expect(cpuDevice().fingerprint).toBe(device.fingerprint);
});
