import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { FakeBench } from '../data/bench/fake-child.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { documentOf, lockstep, shareEngine, type Outcome } from '../command-line.ts';
import { testFolder } from '../workplace.ts';

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

// The measuring programs of all commands are stand-ins.
shareEngine(() => db, { programs: { webgpuChildFile: FAKE, cpuChildFile: FAKE } });
/** Measures designs of run 1 on a GPU, or calls `bench` with other words. */
const bench = (...words: readonly string[]): Promise<Outcome> => run('bench', ...words);
const measure = (...words: readonly string[]): Promise<Outcome> =>
  bench('1', '--target', 'webgpu', '--device', DEVICE, ...words);
const calibrate = (...words: readonly string[]): Promise<Outcome> => run('calibrate', '2', ...words);

beforeAll(async () => {
  const axes = { threadsPerUnit: [1, 2, 4, 8], blockThreads: [64, 128, 256], blocksPerMultiprocessor: [2, 4] };
  writeFileSync(study, JSON.stringify(smallStudy({ axes })));
  expect((await run('sweep', study)).status).toBe(0);
});

// services-bench.slow.test.ts tests the answers of the engine.
/** What `bench` says of the stand-in device, whose thread groups have four lanes. */
const LEFT_OUT = 'lockstep: 6 of 23 designs are left out, because they need more than 4 threads per unit\n';

it("measures, compares and calibrates, and keeps a stand-in's parameters out of a study", async () => {
  fake({ factor: 3, width: 4 });
  const { status, out, err } = await measure('--random', '12', '--repeats', '7', '--json');
  expect([status, err]).toEqual([0, LEFT_OUT]);
  const measured = JSON.parse(out) as { cases: { medianMs: number; predictedMs: number }[] };
  expect(measured).toMatchObject({
    runId: 2,
    sourceRunId: 1,
    target: 'webgpu',
    device: { name: 'Fake device' },
    failed: 0,
    leftOut: { designs: 23, runnable: 17 },
    cases: Array(12).fill({ timesMs: { length: 7 }, label: /^u=\d+ m=/ }) as unknown,
    warnings: expect.arrayContaining([expect.stringMatching(/measured on Fake device/)]) as string[],
  });
  for (const { medianMs, predictedMs } of measured.cases) expect(medianMs / predictedMs).toBeCloseTo(3.012, 6);

  expect((await bench('2', '--compare')).out).toMatch(
    /12 designs of run 1, predicted for GeForce RTX 4090, measured on Fake device[^]*Rank correlation: \d\.\d{3} \(Spearman\)[^]*The model's first design is /,
  );

  const calibrated = (await calibrate('--name', 'fake')).out;
  for (const words of [
    /^latencyCycles +\d/m,
    /The parameters were fitted to a stand-in loop/,
    /Saved as calibration 1, "fake"/,
  ])
    expect(calibrated).toMatch(words);
  expect(calibrated).toContain('On designs held out of the fit (6 folds)');
  const compared = await bench('2', '--compare', '--profile', '1', '--json');
  expect(documentOf(compared)).toMatchObject({ basis: { profileId: 1, name: 'fake' }, designs: { length: 12 } });
  const before = readFileSync(study, 'utf8');
  expect(await calibrate('--into', study)).toMatchObject({ status: 1, err: /loop that stands in for a kernel/ });
  expect(readFileSync(study, 'utf8')).toBe(before);
  // Older versions wrote such a study, because they used a stand-in's parameters for the kernel.
  const written = JSON.parse(before) as { kernel: object };
  const pipeline = { [DEVICE]: { latencyCycles: 400, issueCycles: 8, kneeSoftness: 6, origin: 'calibrated' } };
  const misled = { ...written.kernel, setupIterationsPerUnit: 3, origins: { setupIterationsPerUnit: 'calibrated' } };
  writeFileSync(study, JSON.stringify({ ...written, kernel: misled, pipeline }));
  expect((await run('sweep', study, '--json')).out).toContain('of a stand-in loop, not of this kernel');
  expect(documentOf(await calibrate('--undo', study, '--json'))).toEqual({ study, deviceId: DEVICE });
  // The study did not state the set-up of a unit, so the calibration's value is replaced by the assumed value.
  const undone = JSON.parse(readFileSync(study, 'utf8')) as object;
  expect(undone).toMatchObject({ kernel: { origins: { unit: 'assumed' } }, pipeline: {} });
  expect(undone).not.toHaveProperty(['pipeline', DEVICE]);
});

it('names the failure, and shows a failed run like any other', async () => {
  fake({ silent: true });
  const silent = await measure('--top', '3');
  expect(silent).toMatchObject({ status: 1, err: /ended with exit code 3: no such device.* 0 of 3 cases are saved/ });
  const listed = (await run('runs', 'list')).out;
  const [, id] = /^ *(\d+) +bench +failed +Small/m.exec(listed)!;
  const shown = /Kind +bench of run 1[^]*State +failed: The measuring program[^]*Cases +3, 0 valid, 0 invalid/;
  expect((await run('runs', 'show', id)).out).toMatch(shown);
  fake({ failing: ['design-40'] });
  expect(await measure('--design', '40')).toMatchObject({ status: 1, out: /1 failed/ });
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

it('explains that there is no rank correlation if all designs take the same time', async () => {
  fake({ timeMs: 3 });
  const measured = await measure('--random', '5', '--repeats', '3', '--json');
  const { runId } = JSON.parse(measured.out) as { runId: number };
  const { out } = await bench(String(runId), '--compare');
  expect(out).toContain('Rank correlation: undefined, because all measured times are equal.');
  expect(out).not.toContain('NaN');
});
