import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { processLives } from '../../db/ownership.ts';
import type { Inspection } from '../../src-workers/domain/inspection.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseCubin } from '../../src-workers/inspect/cubin.ts';
import { documentOf, lockstep } from '../command-line.ts';
import { cudaPlan } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { findTool, lacks } from '../tools.mjs';
import { unitLoop } from '../measuring.ts';
import { NO_FILES, planOf, SOURCES, WORKLOAD } from './bench-cuda-plans.ts';
import { testFolder, useBench } from '../workplace.ts';

const nvcc = findTool('nvcc');
const SOURCE = 'test/data/inspect/kernels.cu';
const ENTRIES = [
  ...['csr', 'collatz', 'chase', 'marked', 'branches', 'mandelbrot', 'newton', 'histogram', 'spilling'],
  '_ZN5walks4walkIiEEvPKT_PS1_i',
];

/** Reads the assembler's report on each kernel: registers, shared memory, spill stores and loads. */
function saidOf(log: string): ReadonlyMap<string, readonly number[]> {
  const parts = log.split(/Compiling entry function '/).slice(1);
  return new Map(
    parts.map((part) => {
      const number = (pattern: string): number => Number(new RegExp(pattern).exec(part)?.[1] ?? 0);
      const bytes = ['smem', 'spill stores', 'spill loads'].map((of) => `(\\d+) bytes ${of}`);
      const figures = ['Used (\\d+) registers', ...bytes];
      return [part.slice(0, part.indexOf("'")), figures.map(number)];
    }),
  );
}

type Study = { readonly kernel: Readonly<Record<string, unknown>> & { readonly origins?: object } };
const readStudy = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Study;

describe.skipIf(lacks('nvcc'))('a kernel inspected with nvcc', () => {
  const folder = testFolder();
  const compile = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(nvcc!, args, { encoding: 'utf8', timeout: 240_000 });
    expect(status, stderr).toBe(0);
    return stdout + stderr;
  };
  const { engine } = useBench();
  let log: string;
  let said: ReadonlyMap<string, readonly number[]>;
  const inspect = async (fileName: string, bytes: Uint8Array, entry: string, more: object = {}): Promise<Inspection> =>
    unwrap(await engine.call('kernel.inspect', { fileName, bytes, entry, ...more }));
  const inspectInto = async <T = Inspection>(study: string, file: string): Promise<T> => {
    const args = ['kernel', 'inspect', file, '--entry', 'csr', '--into', study, '--json'];
    return documentOf<T>(await lockstep(...args, '--db', join(folder, 'cli.db')));
  };

  beforeAll(async () => {
    // A user compiles the source this way, without the line information that an inspection requests.
    log = compile('-O3', '-arch=sm_90', '-Xptxas', '-v', '-cubin', '-o', join(folder, 'all.cubin'), SOURCE);
    said = saidOf(log);
    compile('-O3', '-lineinfo', '-arch=sm_90', '-ptx', '-o', join(folder, 'all.ptx'), SOURCE);
  });

  it('reports the registers, shared memory and spills of ptxas -v for ten kernels', async () => {
    expect([...said.keys()].sort()).toEqual([...ENTRIES].sort());
    for (const entry of ENTRIES) {
      const [registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes] = said.get(entry)!;
      const figures = { registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes };
      expect(await inspect('build.log', Buffer.from(log), entry), entry).toMatchObject(figures);
    }
    expect(said.get('spilling')![2]).toBeGreaterThan(0);
  });

  it('compiles a source, and finds the same in machine code and in PTX', async () => {
    const found = await inspect('kernels.cu', readFileSync(SOURCE), 'spilling', { arch: 'sm_90', caps: [24, 32] });
    const [registers, , stores, loads] = said.get('spilling')!;
    expect(found).toMatchObject({ registersPerThread: registers, spillStoreBytes: stores, spillLoadBytes: loads });
    // Launch bounds in the kernel override a register cap, and ptxas warns about it.
    expect(found.caps.map(({ cap }) => cap)).toEqual([24, 32]);
    const chase = await inspect('kernels.cu', readFileSync(SOURCE), 'chase', { arch: 'sm_90', caps: [16, 24] });
    expect(chase.caps.every(({ cap, registersPerThread }) => registersPerThread <= cap)).toBe(true);
    const ptx = await inspect('all.ptx', readFileSync(join(folder, 'all.ptx')), 'chase');
    if (chase.from === 'ptx') expect(chase.loops).toEqual(ptx.loops);
    expect(ptx.registersPerThread).toBe(said.get('chase')![0]);
  });

  it('reads registers and shared memory from object files for devices', async () => {
    const plan = planOf([unitLoop('loop', { threadsPerUnit: 4 })], { workload: WORKLOAD });
    const { objects } = unwrap(await cudaPlan(plan, NO_FILES));
    let kernels = 0;
    for (const [file, arch, flags] of [
      [SOURCE, 'sm_75', []],
      [SOURCE, 'sm_120', []],
      // The first object is the host's, so it is left out.
      ...objects.slice(1).map(({ source, flags }) => [join(SOURCES, source), 'sm_90', flags] as const),
    ] as const) {
      const cubin = join(folder, 'one.cubin');
      const ways = [...flags, '-std=c++17', `-arch=${arch}`];
      const log = saidOf(compile('-O3', ...ways, '-Xptxas', '-v', '-cubin', '-o', cubin, file));
      const found = unwrap(parseCubin(readFileSync(cubin)));
      expect(found.map(({ entry }) => entry).sort()).toEqual([...log.keys()].sort());
      for (const { entry, arch: of, registersPerThread, sharedMemoryBytes } of found)
        expect([of, registersPerThread, sharedMemoryBytes]).toEqual([arch, ...log.get(entry)!.slice(0, 2)]);
      kernels += found.length;
    }
    expect(kernels).toBeGreaterThan(2 * ENTRIES.length);
  });

  it('reports the message of the compiler, and says that headers of the user need the command line', async () => {
    const call = (text: string, more: object = {}) =>
      engine.call('kernel.inspect', { fileName: 'k.cu', bytes: Buffer.from(text), arch: 'sm_90', ...more });
    expect(await call('__global__ void k() { int x = ; }')).toFail('unsupported', /k\.cu\(1\)/);
    const own = '#include "mine.cuh"\n__global__ void k(float *y) { y[0] = MINE; }';
    expect(await call(own)).toFail(null, /lockstep kernel inspect/);
    writeFileSync(join(folder, 'mine.cuh'), '#define MINE 1.0f\n');
    expect(await call(own, { folder })).toMatchObject({ ok: true, value: { loops: [] } });
    // nvcc passes its arguments to a shell. Neither a flag nor a folder's name may start a program there.
    const touched = join(folder, 'touched');
    const ways = ['-ccbin=/bin/true', `-DX=$(touch ${touched})`, `-I/tmp/\`touch ${touched}\``, '-I/tmp/a";true;"'];
    for (const flag of ways) expect(await call(own, { flags: [flag] })).toFail('bad-input');
    const odd = join(folder, 'a $(touch touched) b');
    mkdirSync(odd);
    writeFileSync(join(odd, 'mine.cuh'), '#define MINE X\n');
    expect(await call(own, { folder: odd, flags: ['-DX=2.5f'] })).toMatchObject({ ok: true });
    expect(existsSync(touched)).toBe(false);
    expect(await call('', { caps: [32], arch: undefined })).toFail('bad-input');
  });

  it('compiles a file where it is, under its own name', async () => {
    const own = join(folder, 'in place');
    mkdirSync(own);
    // Sources of public suites include neighbours like this one. A copy of outer.cu must not get a neighbour's name.
    writeFileSync(join(own, 'kernel.cu'), '__global__ void inner(float *y) { y[0] = VALUE; }\n');
    writeFileSync(join(own, 'given.h'), '#define VALUE 2.5f\n');
    const outer = Buffer.from('#include "kernel.cu"\n');
    writeFileSync(join(own, 'outer.cu'), outer);
    const call = (flags: string[]) =>
      engine.call('kernel.inspect', { fileName: 'outer.cu', bytes: outer, arch: 'sm_90', folder: own, flags });
    const undefinedValue = await call([]);
    expect(undefinedValue).toFail(null, /kernel\.cu\(1\)/);
    expect(JSON.stringify(undefinedValue)).not.toContain('own/');
    writeFileSync(join(folder, 'given.h'), '#define VALUE 2.5f\n');
    expect(await call([`-include=${join(folder, 'given.h')}`])).toMatchObject({ ok: true, value: { name: 'inner' } });
    expect(await call(['-include=/tmp/`true`'])).toFail('bad-input');
  });

  it('fills a study that lacks the fields of the kernel, and a study with a CPU, for the first GPU', async () => {
    const study = join(folder, 'lacking.json');
    writeFileSync(study, JSON.stringify({ ...readStudy('db/examples/spmv-cpu.json'), kernel: { name: 'mine' } }));
    type Written = Inspection & { readonly unknown: readonly string[] };
    const { arch, unknown, notes } = await inspectInto<Written>(study, SOURCE);
    expect(notes.join(' ')).toContain('(accesses) is left out, because the study also has a CPU (amd-epyc-7302p)');
    // The study has one GPU, and this is its architecture.
    expect(arch).toBe('sm_80');
    expect(unknown.join(' ')).toContain('lengths');
    const { kernel } = readStudy(study);
    expect(kernel).toMatchObject({ name: 'mine', bytesPerIteration: 12, origins: { bytesPerIteration: 'imported' } });
    expect(kernel).not.toHaveProperty('accesses');
  });

  it('writes its results into a study, and leaves all else unchanged', async () => {
    const study = join(folder, 'study.json');
    const before = readStudy('db/examples/spmv-uniform.json');
    writeFileSync(study, JSON.stringify(before));
    const { loops, chosen, from, phases } = await inspectInto(study, join(folder, 'all.ptx'));
    expect(from).toMatch(/^(ptx|sass)$/);
    const after = readStudy(study);
    const { instructionsPerIteration } = loops[chosen!.loop];
    const found = { instructionsPerIteration, registersPerThread: said.get('csr')![0], ...phases };
    const origins = { ...before.kernel.origins, registersPerThread: 'imported' };
    expect(after.kernel).toMatchObject({ ...found, sharing: 'deal', bytesPerIteration: 0, origins });
    expect(after.kernel).not.toHaveProperty('setupIterationsPerUnit');
    expect({ ...after, kernel: null }).toEqual({ ...before, kernel: null });
  });
});

describe.skipIf(process.platform === 'win32')('a kernel inspected with another compiler', () => {
  const folder = testFolder();
  const { engine } = useBench();
  afterAll(() => vi.unstubAllEnvs());
  const inspect = (fileName: string, bytes: Uint8Array, more: object = {}) =>
    engine.call('kernel.inspect', { fileName, bytes, entry: 'csr', ...more });

  it('ends the compiler when it is cancelled, or when the page begins a newer inspection', async () => {
    const pid = join(folder, 'pid');
    const compiler = join(folder, 'nvcc');
    vi.stubEnv('NVCC', compiler);
    const script = `#!/bin/sh\necho $$ > ${pid}.draft && mv ${pid}.draft ${pid} && exec sleep 600\n`;
    writeFileSync(compiler, script, { mode: 0o755 });
    const started = async (): Promise<number> => {
      await vi.waitUntil(() => existsSync(pid), { timeout: 60_000 });
      const number = Number(readFileSync(pid, 'utf8'));
      rmSync(pid);
      return number;
    };
    const asked = { arch: 'sm_90', client: 'page' };
    const first = inspect('k.cu', readFileSync(SOURCE), asked);
    const one = await started();
    expect(unwrap(await engine.call('kernel.cancelInspect', { client: 'another page' }))).toBe(false);
    const second = inspect('k.cu', readFileSync(SOURCE), asked);
    expect(await first).toFail('cancelled');
    const two = await started();
    expect(unwrap(await engine.call('kernel.cancelInspect', { client: 'page' }))).toBe(true);
    expect(await second).toFail('cancelled');
    await vi.waitUntil(() => !processLives(one) && !processLives(two), { timeout: 60_000 });
  });

  it('without nvcc refuses a source with advice, and finds the loops of PTX', async () => {
    vi.stubEnv('NVCC', join(folder, 'none'));
    const source = await inspect('k.cu', readFileSync(SOURCE), { arch: 'sm_90' });
    expect(source).toFail('not-found', /PTX.*cubin.*-Xptxas -v/s);
    const ptx = unwrap(await inspect('kernels.ptx', readFileSync('test/data/inspect/kernels.ptx')));
    expect(ptx).toMatchObject({ from: 'ptx', registersPerThread: null, loops: { length: 2 } });
    expect(ptx.notes.join(' ')).toContain('nvcc was not found');
    expect(await inspect('lengths.csv', Buffer.from('steps\n1\n'))).toFail('bad-input');
  });

  it('says of a source with headers of HIP that HIP is not supported, if the compiler refuses it', async () => {
    const compiler = join(folder, 'refusing');
    vi.stubEnv('NVCC', compiler);
    const error = 'hip/hip_runtime_api.h(1160): error: no suitable constructor exists';
    writeFileSync(compiler, `#!/bin/sh\necho '${error}' >&2\nexit 2\n`, { mode: 0o755 });
    const refused = async (source: string) => inspect('k.cu', Buffer.from(source), { arch: 'sm_90' });
    const said = `nvcc refused: ${error}`;
    expect(await refused('#include "graph.h"\n__global__ void csr() {}\n')).toFail('unsupported', said);
    const advice = '. The file includes headers of HIP, which is not supported. Inspect a CUDA version of the kernel.';
    const hip = await refused('#include <hip/hip_runtime.h>\n__global__ void csr() {}\n');
    expect(hip).toFail('unsupported', said + advice);
  });

  it('refuses a study that is missing or is not JSON before it asks for an architecture', async () => {
    const broken = join(folder, 'broken.json');
    writeFileSync(broken, '');
    for (const [study, problem] of [
      [join(folder, 'none.json'), 'cannot be read'],
      [broken, 'JSON needs a value here'],
    ]) {
      const { status, err } = await lockstep('kernel', 'inspect', SOURCE, '--into', study);
      expect([status, err]).toEqual([1, expect.stringContaining(problem)]);
      expect(err).toContain(study);
    }
  });
});
