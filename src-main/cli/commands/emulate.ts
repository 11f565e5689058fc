import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { emulateProgram } from '../../services/measuring/emulate.ts';
import { command, type CommandLine } from '../command-line.ts';

export function addEmulate(program: Command, { terminal, places }: CommandLine): void {
  const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  command(program, 'emulate <files...>', 'compile a CUDA program to run on this CPU: results and traces, no times')
    .option('-o, --output <file>', 'the program', 'a.out')
    .option('-I, --include <folder>', 'folder of headers', collect, [])
    .option('-D, --define <definition>', 'a macro, as in -DBLOCK=128', collect, [])
    .action(async (files: string[], { json, output, include, define }: EmulateOptions) => {
      // This folder has `lockstep.cuh`, which programs may include.
      const folders = [...include, join(places.root, 'db', 'kernels')];
      const flags = [...folders.map((folder) => `-I${resolve(folder)}`), ...define.map((name) => `-D${name}`)];
      unwrap(await emulateProgram(places.engine.programs.cudaFolder, files, flags, output));
      if (json) terminal.json({ file: output });
      else terminal.say(`${output} runs on this CPU. Its results and traces are correct; its times mean nothing.`);
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

interface EmulateOptions {
  readonly json?: boolean;
  readonly output: string;
  readonly include: readonly string[];
  readonly define: readonly string[];
}
