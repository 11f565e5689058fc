import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import { EMULATION_NOTE } from '../../src-workers/bench/cuda/emulation.ts';
import { kernelProgram, type KernelProgram } from '../../src-workers/bench/kernel/cuda-program.ts';
import { valueBytes } from '../../src-workers/bench/kernel/launches.ts';
import { listValues } from '../../src-workers/bench/program/command-line.ts';
import type { ProgramTask } from '../../src-workers/domain/benchmark.ts';
import type { KernelTask, ValueType } from '../../src-workers/domain/kernel-manifest.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { findTool, lacks } from '../tools.mjs';
import { EMULATING_HIPCC, EMULATING_NVCC, SOURCES } from './bench-cuda-plans.ts';
import { testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';
import { designOf } from '../measuring.ts';
import MANIFEST from '../data/cuda/types.kernel.json' with { type: 'json' };

/**
 * Tests on the emulation the arguments that a manifest may give a kernel. The real compilers also compile each host
 * program that Lockstep writes.
 */

const folder = testFolder();
const UNITS = 6;
const DESIGN = designOf({ blockThreads: 32, gridBlocks: 1 });
const TASK: ProgramTask = { exec: '', build: null, folder: '.', units: UNITS, deviceId: 'x', reference: null, probe: false, threadGroupWidth: 32 }; // prettier-ignore

/** The kernel copies each array of its type through shared memory. Its sums need all bits of a number. */
const KERNEL = dataText('cuda/types.cu');
const BIG = 2n ** 62n;

const numbers = (type: ValueType, of: (at: number) => number): Uint8Array =>
  valueBytes(
    type,
    Array.from({ length: UNITS }, (_, at) => of(at)),
  );
const bigs = (of: (at: number) => bigint): Uint8Array =>
  new Uint8Array(BigUint64Array.from({ length: UNITS }, (_, at) => of(at)).buffer);
const pairs = (place: (at: number) => number): Buffer =>
  Buffer.concat(Array.from({ length: UNITS }, (_, at) => Buffer.concat([valueBytes('f32', [at / 2]), valueBytes('i32', [place(at)])]))); // prettier-ignore

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
    sums: bigs((at) => BIG + BigInt(at - at + 250 + at + 1000 * at - 18 + 40)),
    products: numbers('f64', (at) => at / 2 + 0.25),
    pairs: pairs((at) => 10 * ((at + 1) % UNITS) * 2 * 2),
    sizes: numbers('u16', () => 65 + 33),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
});
afterAll(() => vi.unstubAllEnvs());

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
  const folders = { sources: SOURCES, folder, cache: join(folder, 'cache'), run: join(folder, 'run') };
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

it.skipIf(lacks('g++') || process.platform !== 'linux')(
  'has shared memory of the size that the manifest gives',
  async () => {
    expect(await ran((m) => void (m.sources = ['types.cu']), 'emulation')).toEqual([
      '{"correct":true,"maxError":0}',
      EMULATION_NOTE,
    ]);
  },
);

it.skipIf(lacks('g++'))('compares whole numbers of 64 bits exactly', async () => {
  writeFileSync(
    join(folder, 'near'),
    bigs((at) => BIG + BigInt(at - at + 250 + at + 1000 * at - 18 + 41)),
  );
  const [said, why] = await ran(({ arguments: all }) => void (all[11].output!.reference = 'near'));
  expect(said).toBe('{"correct":false,"maxError":1}');
  expect(why).toMatch(/^element 0 of sums is 4611686018427388e3|^element 0 of sums is 4\.61168602e\+18 instead of/);
});

it.skipIf(lacks('g++')).each<readonly [RegExp, (manifest: typeof MANIFEST) => void]>([
  [/the argument d is i64 in the manifest, of 8 bytes, and the parameter of the kernel points to another type/, (m) => void (m.arguments[3].type = 'i64')], // prettier-ignore
  [/the argument limits is u8\[20\] in the manifest, of 20 bytes, and the parameter of the kernel has another size/, (m) => { m.arguments[6].type = 'u8[20]'; m.arguments[6].value = { file: 'limits20' }; }], // prettier-ignore
])('refuses a type that differs from that of the parameter: %s', async (words, change) => {
  writeFileSync(join(folder, 'limits20'), Buffer.alloc(20));
  expect((await ran(change))[1]).toMatch(words);
});

it('refuses a constant that is not a finite number', async () => {
  const [, why] = await ran((m) => void (m.entries[0].constants.PLUS = '1 / 0'));
  expect(why).toMatch(/The constant PLUS is 1 \/ 0\. For this design that is Infinity/);
});

// The number of units and the size of shared memory depend on the launch, so one program serves all these launches.
it.skipIf(lacks('g++')).each([
  ['0:6:4:1', /the argument n is 1\.5, which its parameter, a whole number of 32 unsigned bits, cannot hold/],
  ['0:6:3:1', /sharedBytes of the manifest is 42\.\d+ here, which must be a whole number of bytes/],
  ['0:6:1:8388607', /1073741696 bytes of dynamic shared memory: cudaErrorInvalidValue/],
])('refuses the launch %s', async (launches, words) => {
  expect((await ran(() => {}, undefined, launches))[1]).toMatch(words);
});

it.skipIf(lacks('g++'))('compiles a .hip source by hipcc if there is one, or else the .cu source', async () => {
  writeFileSync(join(folder, 'own.hip'), KERNEL.replace('extern SHARED T held[]', '__shared__ T held[1024]').replace('TIMES * FACTOR', 'TIMES * 2')); // prettier-ignore
  for (const sources of [['held.cu', 'own.hip'], ['held.cu']])
    expect(await ran((m) => void (m.sources = sources), 'hip')).toEqual(['{"correct":true,"maxError":0}', '']);
});

it.skipIf(lacks('nvcc', 'hipcc'))('generates hosts that nvcc and hipcc compile, half precision included', async () => {
  const half = `#include HALF\n__global__ void twice(const __half* x, __half by, __half* y, unsigned n) {
  extern __shared__ __half held[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) held[threadIdx.x] = x[i], y[i] = __hmul(held[threadIdx.x], by);
}\n`;
  writeFileSync(join(folder, 'half.cu'), half);
  for (const name of ['x', 'y'])
    writeFileSync(
      join(folder, name),
      numbers('f16', (at) => at * (name === 'y' ? 2 : 1)),
    );
  const halves = task((m) => {
    m.sources = ['half.cu'];
    m.arguments = [
      { name: 'x', type: 'half', file: 'x' },
      { name: 'by', type: 'half', value: 2 },
      { name: 'y', type: 'half', output: { count: '{units}', reference: 'y' } },
      { name: 'n', type: 'u32', value: '{units}' },
    ] as typeof m.arguments;
    m.entries = [{ entry: 'twice', sharedBytes: '2 * {blockThreads}' } as (typeof m.entries)[0]];
  });
  const hosts = join(folder, 'cache', 'hosts');
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
    const hip = '-fsyntax-only -x hip --offload-arch=gfx90a -DLOCKSTEP_GROUP_WIDTH=64 -DHALF=<hip/hip_fp16.h>'.split(
      ' ',
    );
    const hipcc = spawnSync(findTool('hipcc')!, [...hip, ...defined], {
      encoding: 'utf8',
      env: { ...process.env, HIP_PLATFORM: 'amd' },
    });
    expect([hipcc.status, hipcc.stderr.replaceAll(/.*warning.*/g, '')]).toEqual([
      0,
      expect.not.stringContaining('error'),
    ]);
  }
});
