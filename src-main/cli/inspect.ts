import { basename, dirname, resolve } from 'node:path';
import {
  INSTRUCTION_CLASSES,
  inspectedFields,
  inspectedLabel,
  inspectedText,
  MAX_KERNEL_FILE_BYTES,
  withInspected,
  INSPECTED_FROM,
  type InspectedField,
  type InspectedFields,
  type Inspection,
} from '../../src-workers/domain/inspection.ts';
import type { Phase } from '../../src-workers/domain/kernel.ts';
import { accessesText } from '../../src-workers/domain/provenance.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { readBytes } from '../services/app/files.ts';
import type { Engine } from '../services/engine.ts';
import { EXIT_OK, printJson, printTable, reportFailure, say, type Terminal } from './output.ts';
import { changeStudyFile } from './study-file.ts';

export interface InspectOptions {
  readonly json?: boolean;
  readonly entry?: string;
  readonly arch?: string;
  readonly loop?: number;
  readonly mean?: number;
  readonly caps?: readonly number[];
  readonly nvcc?: readonly string[];
  readonly into?: string;
}

/** What a kernel's source, machine code or profile says of it; into a study, where one is named. */
export async function inspectCommand(
  engine: Engine,
  terminal: Terminal,
  file: string,
  options: InspectOptions,
): Promise<number> {
  const bytes = await readBytes(file, MAX_KERNEL_FILE_BYTES, 'a CUDA source (.cu) or what was compiled from one');
  if (!bytes.ok) return reportFailure(terminal, bytes.error);
  const { entry, arch, loop, mean, caps, nvcc, into } = options;
  const found = await engine.call('kernel.inspect', {
    fileName: basename(file),
    bytes: bytes.value,
    folder: dirname(resolve(file)),
    ...(entry === undefined ? {} : { entry }),
    ...(arch === undefined ? {} : { arch }),
    ...(loop === undefined ? {} : { loop }),
    ...(mean === undefined ? {} : { meanLength: mean }),
    ...(caps === undefined ? {} : { caps: [...caps] }),
    ...(nvcc === undefined ? {} : { flags: nvcc.map(fromHere) }),
  });
  if (!found.ok) return reportFailure(terminal, found.error);
  if (into !== undefined) {
    const written = await writeIntoStudy(into, found.value);
    if (!written.ok) return reportFailure(terminal, written.error);
  }
  if (options.json) printJson(terminal, { ...found.value, study: into ?? null });
  else print(terminal, found.value, into ?? null);
  return EXIT_OK;
}

/** A folder of headers is meant as seen from where the command is given. */
const fromHere = (flag: string): string =>
  flag.startsWith('-I') ? `-I${resolve(flag.slice(2)).replaceAll('\\', '/')}` : flag;

async function writeIntoStudy(file: string, inspection: Inspection): Promise<Result<null>> {
  const fields = inspectedFields(inspection);
  if (Object.keys(fields).length === 0)
    return fail('unsupported', `Nothing of ${inspection.entry} is known that a study holds.`);
  return changeStudyFile(file, (_, written) => ok({ ...written, kernel: withInspected(written.kernel, fields) }));
}

const shown = (value: number | null): string =>
  value === null ? '–' : value.toLocaleString('en', { maximumSignificantDigits: 5 });

function print(terminal: Terminal, inspection: Inspection, into: string | null): void {
  const { entry, arch, registersPerThread, sharedMemoryBytesPerBlock, spillStoreBytes, spillLoadBytes } = inspection;
  const { loops, chosen, caps, launch, lengths, notes } = inspection;
  say(terminal, `${entry}${arch === null ? '' : ` for ${arch}`}, from ${INSPECTED_FROM[inspection.from]}`);
  say(
    terminal,
    `Registers per thread ${shown(registersPerThread)}, shared memory ${shown(sharedMemoryBytesPerBlock)} B per block, spills ${shown(spillStoreBytes)} B stored, ${shown(spillLoadBytes)} B loaded.`,
  );
  if (caps.length > 0)
    printTable(
      terminal,
      ['cap', 'registers', 'spill stores, B', 'spill loads, B'],
      caps.map((one) => [one.cap, one.registersPerThread, one.spillStoreBytes, one.spillLoadBytes]),
    );
  if (loops.length > 0) {
    printTable(
      terminal,
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
    if (chosen) say(terminal, `Loop ${chosen.loop + 1} counts: ${chosen.why}.`);
    printPhases(terminal, inspection);
  }
  if (launch) {
    const { launches, blockThreads, gridBlocks, durationMs, dramBytes, meanActiveLanes } = launch;
    say(
      terminal,
      `Launches ${launches}, blocks ${shown(gridBlocks)} of ${shown(blockThreads)} threads, ${shown(durationMs)} ms, ${shown(dramBytes)} B of device memory, mean active lanes ${shown(meanActiveLanes)}.`,
    );
  }
  if (lengths)
    say(
      terminal,
      `Lengths with that loss (${lengths.aggregateLoss}): ${lengths.lengths}, mean ${lengths.mean}; ${lengths.note}.`,
    );
  for (const note of notes) say(terminal, note);
  if (into === null) return;
  const fields = Object.entries(inspectedFields(inspection)) as [InspectedField, InspectedFields[InspectedField]][];
  const texts = fields.map(([field, value]) => `${inspectedLabel(field)} ${inspectedText(value!)}`);
  say(terminal, `Wrote into ${into}: ${texts.join('; ')}.`);
}

const PHASE_TEXT = {
  prologue: 'once a thread',
  unit: 'once a unit',
  combine: 'a step of the tree',
  refill: 'change of the unit',
} as const;

/** A line for each phase and one for the iteration, then its accesses. */
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
  printTable(
    terminal,
    ['phase', 'instructions', 'integer', 'fp64', 'special', 'chain', 'exchanges', 'loads', 'bytes'],
    [
      ...Object.entries(phases).map(([name, phase]) => row(PHASE_TEXT[name as keyof typeof PHASE_TEXT], phase)),
      row('iteration', iteration),
    ],
  );
  if (accesses.length > 0) say(terminal, `An iteration reads or writes ${accessesText(accesses)}.`);
  if (sharing)
    say(
      terminal,
      sharing === 'deal'
        ? 'Threads that share a unit take iterations in turn: none waits for another within one.'
        : 'Threads that share a unit share every iteration: they exchange values within it.',
    );
}
