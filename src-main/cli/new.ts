import type { Engine } from '../services/engine.ts';
import { counted } from '../services/export/text.ts';
import { writeNewStudy, type StudyOfLengths } from '../services/studies/new.ts';
import { EXIT_OK, printJson, reportFailure, say, type Terminal } from './output.ts';

export interface NewOptions extends StudyOfLengths {
  readonly json?: boolean;
}

/**
 * Writes a study for the given lengths, with usual values for the unknown properties of the kernel. An existing file is
 * kept.
 */
export async function newCommand(
  engine: Engine,
  terminal: Terminal,
  resourceFolder: string,
  file: string,
  options: NewOptions,
): Promise<number> {
  const known = await engine.call('devices.get', { ids: [...(options.device ?? [])] });
  if (!known.ok) return reportFailure(terminal, known.error);
  const made = await writeNewStudy(resourceFolder, file, options);
  if (!made.ok) return reportFailure(terminal, made.error);
  const { units, mean, max } = made.value;
  if (options.json) printJson(terminal, { study: file, ...made.value });
  else {
    say(terminal, `${file}: ${counted(units, 'unit')}, mean length ${mean.toPrecision(4)}, longest ${max}.`);
    if (options.spmv) say(terminal, `Which kernel to write: lockstep recommend ${file}`);
    else {
      say(terminal, `What your kernel does: lockstep kernel inspect KERNEL.cu --into ${file}`);
      say(terminal, `How to launch it: lockstep recommend ${file}`);
    }
  }
  return EXIT_OK;
}
