import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { main } from '../../src-main/cli/main.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import type { MeasuringDetail } from '../../src-main/contract/measuring.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { EMULATION_NOTE } from '../../src-workers/bench/cuda/emulation.ts';
import { kernelProgram, type KernelProgram } from '../../src-workers/bench/kernel/cuda-program.ts';
import { valueBytes } from '../../src-workers/bench/kernel/launches.ts';
import { listValues } from '../../src-workers/bench/program/command-line.ts';
import type { ProgramTask } from '../../src-workers/domain/benchmark.ts';
import type { KernelTask, ValueType } from '../../src-workers/domain/kernel-manifest.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { spmvReference, writeSpmvKernel } from '../data/bench/spmv-reference.ts';
import { dataText } from '../data.ts';
import MANIFEST from '../data/cuda/types.kernel.json' with { type: 'json' };
import { designOf } from '../measuring.ts';
import { findTool, lacks } from '../tools.mjs';
import { ended, refusal } from '../unit/engine-calls.ts';
import { cacheIn, sweep as sweepOn, testFolder, useBench } from '../workplace.ts';
import { EMULATING_HIPCC, EMULATING_NVCC, SOURCES } from './bench-cuda-plans.ts';

// Measures the examples' SpMV kernels on a small matrix: WGSL on the device of Dawn, and CUDA on the emulation.
const ROOT = join(import.meta.dirname, '..', '..');
const SPMV = join(ROOT, 'db/examples/kernels/spmv');
const MATRIX = join(ROOT, 'test/data/matrices/lp_ship04l.mtx');
const folder = testFolder();
const file = join(folder, 'spmv.kernel.json');
const { engine, call } = useBench();
let rows: number;
let runId: number;
let designs: readonly number[];

function manifest(name: string, change: (text: string) => string = (text) => text): string {
  const path = join(folder, name);
  writeFileSync(path, change(readFileSync(file, 'utf8')));
  return path;
}

/** Writes a manifest of the same kernel whose reference has one wrong element. */
async function wrongManifest(): Promise<string> {
  const { y } = await spmvReference(MATRIX);
  y[5] += 1;
  writeFileSync(join(folder, 'wrong.f32'), y);
  return manifest('wrong.kernel.json', (text) => text.replace('"y.f32"', '"wrong.f32"'));
}

async function sweep(change: (study: StudyFile) => StudyFile): Promise<number> {
  const example = JSON.parse(readFileSync(join(SPMV, 'spmv.json'), 'utf8')) as StudyFile;
  return (await sweepOn(engine, change({ ...example, workload: { lengths: `mtx:${MATRIX}`, units: rows } }))).id;
}

const reduced = (study: StudyFile): StudyFile => ({
  ...study,
  axes: { ...study.axes, blockThreads: [64], unitsPerThread: [2] },
});

beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
  rows = (await writeSpmvKernel(MATRIX, folder)).lengths.length;
  runId = await sweep(reduced);
  const page = await call('ranking.page', { runId, limit: 100 });
  const best = new Map(page.rows.toReversed().map(({ design, designIndex }) => [design.implementation, designIndex]));
  // Another implementation has the same entry. They differ only if a row has more threads than a thread group.
  best.delete('2 to 32 threads per row');
  designs = [...best.values()];
});
afterAll(() => vi.unstubAllEnvs());

const asked = (target: string, more: object = {}): object => {
  return { target, runId, kernel: { file }, repeats: 3, warmUps: 1, ...more };
};
async function measured(target: string, more: object = {}): Promise<{ run: RunSummary; found: MeasuringDetail }> {
  const run = await ended(engine, 'bench.start', asked(target, more));
  return { run, found: await call('bench.detail', { id: run.id }) };
}
/** Expects a correct result for every design, and a time unless the designs were only checked. */
function expectCorrect({ cases }: MeasuringDetail, timed = true): void {
  for (const { label, failure, correct, measured: time, values } of cases) {
    expect([label, failure, correct, time !== null && time.minMs > 0]).toEqual([label, null, true, timed]);
    expect(values.maxError).toBeLessThan(1e-4);
  }
}
const refused = (target: string, more: object = {}): Promise<string> =>
  refusal(engine, 'bench.start', asked(target, more));

it.skipIf(lacks('swiftshader'))('measures every implementation in WGSL, checks and compares them', async () => {
  const { run, found } = await measured('webgpu');
  expect(run).toMatchObject({ state: 'complete', valid: 10, invalid: 0 });
  const kernel = { file, name: 'CSR sparse matrix-vector product' };
  expect(found.request).toMatchObject({ backend: 'webgpu', kernel });
  expectCorrect(found);
  const implementations = new Set(found.cases.map(({ design }) => design!.implementation));
  expect(implementations.size).toBe(5);
  const compared = await call('bench.compare', { id: run.id });
  expect(compared.designs).toHaveLength(10);
});

it.skipIf(lacks('swiftshader'))(
  'fails designs whose result differs from the reference, or whose source is wrong',
  async () => {
    const one = { designs: designs.slice(0, 1), repeats: 1, warmUps: 0 };
    const wrong = await wrongManifest();
    const { found } = await measured('webgpu', { ...one, kernel: { file: wrong } });
    expect(found.cases[0].correct).toBe(false);
    expect(found.cases[0].failure).toMatch(/1 of 402 elements of y are wrong; element 5 is .* instead of/);
    writeFileSync(join(folder, 'broken.wgsl'), 'fn nothing() {}');
    const broken = manifest('broken.kernel.json', (text) => text.replace('spmv.wgsl', 'broken.wgsl'));
    const ran = await measured('webgpu', { ...one, kernel: { file: broken } });
    expect(ran.found.cases[0].failure).toMatch(/[Ee]ntry point/);
  },
);

it.each<readonly [string, object, RegExp]>([
  ['cpu', {}, /measured on the targets cuda:0.*not on cpu/],
  ['opencl:0@host', {}, /Agents do not measure on opencl:0\./],
  ['opencl:99', {}, /^opencl:99 does not answer/],
  ['opencl:0', { kernel: undefined }, /^opencl:0 measures your own kernel\. Specify its manifest/],
  ['emulation', { kernel: undefined }, /Specify its manifest \(--kernel\)/],
  ['webgpu', { units: 100 }, /A kernel is always measured on all units/],
  ['webgpu', { kernel: { file: join(folder, 'none.json') } }, /none\.json cannot be read/],
])('refuses to measure a kernel on %s: %j', async (target, more, words) => {
  expect(await refused(target, more)).toMatch(words);
});

it.each<readonly [string, (text: string) => string, RegExp]>([
  ['a missing file', (text) => text.replace('"x.f32"', '"z.f32"'), /names .*z\.f32, which cannot be read/],
  ['a count that differs from that of the reference', (text) => text.replace('"count": "{units}"', '"count": 100'), /arguments\[5\]\.output\.reference: y\.f32 has 402 elements, and "count" is 100\.$/], // prettier-ignore
  ['no source for the target', (text) => text.replace(', "spmv.wgsl"', '').replace(', "spmv.cl"', ''), /"sources" has no \.wgsl file/], // prettier-ignore
  ...(process.platform === 'win32'
    ? []
    : [['a device', (text: string) => text.replace('"x.f32"', '"/dev/zero"'), /names \/dev\/zero, which is not a file/] as const]), // prettier-ignore
])('refuses a manifest with %s', async (_what, change, words) => {
  expect(await refused('webgpu', { kernel: { file: manifest('refused.kernel.json', change) } })).toMatch(words);
});

it('refuses designs that a kernel cannot run, in one sentence', async () => {
  const few = await sweep((study) => ({ ...reduced(study), implementations: undefined, axes: { blockThreads: [64], unitsPerThread: [1], balancing: ['none', 'full-sort'] } })); // prettier-ignore
  const plain = manifest('plain.kernel.json', (text) => text.replaceAll(/"implementation": "[^"]*",/g, ''));
  expect(await refused('webgpu', { runId: few, kernel: { file: plain } })).toMatch(/does not implement the balancing full-sort, only none, merge-path, mixed\(\*\)\. Remove the value from a copy/); // prettier-ignore
  const other = await sweep((study) => ({ ...reduced(study), workload: { ...study.workload, units: 100 } }));
  expect(await refused('webgpu', { runId: other })).toMatch(/arguments\[0\]\.file: .*lp_ship04l\.mtx has 402 rows, but the study has 100 units\. Set "units" of its workload to 402\.$/); // prettier-ignore
});

it.skipIf(lacks('swiftshader'))('tunes a kernel, and resumes only with the same files', async () => {
  let output = '';
  const take = (text: string): void => void (output += text);
  const lockstep = (...args: readonly string[]): Promise<number> =>
    main([...args, '--db', engine.context.databaseFile], { out: take, err: take, interactive: false, columns: 100 });
  const other = manifest('tuned.kernel.json');
  const tuned = ['tune', String(runId), '--kernel', other, '--target', 'webgpu', '--budget', '2', '--repeats', '1'];
  expect([await lockstep(...tuned, '--json'), output]).toEqual([0, expect.stringContaining('"measured": 2')]);
  output = '';
  expect(await lockstep('bench', String(runId), '--kernel', file, '--target', 'webgpu', '--exec', 'x')).toBe(2);
  expect(output).toMatch(/Remove --exec/);

  const few = { designs: designs.slice(0, 2) };
  const { runId: id } = await call('bench.start', asked('webgpu', few));
  await call('runs.cancel', { id });
  expect((await call('runs.wait', { id })).state).toBe('cancelled');
  const text = readFileSync(join(folder, 'spmv.wgsl'), 'utf8');
  writeFileSync(join(folder, 'spmv.wgsl'), `${text}\n`);
  await expect(call('runs.resume', { id })).rejects.toThrow(/or a file that it names, has changed/);
  writeFileSync(join(folder, 'spmv.wgsl'), text);
  expect((await ended(engine, 'runs.resume', { id })).state).toBe('complete');
});

it.skipIf(lacks('g++'))('measures every entry in CUDA, built once for each set of constants', async () => {
  vi.stubEnv('NVCC', join(ROOT, 'test', 'data', 'cuda-shim', 'nvcc'));
  const { run, found } = await measured('cuda:0', { designs, repeats: 1, warmUps: 0 });
  expect(run).toMatchObject({ state: 'complete', valid: designs.length, invalid: 0 });
  expect(found.device).toMatchObject({ name: 'CPU emulation of CUDA, for tests', backend: 'program' });
  expectCorrect(found);
  const programs = join(folder, 'cache', 'lockstep', 'programs');
  expect(readdirSync(programs).filter((name) => name !== 'hosts' && name !== 'devices')).toHaveLength(4);
  const wrong = await wrongManifest();
  const one = { designs: designs.slice(0, 1), repeats: 1, warmUps: 0, kernel: { file: wrong } };
  expect((await measured('cuda:0', one)).found.cases[0]).toMatchObject({ correct: false });
});

it.skipIf(lacks('g++') || process.platform !== 'linux')(
  'checks entries on the emulation, and saves no times',
  async () => {
    const one = { designs: designs.slice(0, 1) };
    const { run, found } = await measured('emulation', one);
    expect(run).toMatchObject({ state: 'complete', valid: 1 });
    expect(found.device).toMatchObject({ name: 'CPU emulation of CUDA', backend: 'program' });
    expectCorrect(found, false);
    const wrong = await measured('emulation', { ...one, kernel: { file: await wrongManifest() } });
    expect(wrong.found.cases[0]).toMatchObject({ correct: false, measured: null });
    const compared = await engine.dispatch('bench.compare', { id: run.id });
    expect(compared).toFail(null, /at least 2 designs with a time and a correct result, but run \d+ has 0\./);
    const tuned = await engine.dispatch('bench.next', { runId, target: 'emulation', kernel: { file } });
    expect(tuned).toFail(null, /The emulation has no times for tuning/);
  },
);

it.skipIf(lacks('opencl'))('measures every entry in OpenCL, and says in one sentence why one fails', async () => {
  // Each launch is a process.
  const once = { repeats: 1, warmUps: 0 };
  const { run, found } = await measured('opencl:0', { ...once, designs });
  expect(run).toMatchObject({ state: 'complete', valid: designs.length, invalid: 0 });
  const [target] = (await call('bench.targets', {})).filter(({ id }) => id === 'opencl:0');
  const { name, driver } = target.device!;
  expect(found.device).toMatchObject({ name, driver, multiprocessors: expect.any(Number) });
  expectCorrect(found);
  const one = { ...once, designs: designs.slice(0, 1) };
  const failures = async (change: (text: string) => string, of = one): Promise<readonly (string | null)[]> => {
    const changed = manifest('opencl.kernel.json', change);
    const { cases } = (await measured('opencl:0', { ...of, kernel: { file: changed } })).found;
    return cases.map((shown) => shown.failure);
  };
  const wrong = await measured('opencl:0', { ...one, kernel: { file: await wrongManifest() } });
  expect(wrong.found.cases[0]).toMatchObject({ correct: false });
  writeFileSync(join(folder, 'broken.cl'), '#include "part.h"\n__kernel void threadPerRow(void) { none(); }\n');
  writeFileSync(join(folder, 'part.h'), '\n');
  expect(await failures((text) => text.replace('spmv.cl', 'broken.cl'))).toEqual([expect.stringMatching(/^broken\.cl does not compile for OpenCL, correct it: line 2: .*'none'.*\.$/)]); // prettier-ignore
  expect(await failures((text) => text.replace('"rows", "type": "u32"', '"rows", "type": "u64"'))).toEqual([expect.stringMatching(/does not take the argument rows as its parameter 6/)]); // prettier-ignore
  const changed = (text: string) => text.replaceAll('"threadPerRow"', '"absent"').replaceAll('"constants"', '"sharedBytes": 64, "constants"'); // prettier-ignore
  expect((await failures(changed, { ...one, designs: designs.slice(0, 2) })).toSorted()).toEqual([
    expect.stringMatching(/^spmv\.cl has no kernel absent/),
    expect.stringMatching(/has 11 parameters, but the manifest gives 12/),
  ]);
});

it.skipIf(lacks('opencl'))(
  'gives an OpenCL kernel values, structs and local memory, and compares every type',
  async () => {
    writeFileSync(join(folder, 'types.cl'), dataText('opencl/types.cl'));
    const files = {
      'pair.bin': Buffer.concat([valueBytes('u32', [7]), valueBytes('f32', [2.5])]),
      'before.bin': BigUint64Array.of(2n ** 63n),
      'whole.bin': BigUint64Array.of(2n ** 63n + 7n),
      'near.bin': BigUint64Array.of(2n ** 63n + 8n),
      'brain.bin': Uint16Array.of(0x3fc0),
      'four.bin': Float32Array.of(2.5, 0.5, Infinity, 4),
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const of = (whole: string) => ({
      lockstepKernel: 1,
      name: 'types',
      sources: ['types.cl'],
      arguments: [
        { name: 'whole', type: 'u64', output: { count: 1, file: 'before.bin', reference: whole } },
        { name: 'brain', type: 'bf16', output: { count: 1, reference: 'brain.bin' } },
        { name: 'four', type: 'f32[4]', output: { count: 1, reference: 'four.bin' } },
        { name: 'pair', type: 'u32[2]', value: { file: 'pair.bin' } },
        { name: 'part', type: 'f64', value: '{unitsPerThread} / 4' },
      ],
      entries: [{ entry: 'types', sharedBytes: '4 * {blockThreads}' }],
    });
    const design = (await call('ranking.page', { runId, limit: 100 })).rows.find((row) => row.design.implementation === 'Thread per row')!.designIndex; // prettier-ignore
    const file = join(folder, 'types.json');
    for (const [whole, shown] of [
      ['whole.bin', { correct: true, values: { maxError: 0 }, failure: null }],
      ['near.bin', { correct: false, values: { maxError: 1 }, failure: /wrong/ }],
    ] as const) {
      writeFileSync(file, JSON.stringify(of(whole)));
      const { found } = await measured('opencl:0', { designs: [design], repeats: 1, warmUps: 0, kernel: { file } });
      expect(found.cases).toMatchObject([shown]);
    }
  },
);

/** The emulation checks the arguments of a kernel. The real compilers also compile each host program. */
describe('the program that launches a kernel', () => {
  const UNITS = 6;
  const DESIGN = designOf({ blockThreads: 32, gridBlocks: 1 });
  const TASK: ProgramTask = { exec: '', build: null, folder: '.', units: UNITS, deviceId: 'x', reference: null, probe: false, threadGroupWidth: 32 }; // prettier-ignore

  /** The kernel copies each array of its type through shared memory. Its sums need all bits of a number. */
  const KERNEL = dataText('cuda/types.cu');
  const BIG = 2n ** 62n;

  const units = Array.from({ length: UNITS }, (_, at) => at);
  const numbers = (type: ValueType, of: (at: number) => number): Uint8Array => valueBytes(type, units.map(of));
  const bigs = (of: (at: number) => bigint): Uint8Array => new Uint8Array(BigUint64Array.from(units, of).buffer);
  const pairs = (place: (at: number) => number): Buffer =>
    Buffer.concat(units.flatMap((at) => [valueBytes('f32', [at / 2]), valueBytes('i32', [place(at)])]));
  const sums = (more: number): Uint8Array => bigs((at) => BIG + BigInt(at - at + 250 + at + 1000 * at - 18 + more));

  beforeAll(() => {
    const files: Readonly<Record<string, Uint8Array | string>> = {
      'types.cu': KERNEL.replace('SHARED', '__shared__'),
      // The compiler of these tests does not rewrite sources, so shared memory must have a fixed size.
      'held.cu': KERNEL.replace('extern SHARED T held[]', '__shared__ T held[1024]'),
      a: numbers('i8', (at) => -at),
      b: numbers('u8', (at) => 250 + at),
      c: numbers('i16', (at) => 1000 * at),
      d: bigs((at) => BIG + BigInt(at)),
      e: numbers('f64', (at) => at),
      f: pairs((at) => 10 * at),
      limits: Buffer.concat([valueBytes('f64', [0.25]), valueBytes('i64', [40]), Buffer.from('Aaaaaaaa')]),
      sums: sums(40),
      products: numbers('f64', (at) => at / 2 + 0.25),
      pairs: pairs((at) => 10 * ((at + 1) % UNITS) * 2 * 2),
      sizes: numbers('u16', () => 65 + 33),
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  });
  function task(change: (manifest: typeof MANIFEST) => void, platform?: 'hip' | 'emulation'): KernelTask {
    const manifest = structuredClone(MANIFEST);
    manifest.sources = ['held.cu'];
    change(manifest);
    const read = unwrap(parseKernelManifest(JSON.stringify(manifest), 'types.kernel.json'));
    return { manifest: read, file: join(folder, 'types.kernel.json'), digest: '', units: UNITS, threadGroupWidth: 32, device: 0, ...(platform && { platform }) }; // prettier-ignore
  }

  /** Writes the host program of a kernel, but does not compile it yet. */
  async function prepared(kernel: KernelTask): Promise<KernelProgram> {
    vi.stubEnv('NVCC', EMULATING_NVCC);
    vi.stubEnv('HIPCC', EMULATING_HIPCC);
    const folders = { sources: SOURCES, folder, cache: join(folder, 'hosts-cache'), run: join(folder, 'run') };
    return unwrap(await kernelProgram({ warmUps: 0, repeats: 1 }, TASK, kernel, folders, 120_000));
  }

  /** Builds and runs a program. Returns its output about the result, and its standard error. */
  async function ran(
    change: (manifest: typeof MANIFEST) => void,
    platform?: 'hip' | 'emulation',
    launches = `0:${UNITS}:1:1`,
  ): Promise<readonly [string, string]> {
    const texts = { lengthsFile: '', orderFile: '', launches: '' };
    const { build } = await prepared(task(change, platform));
    const built = await build(listValues(DESIGN, 0, TASK, texts), DESIGN);
    if (!built.ok) return ['', built.error.message];
    const words = `--device 0 --units ${UNITS} --units-per-thread 1 --block 32 --launches ${launches} --repeats 1`;
    const { CUDA_DEVICE_ORDER: _, ...env } = { ...process.env, CUDA_SHIM_NEEDS_ORDER: '1' } as NodeJS.ProcessEnv;
    const { stdout, stderr } = spawnSync(built.value, words.split(' '), { cwd: folder, env, encoding: 'utf8' });
    return [stdout.split('\n').find((line) => line.includes('correct')) ?? '', stderr.trim()];
  }

  it.skipIf(lacks('g++'))('passes numbers of every size, structs, templates and computed sizes', async () => {
    expect(await ran(() => {})).toEqual(['{"correct":true,"maxError":0}', '']);
  });

  it.skipIf(lacks('g++') || process.platform !== 'linux')('has shared memory of the given size', async () => {
    const shared = await ran((m) => void (m.sources = ['types.cu']), 'emulation');
    expect(shared).toEqual(['{"correct":true,"maxError":0}', EMULATION_NOTE]);
  });

  it.skipIf(lacks('g++'))('compares whole numbers of 64 bits exactly', async () => {
    writeFileSync(join(folder, 'near'), sums(41));
    const [said, why] = await ran(({ arguments: all }) => void (all[11].output!.reference = 'near'));
    expect(said).toBe('{"correct":false,"maxError":1}');
    expect(why).toMatch(/^element 0 of sums is 4611686018427388e3|^element 0 of sums is 4\.61168602e\+18 instead of/);
  });

  it.skipIf(lacks('g++')).each<readonly [RegExp, (manifest: typeof MANIFEST) => void]>([
    [/the argument d is i64 in the manifest, of 8 bytes, and the parameter of the kernel points to another type/, (m) => void (m.arguments[3].type = 'i64')], // prettier-ignore
    [
      /The constant PLUS is 1 \/ 0\. For this design that is Infinity/,
      (m) => void (m.entries[0].constants.PLUS = '1 / 0'),
    ],
    [/the argument limits is u8\[20\] in the manifest, of 20 bytes, and the parameter of the kernel has another size/, (m) => { m.arguments[6].type = 'u8[20]'; m.arguments[6].value = { file: 'limits20' }; }], // prettier-ignore
  ])('refuses a manifest: %s', async (words, change) => {
    writeFileSync(join(folder, 'limits20'), Buffer.alloc(20));
    expect((await ran(change))[1]).toMatch(words);
  });

  // The number of units and the size of shared memory depend on the launch, so one program serves all these launches.
  it.skipIf(lacks('g++')).each([
    ['0:6:4:1', /the argument n is 1\.5, but its parameter is an unsigned integer of 32 bits/],
    ['0:6:3:1', /sharedBytes of the manifest gives 42\.\d+ here, but must give a whole number of bytes/],
    ['0:6:1:8388607', /1073741696 bytes of dynamic shared memory: cudaErrorInvalidValue/],
  ])('refuses the launch %s', async (launches, words) => {
    expect((await ran(() => {}, undefined, launches))[1]).toMatch(words);
  });

  it.skipIf(lacks('g++'))('compiles a .hip source by hipcc if there is one, or else the .cu source', async () => {
    writeFileSync(join(folder, 'own.hip'), KERNEL.replace('extern SHARED T held[]', '__shared__ T held[1024]').replace('TIMES * FACTOR', 'TIMES * 2')); // prettier-ignore
    for (const sources of [['held.cu', 'own.hip'], ['held.cu']])
      expect(await ran((m) => void (m.sources = sources), 'hip')).toEqual(['{"correct":true,"maxError":0}', '']);
  });

  it.skipIf(lacks('nvcc', 'hipcc'))(
    'generates hosts that nvcc and hipcc compile, half precision included',
    async () => {
      const half = `#include HALF\n__global__ void twice(const __half* x, __half by, __half* y, unsigned n) {
  extern __shared__ __half held[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) held[threadIdx.x] = x[i], y[i] = __hmul(held[threadIdx.x], by);
}\n`;
      writeFileSync(join(folder, 'half.cu'), half);
      for (const [name, factor] of Object.entries({ x: 1, y: 2 })) {
        const values = numbers('f16', (at) => at * factor);
        writeFileSync(join(folder, `half-${name}`), values);
      }
      const halves = task((m) => {
        m.sources = ['half.cu'];
        m.arguments = [
          { name: 'x', type: 'half', file: 'half-x' },
          { name: 'by', type: 'half', value: 2 },
          { name: 'y', type: 'half', output: { count: '{units}', reference: 'half-y' } },
          { name: 'n', type: 'u32', value: '{units}' },
        ] as typeof m.arguments;
        m.entries = [{ entry: 'twice', sharedBytes: '2 * {blockThreads}' } as (typeof m.entries)[0]];
      });
      const hosts = join(folder, 'hosts-cache', 'hosts');
      rmSync(hosts, { recursive: true, force: true });
      await prepared(halves);
      await prepared(task((m) => void (m.sources = ['types.cu'])));
      const made = readdirSync(hosts);
      expect(made).toHaveLength(2);
      for (const name of made) {
        const defined = ['-std=c++17', '-DFACTOR=2', '-DPLUS=33', join(hosts, name, 'host.cu')];
        // nvcc checks all of the host's code before it compiles the kernel, so `-ptx` is enough.
        const flags = ['-O0', '-ptx', '-arch=sm_90', '-DHALF=<cuda_fp16.h>', '-o', join(folder, 'host.ptx')];
        const nvcc = spawnSync(findTool('nvcc')!, [...flags, ...defined], { encoding: 'utf8' });
        expect([nvcc.status, nvcc.stderr]).toEqual([0, '']);
        const hip = ['-fsyntax-only', '-x', 'hip', '--offload-arch=gfx90a', '-DLOCKSTEP_GROUP_WIDTH=64'];
        const env = { ...process.env, HIP_PLATFORM: 'amd' };
        const words = [...hip, '-DHALF=<hip/hip_fp16.h>', ...defined];
        const hipcc = spawnSync(findTool('hipcc')!, words, { encoding: 'utf8', env });
        const errors = hipcc.stderr.replaceAll(/.*warning.*/g, '');
        expect([hipcc.status, errors]).toEqual([0, expect.not.stringContaining('error')]);
      }
    },
  );
});
