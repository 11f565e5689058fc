import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { CACHE_STATES } from '../../src-workers/domain/benchmark.ts';
import type { NamedParameters } from '../../src-workers/domain/design-names.ts';
import { isEstimate } from '../../src-workers/domain/device.ts';
import { PASSWORD_VARIABLE, PLACEHOLDERS } from '../../src-workers/domain/program.ts';
import { newerInput } from '../contract/older-kernels.ts';
import { VARIED_INPUTS, type VariedInput } from '../../src-workers/domain/provenance.ts';
import { FailureError, type Failure, type Result } from '../../src-workers/domain/result.ts';
import { messageText } from '../../src-workers/domain/text.ts';
import { BENCH_SUITES } from '../contract/measuring.ts';
import { MAX_BEST, MAX_SPACE, MAX_TRUNCATION, MIN_TRUNCATION } from '../contract/study.ts';
import { programPlaces } from '../hosts/places.ts';
import { defaultDatabaseFile } from '../services/files/data-folder.ts';
import { doctorChecks } from '../services/machine/doctor.ts';
import { openEngine, type Engine } from '../services/engine.ts';
import { readText, writeFor } from '../services/files/files.ts';
import { EXPORTERS } from '../services/export/formats.ts';
import { counted } from '../services/export/text.ts';
import { workloadLoss } from '../services/models/loss.ts';
import { deviceOccupancy, nvidiaOccupancy, occupancyBatch } from '../services/devices/occupancy.ts';
import { APP_VERSION } from '../services/version.ts';
import { agentCommand, redisSettings, type AgentCommandOptions, type RedisOptions } from './agent.ts';
import { recommendCommand, robustCommand, sensitivityCommand } from './advice.ts';
import { benchCommand, calibrateCommand, type BenchOptions } from './bench.ts';
import { runId } from './follow.ts';
import { emulateCommand, type EmulateOptions } from './emulate.ts';
import { evidenceCommand } from './evidence.ts';
import { compareRunsCommand } from './compare.ts';
import { importCommand, namedParameter, saveDevice, type ImportOptions } from './import.ts';
import { inspectCommand, type InspectOptions } from './inspect.ts';
import { newCommand, type NewOptions } from './new.ts';
import { pythonModule, serveLines } from './rpc.ts';
import { simulateCommand } from './simulate.ts';
import { traceCommand, type TraceOptions } from './trace.ts';
import { parseBudget, parseShare, tuneCommand, type TuneOptions } from './tune.ts';
import {
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  numberList,
  plain,
  printJson,
  printTable,
  processTerminal,
  reportFailure,
  say,
  type Terminal,
} from './output.ts';
import {
  compareCommand,
  devicesList,
  exportCommand,
  rankCommand,
  reproduceCommand,
  resumeCommand,
  runsList,
  runsShow,
  sweepCommand,
} from './commands.ts';

interface GlobalOptions extends RedisOptions {
  readonly json?: boolean;
  readonly db?: string;
}

const wholeFrom = (min: number, text: string, max = Infinity): number => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new InvalidArgumentError(
      `It must be a whole number ${max === Infinity ? `≥ ${min}` : `from ${min} to ${max}`}.`,
    );
  return value;
};
const whole = (text: string): number => wholeFrom(0, text);
const positive = (text: string): number => wholeFrom(1, text);
const positiveNumber = (text: string): number => {
  const value = text.trim() === '' ? NaN : Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('It must be a number > 0.');
  return value;
};
/** Accepts the inputs to vary by their current or older names. */
function inputOption(): Option {
  const option = new Option('--input <fields...>', 'only these inputs, as in kernel.serialFraction');
  const known = option.choices(VARIED_INPUTS).parseArg!;
  return option.argParser((name: string, before: readonly VariedInput[]) => known(newerInput(name), before));
}

/** Makes a parser for an option. On failure, the message names the option. */
const parsedBy =
  <T>(parse: (text: string) => Result<T>) =>
  (text: string): T => {
    const parsed = parse(text);
    if (!parsed.ok) throw new InvalidArgumentError(parsed.error.message);
    return parsed.value;
  };
const unitCount = (text: string): number | 'all' => (text === 'all' ? text : positive(text));
const portNumber = (text: string): number => {
  const value = whole(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return value;
};
const sizes = (text: string): readonly number[] => {
  const list = numberList(text);
  if (!list) throw new InvalidArgumentError('It must be whole numbers ≥ 1 such as 2,4,8.');
  return list;
};

const databaseOption = (): Option =>
  new Option('--db <file>', 'database to use instead of the one in your data folder').argParser((file) => {
    if (file === ':memory:')
      throw new InvalidArgumentError('Runs are saved in a file. Specify one, such as /tmp/runs.db.');
    return resolve(file);
  });

const command = (parent: Command, signature: string, summary: string): Command =>
  parent
    .command(signature)
    .description(summary)
    .option('--json', 'print one JSON document, and nothing else, on standard output')
    .addOption(databaseOption());

/** Adds the options of a command whose work agents can do. */
const byAgents = (command: Command): Command =>
  command
    .option('--redis <url>', 'give the work to agents that use this Redis: redis://HOST:PORT, or rediss:// for TLS')
    .option('--redis-prefix <name>', 'the prefix of its keys (default: lockstep)')
    .option('--redis-password-file <file>', `its password; otherwise ${PASSWORD_VARIABLE} in the environment`);

/**
 * The shared tools of the commands: the terminal, the exit status, and an engine that is open while a command needs it.
 */
interface CommandLine {
  readonly terminal: Terminal;
  readonly places: ReturnType<typeof programPlaces>;
  status: number;
  /** Prints a result as JSON or as text, or prints the failure. */
  readonly show: <T>(result: Result<T>, options: GlobalOptions, print: (value: T) => void) => void;
  readonly withEngine: (
    options: GlobalOptions,
    body: (engine: Engine) => Promise<number>,
    uses?: { readonly predicts?: boolean },
  ) => Promise<void>;
  /** Like `withEngine`, but fails if there is no database yet, instead of creating one. */
  readonly withRuns: CommandLine['withEngine'];
}

function openCommandLine(terminal: Terminal): CommandLine {
  const places = programPlaces();
  const show = <T>(result: Result<T>, options: GlobalOptions, print: (value: T) => void): void => {
    if (!result.ok) cli.status = reportFailure(terminal, result.error);
    else if (options.json) printJson(terminal, result.value);
    else print(result.value);
  };

  const withEngine: CommandLine['withEngine'] = async (options, body, uses = {}) => {
    const redis = redisSettings(options);
    const engine = await openEngine({
      databaseFile: options.db ?? defaultDatabaseFile(),
      resourceFolder: places.root,
      host: 'cli',
      workerFile: places.workerFile,
      storeThreadFile: places.storeThreadFile,
      programs: places.programs,
      ...uses,
      ...(redis && { redis }),
    });
    if (!engine.ok) {
      cli.status = reportFailure(terminal, engine.error);
      return;
    }
    try {
      cli.status = await body(engine.value);
    } finally {
      const silent = await engine.value.close();
      if (silent !== null) terminal.err(`lockstep: ${plain(silent)}\n`);
    }
  };
  const withRuns: CommandLine['withEngine'] = async (options, body, uses) => {
    const file = options.db ?? defaultDatabaseFile();
    if (existsSync(file)) return withEngine(options, body, uses);
    const message = `There is no database at ${file}. Make one with a sweep, or name another with --db.`;
    cli.status = reportFailure(terminal, { code: 'not-found', message });
  };
  const cli: CommandLine = { terminal, places, status: EXIT_OK, show, withEngine, withRuns };
  return cli;
}

/** The command that computes losses of a workload. It needs no engine. */
function lossCommand(program: Command, cli: CommandLine): void {
  const { terminal, show } = cli;
  command(program, 'loss', 'performance loss of lockstep execution over group sizes')
    .requiredOption(
      '--workload <W>',
      'lengths of the units: geometric(0.05), file:lengths.csv, mtx:matrix.mtx, example:collatz, …',
    )
    .addOption(
      new Option('--n <list>', 'units per work group').argParser(sizes).default([2, 4, 8, 16, 32], '2,4,8,16,32'),
    )
    .option('--truncation <mass>', 'probability cut from an infinite support (default: 1e-6)')
    .action(async (options: GlobalOptions & { workload: string; n: readonly number[]; truncation?: string }) => {
      const truncation = options.truncation === undefined ? undefined : Number(options.truncation);
      if (truncation !== undefined && !(truncation >= MIN_TRUNCATION && truncation <= MAX_TRUNCATION)) {
        cli.status = reportFailure(
          terminal,
          badUsage(
            `--truncation must be a number from ${MIN_TRUNCATION} to ${MAX_TRUNCATION}, not "${options.truncation}".`,
          ),
          true,
        );
        return;
      }
      const report = await workloadLoss(options.workload, options.n, process.cwd(), truncation);
      show(report, options, ({ workload, rows }) => {
        const cut = workload.truncatedMass;
        say(
          terminal,
          `${workload.label}: mean ${workload.mean.toPrecision(6)}, standard deviation ${workload.standardDeviation.toPrecision(5)}, lengths ${workload.supportMin} to ${workload.supportMax}${cut > 0 ? `, ${cut.toExponential(2)} of the probability cut` : ''}${workload.fitted ? '; fitted to these figures, otherwise assumed' : ''}`,
        );
        if (workload.note) say(terminal, workload.note);
        const ordered = rows.some(({ givenOrder }) => givenOrder !== null);
        if (ordered)
          say(
            terminal,
            '"In order" is the loss of groups of n consecutive units. The other losses are for n units drawn at random, as after a shuffle.',
          );
        printTable(
          terminal,
          [
            'n',
            ...(ordered ? ['mean in order', 'aggregate in order'] : []),
            ...['mean loss', 'deviation', 'aggregate', 'p50', 'p95', 'p99'],
          ],
          rows.map((row) => [
            row.n,
            ...(ordered
              ? [row.givenOrder?.meanLoss.toFixed(4) ?? '–', row.givenOrder?.aggregateLoss.toFixed(4) ?? '–']
              : []),
            row.meanLoss.toFixed(4),
            row.standardDeviationLoss.toFixed(4),
            row.aggregateLoss.toFixed(4),
            row.quantiles?.p50.toFixed(3) ?? '–',
            row.quantiles?.p95.toFixed(3) ?? '–',
            row.quantiles?.p99.toFixed(3) ?? '–',
          ]),
        );
      });
    });
}

/** The command that records the lengths of units from a kernel. It needs no engine. */
function traceCommands(program: Command, cli: CommandLine): void {
  command(program, 'trace [program...]', 'lengths of the units of your own kernel, and its loss, from a run of it')
    .option('--header', 'print lockstep.cuh, to include in the kernel (CUDA, HIP)')
    .option('--wgsl', 'print the same functions for WGSL')
    .option('--units <count>', 'number of units that the program must run', positive)
    .option('-o, --output <file>', 'file for the lengths (CSV), in the order of the units', 'lengths.csv')
    .option('--time-limit <seconds>', 'time limit of the program', positive, 600)
    .action(async (words: string[], options: TraceOptions) => {
      cli.status = await traceCommand(cli.terminal, join(cli.places.root, 'db', 'kernels'), words, options);
    })
    .addHelpText(
      'after',
      `
  lockstep trace --header > lockstep.cuh
  nvcc -DLOCKSTEP_TRACE app.cu -o app
  lockstep trace -o lengths.csv -- ./app --its-own-options

In the kernel, put LOCKSTEP_UNIT(i); at the start of unit i, LOCKSTEP_STEP(); in its loop, and LOCKSTEP_END(); at its end.
On the host, put LOCKSTEP_TRACE_UNITS(units); before the first launch. If the loop is in another __device__ function, the
header explains how to pass the unit to it. Without -DLOCKSTEP_TRACE these macros are empty. The program behind -- runs
without a shell, in a process group of its own, and its output goes to standard error. A study refers to the lengths as
file:lengths.csv.
With --json: {file, units, meanLength, maxLength, computed: {unitsPerGroup, aggregateLoss, meanLoss},
  measured: {threadGroupWidth, threadGroups, meanActiveLanes, aggregateLoss, meanLoss}}; measured is null for WGSL.`,
    );
}

/** The command that compiles a CUDA program for the CPU. It needs no engine. */
function emulateCommands(program: Command, cli: CommandLine): void {
  const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  command(program, 'emulate <files...>', 'compiles a CUDA program to run on this CPU: results and traces, no times')
    .option('-o, --output <file>', 'the program', 'a.out')
    .option('-I, --include <folder>', 'folder of headers', collect, [])
    .option('-D, --define <definition>', 'a macro, as in -DBLOCK=128', collect, [])
    .action(async (files: string[], options: EmulateOptions) => {
      cli.status = await emulateCommand(cli.terminal, cli.places, files, options);
    })
    .addHelpText(
      'after',
      `
  lockstep emulate -DLOCKSTEP_TRACE app.cu -o app      needs Linux and g++, and neither nvcc nor a GPU
  lockstep trace -- ./app                              the lengths of its units

Your sources are compiled unchanged, with <<<…>>>, shared memory, barriers, shuffles, votes, atomics, vector types and
cooperative groups of blocks and tiles. Blocks run one after another, and a lane runs until it waits for other lanes. Each
thread takes some microseconds, so use small inputs. Not supported: textures, half precision, tensor cores, inline PTX,
graphs, launches from kernels, barriers of a whole grid, CUDA's libraries. Races between threads are not detected. Event
times are 0. A time that the program measures with a clock of the CPU is not the time of a GPU, so bench refuses it.
With --json: {file}.`,
    );
}

/** The command that computes the occupancy of one launch, or of a table of launches. */
function occupancyCommand(program: Command, cli: CommandLine): void {
  const { terminal, show, withEngine } = cli;
  command(program, 'occupancy', 'resident blocks of a launch, and what limits them')
    .option('--cc <version>', 'NVIDIA compute capability, as in 9.0')
    .option('--device <id>', 'device of the catalogue instead of a compute capability')
    .option('--block <threads>', 'threads per block', positive)
    .option('--registers <count>', 'registers per thread', whole, 32)
    .option('--shared <bytes>', 'shared memory per block', whole, 0)
    .option(
      '--batch <file>',
      'CSV with compute_capability,block_threads,registers_per_thread,dynamic_shared_memory_bytes',
    )
    .action(
      async (
        options: GlobalOptions & {
          cc?: string;
          device?: string;
          block?: number;
          registers: number;
          shared: number;
          batch?: string;
        },
      ) => {
        if (options.batch !== undefined) {
          const text = await readText(options.batch);
          const rows = text.ok ? occupancyBatch(text.value, options.batch) : text;
          show(rows.ok ? { ok: true, value: { rows: rows.value } } : rows, options, ({ rows: all }) =>
            printTable(
              terminal,
              ['cc', 'block', 'registers', 'shared', 'blocks/SM', 'limited by'],
              all.map((row) => [
                row.computeCapability,
                row.blockThreads,
                row.registersPerThread,
                row.sharedMemoryBytes,
                row.blocksPerSm,
                row.refused ?? row.limitedBy.join(' '),
              ]),
            ),
          );
          return;
        }
        if (options.block === undefined || (options.cc === undefined) === (options.device === undefined)) {
          cli.status = reportFailure(
            terminal,
            badUsage('Specify --block and one of --cc or --device, or --batch FILE.csv.'),
            true,
          );
          return;
        }
        const usage = {
          blockThreads: options.block,
          registersPerThread: options.registers,
          sharedMemoryBytesPerBlock: options.shared,
        };
        const print = (result: ReturnType<typeof nvidiaOccupancy>): void =>
          show(result, options, (value) =>
            say(
              terminal,
              value.refused !== null
                ? `This block cannot run: ${value.refused}.`
                : `${counted(value.blocksPerSm, 'block')}, ${counted(value.warpsPerSm, 'thread group')} per multiprocessor, ${(value.occupancyFraction * 100).toFixed(1)} % occupied, limited by ${value.limitedBy.join(', ')}`,
            ),
          );
        if (options.cc !== undefined) print(nvidiaOccupancy(options.cc, usage));
        else
          await withEngine(options, async (engine) => {
            const found = await engine.call('devices.get', { ids: [options.device!] });
            print(found.ok ? deviceOccupancy(found.value[0], usage) : found);
            return cli.status;
          });
      },
    );
}

const VERBOSE = 'also print the basis of the answer';

/** The commands that predict, rank and simulate the designs of a study. */
function sweepCommands(program: Command, cli: CommandLine): void {
  const { terminal, places, withEngine, withRuns } = cli;
  command(program, 'new <study>', 'write a study file for your lengths')
    .requiredOption('--lengths <W>', 'a file (CSV, Matrix Market, NPY, Parquet, …), or a workload as for loss')
    .option('--device <ids...>', 'devices by their identifiers, as devices list prints them')
    .option('--spmv', 'for a sparse matrix: compare eight kernels that multiply it by a vector', false)
    .addHelpText(
      'after',
      `
Unknown properties of the kernel get usual values, marked as assumed. FILE.csv#COLUMN names a column of a table.
With --json: {study, units, mean, max}.`,
    )
    .action((file: string, options: GlobalOptions & NewOptions) =>
      withEngine(options, (engine) => newCommand(engine, terminal, places.root, file, options)),
    );

  byAgents(command(program, 'sweep <study>', 'predict every design of a study and save the run'))
    .option('--top <count>', 'best designs to print', positive, 10)
    .option(
      '--best <count>',
      `keep only this many designs, the fastest of all devices together (at most ${MAX_BEST})`,
      (text: string) => wholeFrom(1, text, MAX_BEST),
    )
    .option('--device <ids...>', 'these devices instead of those of the study; ID:66 for 66 multiprocessors of one')
    .option('--verbose', VERBOSE, false)
    .action((study: string, options: GlobalOptions & { top: number; best?: number; device?: string[] }) =>
      withEngine(options, (engine) => sweepCommand(engine, terminal, study, options), { predicts: true }),
    )
    .addHelpText(
      'after',
      `
A study is JSON: lengths of the units, kernel, devices and axes. Its schema explains every field; there are examples too:
  ${join(places.root, 'db', 'study.schema.json')}
  ${join(places.root, 'db', 'examples')}
To see how much of a GPU the work needs, compare several parts of it:
  lockstep sweep study.json --device nvidia-h100-sxm5-80gb:33 nvidia-h100-sxm5-80gb:66 nvidia-h100-sxm5-80gb
ID:66 is 66 multiprocessors with the whole memory and L2; ID:66:slice has a proportional share of both.

--best 10000 keeps exactly the first designs of the whole ranking, and allows spaces of up to ${MAX_SPACE.toLocaleString('en')}
designs. It is fast because a design is not predicted if even its lower bound is slower than the last kept design.`,
    );

  command(program, 'rank <run>', 'the best designs of a run')
    .option('--top <count>', 'designs to print', positive, 10)
    .option('--device <id>', 'only this device')
    .option('--groups', 'one row for designs without a relevant difference', false)
    .addOption(
      new Option('--best-of <axis>', 'the best design of every device, or of every implementation').choices([
        'device',
        'implementation',
      ]),
    )
    .action(
      (run: string, options: GlobalOptions & { top: number; device?: string; groups: boolean; bestOf?: string }) =>
        withRuns(options, (engine) => rankCommand(engine, terminal, run, options)),
    );

  command(program, 'recommend <study-or-run>', 'one design for a study (a file) or a run (its number), and why')
    .option('--device <id>', 'only this device; for a study also ID:66, which is 66 multiprocessors of it')
    .option('--verbose', VERBOSE, false)
    .action((what: string, options: GlobalOptions & { device?: string }) =>
      (runId(what).ok ? withRuns : withEngine)(options, (engine) => recommendCommand(engine, terminal, what, options)),
    )
    .addHelpText(
      'after',
      `
With --json: {device, devices, designIndex, design, rank, implementationKind, hasEvidence,
  time: {ms, lowMs, highMs, basis}, ties: {count, fraction, band: {fraction, source, takenFrom, count}, rule, designs},
  baseline, causes: [{part, label, ms}], why, inputs: [{field, label, value, unit, origin, note, usual}], predicted, of, elapsedMs,
  robust: {designIndex, text, expectedRegret, chance, worst90, draws, lowMs, highMs}, point, designs: [{designIndex, text, timeMs,
  expectedRegret, chanceBest, worst90}], unknown: [{input, range, source}], worthKnowing: [{input, label, gain, how, sentence}], separation}
For a study, the design has the least expected regret over draws of the assumed inputs (robust).
For a run, it is the recommended design of the ranking (point).`,
    );

  command(
    program,
    'sensitivity <study-or-run>',
    'what would change the recommendation: every input over its usual range',
  )
    .option('--device <id>', 'only this device')
    .option('--design <number>', 'examine this design instead of the recommended one', whole)
    .addOption(inputOption())
    .action(
      (what: string, options: GlobalOptions & { device?: string; design?: number; input?: readonly VariedInput[] }) =>
        (runId(what).ok ? withRuns : withEngine)(options, (engine) =>
          sensitivityCommand(engine, terminal, what, options),
        ),
    )
    .addHelpText(
      'after',
      `
With --json: {device, designIndex, design, timeMs, tieFraction, tieBand, inputs: [{input, values, bestMs, recommendedMs, designs,
  holds: [from, to], below, above: {at, designIndex, text, gain}, sentence}], elapsedMs}`,
    );

  command(program, 'robust <runs...>', 'the one design with the least worst-case regret over runs, devices and inputs')
    .option('--device <ids...>', 'only these devices')
    .option(
      '--vary <field=values...>',
      'replace an input by each of these values, as in kernel.serialFraction=0.01,0.05,0.2',
    )
    .action((runs: string[], options: GlobalOptions & { device?: string[]; vary?: string[] }) =>
      withRuns(options, (engine) => robustCommand(engine, terminal, runs, options)),
    )
    .addHelpText(
      'after',
      `
Designs of different runs and devices are the same if they have the same values of all axes.
With --json: {scenarios: [{id, label, bestMs, best, tieBand, device, evidence}], designs: [{design, text, worst, mean, regret, timeMs}], ownBest, common};
  regret is the time divided by the best time of the scenario, minus 1.`,
    );

  byAgents(command(program, 'simulate <run>', 'simulate the best designs of a run, event by event'))
    .option('--top <count>', 'designs to simulate', positive, 20)
    .option('--device <id>', 'only this device')
    .action((run: string, options: GlobalOptions & { top: number; device?: string }) =>
      withRuns(options, (engine) => simulateCommand(engine, terminal, run, options)),
    );
}

function placeholderLines(): string {
  return Object.entries(PLACEHOLDERS)
    .map(([name, what]) => `  ${`{${name}}`.padEnd(18)}${what}`)
    .join('\n');
}

/** Parses `2%` as 0.02. */
function percentage(text: string): number {
  const number = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  const fraction = Number(number) / 100;
  if (fraction >= 0 && fraction <= 1) return fraction;
  throw new InvalidArgumentError('It must be a percentage from 0% to 100%, such as 2%.');
}

/** The commands that measure and calibrate. */
function measuringCommands(program: Command, cli: CommandLine): void {
  addBench(program, cli);
  addCompare(program, cli);
  addTune(program, cli);
  addCalibrate(program, cli);
}

/** Returns the text that `bench --help` prints after the options. */
const benchHelp = (): string => `
With --json:
  measuring    {runId, sourceRunId, target, device, cases: [{id, label, designIndex, predictedMs, medianMs, lowMs, highMs,
               repeats, timesMs, clockMhz, conditions, correct, failure, values}], failed, leftOut, part, probe, program, cache, kernel,
               warnings}. These fields may be null:
               leftOut  {designs, runnable, limits: [{quantity, atMost}]} if the target cannot run the whole sweep
               part     {units, ofUnits, designsLeftOut} if fewer units were measured
               probe    {ofRepeats, estimateMs, fullMs}
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
It runs in the current folder, without a shell: spaces separate arguments, quotes keep them together, and ; | * $ are
ordinary text. It prints one JSON object a line, and may print other lines:
  {"timeNs": 1234}                      the time of a launch; every run prints at least one
  {"digest": "1f3a"}                    a hash of the result; a design is wrong if most designs have another digest
  {"correct": true, "maxError": 1e-6}   the program's own check of its result
  {"device": "NVIDIA H100 PCIe", "multiprocessors": 114, "driver": "580.65"}
                                        its device; the ranking shows the times in the rows of that device
In both commands, these names are replaced by values of the design ({{name}} is the text {name}):
${placeholderLines()}
A build is reused until a file changes that the command names, or any file in the current folder or in a folder that the
command names. The launches of several designs alternate in random order. A design fails if a run ends with an error,
prints no time, or exceeds --case-limit; the other designs continue.

Your own kernel, in CUDA, HIP, OpenCL or WGSL, without a program (example and format: db/examples/kernels):
  lockstep bench 1 --kernel spmv.kernel.json --target webgpu
The manifest names sources, arguments, the correct result, and the designs that each function implements. A sweep with
other designs is refused. --target emulation checks the results on this CPU (Linux, g++) and measures no times; its limits
are in lockstep emulate --help.
--target opencl:0 measures it on any OpenCL device, through Python with PyOpenCL.`;

function addBench(program: Command, { terminal, withEngine, withRuns }: CommandLine): void {
  byAgents(
    command(program, 'bench [run]', 'measure designs of a sweep, or a device; compare; pack for another machine'),
  )
    .option(
      '--target <target>',
      'where: cuda:0, hip:0, webgpu or cpu; opencl:0 and emulation for --kernel (bench --list prints the available ones)',
    )
    .option('--exec <command>', 'measure with your own program instead: runs it for every launch (see below)')
    .option('--build <command>', 'compiles that program first, once for all designs with the same command')
    .option(
      '--kernel <file>',
      'measure your own kernel on the target instead: the manifest that describes it (see below)',
    )
    .option('--top <count>', 'the best designs by prediction (default: 20)', positive)
    .option('--random <count>', 'designs drawn at random instead, with the seed of the study', positive)
    .option('--spread <count>', 'designs spread evenly over the ranking instead', positive)
    .option(
      '--design <numbers...>',
      'these designs instead: their numbers in what sweep and rank print',
      (text: string, list: number[] = []) => [...list, whole(text)],
    )
    .option('--device <id>', 'device of the sweep, where it has several')
    .addOption(
      new Option('--suite <suite>', 'a benchmark of the device itself, without a run').choices(BENCH_SUITES.slice(1)),
    )
    .option('--repeats <count>', 'launches of each case that count (default: 15)', positive)
    .option('--warm-ups <count>', 'launches before them (default: 3)', whole)
    .option('--case-limit <seconds>', 'max time for one case (default: 60)', positive)
    .addOption(
      new Option(
        '--cache <state>',
        "a CUDA device's cache before each launch: the data of the launch before it (warm), or none of it",
      ).choices(CACHE_STATES),
    )
    .option(
      '--time <seconds>',
      'max time for all; a probe reduces repeats, then units, to stay within it (default: 120)',
      positive,
    )
    .option('--units <count>', 'measure this many units, without a probe; "all" for all of them', unitCount)
    .option('--list', 'list the targets of this machine')
    .option('--compare', 'compare the measurements of the given run with their predictions')
    .option('--profile <number>', 'compare with the predictions of this calibration instead', positive)
    .option('--bundle <path>', 'pack the measurement for a machine with a CUDA device: a folder, or a .tar file')
    .option(
      '--slurm [tasks]',
      'with --bundle: also a Slurm job array with this many tasks (8); import FOLDER merges their measurements',
      positive,
    )
    .addHelpText('after', benchHelp())
    .action((run: string | undefined, options: GlobalOptions & BenchOptions) =>
      (run === undefined ? withEngine : withRuns)(options, (engine) => benchCommand(engine, terminal, run, options)),
    );
}

function addCompare(program: Command, { terminal, withRuns }: CommandLine): void {
  command(program, 'compare <runs...>', 'compare measured runs with the first: other devices, or versions of a kernel')
    .addOption(
      new Option('--threshold <percentage>', 'difference that is ignored').argParser(percentage).default(0.02, '2%'),
    )
    .option('--best', 'compare only the fastest design of each run')
    .addHelpText(
      'after',
      `
RUN is a measurement on this machine (bench) or an imported one (import). Each design gets a verdict against the first run:
same, faster, slower or cannot tell. The verdict uses the 95 % interval of the ratio of the medians, which needs 7 repeats
on both sides. Exit status: 0 if nothing is slower; 1 if a design (with --best: the fastest) is slower, failed, or gave
wrong results; 2 if a run cannot be compared.
With --json: {threshold, runs: [{runId, name, device, startedAt, designs, best, againstFirst, lost}], designs: [{label, times, against}], cross,
oneForAll, common, warnings, slower}; best and oneForAll.design are indexes into designs, cross[i][j] is the time of the fastest design
of run i in run j, and a comparison is {ratio, interval: {low, high}, verdict}.`,
    )
    .action((runs: string[], options: GlobalOptions & { threshold: number; best?: boolean }) =>
      withRuns(options, (engine) => compareRunsCommand(engine, terminal, runs, options)),
    );
}

function addTune(program: Command, { terminal, withRuns }: CommandLine): void {
  byAgents(command(program, 'tune <run>', 'find the fastest design of a sweep by measuring few of them'))
    .option('--target <target>', 'where: cuda:0, hip:0, webgpu or cpu (bench --list prints the available ones)')
    .option('--exec <command>', 'measure with your own program instead (see bench --help)')
    .option('--build <command>', 'builds that program first')
    .option('--kernel <file>', 'measure your own kernel on the target instead (see bench --help)')
    .option('--device <id>', 'device of the sweep, where it has several')
    .addOption(
      new Option('--budget <amount>', 'designs to measure in all (40), or time of this command (60s, 5m)')
        .argParser(parsedBy(parseBudget))
        .default({ designs: 40 }, '40'),
    )
    .addOption(
      new Option('--within <percent>', 'end at this expected regret')
        .argParser(parsedBy(parseShare))
        .default(0.03, '3%'),
    )
    .option('--repeats <count>', 'launches of each design that count (default: 15)', positive)
    .option('--warm-ups <count>', 'launches before them (default: 3)', whole)
    .option('--case-limit <seconds>', 'max time for one design (default: 60)', positive)
    .addHelpText(
      'after',
      `
The first designs are spread over the sweep. Further designs are the most promising by all measurements and the prediction.
Tuning ends when the best design is expected to be within --within of the fastest design of the sweep, or when the budget
is spent. Each step is a measurement of the run. All measurements of the run on this target and with this program count,
so the same command continues a stopped tuning.
With --json: {runId, deviceId, considered, measured, failed, best: {designIndex, design, measuredMs, expectedMs, predictedMs}, expectedRegret,
  skill (rank correlation of predicted and measured times), within, stopped, elapsedMs, steps: [{runId, designs, measured, failed,
  best, expectedRegret}]}; stopped is within, budget, all-measured or all-failed;
  times include the predicted time of ordering the units.`,
    )
    .action((run: string, options: GlobalOptions & TuneOptions) =>
      withRuns(options, (engine) => tuneCommand(engine, terminal, run, options)),
    );
}

function addCalibrate(program: Command, { terminal, withRuns }: CommandLine): void {
  command(program, 'calibrate <run>', "fit a device's parameters to the designs that a run measured")
    .option('--name <name>', 'save them under this name')
    .option(
      '--into <study>',
      'write them into this study file, which then predicts with them; only for your own kernel',
    )
    .option(
      '--undo <study>',
      "remove the calibration from this run from a study file, and restore the kernel's earlier values",
    )
    .addHelpText(
      'after',
      `
With --json: {id, name, study, profile: {deviceId, deviceName, fingerprint, backend, parameters, identified, fit, heldOut, before,
  sourceRunIds}}; id and name are null if nothing was saved. With --undo: {study, deviceId}.`,
    )
    .action((run: string, options: GlobalOptions & { name?: string; into?: string; undo?: string }) =>
      withRuns(options, (engine) => calibrateCommand(engine, terminal, run, options)),
    );
}

/** The commands that read the results of a kernel's compilation. */
function kernelCommands(program: Command, cli: CommandLine): void {
  const { terminal, withEngine } = cli;
  const kernel = program.command('kernel').description("a kernel's own code");
  command(
    kernel,
    'inspect <file>',
    'registers, spills and instructions of a loop, from a source or what was compiled from it',
  )
    .option('--entry <name>', 'the kernel, if the file has several')
    .option('--arch <name>', 'architecture to compile for, or to choose in a file with several, as in sm_90')
    .option('--loop <number>', 'number of the main loop in the list, instead of the one chosen', positive)
    .option(
      '--iterations-per-loop <number>',
      'iterations of a unit in one pass of that loop, if the code does not show how it is unrolled',
      positive,
    )
    .addOption(
      new Option('--caps <list>', 'registers and spills under these register caps, as in 32,40,64').argParser(sizes),
    )
    .option('--mean <length>', 'mean length of the units, for a law with the loss that a profile shows', positiveNumber)
    .option('--nvcc <flags>', 'flags of the compiler, as in "-DBLOCK=128 -Iinclude"', (text: string) =>
      text.trim().split(/\s+/),
    )
    .option('--into <study>', 'write what was found into the kernel of this study file')
    .addHelpText(
      'after',
      `
The kind of FILE is detected from its content: a CUDA source (.cu, compiled by nvcc), PTX, a cubin, a listing of
nvdisasm -c -g or cuobjdump -sass, a log of nvcc -Xptxas -v, or a table of Nsight Compute (ncu --csv). Loops are read from
machine code if nvdisasm or cuobjdump is installed, otherwise from PTX. The main loop is the one marked by
asm volatile("// lockstep:loop"); in its body, or else the innermost loop whose end depends on data that differs between
threads. Its figures are for one iteration: an unrolled loop is divided by the iterations in a pass, which the steps of its
counter and its addresses show. The next enclosing loop is assumed to be the loop over units. Without one, the code before
the first memory access counts for the thread and the rest for the unit.
With --json: {entry, name, arch, entries, registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes, loops: [{line,
  instructionsPerIteration, byClass: {fp32, integer, fp64, special, memory, control}, dependentLoads,
  dependentExchanges, chainInstructions, shortestPath, unrolled, depth, divergent, marked}], chosen: {loop, why}, phases: {prologue, unit,
  combine, refill}, sharing, serialFraction, accesses: [{pattern, elementBytes}], from, caps: [{cap, registersPerThread, spillStoreBytes,
  spillLoadBytes}], launch, lengths, notes, study, unknown, loss: {measured, computed}}; a value is null if the file does not
  show it, and loss exists only with --into. from is sass, ptx, ptxas, cubin or ncu; loop counts from 0. A phase is
  {instructions, integerShare, fp64Share, specialShare, chainInstructions, dependentExchanges, dependentLoads, bytes},
  without the values that are 0. The prologue is for a thread, combine for a step of the tree, unit and refill for a unit.
  sharing is deal or split.`,
    )
    .action((file: string, options: GlobalOptions & InspectOptions) =>
      withEngine(options, (engine) => inspectCommand(engine, terminal, file, options)),
    );
}

function runCommands(program: Command, cli: CommandLine): void {
  const { terminal, withEngine, withRuns } = cli;
  const runs = program.command('runs').description('saved runs');
  command(runs, 'list', 'runs, newest first').action((options: GlobalOptions) =>
    withEngine(options, (engine) => runsList(engine, terminal, options)),
  );
  command(runs, 'show <run>', 'one run').action((run: string, options: GlobalOptions) =>
    withRuns(options, (engine) => runsShow(engine, terminal, run, options)),
  );
  for (const [name, procedure, text] of [
    ['delete', 'runs.delete', 'put a run into the bin (runs restore takes it out again)'],
    ['restore', 'runs.restore', 'take a run out of the bin'],
  ] as const)
    command(runs, `${name} <run>`, text).action((run: string, options: GlobalOptions) =>
      withRuns(options, async (engine) => {
        const id = runId(run);
        if (!id.ok) return reportFailure(terminal, id.error, true);
        const done = await engine.call(procedure, { id: id.value });
        if (!done.ok) return reportFailure(terminal, done.error);
        if (options.json) printJson(terminal, { runId: id.value, [`${name}d`]: true });
        else say(terminal, `Run ${id.value} ${name}d.`);
        return EXIT_OK;
      }),
    );

  byAgents(command(runs, 'resume <run>', 'continue a run that stopped before its end'))
    .option('--top <count>', 'best designs to print', positive, 10)
    .action((run: string, options: GlobalOptions & { top: number }) =>
      withRuns(options, (engine) => resumeCommand(engine, terminal, run, options)),
    );
}

function deviceCommands(program: Command, cli: CommandLine): void {
  const { terminal, places, show, withEngine } = cli;
  const devices = program.command('devices').description('the device catalogue');
  command(devices, 'list', 'devices, the catalogue and your own').action((options: GlobalOptions) =>
    withEngine(options, (engine) => devicesList(engine, terminal, options)),
  );
  command(devices, 'show <id>', 'one device with its sources, and which values are estimates').action(
    (id: string, options: GlobalOptions) =>
      withEngine(options, async (engine) => {
        const known = await engine.call('devices.get', { ids: [id] });
        if (!known.ok) return reportFailure(terminal, known.error);
        const list = await engine.call('devices.list', {});
        if (!list.ok) return reportFailure(terminal, list.error);
        const measured = await engine.call('evidence.devices', {});
        if (!measured.ok) return reportFailure(terminal, measured.error);
        // The list says which devices are the user's own. It does not contain the parts of devices.
        const device = list.value.find((entry) => entry.id === id) ?? known.value[0];
        const estimates = Object.keys(device).filter((field) => isEstimate(device, field));
        printJson(terminal, { ...device, estimates, evidence: measured.value[id] ?? null });
        return EXIT_OK;
      }),
  );
  command(devices, 'compare <ids...>', 'devices side by side').action((ids: string[], options: GlobalOptions) =>
    withEngine(options, (engine) => compareCommand(engine, terminal, ids, options)),
  );
  command(devices, 'add <file>', 'add your own device from a JSON file')
    .action((file: string, options: GlobalOptions) =>
      withEngine(options, async (engine) => {
        const text = await readText(file);
        const saved = text.ok ? await saveDevice(engine, text.value, file) : text;
        show(saved.ok ? { ok: true, value: saved.value.device } : saved, options, ({ id }) =>
          say(terminal, saved.ok && saved.value.replaced ? `Replaced ${id}, ${saved.value.replaced}.` : `Saved ${id}.`),
        );
        return cli.status;
      }),
    )
    .addHelpText(
      'after',
      `
FILE is one device in the format of lockstep devices show: start from a similar device, give it another id and name, and
change the values that differ. A GPU has kind "gpu", id, name, vendor, architecture, occupancy (the family of its allocation rules),
multiprocessors, clockMhz, …, limits and sources; a CPU has kind "cpu", cores and its bandwidths. Each field is
explained in
  ${join(places.root, 'db', 'devices', 'README.md')}`,
    );
  command(devices, 'delete <id>', 'delete one of your own devices').action((id: string, options: GlobalOptions) =>
    withEngine(options, async (engine) => {
      const removed = await engine.call('devices.delete', { id });
      const deleted = removed.ok ? { ...removed, value: { deviceId: id, deleted: true } } : removed;
      show(deleted, options, () => say(terminal, `Deleted ${id}.`));
      return cli.status;
    }),
  );
}

function fileCommands(program: Command, cli: CommandLine): void {
  const { terminal, withEngine, withRuns } = cli;
  command(program, 'import <file>', 'measurements made elsewhere as a run; also a study or a device (JSON)')
    .option('--device <name>', 'device of the measurements, if the file does not name it')
    .option('--run <run>', 'sweep whose designs were measured: exported names identify the configurations')
    .option(
      '--map <parameter=axis...>',
      'axis of a parameter whose name does not show it, as in BLOCK=block_threads; saved for the study if designs are found',
      (text: string, known?: NamedParameters) => {
        const named = namedParameter(text, known);
        if (typeof named === 'string') throw new InvalidArgumentError(named);
        return named;
      },
    )
    .addOption(new Option('--time-unit <unit>', 'unit of times without one (Optuna)').choices(['s', 'ms', 'us', 'ns']))
    .option('--study <name>', 'study, if an Optuna storage has several')
    .action((file: string, options: GlobalOptions & ImportOptions) =>
      withEngine(options, (engine) => importCommand(engine, terminal, file, options)),
    )
    .addHelpText(
      'after',
      `
The kind of FILE is detected from its content. It may be compressed (.gz):
  results.jsonl of a bundle    JSON lines: the plan first, then a record per line; a folder may hold several slices
  Kernel Tuner                 a cache, results in the T4 format, or the output of store_results (JSON)
  Optuna                       a storage (SQLite or a journal): complete and failed trials of a study that minimises a time
  measured loops               CSV: dataset,rows,cols,nnzs and a column of times, ms, per schedule
  mean losses of SMITE         CSV: distribution,n,groups,measured_mean_loss,…
  a study                      JSON (lockstep sweep --help names its schema); saved among your studies
  a device                     JSON (lockstep devices add --help); saved among your devices
Lengths of units (CSV, NPY, Parquet, …) and matrices (.mtx) are not measurements: a study refers to them as file:FILE or
mtx:FILE.`,
    );

  command(program, 'export <run>', 'a run as a document')
    .addOption(
      new Option('--format <format>', 'document format').choices(EXPORTERS.map(({ id }) => id)).makeOptionMandatory(),
    )
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .option(
      '--design <number>',
      'the design to recommend instead of the best: its number in what sweep and rank print',
      whole,
    )
    .option('--device <id>', 'only this device: the best of its designs, and no others listed')
    .option('--top <count>', 'designs to list', positive, 100)
    .option('--weigh', 'in json and csv: also the expected loss of each design, and its chance of being the best')
    .action(
      (
        run: string,
        options: GlobalOptions & {
          format: string;
          output?: string;
          design?: number;
          device?: string;
          top: number;
          weigh?: boolean;
        },
      ) => withRuns(options, (engine) => exportCommand(engine, terminal, run, options)),
    );
}

/** The commands for other programs that call Lockstep. */
function embeddingCommands(program: Command, cli: CommandLine): void {
  program
    .command('rpc')
    .description(
      'answer calls from programs in other languages: one JSON object a line on standard input, until it ends',
    )
    .option('--events', 'also print events, such as the progress of runs')
    .addOption(databaseOption())
    .action((options: GlobalOptions & { events?: true }) =>
      cli.withEngine(options, async (engine) => {
        await serveLines(engine, process.stdin, process.stdout, { events: options.events ?? false });
        return EXIT_OK;
      }),
    )
    .addHelpText(
      'after',
      `
  {"id": 1, "call": "models.loss", "arguments": {"workload": {"lengths": "geometric(0.05)"}, "n": [2, 4]}}     a request
  {"id": 1, "result": {"workload": …, "rows": […]}}                                                            its reply
  {"id": 1, "error": {"code": "bad-input", "message": "…", "context": {"field": "…"}}}                         or its error
src-main/contract/procedures.ts lists the calls with their arguments and results (out/main/library.d.ts in an installed
package). id is a whole number of your choice. Replies come when calls end, in any order. Error codes: bad-input, not-found,
conflict, unsupported, storage, cancelled, internal. An invalid line gets an error too; its id is null if the line has none.
Bytes are {"base64": "…"}, other arrays of numbers are lists, and a number that is not finite is null.
With --events: {"event": "run.progress", "payload": {…}}. A run continues after the reply to its start; runs.wait replies at
its end. Nothing else is written to standard output. When standard input ends, calls have 10 seconds to end; a run that has
not ended can be resumed.`,
    );

  program
    .command('python')
    .description('write lockstep.py: losses, sweeps, rankings, recommendations and tuning as Python functions')
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .action(async ({ output }: { output?: string }) => {
      const text = await pythonModule(cli.places.root);
      if (output === undefined) cli.terminal.out(text);
      else cli.show(await writeFor(output, text), {}, () => say(cli.terminal, `Wrote ${output}.`));
    })
    .addHelpText(
      'after',
      `
  import lockstep
  lockstep.loss([3, 1, 40, 7], n=[2, 4])
  run = lockstep.sweep("study.json")
  lockstep.rank(run, top=5)
Python 3.8 or newer and its standard library are enough. frame(…) makes DataFrames with pandas, and plot(…) draws with
matplotlib. The module keeps one lockstep rpc open: the command in the environment variable LOCKSTEP, else lockstep on the
PATH, else the program that wrote the module. An example: ${join(cli.places.root, 'db', 'examples', 'lockstep.ipynb')}`,
    );
}

/** The commands about Lockstep itself: the papers that it reproduces, this machine, agents and the browser host. */
function programCommands(program: Command, cli: CommandLine): void {
  const { terminal, places } = cli;
  command(
    program,
    'reproduce [paper]',
    "compare the papers' tables with ours; fail if one is outside its tolerance",
  ).action(async (paper: string | undefined, options: GlobalOptions) => {
    cli.status = await reproduceCommand(terminal, paper, options);
  });

  command(
    program,
    'evidence [dataset]',
    'compare predictions with public measurements: ginkgo, loops, convolution, hasan, smite, swiftshader; nothing is fitted',
  )
    .option('--data <file>', 'another file with the same columns (CSV, also gzip)')
    .action((dataset: string | undefined, options: GlobalOptions & { data?: string }) =>
      cli.withEngine(options, (engine) => evidenceCommand(engine, terminal, dataset, options)),
    );

  command(program, 'doctor', 'what this machine offers').action(async (options: GlobalOptions) => {
    const databaseFile = options.db ?? defaultDatabaseFile();
    const checks = await doctorChecks(databaseFile, places.root, places.programs);
    if (options.json) printJson(terminal, { checks });
    else
      for (const check of checks) {
        say(
          terminal,
          `${check.state === 'ok' ? 'ok     ' : check.state === 'absent' ? 'absent ' : 'problem'}  ${check.label.padEnd(14)} ${check.found}`,
        );
        if (check.advice) say(terminal, `${' '.repeat(24)} ${check.advice}`);
      }
    cli.status = checks.some((check) => check.state === 'problem') ? EXIT_FAILED : EXIT_OK;
  });

  byAgents(program.command('agent').description("work on other machines' runs: sweeps, simulations, measurements"))
    .option('--json', 'print one JSON document when it is connected')
    .option('--name <name>', 'name of this agent (default: the name of the machine); cuda:0@NAME is its device')
    .option('--devices <list>', 'devices that it measures on, as in cuda:0,cpu', (text: string) => text.split(','), [])
    .option('--workers <count>', 'tasks at once (default: one for each core)', positive, availableParallelism())
    .option('--silence <seconds>', 'time without a sign of life after which others get its work', positive, 30)
    .addHelpText(
      'after',
      `
  lockstep agent --redis redis://HOST --devices cuda:0        on each machine that helps
  lockstep sweep study.json --redis redis://HOST              on the machine that saves the runs
  lockstep bench 1 --redis redis://HOST --target cuda:0@NAME
Every result is saved once, in the database of the machine that started the run. Others
continue the work of an agent that stops, crashes or hangs. Agents take work only from the same version. Everyone who can
write to the Redis can give agents work, so protect it by a password.
With --json: {name, place, versions, workers, devices}.`,
    )
    .action(async (options: AgentCommandOptions) => {
      cli.status = options.redis
        ? await agentCommand(terminal, places, options)
        : reportFailure(terminal, badUsage('Specify --redis redis://HOST:PORT.'), true);
    });

  command(program, 'serve', 'the same program in a browser, over loopback')
    .option('--port <number>', 'port to listen on; 0 for any free one', portNumber)
    .addHelpText('after', '\nWith --json: {address, port}, when the page is ready; other text goes to standard error.')
    .action(async (options: GlobalOptions & { port?: number }) => {
      const { ensureBuilt } = await import('../hosts/setup.mjs');
      const { runBrowserHost } = await import('../serve/host.ts');
      const { DEFAULT_PORT } = await import('../serve/serve.ts');
      const print = (line: string): void => (options.json ? terminal.err(`${line}\n`) : say(terminal, line));
      const { failed, stopped } = await ensureBuilt(places.root, process.execPath, print);
      if (failed !== null || stopped) {
        cli.status = reportFailure(terminal, {
          code: 'not-found',
          message: failed ?? 'stopped before the build was complete',
        });
        return;
      }
      const done = await runBrowserHost({
        port: options.port ?? DEFAULT_PORT,
        print,
        ...(options.json && { ready: (served: object) => printJson(terminal, served) }),
        ...(options.db === undefined ? {} : { databaseFile: options.db }),
      });
      if (!done.ok) cli.status = reportFailure(terminal, done.error);
    });
}

/** Runs the command line. Resolves to the exit status: 0, 1 (failed) or 2 (wrong usage). */
export async function main(args: readonly string[], terminal: Terminal = processTerminal): Promise<number> {
  const cli = openCommandLine(terminal);
  const program = new Command('lockstep')
    .description('Predict, rank and compare mappings of irregular work onto SIMT devices.')
    .version(APP_VERSION)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) => write(`lockstep: ${plain(messageText(usageText(text)))}\n`),
    });
  for (const add of [
    lossCommand,
    traceCommands,
    emulateCommands,
    occupancyCommand,
    sweepCommands,
    measuringCommands,
    kernelCommands,
    runCommands,
    deviceCommands,
    fileCommands,
    embeddingCommands,
    programCommands,
  ])
    add(program, cli);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    if (error instanceof FailureError) return reportFailure(terminal, error.failure);
    return reportFailure(terminal, {
      code: 'internal',
      message: `a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    });
  }
  return cli.status;
}

/** Returns the parser's message about wrong options in one line, with advice if the parser gives none. */
function usageText(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');
  return /It must be|allowed choices/i.test(line)
    ? line
    : `${line.replace(/\.$/, '')}. See lockstep --help, or COMMAND --help.`;
}

function badUsage(message: string): Failure {
  return { code: 'bad-input', message };
}
