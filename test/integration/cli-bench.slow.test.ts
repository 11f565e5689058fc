import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { benchCommand, type BenchOptions } from '../../src-main/cli/commands/bench.ts';
import { calibrateCommand } from '../../src-main/cli/commands/calibrate.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import type { FakeBench } from '../data/bench/fake-child.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { lacks } from '../tools.mjs';
import { captured, documentOf, lockstep, type Outcome } from '../command-line.ts';
import { cacheIn, testEngine, testFolder } from '../workplace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FAKE = join(ROOT, 'test', 'data', 'bench', 'fake-child.ts');
const folder = testFolder();
const db = join(folder, 'test.db');
const study = join(folder, 'study.json');
const DEVICE = 'nvidia-rtx-4090';

beforeEach(() => fake({}));
afterAll(() => {
  delete process.env.FAKE_BENCH;
  vi.unstubAllEnvs();
});

function fake(behaviour: FakeBench): void {
  process.env.FAKE_BENCH = JSON.stringify(behaviour);
}

/** The whole command line. */
const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', db);

/** The command itself, on an engine whose programs measure nothing. */
async function withFake(body: (engine: Engine) => Promise<Outcome>): Promise<Outcome> {
  const engine = await testEngine(db, { programs: { webgpuChildFile: FAKE, cpuChildFile: FAKE } });
  try {
    return await body(engine);
  } finally {
    await engine.close();
  }
}
const bench = (runId: string | undefined, options: BenchOptions): Promise<Outcome> =>
  withFake((engine) => captured((terminal) => benchCommand(engine, terminal, runId, options)));
const calibrate = (runId: string, options: object): Promise<Outcome> =>
  withFake((engine) => captured((terminal) => calibrateCommand(engine, terminal, runId, options)));

beforeAll(async () => {
  const axes = { threadsPerUnit: [1, 2, 4, 8], blockThreads: [64, 128, 256], blocksPerMultiprocessor: [2, 4] };
  writeFileSync(study, JSON.stringify(smallStudy({ axes })));
  expect((await run('sweep', study)).status).toBe(0);
});

it("measures, compares and calibrates, and keeps a stand-in's parameters out of a study", async () => {
  const where = { target: 'webgpu', device: DEVICE, json: true } as const;
  fake({ factor: 3 });
  const measured = documentOf<{ cases: { medianMs: number; predictedMs: number }[] }>(
    await bench('1', { ...where, random: 12, repeats: 7 }),
  );
  expect(measured).toMatchObject({
    ...{ runId: 2, sourceRunId: 1, target: 'webgpu', device: { name: 'Fake device' }, failed: 0 },
    warnings: expect.arrayContaining([expect.stringMatching(/measured on Fake device/)]) as string[],
  });
  expect(measured.cases).toHaveLength(12);
  for (const one of measured.cases) {
    expect(one).toMatchObject({ timesMs: { length: 7 }, label: /^u=\d+ m=/ });
    expect(one.medianMs / one.predictedMs).toBeCloseTo(3.012, 6);
  }

  const compared = documentOf<object>(await bench('2', { compare: true, json: true }));
  expect(compared).toMatchObject({ basis: 'prediction', designs: { length: 12 } });
  const text = await bench('2', { compare: true });
  expect(text.out).toMatch(/12 designs of run 1, predicted for GeForce RTX 4090, measured on Fake device/);
  expect(text.out).toMatch(/Rank correlation: \d\.\d{3} \(Spearman\)/);
  expect(text.out).toMatch(/The best of the model's first 1 is /);

  const kept = documentOf<{ id: number; name: string; profile: { parameters: Record<string, number> } }>(
    await calibrate('2', { name: 'fake', json: true }),
  );
  expect(kept).toMatchObject({ id: 1, name: 'fake' });
  const before = readFileSync(study, 'utf8');
  const refused = await calibrate('2', { into: study });
  expect([refused.status, refused.err]).toEqual([1, expect.stringMatching(/loop that stands in for a kernel/)]);
  expect(readFileSync(study, 'utf8')).toBe(before);
  // Older versions wrote this, because they used a stand-in's parameters for the kernel.
  const { latencyCycles, issueCycles } = kept.profile.parameters;
  const written = JSON.parse(before) as { kernel: object };
  const pipeline = { [DEVICE]: { latencyCycles, issueCycles, kneeSoftness: 6, origin: 'calibrated' } };
  const misled = { ...written.kernel, setupIterationsPerUnit: 3, origins: { setupIterationsPerUnit: 'calibrated' } };
  writeFileSync(study, JSON.stringify({ ...written, kernel: misled, pipeline }));
  expect((await run('sweep', study, '--json')).out).toContain('of a stand-in loop, not of this kernel');
  expect(documentOf(await calibrate('2', { undo: study, json: true }))).toEqual({ study, deviceId: DEVICE });
  // The study did not state this value, so the kernel gets the assumed value back from the sweep of the measured
  // designs.
  const undone = JSON.parse(readFileSync(study, 'utf8')) as object;
  expect(undone).toMatchObject({ pipeline: {}, kernel: { origins: { unit: 'assumed' } } });
  expect(undone).not.toHaveProperty(['pipeline', DEVICE]);
  writeFileSync(study, before);
  const plain = await calibrate('2', {});
  for (const words of [
    'latencyCycles',
    'This was fitted to a stand-in loop',
    'On designs held out of the fit (5 folds)',
  ])
    expect(plain.out).toContain(words);
  expect(plain.out).not.toMatch(/Kept/);
  const other = documentOf<object>(await bench('2', { compare: true, profile: 1, json: true }));
  expect(other).toMatchObject({ basis: { profileId: 1, name: 'fake' } });
});

it('names the failure, and shows a failed run like any other', async () => {
  const id = String(
    (JSON.parse((await run('runs', 'list', '--json')).out) as { runs: { id: number }[] }).runs[0].id + 1,
  );
  fake({ silent: true });
  const dead = await bench('1', { target: 'cpu', device: DEVICE });
  expect(dead).toMatchObject({ status: 1, out: '' });
  expect(dead.err).toMatch(/is not a CPU, but cpu measures only a CPU/);
  const silent = await bench('1', { target: 'webgpu', device: DEVICE, top: 3 });
  expect(silent.status).toBe(1);
  expect(silent.err).toMatch(/ended with exit code 3: no such device.* 0 of 3 cases are saved/);
  const shown = await run('runs', 'show', id);
  expect(shown.out).toMatch(/Kind +bench of run 1/);
  expect(shown.out).toMatch(/State +failed: The measuring program/);
  expect(shown.out).toMatch(/Cases +3, 0 valid, 0 invalid/);
  expect((await run('runs', 'list')).out).toMatch(new RegExp(`${id} +bench +failed +Small`));

  fake({ failing: ['design-40'] });
  const none = await bench('1', { target: 'webgpu', device: DEVICE, design: [40] });
  expect(none.status).toBe(1);
  expect(none.out).toMatch(/1 failed/);
});

it.skipIf(lacks('g++'))('stops at Ctrl-C, keeps the measurements, leaves no process behind, and resumes', async () => {
  const own = join(folder, 'stopped.db');
  vi.stubEnv('NVCC', join(ROOT, 'test', 'data', 'cuda-shim', 'nvcc'));
  vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
  const file = join(folder, 'slow.json');
  const axes = { threadsPerUnit: [1, 2], blockThreads: [32, 64], gridBlocks: [4, 8] };
  const workload = { lengths: 'geometric(0.05)', units: 1500 };
  writeFileSync(file, JSON.stringify(smallStudy({ devices: [DEVICE], workload, axes })));
  expect((await lockstep('sweep', file, '--db', own)).status).toBe(0);

  const words = 'bench 1 --target cuda:0 --repeats 3 --db'.split(' ');
  const measuring = spawn(process.execPath, [join(ROOT, 'src-main', 'cli', 'lockstep.mjs'), ...words, own]);
  let [out, err] = ['', ''];
  measuring.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  measuring.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const reader = new Database(own, { readonly: true });
  const saved = reader.prepare<[], { n: number }>('SELECT count(*) AS n FROM measured_designs');
  while (saved.get()!.n < 1 && measuring.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  measuring.kill('SIGINT');
  expect(await once(measuring, 'close')).toEqual([1, null]);
  expect(out).toBe('');
  expect(err).toMatch(/Run 2 stopped after \d of 8 cases\. .*lockstep runs resume 2 /);
  const kept = saved.get()!.n;
  expect(kept).toBeGreaterThanOrEqual(1);
  expect(kept).toBeLessThan(8);
  reader.close();

  const resumed = await lockstep('runs', 'resume', '2', '--json', '--db', own);
  expect(documentOf<{ cases: object[]; failed: number }>(resumed)).toMatchObject({ failed: 0, cases: { length: 8 } });
});

it('packs a measurement for a machine without Lockstep, as a folder or an archive', async () => {
  const into = join(folder, 'bundle');
  const packed = documentOf<{ path: string; cases: number; files: string[]; bytes: number }>(
    await run('bench', '1', '--device', DEVICE, '--top', '4', '--bundle', into, '--json'),
  );
  expect(packed).toMatchObject({ path: into, cases: 4, leftOut: null });
  expect(readdirSync(into).sort()).toEqual([...new Set(packed.files.map((file) => file.split('/')[0]))].sort());
  expect(statSync(join(into, 'run.sh')).mode & 0o111).not.toBe(0);
  const [line] = readFileSync(join(into, 'plan.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(line)).toMatchObject({ type: 'plan', source: { runId: 1, study: 'Small', deviceId: DEVICE } });
  const again = await run('bench', '1', '--device', DEVICE, '--bundle', into);
  expect(again).toMatchObject({ status: 1 });
  expect(again.err).toMatch(/already holds a bundle/);

  // This machine has no AMD device, and the bundle needs no nvcc here.
  const ofHip = join(folder, 'hip-bundle');
  const forHip = await run('bench', '1', '--device', DEVICE, '--top', '4', '--target', 'hip:0', '--bundle', ofHip);
  expect(forHip.out).toMatch(/Copy it to a machine with a HIP device, run \.\/run\.sh in it there/);
  expect(readFileSync(join(ofHip, 'run.sh'), 'utf8')).not.toContain('nvcc ');
  expect(existsSync(join(ofHip, 'run.ps1'))).toBe(false);
  const ofCpu = await run('bench', '1', '--target', 'cpu', '--bundle', join(folder, 'cpu-bundle'));
  expect(ofCpu.err).toMatch(/A bundle is for CUDA or HIP/);
  const archive = join(folder, 'bundle.tar');
  expect((await run('bench', '1', '--device', DEVICE, '--top', '4', '--bundle', archive)).out).toMatch(
    /Packed 4 cases/,
  );
  expect(statSync(archive).size % 512).toBe(0);
  expect(statSync(archive).size).toBeGreaterThan(packed.bytes);
});

it('names the designs that the target cannot run in one line, and measures the others', async () => {
  const where = { target: 'webgpu', device: DEVICE, top: 1000, repeats: 1, warmUps: 0 } as const;
  const all = documentOf<{ cases: object[]; leftOut: unknown }>(await bench('1', { ...where, json: true }));
  expect(all.leftOut).toBeNull();
  fake({ width: 4 });
  const narrow = await bench('1', { ...where, json: true });
  const { cases, leftOut } = JSON.parse(narrow.out) as { cases: { label: string }[]; leftOut: unknown };
  const [total, able] = [all.cases.length, cases.length];
  expect(able).toBeLessThan(total);
  expect(cases.every(({ label }) => /^u=[124] /.test(label))).toBe(true);
  expect(leftOut).toEqual({ designs: total, runnable: able, limits: [{ quantity: 'threadsPerUnit', atMost: 4 }] });
  const line = `lockstep: ${total - able} of ${total} designs are left out, because they need more than 4 threads per unit\n`;
  expect(narrow).toMatchObject({ status: 0, err: line });
  expect(await bench('1', { ...where, top: 2 })).toMatchObject({ status: 0, err: line });
});

it('explains that there is no rank correlation if all designs take the same time', async () => {
  fake({ timeMs: 3 });
  const options = { target: 'webgpu', device: DEVICE, random: 5, repeats: 3, json: true } as const;
  const { runId } = documentOf<{ runId: number }>(await bench('1', options));
  const { out } = await bench(String(runId), { compare: true });
  expect(out).toContain('Rank correlation: undefined, since all measured times are equal.');
  expect(out).not.toContain('NaN');
  expect(documentOf<object>(await bench(String(runId), { compare: true, json: true }))).toMatchObject({
    spearman: null,
  });
});
