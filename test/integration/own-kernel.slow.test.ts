import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { main } from '../../src-main/cli/main.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { MeasuringDetail } from '../../src-main/contract/measuring.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { valueBytes } from '../../src-workers/bench/kernel/launches.ts';
import { spmvReference, writeSpmvKernel } from '../data/bench/spmv-reference.ts';
import { lacks } from '../tools.mjs';
import { call, ended } from '../unit/engine-calls.ts';
import { cacheIn, testEngine, testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';

// Measures the SpMV kernels of the examples on a small matrix. WGSL runs on the device that Dawn finds here, and CUDA
// on the emulation.
const ROOT = join(import.meta.dirname, '..', '..');
const SPMV = join(ROOT, 'db/examples/kernels/spmv');
const MATRIX = join(ROOT, 'test/data/matrices/lp_ship04l.mtx');
const folder = testFolder();
const databaseFile = join(folder, 'test.db');
const file = join(folder, 'spmv.kernel.json');
let engine: Engine;
let rows: number;
let runId: number;
/** Best design of each entry. */
let designs: readonly number[];

const open = async (host: 'cli' | 'serve'): Promise<Engine> => await testEngine(databaseFile, { host });

/** Writes the kernel's manifest under another name, with a change. */
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
  const study = change({ ...example, workload: { lengths: `mtx:${MATRIX}`, units: rows } });
  const { id } = await call(engine, 'studies.save', { study });
  return (await ended(engine, 'runs.start', { studyId: id })).id;
}

const reduced = (study: StudyFile): StudyFile => ({
  ...study,
  axes: { ...study.axes, blockThreads: [64], unitsPerThread: [2] },
});

beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
  rows = (await writeSpmvKernel(MATRIX, folder)).lengths.length;
  engine = await open('cli');
  runId = await sweep(reduced);
  const page = await call(engine, 'ranking.page', { runId, limit: 100 });
  const best = new Map(page.rows.toReversed().map(({ design, designIndex }) => [design.implementation, designIndex]));
  // This implementation has the same entry as another one. The entry behaves differently only if a row has more threads
  // than a thread group.
  best.delete('2 to 32 threads per row');
  designs = [...best.values()];
});
afterAll(async () => {
  await engine.close();
  vi.unstubAllEnvs();
});

const asked = (target: string, more: object = {}): object => ({
  target,
  runId,
  kernel: { file },
  repeats: 3,
  warmUps: 1,
  ...more,
});
async function measured(target: string, more: object = {}): Promise<{ run: RunSummary; found: MeasuringDetail }> {
  const run = await ended(engine, 'bench.start', asked(target, more));
  return { run, found: await call(engine, 'bench.detail', { id: run.id }) };
}
/** Expects a correct result for every design, and a time unless the designs were only checked. */
function expectCorrect({ cases }: MeasuringDetail, timed = true): void {
  for (const { label, failure, correct, measured: time, values } of cases) {
    expect([label, failure, correct, time !== null && time.minMs > 0]).toEqual([label, null, true, timed]);
    expect(values.maxError).toBeLessThan(1e-4);
  }
}
async function refused(target: string, more: object = {}): Promise<string> {
  const answer = await engine.dispatch('bench.start', asked(target, more));
  return answer.ok ? 'started' : answer.error.message;
}

it.skipIf(lacks('swiftshader'))('measures every implementation in WGSL, checks and compares them', async () => {
  const { run, found } = await measured('webgpu');
  expect(run).toMatchObject({ state: 'complete', valid: 10, invalid: 0 });
  expect(found.request).toMatchObject({
    backend: 'webgpu',
    kernel: { file, name: 'CSR sparse matrix-vector product' },
  });
  expectCorrect(found);
  const implementations = new Set(found.cases.map(({ design }) => design!.implementation));
  expect(implementations.size).toBe(5);
  const compared = await call(engine, 'bench.compare', { id: run.id });
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
  expect(await refused('webgpu', { runId: few, kernel: { file: plain } })).toMatch(/does not implement the balancing full-sort, only none, merge-path, mixed\(\*\), which design \d+ of run \d+ has\. Remove it from a copy/); // prettier-ignore
  const other = await sweep((study) => ({ ...reduced(study), workload: { ...study.workload, units: 100 } }));
  expect(await refused('webgpu', { runId: other })).toMatch(/arguments\[0\]\.file: .*lp_ship04l\.mtx has 402 rows, but the study has 100 units\. Set "units" of its workload to 402\.$/); // prettier-ignore
});

it.skipIf(lacks('swiftshader'))('tunes a kernel, and resumes only with the same files', async () => {
  let output = '';
  const take = (text: string): void => void (output += text);
  const lockstep = (...args: readonly string[]): Promise<number> =>
    main([...args, '--db', databaseFile], { out: take, err: take, interactive: false, columns: 100 });
  const other = manifest('tuned.kernel.json');
  const tuned = ['tune', String(runId), '--kernel', other, '--target', 'webgpu', '--budget', '2', '--repeats', '1'];
  expect([await lockstep(...tuned, '--json'), output]).toEqual([0, expect.stringContaining('"measured": 2')]);
  output = '';
  expect(await lockstep('bench', String(runId), '--kernel', file, '--target', 'webgpu', '--exec', 'x')).toBe(2);
  expect(output).toMatch(/Remove --exec/);

  const few = { designs: designs.slice(0, 2) };
  const { runId: id } = await call(engine, 'bench.start', asked('webgpu', few));
  await call(engine, 'runs.cancel', { id });
  expect((await call(engine, 'runs.wait', { id })).state).toBe('cancelled');
  const text = readFileSync(join(folder, 'spmv.wgsl'), 'utf8');
  writeFileSync(join(folder, 'spmv.wgsl'), `${text}\n`);
  await expect(call(engine, 'runs.resume', { id })).rejects.toThrow(/or a file that it names, has changed/);
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
  const [target] = (await call(engine, 'bench.targets', {})).filter(({ id }) => id === 'opencl:0');
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
    expect.stringMatching(/has 11 parameters and is given 12/),
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
    const design = (await call(engine, 'ranking.page', { runId, limit: 100 })).rows.find((row) => row.design.implementation === 'Thread per row')!.designIndex; // prettier-ignore
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

// This test is the last one, because it replaces the engine.
it("measures a user's kernel only for the command line", async () => {
  await engine.close();
  engine = await open('serve');
  const answer = await engine.dispatch('bench.start', asked('webgpu'));
  expect(answer).toFail(null, /^Only the command line .* Use lockstep bench RUN --kernel/);
  const targets = await call(engine, 'bench.targets', {});
  expect(targets.find(({ id }) => id === 'opencl:0')).toMatchObject({ backend: 'program', available: false });
});
