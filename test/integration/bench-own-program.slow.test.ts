import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { processLives } from '../../db/ownership.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { MeasuredCase, MeasuringDetail, TuningStep } from '../../src-main/contract/measuring.ts';
import { main } from '../../src-main/cli/main.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { call, ended } from '../unit/engine-calls.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { captured, documentOf, lockstep, type Outcome } from '../command-line.ts';
import { lacks } from '../tools.mjs';
import { cacheIn, processesThatRun, sweep, testEngine, testFolder } from '../workplace.ts';
import { exampleStudy } from '../catalogue.ts';

// In these tests, a user's own program runs for each launch of a design.
const ROOT = join(import.meta.dirname, '..', '..');
const COMMAND = join(ROOT, 'src-main/cli/lockstep.mjs');
const PROGRAM = join(ROOT, 'test', 'data', 'bench', 'own-program.ts');
const KERNELS = join(ROOT, 'db', 'examples', 'kernels');
const DEVICE = 'nvidia-rtx-4090';
const NAME = 'GeForce RTX 4090';
const UNITS = 3000;
const folder = testFolder();
const file = join(folder, 'test.db');
let engine: Engine;
let runId: number;

const study: StudyFile = smallStudy({
  devices: [DEVICE],
  workload: { lengths: 'geometric(0.05)', units: UNITS },
  axes: { threadsPerUnit: [1, 2, 4], blockThreads: [32, 64], gridBlocks: [4, 8] },
});

const kernel = { registersPerThread: 32, instructionsPerIteration: 30 };
const implementations = [
  { name: 'row $(touch pwned)', kernel, axes: { threadsPerUnit: [1] } },
  { name: 'wide', kernel, axes: { threadsPerUnit: [4] } },
];

const open = (host: 'cli' | 'serve'): Promise<Engine> => testEngine(file, { host });

beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
  engine = await open('cli');
  runId = await swept(study);
});
afterAll(async () => {
  await engine.close();
  vi.unstubAllEnvs();
});

const own = (options: string): string => `'${process.execPath}' '${PROGRAM}' --design {design} ${options}`;
const asked = (program: object, more: object = {}): object => ({
  target: 'program',
  runId,
  count: 12,
  repeats: 2,
  warmUps: 1,
  program: { build: null, folder, ...program },
  ...more,
});

async function measured(program: object, more: object = {}): Promise<{ run: RunSummary; found: MeasuringDetail }> {
  const run = await ended(engine, 'bench.start', asked(program, more));
  return { run, found: await call(engine, 'bench.detail', { id: run.id }) };
}
const swept = async (study: StudyFile): Promise<number> => (await sweep(engine, study)).id;
const ranked = async () => (await call(engine, 'ranking.page', { runId, limit: 20 })).rows;
const ofDesign = (cases: readonly MeasuredCase[], index: number): MeasuredCase =>
  cases.find(({ designIndex }) => designIndex === index)!;

interface Logged {
  readonly design: string;
  readonly pid: number;
  readonly positionals: readonly string[];
}
const logged = (path: string): readonly Logged[] =>
  readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Logged); // prettier-ignore

it.skipIf(lacks('g++'))('measures a C program that is built once for each block size, and ranks it', async () => {
  const sources = join(folder, 'sources');
  mkdirSync(sources);
  copyFileSync(join(KERNELS, 'divergent.c'), join(sources, 'divergent.c'));
  const build = 'gcc -O2 -fopenmp -DBLOCK={blockThreads} divergent.c -o {binary}';
  const exec = '{binary} {units} {lengthsFile}';
  const cache = join(folder, 'cache', 'lockstep', 'programs');
  const { run, found } = await measured({ exec, build, folder: sources });
  expect(run).toMatchObject({ state: 'complete', valid: 12, invalid: 0 });
  const { request } = found;
  expect(request).toMatchObject({ target: 'program', backend: 'program', deviceId: DEVICE, program: { exec, build } });
  // The program does not say where it ran.
  expect(found.device).toMatchObject({ backend: 'program', timer: null });
  expect(found.warnings.join('\n')).toMatch(/did not name its device/);
  for (const one of found.cases) {
    const times = { timesMs: { length: 2 }, warmUpMs: { length: 1 } };
    expect(one).toMatchObject({ failure: null, correct: true, measured: times });
    expect(one.measured!.minMs).toBeGreaterThan(0);
  }
  expect(new Set(found.cases.map(({ digest }) => digest)).size).toBe(1);
  expect(readdirSync(cache)).toHaveLength(2);

  // The build is reused until a file of the folder changes.
  const ofBlocks = (size: number) => found.cases.find(({ design }) => design!.blockThreads === size)!.designIndex;
  const once = { designs: [ofBlocks(32), ofBlocks(64)], repeats: 1, warmUps: 0 };
  for (const builds of [2, 4]) {
    if (builds === 4) writeFileSync(join(sources, 'divergent.h'), '');
    expect((await measured({ exec, build, folder: sources }, once)).run.valid).toBe(2);
    expect(readdirSync(cache)).toHaveLength(builds);
  }

  expect((await call(engine, 'bench.compare', { id: run.id })).designs).toHaveLength(12);
});

it.skipIf(lacks('python3'))(
  'measures a Python program, accepts its statement that results are right, and shows it in the ranking',
  async () => {
    const device = `{"device": "${NAME}", "multiprocessors": 128}`;
    const path = JSON.stringify(join(KERNELS, 'divergent.py'));
    writeFileSync(join(folder, 'wrapper.py'), `import runpy\nprint('${device}')\nrunpy.run_path(${path})\n`);
    const exec = 'python3 wrapper.py {lengthsFile} --group {blockThreads}';
    const { run, found } = await measured({ exec }, { count: 4, repeats: 1, warmUps: 0 });
    expect(run).toMatchObject({ state: 'complete', valid: 4 });
    expect(found.device).toMatchObject({ name: NAME, multiprocessors: 128 });
    expect(found.warnings.join('\n')).not.toMatch(/device/);
    for (const one of found.cases) expect(one).toMatchObject({ correct: true, failure: null, values: { maxError: 0 } });
    const rows = await ranked();
    for (const one of found.cases) {
      const row = rows.find(({ designIndex }) => designIndex === one.designIndex)!;
      expect(row.measured).toMatchObject({ runId: run.id, measuredOn: NAME, medianMs: one.measured!.medianMs });
    }
  },
);

it('fails a design whose result is wrong, that crashes or prints nothing, and continues with the others', async () => {
  const [wrong, crash, silent, garbage, unsteady] = (await ranked()).map(({ designIndex }) => designIndex);
  const faults = { wrong, crash, silent, garbage, unsteady };
  const options = Object.entries(faults).map(([fault, design]) => `--${fault} ${design}`);
  const { run, found } = await measured({ exec: own(`${options.join(' ')} --device '${NAME}'`) }, { warmUps: 0 });
  expect(run.state).toBe('complete');
  const reason = (index: number): string => ofDesign(found.cases, index).failure!;
  expect(reason(wrong)).toBe('The result has the digest beef, but the digest of 7 of 9 designs is cafe.');
  expect(ofDesign(found.cases, wrong).correct).toBe(false);
  expect(reason(unsteady)).toMatch(/^The result has the digest pid \d+, but the digest of 7 of 9 designs is cafe\.$/);
  expect(reason(crash)).toBe('The program ended with exit code 139 (SIGSEGV). Its last line: illegal address');
  expect(reason(silent)).toMatch(/^The program printed no time\. .*\{"timeNs": 1234\}\. Its last line: goodbye$/);
  expect(reason(garbage)).toMatch(/timeNs "fast", not a number/);
  const others = found.cases.filter(({ failure }) => failure === null);
  expect(others).toHaveLength(7);
  for (const one of others) expect(one).toMatchObject({ correct: true, digest: 'cafe', measured: { repeats: 2 } });
});

it('fails a design that hangs, and continues with the other design', async () => {
  const [hang, other] = (await ranked()).map(({ designIndex }) => designIndex);
  const log = join(folder, 'hang.log');
  const limits = { count: 2, caseTimeLimitMs: 8000, warmUps: 0 };
  const { found } = await measured({ exec: own(`--log '${log}' --hang ${hang}`) }, limits);
  expect(ofDesign(found.cases, hang).failure).toMatch(
    /^Stopped after \d+(\.\d+)? s \(limit 8 s\), 0 of 2 launches done\.$/,
  );
  expect(logged(log).map(({ design }) => design)).toContain(String(other));
  // The hanging program and its child processes must have ended.
  expect(processesThatRun('sleep 602')).toEqual([]);
});

it.skipIf(lacks('g++'))("fails designs whose build fails, with the compiler's message", async () => {
  writeFileSync(
    join(folder, 'sized.c'),
    '#include <stdio.h>\n#if BLOCK == 64\n#error blocks of 64 are not written yet\n#endif\nint main(void) { puts("{\\"timeNs\\":5}"); }\n',
  );
  const build = 'gcc -DBLOCK={blockThreads} sized.c -o {binary}';
  const { run, found } = await measured({ exec: '{binary}', build }, { repeats: 1, warmUps: 0 });
  expect(run).toMatchObject({ state: 'complete', valid: 6, invalid: 6 });
  for (const { design, failure } of found.cases)
    if (design!.blockThreads === 32) expect(failure).toBeNull();
    else expect(failure).toMatch(/^The build failed: .*sized\.c:3.*blocks of 64 are not written yet/);
});

it('measures designs of several implementations, and passes each its name', async () => {
  const several = await swept({ ...study, implementations });
  const log = join(folder, 'implementations.log');
  const exec = own(`--log '${log}' {implementation} {threadsPerUnit}`);
  const { run } = await measured({ exec }, { runId: several, count: 40, repeats: 1, warmUps: 0 });
  expect(run.state).toBe('complete');
  const seen = new Set(logged(log).map(({ positionals }) => positionals.join(' ')));
  expect(seen).toEqual(new Set(['row $(touch pwned) 1', 'wide 4']));
  const refused = await engine.dispatch('bench.start', { target: 'cpu', runId: several });
  expect(refused).toFail(null, /your own program or kernel \(lockstep bench --exec or --kernel\)/);
  expect((await call(engine, 'bench.compare', { id: run.id })).designs.length).toBe(run.valid);
  const fit = await engine.dispatch('calibration.fit', { id: run.id });
  expect(fit).toFail(null, /fits a single kernel\. Calibrate a study without implementations/);
});

/** A run that was cancelled while its program hung. */
let cancelledId: number;
it('ends the program and everything that it started when the run is cancelled', async () => {
  const exec = own(`--hang ${(await ranked())[0].designIndex}`);
  cancelledId = (await call(engine, 'bench.start', asked({ exec }, { count: 1 }))).runId;
  await expect.poll(() => processesThatRun('sleep 602'), { timeout: 60_000 }).toHaveLength(1);
  await call(engine, 'runs.cancel', { id: cancelledId });
  await expect.poll(() => processesThatRun('sleep 602'), { timeout: 60_000 }).toEqual([]);
  expect((await call(engine, 'runs.wait', { id: cancelledId })).state).toBe('cancelled');
});

it('resumes after kill -9 with the remaining designs, and leaves no process behind', async () => {
  const log = join(folder, 'killed.log');
  const copy = join(folder, 'killed.db');
  const database = new Database(file);
  await database.backup(copy);
  database.close();
  const command = own(`--log '${log}' --device '${NAME}'`);
  const words = ['bench', String(runId), '--exec', command, ...'--units all --repeats 2 --warm-ups 0 --db'.split(' ')];
  const measuring = spawn(process.execPath, [COMMAND, ...words, copy], { cwd: folder, stdio: 'ignore' });
  const reader = new Database(copy, { readonly: true });
  const bench = reader.prepare<[], { id: number }>("SELECT max(id) AS id FROM runs WHERE kind = 'bench'");
  const saved = reader.prepare<[number], { n: number }>('SELECT count(*) AS n FROM measured_designs WHERE run_id = ?');
  const before = bench.get()!.id;
  const count = (): number => {
    const { id } = bench.get()!;
    return id === before ? 0 : saved.get(id)!.n;
  };
  await expect.poll(count, { timeout: 200_000, interval: 10 }).toBeGreaterThanOrEqual(2);
  measuring.kill('SIGKILL');
  await once(measuring, 'exit');
  const last = logged(log).at(-1)!.pid;
  await expect.poll(() => processLives(last), { timeout: 60_000 }).toBe(false);
  const kept = count();
  expect(kept).toBeLessThan(12);
  const { id } = bench.get()!;
  reader.close();

  writeFileSync(log, '');
  const { status, out, err } = await lockstep('runs', 'resume', String(id), '--json', '--db', copy);
  expect([status, err]).toEqual([0, expect.stringContaining(`lockstep: this run starts ${command}\n`)]);
  const { cases, failed } = JSON.parse(out) as { cases: { digest: string; timesMs: number[] }[]; failed: number };
  expect([cases.length, failed]).toEqual([12, 0]);
  for (const one of cases) expect(one).toMatchObject({ digest: 'cafe', timesMs: { length: 2 } });
  expect(new Set(logged(log).map(({ design }) => design)).size).toBe(12 - kept);
});

it("calibrates with a program's measurements", async () => {
  const times = join(folder, 'times.json');
  const entries = (await ranked()).map(({ designIndex, predictedMs }) => [designIndex, 3 * predictedMs + 0.5]);
  writeFileSync(times, JSON.stringify(Object.fromEntries(entries)));
  const { run } = await measured({ exec: own(`--times '${times}' --device '${NAME}'`) }, { repeats: 1, warmUps: 0 });
  const saved = await call(engine, 'calibration.save', { id: run.id, name: 'own' });
  const fitted = { deviceId: DEVICE, deviceName: NAME, backend: 'program', sourceRunIds: [run.id] };
  expect(saved.profile).toMatchObject(fitted);
  const { studyId } = await call(engine, 'runs.get', { id: runId });
  const use = { deviceId: DEVICE, profileId: saved.id };
  const used = await call(engine, 'calibration.use', { ...use, studyId });
  const { latencyCycles, launchOverheadMs } = saved.profile.parameters;
  expect(launchOverheadMs ?? 0, 'no launch takes 0.5 ms').toBeLessThan(0.021);
  expect(used.study.pipeline[DEVICE]).toMatchObject({ latencyCycles, origin: 'calibrated', fittedTo: 'kernel' });
  const { id } = await call(engine, 'studies.save', { study: { ...study, implementations } });
  const several = await engine.dispatch('calibration.use', { ...use, studyId: id });
  expect(several).toFail(null, /A calibration is for one kernel\. Use it in a study without implementations/);
});

it('measures designs of a CPU, which is this machine unless the program names another', async () => {
  const example = exampleStudy('spmv-cpu');
  const lengths = `mtx:${join(ROOT, 'db/examples/ca-GrQc.mtx')}`;
  const ofCpu = { ...example, workload: { ...example.workload, lengths }, devices: ['amd-epyc-7302p'], axes: { ...example.axes, cores: [1, 2] } }; // prettier-ignore
  const log = join(folder, 'cpu.log');
  const exec = own(`--log '${log}' {units} {gridBlocks} {balancing}`);
  const { run, found } = await measured({ exec }, { runId: await swept(ofCpu), repeats: 1, warmUps: 0 });
  expect(run).toMatchObject({ state: 'complete', invalid: 0 });
  expect(found.device).toMatchObject({ name: cpus()[0].model.trim(), properties: { deviceFrom: 'cpu' } });
  const said = logged(log).map(({ positionals }) => positionals.join(' '));
  expect(said).toContain(`${example.workload.units} 2 row-split`);
});

it('is never started by a page', async () => {
  await engine.close();
  engine = await open('serve');
  const kernel = { target: 'opencl:0', runId, kernel: { file: 'own.json' } };
  for (const [name, input] of [
    ['bench.start', asked({ exec: own('') })],
    ['bench.start', kernel],
    ['bench.probe', asked({ exec: own('') })],
    ['runs.resume', { id: cancelledId }],
  ] as const) {
    const refused = /^Only the command line starts your own program, .* Use lockstep (bench RUN --(exec COMMAND|kernel own\.json)|runs resume \d+)\.$/; // prettier-ignore
    expect(await engine.dispatch(name, input), name).toFail(null, refused);
  }
  const targets = await call(engine, 'bench.targets', {});
  expect(targets.find(({ id }) => id === 'opencl:0')).toMatchObject({ backend: 'program', available: false });
  await engine.close();
  engine = await open('cli');
});

it.each([
  [2, ['--build', 'make'], /^lockstep: [^\n]*Specify --exec too\.\n$/],
  [2, ['--exec', 'p', '--target', 'cpu'], /^lockstep: [^\n]*Remove --target\.\n$/],
  [1, ['--exec', 'p', '--units', '100'], /measured on all units/],
  [2, ['--target', 'program'], /Specify --target/],
])('refuses a command that makes no sense with status %s: %j', async (status, args, words) => {
  const refused = await lockstep('bench', String(runId), ...args, '--db', file);
  expect(refused).toMatchObject({ status, out: '', err: words });
});

it('starts a program that does not exist only once, and a probe of it saves no run', async () => {
  const bench = (...args: string[]) => lockstep('bench', String(runId), '--exec', './missing', ...args, '--db', file);
  const why = String.raw`^lockstep: \./missing cannot be started \(no such file or folder, ENOENT\)\.`;
  expect(await bench('--units', 'all')).toEqual({ status: 1, out: '', err: new RegExp(`${why} 0 of 12 cases are s`) });
  expect(await bench()).toEqual({ status: 1, out: '', err: new RegExp(`${why}\n$`) });
});

it('chooses by a probe how many repeats and designs fit the time', async () => {
  const input = { ...asked({ exec: own('--ms 10000') }), repeats: 500, timeLimitMs: 600_000 };
  const answer = await call(engine, 'bench.probe', input);
  // The program reports ten seconds for each launch. Fewer than 7 repeats give no interval, so designs are left out.
  expect(answer).toMatchObject({ kind: 'done', proposal: { units: UNITS, ofUnits: UNITS, repeats: 7, ofDesigns: 12 } });
  const { designs } = (answer as Extract<typeof answer, { kind: 'done' }>).proposal!;
  expect(designs).toBeBetween(5, 12);
});

it.skipIf(lacks('nvcc'))('compiles its example in CUDA', async () => {
  const words = ['-arch=sm_90', '-DBLOCK=128', '-c', join(KERNELS, 'divergent.cu'), '-o', join(folder, 'divergent.o')];
  const nvcc = spawn('nvcc', words, { stdio: 'inherit' });
  expect(((await once(nvcc, 'exit')) as [number])[0]).toBe(0);
});

describe('tuning with a program that reports a known time for each design', () => {
  const names = ['tune.db', 'tune.json', 'true-times.json', 'tune.jsonl'];
  const [db, file, times, log] = names.map((name) => join(folder, name));
  /** The design with the least predicted time, the true times by design, and the design with the least true time. */
  let first: number;
  let trueMs: Readonly<Record<number, number>>;
  let best: number;

  const run = (...args: readonly string[]): Promise<Outcome> =>
    captured((terminal) => main([...args, '--db', db], terminal), { columns: 200 });
  const tune = (more: string, limits: string): readonly string[] => [
    ...['tune', '1', '--repeats', '2', '--warm-ups', '0', '--exec'],
    ...[own(`--times '${times}' --log '${log}' ${more}`), '--budget', ...limits.split(' ')],
  ];

  beforeAll(async () => {
    const axes = { threadsPerUnit: [1, 2, 4, 8, 16], blockThreads: [32, 64, 128, 256], gridBlocks: [4, 8, 16] };
    const workload = { lengths: 'geometric(0.05)', units: 8000 };
    writeFileSync(file, JSON.stringify(smallStudy({ devices: [DEVICE], workload, axes })));
    expect((await run('sweep', file)).status).toBe(0);
    const engine = await testEngine(db);
    const view = unwrap(await engine.context.views.open(1));
    const valid = [...view.ranking.columns.timeMs.entries()].filter(([, time]) => time > 0);
    const least = (times: readonly (readonly [number, number])[]): number =>
      times.reduce((one, other) => (other[1] < one[1] ? other : one))[0];
    first = least(valid);
    // The block size of the best prediction is made slower than the others, so that this prediction is wrong.
    const isSlow = (design: number): boolean => (design - first) % axes.blockThreads.length === 0;
    const slowed = valid.map(([design, time]) => [design, 5 * time ** 0.2 * (isSlow(design) ? 1.5 : 1)] as const);
    trueMs = Object.fromEntries(slowed);
    best = least(slowed);
    writeFileSync(times, JSON.stringify(trueMs));
    await engine.close();
  });

  interface Answer extends TuningStep {
    readonly stopped: string;
    readonly steps: readonly { readonly runId: number; readonly designs: readonly number[] }[];
  }

  it('finds a design near the fastest despite a wrong prediction, repeats no measurement after a kill, and makes none beyond the budget', async () => {
    const words = [...tune('', '24 --within 0.1%'), '--db', db];
    const cli = spawn(process.execPath, [COMMAND, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(cli, 'exit');
    for await (const text of cli.stdout.setEncoding('utf8'))
      if (/Step 1/.test(text as string)) {
        setTimeout(() => cli.kill('SIGKILL'), 100);
        break;
      }
    await exited;
    expect(cli.signalCode).toBe('SIGKILL');
    const database = new Database(db, { readonly: true });
    const saved = database.prepare<[], { design_index: number }>('SELECT design_index FROM measured_designs').all();
    database.close();
    expect(saved.length).toBeGreaterThanOrEqual(4);

    // So few measurements do not reach the goal. Otherwise, tuning would report the goal instead of the budget.
    const spent = await run(...tune('', '3 --within 0.1%'));
    expect(spent).toMatchObject({ status: 0, err: '' });
    expect(spent.out).toContain(`Measured before: ${saved.length} designs; the best is design `);
    // The line of a step and the report give the same figure the same meaning.
    const bounds = spent.out.match(/with a probability of 90.% at most [\d.]+.% slower than the fastest design/g);
    expect(bounds).toEqual([bounds![0], bounds![0]]);
    expect(spent.out).toMatch(new RegExp(`^Measured ${saved.length} of \\d+ designs\\. The budget is spent\\.`, 'm'));

    const answer = documentOf<Answer>(await run(...tune('', '24 --within 0.1% --json')));
    expect(answer.steps[0].runId).toBeGreaterThan(2);
    expect(best).not.toBe(first);
    expect(trueMs[answer.best!.designIndex]).toBeLessThan(1.03 * trueMs[best]);
    expect(answer.best!.measuredMs / trueMs[answer.best!.designIndex]).toBeCloseTo(1, 1);
    expect(answer.measured).toBeLessThanOrEqual(Math.min(24, answer.considered - 1));
    expect(answer.expectedRegret).toBeGreaterThanOrEqual(0);
    const bySteps = answer.steps.flatMap(({ designs }) => designs);
    expect(answer.measured).toBe(saved.length + bySteps.length);
    expect(new Set([...saved.map((one) => one.design_index), ...bySteps]).size).toBe(answer.measured);
    expect(new Set(logged(log).map(({ design }) => design)).size).toBeGreaterThanOrEqual(answer.measured);
  });

  it('does not count measurements of another program, and leaves out designs that fail', async () => {
    const answer = documentOf<Answer>(await run(...tune(`--crash ${first}`, '6 --within 0.01% --json')));
    expect(answer.measured + answer.failed).toBe(6);
    expect(answer).toMatchObject({ failed: 1, stopped: 'budget' });
    expect(answer.steps[0].designs).toContain(first);
    expect(answer.best!.designIndex).not.toBe(first);
  });
});
