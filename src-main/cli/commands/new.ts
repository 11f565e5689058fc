import type { Command } from 'commander';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { listText } from '../../../src-workers/domain/text.ts';
import { USUAL_DEVICE } from '../../contract/new-study.ts';
import { counted } from '../../services/export/text.ts';
import { type StudyOfLengths, writeNewStudy } from '../../services/studies/new.ts';
import { command, type CommandLine, type GlobalOptions, call, positive } from '../command-line.ts';
import { showSeconds } from '../output.ts';

interface NewOptions extends GlobalOptions, Omit<StudyOfLengths, 'devices'> {
  readonly device?: readonly string[];
}

export function addNew(program: Command, { terminal, places, withEngine }: CommandLine): void {
  command(program, 'new <study>', 'write a study file for your lengths')
    .requiredOption('--lengths <W>', 'a file (CSV, Matrix Market, NPY, Parquet, …), or a workload (see loss --help)')
    .option(
      '--units <N>',
      'number of units (default: one for each length); if there are more units than lengths, the lengths are repeated',
      positive,
    )
    .option(
      '--device <ids...>',
      `devices by their identifiers, as devices list prints them (default: ${USUAL_DEVICE}, or with --spmv those of the example spmv-implementations)`,
    )
    .option('--spmv', 'for a sparse matrix: compare eight kernels that multiply it by a vector', false)
    .addHelpText(
      'after',
      `
Unknown properties of the kernel get usual values, marked as assumed. FILE.csv#COLUMN names a column of a table.
With --json: {study, units, mean, max, devices, note}; note, if there is one, says how the file was read.`,
    )
    .action((file: string, options: NewOptions) =>
      withEngine(
        options,
        async (engine) => {
          const named = options.device && (await call(engine, 'devices.get', { ids: [...options.device] }));
          const written = writeNewStudy(places.root, file, { ...options, ...(named && { devices: named }) });
          const made = unwrap(await showSeconds(terminal, 'Reading the lengths', written));
          const { units, mean, max, devices, note } = made;
          if (options.json) return terminal.json({ study: file, ...made });
          terminal.say(`${file}: ${counted(units, 'unit')}, mean length ${mean.toPrecision(4)}, longest ${max}.`);
          if (note !== undefined) terminal.say(note);
          if (!/\.json$/i.test(file))
            terminal.say(
              `The study is the file ${file}, as named. Editors recognise it as JSON if its name ends in .json.`,
            );
          if (!options.device) terminal.say(`No --device is given, so the study is for ${listText(devices)}.`);
          if (options.spmv) terminal.say(`Which kernel to write: lockstep recommend ${file}`);
          else {
            terminal.say(`What your kernel does: lockstep kernel inspect KERNEL.cu --into ${file}`);
            terminal.say(`How to launch it: lockstep recommend ${file}`);
          }
        },
        { reads: true },
      ),
    );
}
