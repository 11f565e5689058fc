import { join, resolve } from 'node:path';
import { emulateProgram } from '../services/measuring/emulate.ts';
import { EXIT_OK, printJson, reportFailure, say, type Terminal } from './output.ts';

export interface EmulateOptions {
  readonly json?: boolean;
  readonly output: string;
  readonly include: readonly string[];
  readonly define: readonly string[];
}

/** Compiles a CUDA program for the CPU, as nvcc compiles it for a GPU. */
export async function emulateCommand(
  terminal: Terminal,
  places: { readonly root: string; readonly programs: { readonly cudaFolder: string } },
  files: readonly string[],
  { json, output, include, define }: EmulateOptions,
): Promise<number> {
  // Lockstep supplies the header of traces.
  const folders = [...include, join(places.root, 'db', 'kernels')];
  const flags = [...folders.map((folder) => `-I${resolve(folder)}`), ...define.map((definition) => `-D${definition}`)];
  const made = await emulateProgram(places.programs.cudaFolder, files, flags, output);
  if (!made.ok) return reportFailure(terminal, made.error);
  if (json) printJson(terminal, { file: output });
  else say(terminal, `${output} runs on this CPU, one thread after another. Its results and traces are correct; its times mean nothing.`); // prettier-ignore
  return EXIT_OK;
}
