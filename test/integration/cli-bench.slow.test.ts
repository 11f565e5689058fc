import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { benchCommand, type BenchOptions } from '../../src-main/cli/commands/bench.ts';
import { calibrateCommand } from '../../src-main/cli/commands/calibrate.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import type { FakeBench } from '../data/bench/fake-child.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { captured, documentOf, lockstep, type Outcome } from '../command-line.ts';
import { testEngine, testFolder } from '../workplace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FAKE = join(ROOT, 'test', 'data', 'bench', 'fake-child.ts');
const folder = testFolder();
const db = join(folder, 'test.db');
const study = join(folder, 'study.json');
const DEVICE = 'nvidia-rtx-4090';

beforeEach(() => fake({}));
afterAll(() => void delete process.env.FAKE_BENCH);

function fake(behaviour: FakeBench): void {
  process.env.FAKE_BENCH = JSON.stringify(behaviour);
}

const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', db);

/** Runs a command on an engine whose measuring programs are stand-ins. */
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

// services-bench.slow.test.ts tests the answers of the engine.
it("measures, compares and calibrates, and keeps a stand-in's parameters out of a study", async () => {
  fake({ factor: 3 });
  const asked = { target: 'webgpu', device: DEVICE, random: 12, repeats: 7, json: true } as const;
  const measured = documentOf<{ cases: { medianMs: number; predictedMs: number }[] }>(await bench('1', asked));
  expect(measured).toMatchObject({
    runId: 2,
    sourceRunId: 1,
    target: 'webgpu',
    device: { name: 'Fake device' },
    failed: 0,
    leftOut: null,
    cases: Array(12).fill({ timesMs: { length: 7 }, label: /^u=\d+ m=/ }) as unknown,
    warnings: expect.arrayContaining([expect.stringMatching(/measured on Fake device/)]) as string[],
  });
  for (const { medianMs, predictedMs } of measured.cases) expect(medianMs / predictedMs).toBeCloseTo(3.012, 6);

  const { out } = await bench('2', { compare: true });
  expect(out).toMatch(/12 designs of run 1, predicted for GeForce RTX 4090, measured on Fake device/);
  expect(out).toMatch(/Rank correlation: \d\.\d{3} \(Spearman\)/);
  expect(out).toMatch(/The model's first design is /);

  const calibrated = await calibrate('2', { name: 'fake', json: true });
  const kept = documentOf<{ profile: { parameters: Record<string, number> } }>(calibrated);
  expect(kept).toMatchObject({ id: 1, name: 'fake' });
  const compared = await bench('2', { compare: true, profile: 1, json: true });
  expect(documentOf(compared)).toMatchObject({ basis: { profileId: 1, name: 'fake' }, designs: { length: 12 } });
  const before = readFileSync(study, 'utf8');
  expect(await calibrate('2', { into: study })).toMatchObject({ status: 1, err: /loop that stands in for a kernel/ });
  expect(readFileSync(study, 'utf8')).toBe(before);
  // Older versions wrote such a study, because they used a stand-in's parameters for the kernel.
  const { latencyCycles, issueCycles } = kept.profile.parameters;
  const written = JSON.parse(before) as { kernel: object };
  const pipeline = { [DEVICE]: { latencyCycles, issueCycles, kneeSoftness: 6, origin: 'calibrated' } };
  const misled = { ...written.kernel, setupIterationsPerUnit: 3, origins: { setupIterationsPerUnit: 'calibrated' } };
  writeFileSync(study, JSON.stringify({ ...written, kernel: misled, pipeline }));
  expect((await run('sweep', study, '--json')).out).toContain('of a stand-in loop, not of this kernel');
  expect(documentOf(await calibrate('2', { undo: study, json: true }))).toEqual({ study, deviceId: DEVICE });
  // The study did not state the set-up of a unit, so the calibration's value is replaced by the assumed value.
  const undone = JSON.parse(readFileSync(study, 'utf8')) as object;
  expect(undone).toMatchObject({ kernel: { origins: { unit: 'assumed' } }, pipeline: {} });
  expect(undone).not.toHaveProperty(['pipeline', DEVICE]);
  const plain = await calibrate('2', {});
  expect(plain.out).toMatch(/latencyCycles/);
  expect(plain.out).toMatch(/The parameters were fitted to a stand-in loop/);
  expect(plain.out).toMatch(/On designs held out of the fit \(5 folds\)/);
  expect(plain.out).not.toMatch(/Kept/);
});

it('names the failure, and shows a failed run like any other', async () => {
  fake({ silent: true });
  const silent = await bench('1', { target: 'webgpu', device: DEVICE, top: 3 });
  expect(silent).toMatchObject({ status: 1, err: /ended with exit code 3: no such device.* 0 of 3 cases are saved/ });
  const listed = (await run('runs', 'list')).out;
  const [, id] = /^ *(\d+) +bench +failed +Small/m.exec(listed)!;
  const shown = /Kind +bench of run 1[^]*State +failed: The measuring program[^]*Cases +3, 0 valid, 0 invalid/;
  expect((await run('runs', 'show', id)).out).toMatch(shown);
  fake({ failing: ['design-40'] });
  const none = await bench('1', { target: 'webgpu', device: DEVICE, design: [40] });
  expect(none).toMatchObject({ status: 1, out: /1 failed/ });
});

it('packs a measurement for a machine without Lockstep, as a folder or an archive', async () => {
  const into = (name: string): string => join(folder, name);
  const pack = (name: string, ...more: readonly string[]): Promise<Outcome> =>
    run('bench', '1', '--device', DEVICE, '--top', '4', '--bundle', into(name), ...more);
  const packed = documentOf<{ files: string[]; bytes: number }>(await pack('bundle', '--json'));
  expect(packed).toMatchObject({ path: into('bundle'), cases: 4, leftOut: null });
  const parts = packed.files.map((file) => file.split('/')[0]);
  expect(new Set(readdirSync(into('bundle')))).toEqual(new Set(parts));
  expect(statSync(into('bundle/run.sh')).mode & 0o111).not.toBe(0);
  const [line] = readFileSync(into('bundle/plan.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(line)).toMatchObject({ type: 'plan', source: { runId: 1, study: 'Small', deviceId: DEVICE } });
  expect(await pack('bundle')).toMatchObject({ status: 1, err: /already holds a bundle/ });

  // This machine has no AMD device. Making the bundle must need no nvcc.
  const forHip = await pack('hip-bundle', '--target', 'hip:0');
  expect(forHip.out).toMatch(/Copy it to a machine with a HIP device, run \.\/run\.sh in it there/);
  expect(readFileSync(into('hip-bundle/run.sh'), 'utf8')).not.toContain('nvcc ');
  expect(existsSync(into('hip-bundle/run.ps1'))).toBe(false);
  expect((await pack('cpu-bundle', '--target', 'cpu')).err).toMatch(/A bundle is for CUDA or HIP/);
  expect((await pack('bundle.tar')).out).toMatch(/Packed 4 cases/);
  expect(statSync(into('bundle.tar')).size % 512).toBe(0);
  expect(statSync(into('bundle.tar')).size).toBeGreaterThan(packed.bytes);
});

it('names the designs that the target cannot run in one line', async () => {
  fake({ width: 4 });
  const narrow = await bench('1', { target: 'webgpu', device: DEVICE, top: 2, repeats: 1, warmUps: 0, json: true });
  const { leftOut } = JSON.parse(narrow.out) as { leftOut: { designs: number; runnable: number } };
  const left = `${leftOut.designs - leftOut.runnable} of ${leftOut.designs} designs`;
  const err = `lockstep: ${left} are left out, because they need more than 4 threads per unit\n`;
  expect(narrow).toMatchObject({ status: 0, err });
});

it('explains that there is no rank correlation if all designs take the same time', async () => {
  fake({ timeMs: 3 });
  const options = { target: 'webgpu', device: DEVICE, random: 5, repeats: 3, json: true } as const;
  const { runId } = documentOf<{ runId: number }>(await bench('1', options));
  const { out } = await bench(String(runId), { compare: true });
  expect(out).toContain('Rank correlation: undefined, because all measured times are equal.');
  expect(out).not.toContain('NaN');
});
