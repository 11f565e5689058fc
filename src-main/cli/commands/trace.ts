import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { writeFor } from '../../services/files/files.ts';
import { traceProgram } from '../../services/measuring/trace.ts';
import { command, type CommandLine, positive } from '../command-line.ts';
import { badUsage, type Terminal } from '../output.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';

export function addTrace(program: Command, cli: CommandLine): void {
  command(program, 'trace [program...]', 'run your program, and record its loss and the lengths of its units')
    .option('--header', 'print lockstep.cuh, to include in the kernel (CUDA, HIP)')
    .option('--wgsl', 'print the same functions for WGSL')
    .option('--units <count>', 'number of units that the program must run', positive)
    .option(
      '-o, --output <file>',
      'file for the lengths (CSV), in the order of the units (default: lengths.csv), or for the header',
    )
    .option('--time-limit <seconds>', 'time limit of the program', positive, 600)
    .action(async (words: string[], options: TraceOptions) => {
      await traceCommand(cli.terminal, join(cli.places.root, 'db', 'kernels'), words, options);
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
  measured: {threadGroupWidth, threadGroups, meanActiveLanes, aggregateLoss, meanLoss}}; measured is null for WGSL.
With --json and --header or --wgsl: {file, header}; file is null without -o.`,
    );
}

interface TraceOptions {
  readonly json?: boolean;
  readonly header?: boolean;
  readonly wgsl?: boolean;
  readonly units?: number;
  readonly output?: string;
  readonly timeLimit: number;
}

async function traceCommand(
  terminal: Terminal,
  kernelFolder: string,
  words: readonly string[],
  options: TraceOptions,
): Promise<void> {
  const [program, ...args] = words;
  if (options.header || options.wgsl) {
    if (program !== undefined) throw badUsage('Specify --header, --wgsl or a program, not several of them.');
    if (options.header && options.wgsl) throw badUsage('Specify --header (CUDA and HIP) or --wgsl, not both.');
    const header = await readFile(join(kernelFolder, options.wgsl ? 'lockstep.wgsl' : 'lockstep.cuh'), 'utf8');
    const file = options.output ?? null;
    if (file !== null) unwrap(await writeFor(file, header));
    if (options.json) terminal.json({ file, header });
    else if (file === null) terminal.out(header);
    else terminal.say(`Wrote ${file}.`);
    return;
  }
  if (program === undefined)
    throw badUsage('Specify --header, --wgsl, or a program to trace: lockstep trace -- ./app.');

  const { units = null, output = 'lengths.csv', timeLimit } = options;
  const value = unwrap(
    await traceProgram({ words: [program, ...args], units, output, timeLimitMs: 1000 * timeLimit }, (text) =>
      terminal.err(text),
    ),
  );
  if (options.json) return terminal.json(value);
  const { computed, measured } = value;
  terminal.say(
    `${value.units.toLocaleString('en')} units: mean length ${value.meanLength.toPrecision(6)}, longest ${value.maxLength.toLocaleString('en')}. Written to ${output}; a study refers to it as file:${output}.`,
  );
  terminal.table(
    ['loss', 'units per group', 'aggregate', 'mean'],
    [
      [
        'computed from the lengths',
        computed.unitsPerGroup,
        computed.aggregateLoss.toFixed(4),
        computed.meanLoss.toFixed(4),
      ],
      ...(measured
        ? [
            [
              'measured by active lanes',
              measured.threadGroupWidth,
              measured.aggregateLoss.toFixed(4),
              measured.meanLoss.toFixed(4),
            ],
          ]
        : []),
    ],
  );
  terminal.say(
    measured
      ? `On average, ${measured.meanActiveLanes.toFixed(1)} of ${measured.threadGroupWidth} lanes are active in a step. The losses differ if a thread group does not take consecutive units, or if its lanes do not reconverge after the loop.`
      : 'The loss is not measured, because WGSL does not show which lanes are active.',
  );
}
