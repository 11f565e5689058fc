import { basename, dirname, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CUDA_GROUP_WIDTH } from '../../../src-workers/domain/ability.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import {
  selectFields,
  INSPECTED_FROM,
  type InspectedField,
  inspectedFields,
  type InspectedFields,
  inspectedLabel,
  inspectedName,
  inspectedText,
  type Inspection,
  INSTRUCTION_CLASSES,
  kernelFileKind,
  MAX_KERNEL_FILE_BYTES,
  listUnknown,
  UNNAMED_KERNEL,
  withInspected,
} from '../../../src-workers/domain/inspection.ts';
import type { KernelProfile, Phase } from '../../../src-workers/domain/kernel.ts';
import { accessesText } from '../../../src-workers/domain/provenance.ts';
import { ok, type Result, unwrap, unsupported } from '../../../src-workers/domain/result.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { parseJson } from '../../contract/json.ts';
import type { Engine } from '../../services/engine.ts';
import { readBytes, readText } from '../../services/files/files.ts';
import { studyAxes } from '../../services/studies/plan.ts';
import { readStudyFile } from '../../services/studies/studies.ts';
import { command, type CommandLine, type GlobalOptions, group, positive, sizes, call } from '../command-line.ts';
import { type Terminal } from '../output.ts';
import { completeStudyFile } from '../study-file.ts';

const positiveNumber = (text: string): number => {
  const value = text.trim() === '' ? NaN : Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('It must be a number > 0.');
  return value;
};

export function addKernel(program: Command, { terminal, withEngine }: CommandLine): void {
  const kernel = group(program, 'kernel', 'read registers, loops and instructions from compiled code');
  command(
    kernel,
    'inspect <file>',
    'read registers, spills and the instructions of a loop from a source, or from what was compiled from it',
  )
    .option('--entry <name>', 'name of the kernel, if the file has several kernels')
    .option('--arch <name>', 'architecture to compile for, or to read from a file with several, such as sm_90')
    .option('--loop <number>', 'number of the main loop in the list, if inspect chose the wrong loop', positive)
    .option(
      '--iterations-per-loop <number>',
      'iterations of a unit in one pass of the main loop, if the code does not show how the loop is unrolled',
      positive,
    )
    .addOption(
      new Option(
        '--caps <list>',
        'also print registers and spills under these register caps, such as 32,40,64',
      ).argParser(sizes),
    )
    .option(
      '--mean <length>',
      'mean length of the units; also find lengths that have this mean and the loss of the profile',
      positiveNumber,
    )
    .option('--nvcc <flags>', 'flags of the compiler, as in "-DBLOCK=128 -Iinclude"', (text: string) =>
      text.trim().split(/\s+/),
    )
    .option('--into <study>', 'write the figures into the kernel of this study file')
    .addHelpText(
      'after',
      `
The kind of FILE is detected from its content: a CUDA source (.cu, compiled by nvcc), PTX, a cubin, a listing of
nvdisasm -c -g or cuobjdump -sass, a log of nvcc -Xptxas -v, or a table of Nsight Compute (ncu --csv). Loops are read from
machine code if nvdisasm or cuobjdump is installed, otherwise from PTX. The main loop is the one marked by
asm volatile("// lockstep:loop"); in its body, or else the innermost loop whose end depends on data that differs between
threads. Its figures are for one iteration. If it is unrolled, the figures of a pass are divided by the iterations of a
pass, which follow from the steps of the loop's counter and addresses. The next enclosing loop is assumed to be the
loop over units. Without such a loop, the code before the first memory access counts for the thread, and the rest for
the unit.
With --json: {entry, name, arch, entries, registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes, loops: [{line,
  instructionsPerIteration, byClass: {fp32, integer, fp64, special, memory, control}, threeRegisters,
  dependentLoads, dependentExchanges, chainInstructions, shortestPath, unrolled, depth, divergent, marked}], chosen: {loop, why}, phases: {prologue, unit,
  combine, refill}, sharing, serialFraction, accesses: [{pattern, elementBytes}], from, caps: [{cap, registersPerThread, spillStoreBytes,
  spillLoadBytes}], launch, lengths, notes, study, unknown, loss: {measured, computed},
  work: [{device, threadsPerUnit, instructions: {measured, predicted}, l2Sectors, dramBytes}]}; a value is null if the file does not
  show it, and loss and work exist only with --into. from is sass, ptx, ptxas, cubin or ncu; loop counts from 0. A phase is
  {instructions, integerShare, fp64Share, specialShare, chainInstructions, dependentExchanges, dependentLoads, bytes},
  without the values that are 0. The figures of prologue are per thread, those of unit and refill per unit, and those
  of combine per step in which threads combine the results of a unit.
  sharing is deal or split.`,
    )
    .action((file: string, options: InspectOptions) =>
      withEngine(options, (engine) => inspectCommand(engine, terminal, file, options), { reads: true }),
    );
}

interface InspectOptions extends GlobalOptions {
  readonly entry?: string;
  readonly arch?: string;
  readonly loop?: number;
  readonly iterationsPerLoop?: number;
  readonly mean?: number;
  readonly caps?: readonly number[];
  readonly nvcc?: readonly string[];
  readonly into?: string;
}

async function inspectCommand(
  engine: Engine,
  terminal: Terminal,
  file: string,
  options: InspectOptions,
): Promise<void> {
  const bytes = unwrap(
    await readBytes(file, MAX_KERNEL_FILE_BYTES, 'a CUDA source (.cu), or a file that was compiled from one'),
  );
  const { entry, loop, iterationsPerLoop, mean, caps, nvcc, into } = options;
  const devices = into === undefined ? [] : await readDevices(engine, into);
  const compiled = kernelFileKind(file, bytes) === 'source';
  const arch = options.arch ?? (compiled ? chooseArchitecture(devices) : undefined);
  const inspected = await call(engine, 'kernel.inspect', {
    fileName: basename(file),
    bytes,
    folder: dirname(resolve(file)),
    entry,
    arch,
    loop,
    iterationsPerLoop,
    meanLength: mean,
    caps: caps && [...caps],
    flags: nvcc && joinedFlags(nvcc).map(fromHere),
  });
  const cpu = devices.find(({ kind }) => kind === 'cpu');
  const fields = selectFields(inspectedFields(inspected), cpu !== undefined);
  const isMixed = cpu !== undefined && devices.some(({ kind }) => kind === 'gpu');
  const notes = isMixed && inspected.accesses.length > 0 ? [describeLeftOut(cpu)] : [];
  const found = { ...inspected, notes: [...inspected.notes, ...notes] };
  const unknown = into === undefined ? [] : listUnknown(fields);
  const loss = into === undefined ? null : await lossOfStudy(engine, into, found);
  if (into !== undefined) unwrap(await writeIntoStudy(into, fields, found));
  const work = into === undefined ? null : await workOfStudy(engine, into, found);
  if (options.json) return terminal.json({ ...found, study: into ?? null, unknown, loss, work });
  print(terminal, found);
  if (into === undefined) return;
  if (loss)
    terminal.say(
      `The active lanes show a loss of ${loss.measured.toFixed(2)}; the lengths of ${into} have ${loss.computed.toFixed(2)} if ${CUDA_GROUP_WIDTH} consecutive units run in lockstep. The two differ if other units run together, or if the lanes do not reconverge after the loop.`,
    );
  if (work) printWork(terminal, work, into);
  const texts = (Object.entries(fields) as [InspectedField, InspectedFields[InspectedField]][]).map(
    ([field, value]) => `${inspectedLabel(field)} ${inspectedText(value!)}`,
  );
  terminal.say(`Wrote into ${into}: ${texts.join('; ')}.`);
  if (unknown.length > 0) terminal.say('The code does not say:');
  for (const one of unknown) terminal.say(`- ${one}`);
}

function describeLeftOut({ id }: Device): string {
  return `How the lanes read memory (accesses) is left out, because the study also has a CPU (${id}), and the bytes of an iteration are written instead. On a GPU, reads at scattered places then count without the rest of their sectors, so predicted times may be too short: use a study without ${id} for the GPUs.`;
}

async function lossOfStudy(
  engine: Engine,
  file: string,
  { launch }: Inspection,
): Promise<{ readonly measured: number; readonly computed: number } | null> {
  const lanes = launch?.meanActiveLanes ?? null;
  if (lanes === null) return null;
  const read = await readStudyFile(file);
  if (!read.ok) return null;
  const { study, folder } = read.value;
  const { lengths, truncation } = study.workload;
  const losses = await engine.call('models.loss', {
    workload: { lengths, truncation },
    n: [CUDA_GROUP_WIDTH],
    quantiles: false,
    folder,
  });
  if (!losses.ok) return null;
  const [{ aggregateLoss, givenOrder }] = losses.value.rows;
  return { measured: CUDA_GROUP_WIDTH / lanes, computed: givenOrder?.aggregateLoss ?? aggregateLoss };
}

interface Compared {
  readonly measured: number;
  readonly predicted: number;
}

/** What a profile counted, beside predictions for a launch of the same number of blocks. A null field is unknown. */
interface ComparedWork {
  readonly device: string;
  readonly threadsPerUnit: number;
  /** Instructions that thread groups issued or, if the profile lacks this count, executed. */
  readonly instructions: Compared | null;
  /** Sectors of 32 B between the L2 cache and the multiprocessors. */
  readonly l2Sectors: Compared | null;
  readonly dramBytes: Compared | null;
}

const SECTOR_BYTES = 32;

/** A profile does not show the threads per unit, so there is one prediction for each value on that axis. */
async function workOfStudy(
  engine: Engine,
  file: string,
  { launch, arch }: Inspection,
): Promise<readonly ComparedWork[] | null> {
  if (launch === null || launch.blockThreads === null || launch.gridBlocks === null) return null;
  const { launches, blockThreads, gridBlocks, issuedInstructions, executedInstructions, l2Sectors, dramBytes } = launch;
  const read = await readStudyFile(file);
  if (!read.ok) return null;
  const { study, folder } = read.value;
  const gpus = (await readDevices(engine, file)).filter(({ kind }) => kind === 'gpu');
  const device = gpus.find((one) => chooseArchitecture([one]) === arch) ?? gpus[0];
  const axes = device && studyAxes(study, [device]);
  if (!axes?.ok) return null;
  const { threadsPerUnit, loop, balancing, implementations } = axes.value;
  const asked = await engine.call('advice.predict', {
    study,
    folder,
    deviceId: device.id,
    // A profile shows neither the implementation nor the balancing, so the first ones of the study are used.
    designs: threadsPerUnit.map((threads) => ({
      threads_per_unit: threads,
      block_threads: blockThreads,
      grid_blocks: gridBlocks,
      units_per_thread: 0,
      loop: loop[0],
      balancing: balancing[0],
      register_cap: 0,
      ...(implementations && { implementation: implementations[0].name }),
    })),
    parameters: {},
    work: true,
  });
  if (!asked.ok) return null;
  const compared = (measured: number | null, predicted: number | null): Compared | null =>
    measured === null || predicted === null ? null : { measured, predicted: predicted * launches };
  return asked.value.work!.flatMap((work, at) =>
    work === null
      ? []
      : [
          {
            device: device.name,
            threadsPerUnit: threadsPerUnit[at],
            instructions: compared(issuedInstructions ?? executedInstructions, work.instructions),
            l2Sectors: compared(l2Sectors, work.bytes === null ? null : work.bytes / SECTOR_BYTES),
            dramBytes: compared(dramBytes, work.bytes),
          },
        ],
  );
}

function printWork(terminal: Terminal, work: readonly ComparedWork[], study: string): void {
  const known = work.filter(({ instructions, l2Sectors, dramBytes }) => instructions ?? l2Sectors ?? dramBytes);
  if (known.length === 0) return;
  const cells = (one: Compared | null): readonly string[] =>
    one === null ? ['–', '–'] : [shown(one.predicted), `${(one.predicted / one.measured).toPrecision(3)} ×`];
  terminal.say(`Predictions of ${study} for these blocks on ${known[0].device}, and their ratio to what was counted:`);
  terminal.table(
    ['threads/unit', 'instructions', 'ratio', 'L2 sectors', 'ratio', 'memory, B', 'ratio'],
    known.map((one) => [
      one.threadsPerUnit,
      ...cells(one.instructions),
      ...cells(one.l2Sectors),
      ...cells(one.dramBytes),
    ]),
  );
  terminal.say('Predictions cover device memory only. Counted sectors include those that the L2 cache already holds.');
}

/** Joins flags with their values, because `-I include` and `-include common.h` are two words each. */
function joinedFlags(words: readonly string[]): readonly string[] {
  const flags: string[] = [];
  for (const word of words) {
    const before = flags.at(-1);
    if (before === '-include') flags[flags.length - 1] = `-include=${word}`;
    else if (before === '-I' || before === '-D' || before === '-U') flags[flags.length - 1] = before + word;
    else flags.push(word);
  }
  return flags;
}

function fromHere(flag: string): string {
  const [, name, path] = /^(-I|-include=)(.*)$/.exec(flag) ?? [];
  return name === undefined ? flag : name + resolve(path).replaceAll('\\', '/');
}

async function readDevices(engine: Engine, file: string): Promise<readonly Device[]> {
  const text = unwrap(await readText(file, 'a study file (JSON)'));
  const written = unwrap(parseJson(text, file)) as { readonly devices?: unknown } | null;
  const named = written?.devices;
  const ids = Array.isArray(named) ? named.filter((id) => typeof id === 'string') : [];
  const known = await Promise.all(ids.map((id) => engine.call('devices.get', { ids: [id] })));
  return known.flatMap((one) => (one.ok ? one.value : []));
}

function chooseArchitecture(devices: readonly Device[]): string | undefined {
  for (const device of devices)
    if (device.kind === 'gpu' && device.occupancy.family === 'nvidia')
      return `sm_${device.occupancy.computeCapability.replace('.', '')}`;
  return undefined;
}

async function writeIntoStudy(file: string, fields: InspectedFields, found: Inspection): Promise<Result<null>> {
  if (Object.keys(fields).length === 0)
    return unsupported(`The file says nothing about ${found.name} that a study can use.`);
  return completeStudyFile(file, (written) => {
    const kernel = (written['kernel'] ?? {}) as Partial<KernelProfile> & { readonly origins?: object };
    const name = inspectedName(kernel.name ?? UNNAMED_KERNEL, found);
    return ok({ ...written, kernel: withInspected({ ...kernel, name }, fields) });
  });
}

const shown = (value: number | null): string =>
  value === null ? '–' : value.toLocaleString('en', { maximumSignificantDigits: 5 });

function print(terminal: Terminal, inspection: Inspection): void {
  const { name, arch, registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes } = inspection;
  const { loops, chosen, caps, launch, lengths, notes } = inspection;
  terminal.say(`${name}${arch === null ? '' : ` for ${arch}`}, from ${INSPECTED_FROM[inspection.from]}`);
  terminal.say(
    `Registers per thread ${shown(registersPerThread)}, shared memory ${shown(sharedMemoryBytesPerBlock)} B per block, spills ${shown(spillStoreBytes)} B stored, ${shown(spillLoadBytes)} B loaded.`,
  );
  if (caps.length > 0)
    terminal.table(
      ['cap', 'registers', 'spill stores, B', 'spill loads, B'],
      caps.map((one) => [one.cap, one.registersPerThread, one.spillStoreBytes, one.spillLoadBytes]),
    );
  if (loops.length > 0) {
    terminal.table(
      [
        'loop',
        'line',
        'depth',
        'instructions',
        ...INSTRUCTION_CLASSES,
        'dependent loads',
        'unrolled',
        'shortest',
        'differs',
        '',
      ],
      loops.map((loop, at) => [
        at + 1,
        loop.line ?? '–',
        loop.depth,
        shown(loop.instructionsPerIteration),
        ...INSTRUCTION_CLASSES.map((name) => shown(loop.byClass[name])),
        shown(loop.dependentLoads),
        loop.unrolled,
        shown(loop.shortestPath),
        loop.divergent ? 'yes' : 'no',
        chosen?.loop === at ? 'counts' : '',
      ]),
    );
    if (chosen) terminal.say(`Loop ${chosen.loop + 1} is the main loop: ${chosen.why}.`);
    printPhases(terminal, inspection);
  }
  if (launch) {
    const { launches, blockThreads, gridBlocks, durationMs, dramBytes, meanActiveLanes } = launch;
    const { executedInstructions, issuedInstructions, l1Sectors, l2Sectors } = launch;
    terminal.say(
      `Launches ${launches}, blocks ${shown(gridBlocks)} of ${shown(blockThreads)} threads, ${durationMs === null ? shown(null) : timeText(durationMs)}, ${shown(dramBytes)} B of device memory, mean active lanes ${shown(meanActiveLanes)}.`,
    );
    if ([executedInstructions, issuedInstructions, l1Sectors, l2Sectors].some((one) => one !== null))
      terminal.say(
        `Instructions of thread groups: ${shown(executedInstructions)} executed, ${shown(issuedInstructions)} issued. Sectors of 32 B: ${shown(l1Sectors)} in L1, ${shown(l2Sectors)} in L2.`,
      );
  }
  if (lengths)
    terminal.say(
      `Lengths that have the loss of the profile (${lengths.aggregateLoss}): ${lengths.lengths}, mean ${lengths.mean}; ${lengths.note}.`,
    );
  for (const note of notes) terminal.say(note);
}

const PHASE_TEXT = {
  prologue: 'once per thread',
  unit: 'once per unit',
  combine: 'once per combining step',
  refill: 'once per change of unit',
} as const;

function printPhases(terminal: Terminal, inspection: Inspection): void {
  const { phases, sharing, accesses } = inspection;
  const fields = inspectedFields(inspection);
  if (fields.instructionsPerIteration === undefined) return;
  const iteration: Phase = {
    ...fields,
    instructions: fields.instructionsPerIteration,
    dependentLoads: fields.dependentLoadsPerIteration,
    bytes: accesses.reduce((sum, { elementBytes }) => sum + elementBytes, 0),
  };
  const row = (name: string, phase: Phase): (string | number)[] => [
    name,
    shown(phase.instructions),
    ...[phase.integerShare, phase.fp64Share, phase.specialShare, phase.chainInstructions].map((one) => shown(one ?? 0)),
    ...[phase.dependentExchanges, phase.dependentLoads, phase.bytes].map((one) => shown(one ?? 0)),
  ];
  terminal.table(
    ['phase', 'instructions', 'integer', 'fp64', 'special', 'chain', 'exchanges', 'loads', 'bytes'],
    [
      ...Object.entries(phases).map(([name, phase]) => row(PHASE_TEXT[name as keyof typeof PHASE_TEXT], phase)),
      row('iteration', iteration),
    ],
  );
  if (accesses.length > 0) terminal.say(`An iteration reads or writes ${accessesText(accesses)}.`);
  if (sharing)
    terminal.say(
      sharing === 'deal'
        ? 'Threads that share a unit divide its iterations: within an iteration, no thread waits for another.'
        : inspection.serialFraction === 1
          ? 'Threads that share a unit all execute every iteration: each iteration needs the result of the one before it.'
          : 'Threads that share a unit divide every iteration: they exchange values within it.',
    );
}
