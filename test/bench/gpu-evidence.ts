import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type {
  MeasuringComparison,
  MeasuringDetail,
  MeasuringTarget,
  TuningStep,
} from '../../src-main/contract/measuring.ts';
import { startOf } from '../../src-main/contract/probe.ts';
import type { ProcedureInput, ProcedureName, ProcedureOutput } from '../../src-main/contract/procedures.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { triedDesigns, tune } from '../../src-main/contract/tuning.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { isSameDevice } from '../../src-main/services/measuring/device.ts';
import { loopFindings, matrixPowerRows, probeRows } from '../../src-renderer/views/measure/suites.ts';
import { inspectedSpmvStudy, matrixFiles, writeSpmvKernel } from '../data/bench/spmv-reference.ts';
import { FailureError, fail, ok, unwrap } from '../../src-workers/domain/result.ts';
import { TABLE_I } from '../../src-workers/models/imbalance/swatman-figures.ts';
import { mean, sortedQuantile, spearman } from '../../src-workers/numeric/statistics.ts';
import { readCsr } from '../../src-workers/parse/csr.ts';
import { call as callEngine } from '../unit/engine-calls.ts';
import { say } from './report.ts';

// `npm run gpu-evidence -- --out DIR` collects in one command the evidence from a GPU that is available for twenty
// minutes. Each step has a share of the remaining time. Compiling and probing do not count, because nvcc took longer
// than some shares on an H100 machine. If a step fails or exceeds its time, this is reported and the other steps
// continue.
// The same command continues where it stopped: `DIR/state.json` lists the runs, and measured cases are not repeated.
// In the end, DIR contains
//
//   summary.json        the results with figures
//   records/STEP.json   every case with all repeats, device, clocks
//   spmv.csv            times of the kernels by matrix, for `lockstep evidence loops --data DIR/spmv.csv`
//   lockstep.db         all of it as runs: lockstep runs list --db DIR/lockstep.db
const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'db/examples');

const { values: options } = parseArgs({
  options: {
    out: { type: 'string' },
    /** A target as `lockstep bench --list` prints it. */
    target: { type: 'string', default: 'cuda:0' },
    /** An id in the catalogue. By default, it is the device with the name of the target's device. */
    device: { type: 'string' },
    minutes: { type: 'string', default: '20' },
    /** The steps to run, separated by commas. By default, all steps run. */
    steps: { type: 'string' },
    /** Uses few designs and units, for a dry run on an emulation. */
    tiny: { type: 'boolean', default: false },
  },
});
if (options.out === undefined || !(Number(options.minutes) > 0)) {
  process.stderr.write(
    'Specify where the results go: npm run gpu-evidence -- --out DIR. --minutes must be a number above 0.\n',
  );
  process.exit(2);
}
interface Step {
  readonly id: string;
  readonly title: string;
  /** Share of the remaining time. */
  readonly share: number;
  readonly run: () => Promise<object>;
}
/** The step `facts` runs first every time, and is never skipped. */
const STEPS: readonly Step[] = [
  { id: 'facts', title: 'Device', share: 0.05, run: deviceFacts },
  { id: 'probes', title: 'Probes of the device', share: 0.1, run: probes },
  { id: 'matrix-power', title: 'Table I of Swatman, measured column', share: 0.08, run: tableOne },
  { id: 'divergent-loops', title: 'Divergent loops of Białas and Strzelecki', share: 0.05, run: divergentLoops },
  { id: 'launch-grid', title: 'Launch grid of Hasan', share: 0.07, run: launchGrid },
  { id: 'studies', title: 'Designs of the example studies', share: 0.3, run: exampleStudies },
  { id: 'spmv', title: 'SpMV kernels on all matrices', share: 0.2, run: spmvKernels },
  { id: 'tuned', title: 'Tuned against exhaustive', share: 0.15, run: tunedAgainstExhaustive },
];
const chosen = options.steps?.split(',');
const unknown = chosen?.find((id) => !STEPS.some((step) => step.id === id));
if (unknown !== undefined) {
  process.stderr.write(`No step has the name "${unknown}". Specify some of ${STEPS.map(({ id }) => id).join(', ')}.\n`);
  process.exit(2);
}
const out = resolve(options.out);
mkdirSync(join(out, 'records'), { recursive: true });

const SIZES = options.tiny
  ? { designs: 4, calibration: 3, repeats: 2, warmUps: 0, units: 256, tuned: 8 }
  : { designs: 200, calibration: 40, repeats: 7, warmUps: 2, units: Infinity, tuned: 40 };

interface StepRecord {
  readonly state: 'complete' | 'partial' | 'failed';
  readonly seconds: number;
  readonly figures: Readonly<Record<string, unknown>>;
  /** Problems of the step, each with its reason. */
  readonly problems: readonly string[];
}
interface State {
  /** Ids of runs, by what they measured. */
  readonly runs: Record<string, number>;
  readonly steps: Record<string, StepRecord>;
}
const stateFile = join(out, 'state.json');
const state: State = existsSync(stateFile)
  ? (JSON.parse(readFileSync(stateFile, 'utf8')) as State)
  : { runs: {}, steps: {} };
const keep = (): void => writeFileSync(stateFile, JSON.stringify(state, null, 1));

const engine = unwrap(await openEngine({ databaseFile: join(out, 'lockstep.db'), resourceFolder: ROOT, host: 'cli' }));
const call = <Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<ProcedureOutput<Name>> =>
  callEngine(engine, name, input);

/** Time at which the current step must end, in ms of `performance.now()`. */
let deadline = Infinity;
/** Time of the current step that was spent on preparations, not on measuring, ms. */
let preparingMs = 0;
let problems: string[] = [];
const leftMs = (): number => Math.max(0, deadline - performance.now());
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function attempt(what: string, body: () => Promise<void>): Promise<void> {
  try {
    if (leftMs() === 0) throw new Error('not started: the time of this step is used up');
    await body();
  } catch (error) {
    problems.push(`${what}: ${messageOf(error)}`);
    say(`  ${problems.at(-1)}`);
  }
}

/** Extends the step's deadline by the duration of preparing work, so that this work does not shorten the step. */
async function prepared<T>(work: Promise<T>): Promise<T> {
  const from = performance.now();
  return work.finally(() => {
    const tookMs = performance.now() - from;
    deadline += tookMs;
    preparingMs += tookMs;
  });
}

/** Waits until a measurement has compiled its program, or has ended. A started program first reports its device. */
async function begun(runId: number): Promise<void> {
  for (;;) {
    const { state: now } = await call('runs.get', { id: runId });
    const { device } = await call('bench.detail', { id: runId });
    if (device !== null || now !== 'running') return;
    await pause(100);
  }
}

/** Starts or resumes a run and returns its id. Waits until the run or the step's time has ended. */
async function ran(key: string, start: () => Promise<{ readonly runId: number }>): Promise<number> {
  const before = state.runs[key];
  const known = before === undefined ? null : await call('runs.get', { id: before });
  if (known?.state === 'complete') return known.id;
  const { runId } = known ? await call('runs.resume', { id: known.id }) : await start();
  state.runs[key] = runId;
  keep();
  if ((await call('runs.get', { id: runId })).kind === 'bench' && leftMs() > 0) await prepared(begun(runId));
  const timer = setTimeout(() => void engine.dispatch('runs.cancel', { id: runId }), leftMs());
  const ended = await call('runs.wait', { id: runId }).finally(() => clearTimeout(timer));
  if (ended.state !== 'complete') {
    const isSweep = ended.kind === 'sweep';
    const message = `the time is used up: ${ended.valid} of ${ended.enumerated} ${isSweep ? 'designs are predicted' : 'cases are measured'}`;
    // A part of the measurements is useful, but a part of a sweep gives no ranking.
    if (isSweep) throw new Error(message);
    problems.push(`${key}: ${message}`);
  }
  return runId;
}

type Start = Omit<ProcedureInput<'bench.start'>, 'target'>;
const { repeats, warmUps } = SIZES;

/** Measures a request's designs and saves the record. If `fit` is not 0, a probe reduces it to this share of time. */
async function measured(key: string, input: Start, fit = 0): Promise<MeasuringDetail> {
  const asked = { target: options.target, repeats, warmUps, ...input };
  const runId = await ran(key, async () => {
    if (fit === 0 || options.tiny) return call('bench.start', asked);
    const timeLimitMs = Math.max(1000, Math.round(fit * leftMs()));
    const probe = await prepared(call('bench.probe', { ...asked, timeLimitMs }));
    if (probe.kind !== 'done') throw new Error('The target is a page. Specify a device of this machine.');
    return call('bench.start', { ...asked, ...(probe.proposal && startOf(probe.proposal)) });
  });
  const detail = await call('bench.detail', { id: runId });
  writeFileSync(join(out, 'records', `${key.replaceAll(/[^\w.-]+/g, '-')}.json`), JSON.stringify(detail));
  const failed = detail.cases.filter(({ failure }) => failure !== null);
  const of = `${failed.length} of ${detail.cases.length}`;
  if (failed.length > 0) problems.push(`${key}: ${of} failed, first ${failed[0].label}: ${failed[0].failure}`);
  return detail;
}

const counts = ({ runId, cases }: MeasuringDetail) => ({
  runId,
  cases: cases.length,
  measured: cases.filter((one) => one.measured !== null || Object.keys(one.values).length > 0).length,
  failed: cases.filter(({ failure }) => failure !== null).length,
});

async function swept(key: string, study: StudyFile, folder: string): Promise<number> {
  const workload = { ...study.workload, units: Math.min(study.workload.units, SIZES.units) };
  const own = { ...study, workload, devices: [deviceId()] };
  return ran(`sweep ${key}`, () => call('runs.start', { study: own, folder }));
}
const readStudy = (file: string): StudyFile => JSON.parse(readFileSync(file, 'utf8')) as StudyFile;

const agreementOf = ({ spearman: rank, medianError, scale, regret, designs }: MeasuringComparison) => ({
  designs: designs.length,
  spearman: rank,
  medianError,
  scale,
  regretOfFirst: regret.find(({ k }) => k === 1)?.fraction ?? null,
  regretOfBestOfFive: regret.find(({ k }) => k === 5)?.fraction ?? null,
});

const facts = { target: null as MeasuringTarget | null, deviceId: options.device ?? null };
function deviceId(): string {
  if (facts.deviceId !== null) return facts.deviceId;
  const none = 'No device of the catalogue has the name of the target.';
  throw new Error(`${none} Specify one: --device ID (lockstep devices list).`);
}

/** Returns the output of a tool, or the reason why there is none. */
function printed(tool: string, ...args: readonly string[]): string {
  try {
    return execFileSync(tool, args, { encoding: 'utf8', timeout: 10_000, stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  } catch (error) {
    return `not available: ${messageOf(error).split('\n')[0]}`;
  }
}

async function deviceFacts() {
  const targets = await call('bench.targets', { again: true });
  const target = targets.find(({ id }) => id === options.target);
  const others = targets.map(({ id }) => id).join(', ');
  const reason = target ? `${target.label}. ${target.advice}` : `there are ${others}`;
  if (!target?.available) throw new Error(`The target ${options.target} is not available: ${reason}`);
  facts.target = target;
  const devices = await call('devices.list', {});
  facts.deviceId ??= devices.find((device) => isSameDevice(device, target.device!))?.id ?? null;
  return {
    device: target.device,
    catalogue: facts.deviceId,
    node: process.version,
    nvcc: printed(process.env['NVCC'] ?? 'nvcc', '--version').split('\n').at(-1), // prettier-ignore
    clocks: printed('nvidia-smi', '--query-gpu=name,driver_version,power.limit,clocks.sm,clocks.max.sm,clocks.mem,clocks_throttle_reasons.active,temperature.gpu', '--format=csv'), // prettier-ignore
  };
}

/** Compares the results of the probes with the catalogue's values. */
async function probes() {
  const detail = await measured('probes', { suite: 'probes' });
  const device = (await call('devices.list', {})).find(({ id }) => id === facts.deviceId) ?? null;
  const rows = probeRows(detail.cases, device);
  const agreeing = (as: boolean): number => rows.filter(({ agrees }) => agrees === as).length;
  return { ...counts(detail), agree: agreeing(true), differ: agreeing(false), rows };
}

async function tableOne() {
  const detail = await measured('matrix-power', { suite: 'matrix-power' });
  const found = matrixPowerRows(detail.cases, {});
  const rows = TABLE_I.flatMap(({ workload, n, modelled, measured: published }) => {
    const one = found.find((row) => row.lengths === workload && row.n === n);
    if (!one) return [];
    return [{ workload, n, modelled, published, measured: one.measuredMean, aggregate: one.measuredAggregate }];
  });
  const errors = rows.flatMap((row) => (row.measured === null ? [] : [Math.abs(row.measured / row.modelled - 1)]));
  const ofModel = errors.length > 0 && {
    meanErrorOfModel: mean(Float64Array.from(errors)),
    maxErrorOfModel: Math.max(...errors),
  };
  return { ...counts(detail), ...ofModel, rows };
}

async function divergentLoops() {
  const detail = await measured('divergent-loops', { suite: 'divergent-loops' });
  const { fit, unit } = loopFindings(detail.cases, true);
  return { ...counts(detail), unit, fit };
}

async function launchGrid() {
  const detail = await measured('launch-grid', { suite: 'launch-grid' });
  const times = Float64Array.from(detail.cases.flatMap(({ measured: time }) => (time ? [time.medianMs] : []))).sort();
  return { ...counts(detail), ...(times.length > 0 && { bestMs: times[0], worstMs: times.at(-1) }) };
}

/** Measures designs of the example studies, before and after a calibration on other designs. */
async function exampleStudies() {
  const file = options.tiny ? /^(geometric)\.json$/ : /^(?!software|spmv-cpu|spmv-implementations)(.+)\.json$/;
  const names = readdirSync(EXAMPLES).flatMap((name) => file.exec(name)?.[1] ?? []);
  const figures: Record<string, unknown> = {};
  for (const [at, name] of names.entries())
    await attempt(name, async () => {
      const share = 1 / (names.length - at);
      const runId = await swept(name, readStudy(join(EXAMPLES, `${name}.json`)), EXAMPLES);
      const some = { runId, choose: 'random', count: SIZES.calibration } as const;
      const calibration = await measured(`${name} calibration`, some, 0.15 * share);
      const detail = await measured(`${name} designs`, { runId, choose: 'spread', count: SIZES.designs }, 0.7 * share);
      const before = await call('bench.compare', { id: detail.runId });
      const { part = null, probe } = detail.request;
      const own = { ...counts(detail), ofDesigns: probe?.ofDesigns ?? detail.cases.length, part };
      figures[name] = { ...own, before: agreementOf(before) };
      const profile = await call('calibration.save', { id: calibration.runId, name: `gpu-evidence ${name}` });
      const after = await call('bench.compare', { id: detail.runId, profileId: profile.id });
      figures[name] = { ...own, before: agreementOf(before), calibrated: agreementOf(after) };
    });
  return figures;
}

const MATRICES = matrixFiles().filter((path) => !options.tiny || path.endsWith('lp_ship04l.mtx'));

const COLUMNS: Readonly<Record<string, (implementation: string | undefined, threadsPerUnit: number) => boolean>> = {
  thread_mapped: (implementation) => implementation === 'Thread per row',
  group_mapped: (implementation, threads) => implementation === '2 to 32 threads per row' && threads === 32,
  merge_path: (implementation) => implementation === 'Merge path',
};

async function rowFigures(path: string): Promise<readonly number[]> {
  const { rows, columnCount, rowStarts } = unwrap(await readCsr(createReadStream(path), path));
  const lengths = Float64Array.from({ length: rows }, (_, row) => rowStarts[row + 1] - rowStarts[row]).sort();
  const average = mean(lengths);
  const moment = (power: number): number => mean(lengths.map((value) => (value - average) ** power));
  const quartiles = [0, 0.25, 0.5, 0.75, 1].map((fraction) => sortedQuantile(lengths, fraction));
  const skewness = moment(2) > 0 ? moment(3) / moment(2) ** 1.5 : 0;
  return [rows, columnCount, rowStarts[rows], ...quartiles, average, moment(2), skewness];
}

/** Returns a study with the figures of the kernels' code for this device, instead of those for a software adapter. */
async function inspectedStudy(study: StudyFile, columns: number): Promise<StudyFile> {
  const capability = String(facts.target?.device?.properties.computeCapability ?? '');
  return inspectedSpmvStudy(study, columns, (what) =>
    call('kernel.inspect', { ...what, arch: `sm_${capability.replace('.', '')}` }),
  );
}

/** Measures every SpMV kernel and mapping on every matrix. Results are checked against the product in FP64. */
async function spmvKernels() {
  const figures: Record<string, unknown> = {};
  const source = join(EXAMPLES, 'kernels/spmv');
  const lines = [
    'matrix,rows,columns,nonzeros,min,q1,median,q3,max,mean,variance,skewness,' + Object.keys(COLUMNS).join(','),
  ];
  const cells: { readonly predicted: number; readonly measured: number }[] = [];
  for (const [at, path] of MATRICES.entries()) {
    const name = path.replace(/^.*\/(.*)\.mtx$/, '$1');
    await attempt(name, async () => {
      const folder = join(out, 'kernels', name);
      const { file, lengths, x } = await writeSpmvKernel(path, folder);
      const fitted = readStudy(join(source, 'spmv.json'));
      const inspected = options.tiny ? fitted : await prepared(inspectedStudy(fitted, x.length));
      const { kernel, implementations: all } = inspected;
      // Only few values, because each block size and number of threads per row needs its own build, of some seconds.
      const axes = { ...fitted.axes, threadsPerUnit: [1, 4, 8, 32, 128], blockThreads: [128], unitsPerThread: [1, 2] };
      const implementations = options.tiny ? all?.slice(0, 1) : all;
      const workload = { lengths: `mtx:${path}`, units: lengths.length };
      const study = { ...fitted, kernel, workload, axes, implementations, devices: [deviceId()] };
      const runId = await ran(`sweep spmv ${name}`, () => call('runs.start', { study, folder }));
      const share = leftMs() / (MATRICES.length - at);
      const whole = deadline;
      deadline = performance.now() + share;
      const preparedBefore = preparingMs;
      const request = { runId, kernel: { file }, choose: 'best', count: 10_000 } as const;
      const restore = (): number => (deadline = whole + preparingMs - preparedBefore);
      const detail = await measured(`spmv ${name}`, request).finally(restore);
      const timed = detail.cases.flatMap(({ design, predictedMs, measured: time, correct }) =>
        design && time && correct !== false ? [{ design, predicted: predictedMs ?? NaN, measured: time.medianMs }] : [],
      );
      cells.push(...timed);
      const best = Object.values(COLUMNS).map((fits) => {
        const own = timed.filter(({ design }) => fits(design.implementation, design.threadsPerUnit));
        return own.length === 0 ? '' : 1000 * Math.min(...own.map((one) => one.measured));
      });
      lines.push([name, ...(await rowFigures(path)), ...best].join(','));
      const compared = timed.length > 2 ? agreementOf(await call('bench.compare', { id: detail.runId })) : {};
      figures[name] = { ...counts(detail), ...compared };
    });
  }
  writeFileSync(join(out, 'spmv.csv'), `${lines.join('\n')}\n`);
  const data = { fileName: 'spmv.csv', bytes: readFileSync(join(out, 'spmv.csv')) };
  const readable = await call('evidence.judge', { dataset: 'loops', data });
  const times = (of: 'predicted' | 'measured') => Float64Array.from(cells, (cell) => cell[of]);
  const rank = cells.length > 2 ? spearman(times('predicted'), times('measured')) : null;
  const asEvidence = readable.datasets.flatMap(({ gpus }) => gpus);
  return { ...figures, all: { cells: cells.length, spearman: rank, asEvidence } };
}

/** Measures all designs of one study, then tunes the study as if none of them had been measured. */
async function tunedAgainstExhaustive() {
  const example = readStudy(join(EXAMPLES, 'geometric.json'));
  const axes = {
    threadsPerUnit: options.tiny ? [1, 2] : [1, 2, 4, 8, 16, 32],
    blockThreads: options.tiny ? [32, 64] : [64, 128, 256, 512],
    unitsPerThread: options.tiny ? [1, 2] : [1, 2, 4, 8],
    balancing: ['none'],
  };
  const study = { ...example, name: 'Tuned and exhaustive', axes };
  const whole = { runId: await swept('exhaustive', study, EXAMPLES), choose: 'best', count: 10_000 } as const;
  const exhaustive = await measured('exhaustive', whole);
  const trueMs = new Map(
    exhaustive.cases.flatMap(({ designIndex, measured: time }) =>
      designIndex !== null && time ? [[designIndex, time.medianMs] as const] : [],
    ),
  );
  const runId = await swept('tuned', study, EXAMPLES);
  let last: TuningStep | null = null;
  const steps: unknown[] = [];
  const tuned = await tune({
    within: 0.03,
    next: async () => {
      if (leftMs() <= 0) return fail('cancelled', 'the time is used up');
      return ok(await call('bench.next', { target: options.target, runId }));
    },
    measure: async (designs) => {
      const request = { runId, choose: 'named' as const, designs: [...designs] };
      return ok({ id: (await measured(`tuning ${designs.join(' ')}`, request)).runId });
    },
    left: (step) => SIZES.tuned - triedDesigns(step),
    show: (step) => {
      last = step;
      const { measured: count, best, expectedRegret } = step;
      steps.push({ measured: count, bestMs: best?.measuredMs ?? null, expectedRegret });
    },
  });
  if (!tuned.ok) problems.push(`tuning: ${tuned.error.message}`);
  const found = last as TuningStep | null;
  const fastestMs = Math.min(...trueMs.values());
  const namedMs = found?.best ? trueMs.get(found.best.designIndex) : undefined;
  return {
    ...counts(exhaustive),
    fastestMs,
    tunedMeasured: found?.measured ?? 0,
    stopped: tuned.ok ? tuned.value.stopped : 'time',
    expectedRegret: found?.expectedRegret ?? null,
    trueRegret: namedMs === undefined ? null : namedMs / fastestMs - 1,
    steps,
  };
}

const isLeft = ({ id }: Step): boolean =>
  id === 'facts' || (state.steps[id]?.state !== 'complete' && (!chosen || chosen.includes(id)));
const endMs = performance.now() + Number(options.minutes) * 60_000;
for (const [at, step] of STEPS.entries()) {
  if (!isLeft(step)) continue;
  const { id, title, share, run } = step;
  say(title);
  const began = performance.now();
  const shares = STEPS.slice(at)
    .filter(isLeft)
    .reduce((sum, one) => sum + one.share, 0);
  // The remaining time is divided anew. Earlier steps may have left time, or have compiled for long.
  deadline = began + Math.max(0, endMs - began) * (share / shares);
  preparingMs = 0;
  problems = [];
  let figures: StepRecord['figures'] | null = null;
  try {
    figures = { ...(await run()) };
  } catch (error) {
    if (!(error instanceof FailureError || error instanceof Error)) throw error;
    problems.push(messageOf(error));
  }
  const seconds = (performance.now() - began) / 1000;
  const end = figures === null ? 'failed' : problems.length > 0 ? 'partial' : 'complete';
  state.steps[id] = { state: end, seconds, figures: figures ?? {}, problems };
  keep();
  const preparing = preparingMs < 1000 ? '' : `, ${(preparingMs / 1000).toFixed(0)} s of them for compiling and probing`; // prettier-ignore
  say(`  ${end} after ${seconds.toFixed(0)} s${preparing}`);
  for (const problem of problems) say(`  ${problem}`);
  if (id === 'facts' && figures === null) break;
}
await engine.close();

const device = facts.target?.device ?? null;
const summary = { date: new Date().toISOString(), device, catalogue: facts.deviceId, steps: state.steps };
writeFileSync(join(out, 'summary.json'), JSON.stringify(summary, null, 1));
say(join(out, 'summary.json'));
if (STEPS.some(({ id }) => state.steps[id]?.state === 'failed')) process.exitCode = 1;
