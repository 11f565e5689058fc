import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { CACHE_STATES, type CacheState, deviceTitle } from '../../../src-workers/domain/benchmark.ts';
import { PLACEHOLDERS } from '../../../src-workers/domain/program.ts';
import { ok, type Result, systemReason, unwrap, badInput, unsupported } from '../../../src-workers/domain/result.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { countTiedFirst } from '../../contract/counts.ts';
import {
  BENCH_SUITES,
  type BenchSuite,
  type ContentionFindings,
  type MeasuredCase,
  type MeasuringComparison,
  type MeasuringDetail,
  type MeasuringTarget,
} from '../../contract/measuring.ts';
import { validate } from '../../contract/parse.ts';
import { reducedText, startOf } from '../../contract/probe.ts';
import { type ProcedureInput, procedures } from '../../contract/procedures.ts';
import { leftOutText, type RunnableDesigns } from '../../contract/runnable.ts';
import type { Engine } from '../../services/engine.ts';
import { counted } from '../../services/export/text.ts';
import { writeWhole } from '../../services/files/files.ts';
import { isDone } from '../../services/measuring/measured.ts';
import {
  EMULATION_TARGET,
  isCallerTarget,
  PAGE_TARGET,
  PROGRAM_TARGET,
  targetBackend,
} from '../../services/measuring/targets.ts';
import { agentTarget } from '../agents.ts';
import { byAgents, command, type CommandLine, type GlobalOptions, positive, whole, call } from '../command-line.ts';
import { designColumns, evidenceGapsOf } from '../design-columns.ts';
import { followRun, runId } from '../follow.ts';
import { EXIT_FAILED, EXIT_OK, percent, type Terminal, timeCells, usage, badUsage, failure } from '../output.ts';

const unitCount = (text: string): number | 'all' => (text === 'all' ? text : positive(text));

function placeholderLines(): string {
  return Object.entries(PLACEHOLDERS)
    .map(([name, what]) => `  ${`{${name}}`.padEnd(18)}${what}`)
    .join('\n');
}

const benchHelp = (): string => `
With --json:
  measuring    {runId, sourceRunId, target, device, cases: [{id, label, designIndex, predictedMs, medianMs, lowMs, highMs,
               repeats, timesMs, clockMhz, conditions, correct, failure, values}], failed, leftOut, part, probe, program, cache, kernel,
               warnings}. These fields are null where they do not apply:
               leftOut  {designs, runnable, limits: [{quantity, atMost}]} if the target cannot run the whole sweep
               part     {units, ofUnits, designsLeftOut} if fewer units were measured
               probe    {ofRepeats, ofDesigns, estimateMs, fullMs} if a probe chose how much is measured
               (if there are fewer cases than ofDesigns, they are spread over the chosen designs)
               program  {exec, build}; cases then also have the digest and the implementation
               kernel   {file, name}
  --list       {targets: [{id, backend, available, label, device, advice}]}
  --compare    {runId, sourceRunId, deviceId, device, measuredOn, basis, clockMhz, designs: […], scale, medianError, p95Error,
               unscaledMedianError, spearman, kendall, intervals, regret, randomEquivalent, axes, warnings}; for a
               run of the suite contention {cores, bandwidthGbS, lowGbS, highGbS, singleCoreGbS, fullGbS, kneeCores, device,
               workloads, warnings}
  --bundle     {path, cases, leftOut, files, bytes}
Ctrl-C stops and keeps every finished case; lockstep runs resume measures the others.

Your own program, in any language (examples: db/examples/kernels):
  lockstep bench 1 --build 'gcc -O3 -DBLOCK={blockThreads} spmv.c -o {binary}' --exec '{binary} --grid {gridBlocks}'
The program runs in the current folder, without a shell: spaces separate arguments, quotes keep them together, and
; | * $ are ordinary text. It prints one JSON object per line, and may print other lines:
  {"timeNs": 1234}                      the time of a launch; every run prints at least one
  {"digest": "1f3a"}                    a hash of the result; a design is wrong if most designs have another digest
  {"correct": true, "maxError": 1e-6}   the program's own check of its result
  {"device": "NVIDIA H100 PCIe", "multiprocessors": 114, "driver": "580.65"}
                                        the device; the ranking shows the times in the rows of this device
In both commands, these names are replaced by values of the design ({{name}} is the text {name}):
${placeholderLines()}
A build is reused until something changes: a file in the current folder, or a file or folder that the command names.
The launches of several designs alternate in random order. A design fails if a run ends with an error, prints no
time, or exceeds --case-limit; the other designs continue.

Your own kernel, in CUDA, HIP, OpenCL or WGSL, without a program (example and format: db/examples/kernels):
  lockstep bench 1 --kernel spmv.kernel.json --target webgpu
The manifest names sources, arguments, the correct result, and the designs that each function implements. A sweep with
other designs is refused. --target emulation checks the results on this CPU (Linux, g++) and measures no times; lockstep
emulate --help states its limits.
--target opencl:0 measures the kernel on any OpenCL device, through Python with PyOpenCL.`;

export function addBench(program: Command, { terminal, withEngine, withRuns }: CommandLine): void {
  byAgents(command(program, 'bench [run]', 'measure designs of a sweep, or the properties of a device'))
    .option(
      '--target <target>',
      'measure on cuda:0, hip:0, webgpu or cpu, or with --kernel on opencl:0 or emulation (bench --list prints the available ones)',
    )
    .option(
      '--exec <command>',
      'measure with your own program, which is run until it has timed all launches (see below)',
    )
    .option('--build <command>', 'compile the program of --exec first, once for all designs with the same command')
    .option('--kernel <file>', 'measure your own kernel, described by this manifest, on the target (see below)')
    .option('--top <count>', 'the best designs by prediction (default: 20)', positive)
    .option('--random <count>', 'designs drawn at random instead, with the seed of the study', positive)
    .option('--spread <count>', 'designs spread evenly over the ranking instead', positive)
    .option(
      '--design <numbers...>',
      'these designs instead, by the numbers that sweep and rank print',
      (text: string, list: number[] = []) => [...list, whole(text)],
    )
    .option('--device <id>', 'the device to measure for, if the sweep has several devices')
    .addOption(
      new Option('--suite <suite>', 'measure a property of the device itself instead of the designs of a run').choices(
        BENCH_SUITES.slice(1),
      ),
    )
    .option('--repeats <count>', 'timed launches of each case (default: 15)', positive)
    .option('--warm-ups <count>', 'launches of each case before the timed ones (default: 3)', whole)
    .option('--case-limit <seconds>', 'time limit for one case (default: 60)', positive)
    .addOption(
      new Option(
        '--cache <state>',
        'what the cache of a CUDA or HIP device holds before each launch: the data of the last launch (warm), or none of it',
      ).choices(CACHE_STATES),
    )
    .option(
      '--time <seconds>',
      'time limit for all cases; a short probe first finds how many repeats, designs and units fit in it (default: 120)',
      positive,
    )
    .option('--units <count>', 'measure this many units, without a probe; "all" for all of them', unitCount)
    .option('--list', 'list the targets of this machine')
    .option('--compare', 'compare the measurements of the given run with their predictions')
    .option('--profile <number>', 'with --compare: use the predictions of this calibration', positive)
    .option('--bundle <path>', 'pack the measurement for a machine with a CUDA or HIP device: a folder, or a .tar file')
    .option(
      '--slurm [tasks]',
      'with --bundle: also write a Slurm job array with this many tasks (default: 8); import FOLDER merges the results',
      positive,
    )
    .addHelpText('after', benchHelp())
    .action((run: string | undefined, options: BenchOptions) =>
      (run === undefined ? withEngine : withRuns)(options, (engine) => benchCommand(engine, terminal, run, options)),
    );
}

export interface BenchOptions extends GlobalOptions {
  readonly target?: string;
  readonly exec?: string;
  readonly build?: string;
  readonly kernel?: string;
  readonly top?: number;
  readonly random?: number;
  readonly spread?: number;
  readonly design?: readonly number[];
  readonly device?: string;
  readonly suite?: BenchSuite;
  readonly repeats?: number;
  readonly warmUps?: number;
  readonly caseLimit?: number;
  readonly cache?: CacheState;
  readonly time?: number;
  readonly units?: number | 'all';
  readonly list?: boolean;
  readonly compare?: boolean;
  readonly profile?: number;
  readonly bundle?: string;
  readonly slurm?: number | true;
}

const SLURM_TASKS = 8;

export function launchInput({ repeats, warmUps, caseLimit }: Pick<BenchOptions, 'repeats' | 'warmUps' | 'caseLimit'>) {
  return { repeats, warmUps, caseTimeLimitMs: caseLimit && caseLimit * 1000 };
}

function measuringInput(run: string | undefined, options: BenchOptions): Result<object> {
  const chosen = (['top', 'random', 'spread', 'design'] as const).filter((name) => options[name] !== undefined);
  if (chosen.length > 1) return badInput(`Specify only one of ${chosen.map((name) => `--${name}`).join(' and ')}.`);
  if (options.suite !== undefined && (run !== undefined || chosen.length > 0))
    return badInput('A suite measures the device itself. Specify --suite without a run and without designs.');
  const more = {
    deviceId: options.device,
    ...launchInput(options),
    ...(options.cache === undefined ? {} : { cache: options.cache }),
  };
  if (options.suite !== undefined) return ok({ suite: options.suite, ...more });
  if (run === undefined) return badInput('Specify the number of a run, or --suite.');
  const id = runId(run);
  if (!id.ok) return id;
  const { top, random, spread, design } = options;
  return ok({
    runId: id.value,
    ...more,
    ...(top === undefined ? {} : { choose: 'best', count: top }),
    ...(random === undefined ? {} : { choose: 'random', count: random }),
    ...(spread === undefined ? {} : { choose: 'spread', count: spread }),
    ...(design === undefined ? {} : { choose: 'named', designs: design }),
  });
}

export function measuringTarget({
  target,
  exec,
  build,
  kernel,
  bundle,
}: Pick<BenchOptions, 'target' | 'exec' | 'build' | 'kernel' | 'bundle'>): Result<object> {
  if (kernel !== undefined && (exec !== undefined || bundle !== undefined))
    return badInput(
      `--kernel measures your own kernel on this machine only. Remove --${exec === undefined ? 'bundle' : 'exec'}.`,
    );
  if (exec === undefined) {
    if (build !== undefined) return badInput('--build compiles the program that --exec starts. Specify --exec too.');
    if (bundle !== undefined) {
      if (target !== undefined && !/^(cuda|hip):/.test(target))
        return badInput(`A bundle is for CUDA or HIP. Specify --target cuda:0 or hip:0 with --bundle, not ${target}.`);
      return ok({ hip: target?.startsWith('hip:') ?? false });
    }
    if (
      target === undefined ||
      [PAGE_TARGET, PROGRAM_TARGET].includes(target) ||
      isCallerTarget(target) ||
      !targetBackend(target).ok
    )
      return badInput(
        `Specify --target cuda:0, hip:0, webgpu or cpu${target === undefined ? ', or --exec with your own program' : `, not ${target}`}.`,
      );
    return ok({ target, ...(kernel !== undefined && { kernel: { file: resolve(kernel) } }) });
  }
  if (target !== undefined || bundle !== undefined)
    return badInput(
      `--exec measures your own program on this machine only. Remove --${bundle === undefined ? 'target' : 'bundle'}.`,
    );
  return ok({ target: PROGRAM_TARGET, program: { exec, build: build ?? null, folder: process.cwd() } });
}

export async function benchCommand(
  engine: Engine,
  terminal: Terminal,
  run: string | undefined,
  options: BenchOptions,
): Promise<number | void> {
  if (options.slurm !== undefined && options.bundle === undefined)
    throw badUsage('--slurm is for a bundle. Specify --bundle PATH too.');
  if (options.list) return listTargets(engine, terminal, options);
  if (options.compare) return compareMeasurement(engine, terminal, run, options);
  const input = usage(measuringInput(run, options));
  const where = usage(measuringTarget(usage(await agentTarget(engine, options))));
  if (options.bundle !== undefined)
    return packBundle(engine, terminal, { ...input, ...where }, options.bundle, options);
  const { units } = options;
  const asked = { ...where, ...input, ...(typeof units === 'number' && { units }) };
  const start = usage(validate(procedures['bench.start'].input, asked, 'bench'));
  const fitted = unwrap(units === undefined ? await fittedToTime(engine, terminal, start, options) : ok({}));
  const done = await followRun(
    engine,
    terminal,
    'Measuring',
    () => engine.call('bench.start', { ...start, ...fitted }),
    async (id) => {
      const begun = await engine.call('bench.detail', { id });
      return leftOutLine(begun.ok ? begun.value.request.leftOut : null);
    },
  );
  return reportMeasurement(engine, terminal, unwrap(done).id, options);
}

async function fittedToTime(
  engine: Engine,
  terminal: Terminal,
  asked: ProcedureInput<'bench.start'>,
  { time }: BenchOptions,
): Promise<Result<Partial<ProcedureInput<'bench.start'>>>> {
  // An emulation gives no times, so a probe could not tell what fits the time limit.
  if (asked.target === EMULATION_TARGET || (asked.suite !== undefined && asked.suite !== 'designs')) return ok({});
  const { units: _all, probe: _none, ...input } = asked;
  const probed = await engine.call('bench.probe', { ...input, timeLimitMs: time && Math.round(time * 1000) });
  if (!probed.ok) return probed;
  const proposal = probed.value.kind === 'done' ? probed.value.proposal : null;
  if (!proposal) return ok({});
  const reduced = reducedText(proposal);
  if (reduced !== '') terminal.err(`lockstep: ${reduced} --units all measures everything.\n`);
  return ok(startOf(proposal));
}

function leftOutLine(leftOut: RunnableDesigns | null | undefined): string {
  return leftOut ? `lockstep: ${leftOutText(leftOut)}\n` : '';
}

/** Prints the kernel or program of a resumed run, as the user has not typed it. Fails if a page measures the run. */
export async function checkResumable(engine: Engine, terminal: Terminal, id: number): Promise<Result<null>> {
  const run = await engine.call('runs.get', { id });
  if (!run.ok || run.value.kind !== 'bench') return ok(null);
  const detail = await engine.call('bench.detail', { id });
  if (!detail.ok) return ok(null);
  const { target, program, kernel } = detail.value.request;
  if (kernel) terminal.err(`lockstep: this run measures the kernel ${kernel.file}\n`);
  if (program)
    terminal.err(
      `lockstep: this run starts ${[program.build, program.exec].filter((line) => line !== null).join(' and ')}\n`,
    );
  return target === PAGE_TARGET
    ? unsupported(`Run ${id} is measured by WebGPU in a page. Resume it in the app, under Measure.`)
    : ok(null);
}

function plainCase(measuredCase: MeasuredCase) {
  const { label, designIndex, design, predictedMs, measured, correct, digest, conditions, failure, values } =
    measuredCase;
  return {
    id: measuredCase.case.id,
    label,
    designIndex,
    predictedMs,
    medianMs: measured?.medianMs ?? null,
    lowMs: measured?.lowMs ?? null,
    highMs: measured?.highMs ?? null,
    repeats: measured?.repeats ?? 0,
    timesMs: measured?.timesMs ?? [],
    clockMhz: measured?.clockMhz ?? null,
    conditions,
    correct,
    implementation: design?.implementation,
    digest,
    failure,
    values,
  };
}

/** The exit status is 1 if no measurement is usable. */
export async function reportMeasurement(
  engine: Engine,
  terminal: Terminal,
  id: number,
  options: { readonly json?: boolean },
): Promise<number> {
  const detail = await call(engine, 'bench.detail', { id });
  const { request, device, warnings } = detail;
  const cases = detail.cases.filter(isDone);
  const failed = cases.filter((one) => one.failure !== null).length;
  const gaps = await evidenceGapsOf(
    engine,
    request.sourceRunId,
    request.deviceId === null ? [] : [{ deviceId: request.deviceId }],
  );
  if (options.json)
    terminal.json({
      runId: id,
      sourceRunId: request.sourceRunId,
      target: request.target,
      device,
      cases: cases.map(plainCase),
      failed,
      leftOut: request.leftOut ?? null,
      part: request.part ?? null,
      probe: request.probe ?? null,
      program: request.program ?? null,
      cache: request.cache ?? null,
      kernel: request.kernel ?? null,
      warnings,
      evidenceGaps: gaps,
    });
  else {
    printMeasurement(terminal, { ...detail, cases }, failed);
    if (gaps !== null) terminal.say(gaps);
    if (request.suite === 'probes' && (await engine.call('bench.measuredDevice', { id })).ok)
      terminal.say(`lockstep devices calibrate ${id} writes the measured fields into the device.`);
  }
  return failed < cases.length ? EXIT_OK : EXIT_FAILED;
}

function printMeasurement(
  terminal: Terminal,
  { runId: id, device, cases, warnings }: MeasuringDetail,
  failed: number,
): void {
  const where = device ? ` on ${deviceTitle(device)}` : '';
  terminal.say(`Run ${id}: ${counted(cases.length, 'case')}${where}${failed > 0 ? `, ${failed} failed` : ''}.`);
  const predicted = cases.some((one) => one.predictedMs !== null);
  const { unit, cell } = timeCells(cases.flatMap((one) => [one.predictedMs, one.measured?.lowMs]));
  terminal.rows(cases, [
    ['case', (one) => one.label],
    predicted && [`predicted, ${unit}`, (one) => cell(one.predictedMs)],
    [`median, ${unit}`, (one) => cell(one.measured?.medianMs)],
    ['low', (one) => cell(one.measured?.lowMs)],
    ['high', (one) => cell(one.measured?.highMs)],
    ['repeats', (one) => one.measured?.repeats ?? 0],
    ['', (one) => one.failure ?? valuesText(one.values)],
  ]);
  for (const warning of warnings) terminal.say(warning);
}

function valuesText(values: MeasuredCase['values']): string {
  return Object.entries(values)
    .flatMap(([name, value]) => (typeof value === 'number' ? [`${name} ${Number(value.toPrecision(5))}`] : []))
    .join(', ');
}

async function listTargets(engine: Engine, terminal: Terminal, options: BenchOptions): Promise<void> {
  const targets = await call(engine, 'bench.targets', {});
  if (options.json) return terminal.json({ targets });
  for (const target of targets) printTarget(terminal, target);
}

function printTarget(terminal: Terminal, { id, available, label, advice }: MeasuringTarget): void {
  terminal.say(`${available ? 'ok     ' : 'absent '} ${id.padEnd(12)} ${label}`);
  if (advice) terminal.say(`${' '.repeat(21)}${advice}`);
}

async function compareMeasurement(
  engine: Engine,
  terminal: Terminal,
  run: string | undefined,
  options: BenchOptions,
): Promise<void> {
  const id = usage(runId(run));
  const detail = await engine.call('bench.detail', { id });
  if (detail.ok && detail.value.request.suite === 'contention') {
    const found = await call(engine, 'bench.contention', { id });
    if (options.json) terminal.json(found);
    else printContention(terminal, found);
    return;
  }
  const compared = await call(engine, 'bench.compare', { id, profileId: options.profile });
  const gaps = await evidenceGapsOf(engine, compared.sourceRunId, [compared]);
  if (options.json) terminal.json({ ...compared, evidenceGaps: gaps });
  else {
    printComparison(terminal, compared);
    if (gaps !== null) terminal.say(gaps);
  }
}

function printComparison(terminal: Terminal, found: MeasuringComparison): void {
  const atClock = found.clockMhz === null ? '' : ` at the measured clock of ${found.clockMhz} MHz`;
  const basis =
    found.basis === 'prediction' ? `predicted${atClock}` : `predicted with the calibration "${found.basis.name}"`;
  terminal.say(
    `Run ${found.runId}: ${found.designs.length} designs of run ${found.sourceRunId}, ${basis} for ${found.device}, measured on ${found.measuredOn}.`,
  );
  const { unit, cell } = timeCells(found.designs.flatMap((one) => [one.medianMs, one.predictedMs]));
  terminal.rows(found.designs, [
    ['measured', (one) => one.measuredRank],
    ['predicted', (one) => one.predictedRank],
    ...designColumns<MeasuringComparison['designs'][number]>(),
    [`median, ${unit}`, (one) => cell(one.medianMs)],
    [`predicted, ${unit}`, (one) => cell(one.predictedMs)],
    ['residual', (one) => percent(Math.expm1(one.residual))],
  ]);
  const balancingMs = found.designs.reduce((most, one) => Math.max(most, one.balancingMs ?? 0), 0);
  if (balancingMs > 0)
    terminal.say(
      `The column "predicted" has the time of the kernel alone, because only the kernel is timed. The rank also includes the time of balancing: up to ${timeText(balancingMs)} for these designs.`,
    );
  terminal.say(
    `Measured times are ${found.scale.toPrecision(4)} × the predicted times (median). With this factor, the error is ${percent(found.medianError)} (median) or ${percent(found.p95Error)} (95th percentile); without it, ${percent(found.unscaledMedianError)} (median).`,
  );
  terminal.say(`Rank correlation: ${rankCorrelation(found)}.`);
  const tied = countTiedFirst(found.designs);
  const first = tied === 1 ? "The model's first design" : `The mean of the model's ${tied} tied first designs`;
  for (const [at, { k, fraction }] of found.regret.entries()) {
    const random = found.randomEquivalent[at]?.measurements;
    const instead =
      random === undefined
        ? ''
        : `. A random search measures ${counted(Number(random.toPrecision(3)), 'design')} on average to find an equally good design`;
    terminal.say(
      `${k === 1 ? first : `The best of the model's first ${k} designs`} is ${percent(fraction)} slower than the best measured design${instead}.`,
    );
  }
  for (const warning of found.warnings) terminal.say(warning);
}

function rankCorrelation({ spearman, kendall, designs }: MeasuringComparison): string {
  if (Number.isFinite(spearman)) return `${spearman.toFixed(3)} (Spearman), ${kendall.toFixed(3)} (Kendall)`;
  const isMeasuredAlike = designs.every(({ medianMs }) => medianMs === designs[0].medianMs);
  return `undefined, because all ${isMeasuredAlike ? 'measured' : 'predicted'} times are equal`;
}

function printContention(terminal: Terminal, found: ContentionFindings): void {
  const gbS = (value: number | null): string => (value === null ? '–' : value.toPrecision(4));
  terminal.table(
    ['cores', 'bandwidth, GB/s', 'low', 'high'],
    found.cores.map((cores, at) => [cores, gbS(found.bandwidthGbS[at]), gbS(found.lowGbS[at]), gbS(found.highGbS[at])]),
  );
  terminal.say(
    `One core alone reaches ${gbS(found.singleCoreGbS)} GB/s, and all cores together reach ${gbS(found.fullGbS)} GB/s. Cores needed to saturate the memory: ${found.kneeCores}.`,
  );
  for (const warning of found.warnings) terminal.say(warning);
  if (found.workloads.length === 0) return;
  const { unit, cell } = timeCells(found.workloads.map(({ measuredMs }) => measuredMs));
  terminal.table(
    ['work', 'cores', `measured, ${unit}`, ...found.workloads[0].models.map(({ model }) => model)],
    found.workloads.map(({ workload, cores, measuredMs, models }) => [
      workload,
      cores,
      cell(measuredMs),
      ...models.map(({ error }) => percent(error)),
    ]),
  );
}

async function packBundle(
  engine: Engine,
  terminal: Terminal,
  input: object,
  path: string,
  options: BenchOptions,
): Promise<void> {
  const archive = /\.tar$/i.test(path);
  const slurmTasks = options.slurm === true ? SLURM_TASKS : options.slurm;
  const asked = { ...input, archive, ...(slurmTasks !== undefined && { slurmTasks }) };
  const checked = usage(validate(procedures['bench.bundle'].input, asked, 'bench'));
  const { files, packed, bytes, cases, leftOut } = await call(engine, 'bench.bundle', checked);
  if (!archive && (await stat(join(path, 'plan.jsonl')).catch(() => null)))
    throw failure('conflict', `${path} already holds a bundle. Specify a new folder.`);
  try {
    if (archive) await writeWhole(path, files[0].bytes);
    else {
      for (const file of files) {
        await mkdir(dirname(join(path, file.path)), { recursive: true });
        await writeFile(join(path, file.path), file.bytes, { mode: file.executable ? 0o755 : 0o644 });
      }
    }
  } catch (error) {
    throw failure('storage', `${path} cannot be written (${systemReason(error)}).`);
  }
  terminal.err(leftOutLine(leftOut));
  if (options.json) terminal.json({ path, cases, leftOut, files: packed, bytes });
  else
    terminal.say(
      slurmTasks === undefined
        ? `Packed ${counted(cases, 'case')} into ${path}. Copy it to a machine with a ${checked.hip ? 'HIP' : 'CUDA'} device, run ./run.sh in it there, copy results.jsonl back, and run lockstep import results.jsonl here.`
        : `Packed ${counted(cases, 'case')} into ${path}. Copy it to a folder that all machines of the cluster share, run sbatch run.slurm there, and then lockstep import FOLDER here.`,
    );
}
