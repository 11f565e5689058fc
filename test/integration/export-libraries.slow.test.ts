import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RankPage } from '../../src-main/contract/api.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { findTool, lacks } from '../tools.mjs';
import { EMULATING_NVCC } from './bench-cuda-plans.ts';
import { testFolder, useBench } from '../workplace.ts';

/*
 * Compiles and runs the headers for C++ libraries on stand-ins. A stand-in has the used part of a library's interface
 * and records the calls. Under nvcc, CUB itself is used. Kokkos itself is used if Debian's package is installed.
 */

const PROGRAMS = join(import.meta.dirname, '../data/libraries');
const program = (name: string): string => readFileSync(join(PROGRAMS, name), 'utf8');

describe.skipIf(lacks('g++'))('the headers for libraries', () => {
  const bench = useBench();
  const folder = testFolder();
  let run: number;
  let rows: RankPage['rows'];
  const GXX = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-attributes', '-x', 'c++'];
  const execute = (command: string, args: readonly string[]) =>
    execFileSync(command, args, { cwd: folder, stdio: 'pipe' });
  beforeAll(async () => {
    const axes = {
      threadsPerUnit: [1, 4],
      balancing: ['none', 'mixed(1:8,4:32,32:100,64:400,block)'],
      blockThreads: [256],
      unitsPerThread: [1, 3],
      blocksPerMultiprocessor: [4],
    };
    const kernel = {
      name: 'walk',
      registersPerThread: 40,
      instructionsPerIteration: 60,
      lengthsKnownBeforeLaunch: true,
    };
    const workload = { lengths: 'zipf(1.2,2000)', units: 100_000 };
    run = await bench.run(smallStudy({ devices: ['nvidia-a100-sxm4-40gb'], workload, kernel, axes }));
    ({ rows } = await bench.call('ranking.page', { runId: run, limit: 100 }));
  });

  /** Compiles a program with an exported header and the stand-ins, runs it, and returns its output. */
  function ran(
    header: string,
    program: string,
    compiler = findTool('g++')!,
    flags = GXX,
    file = 'exported.hpp',
  ): string {
    writeFileSync(join(folder, file), header);
    writeFileSync(join(folder, 'main.cu'), program);
    const env = { ...process.env, CPLUS_INCLUDE_PATH: join(PROGRAMS, 'recorders') };
    execFileSync(compiler, [...flags, 'main.cu', '-o', 'main'], { cwd: folder, env, stdio: 'pipe' });
    return execFileSync(join(folder, 'main'), { encoding: 'utf8' });
  }
  /** Returns the best design with four threads per unit, or the best mixed design. */
  const designOf = (threads: 4 | 'mixed', isGridFixed = false) =>
    rows.find(
      ({ designIndex, design }) =>
        (threads === 'mixed' ? design.classes : !design.classes && design.threadsPerUnit === threads) &&
        // A fixed grid is the last of three values on the launch axis.
        (designIndex % 3 === 2) === isGridFixed,
    )!;

  it.each([
    [4, false],
    [4, true],
    ['mixed', false],
    ['mixed', true],
  ] as const)('launch every unit once, with %s threads per unit and a fixed grid: %s', async (threads, isGridFixed) => {
    const { designIndex, design } = designOf(threads, isGridFixed);
    const header = async (format: string): Promise<string> => (await bench.render(run, format, { designIndex })).text;
    const launches = design.classes ?? [design];
    const blocks = launches.map(({ threadsPerUnit, gridBlocks }) =>
      isGridFixed ? gridBlocks : Math.ceil(999 / ((design.blockThreads / threadsPerUnit) * design.unitsPerThread)),
    );
    const vectors = launches.map(({ threadsPerUnit }) => Math.min(32, threadsPerUnit));
    expect(ran(await header('kokkos'), program('kokkos.cpp'))).toBe(
      vectors.map((vector, at) => `${blocks[at]} ${design.blockThreads / vector} ${vector}\n`).join(''),
    );
    expect(ran(await header('sycl'), program('sycl.cpp'))).toBe(
      blocks.map((groups) => `${groups * design.blockThreads} ${design.blockThreads}\n`).join(''),
    );

    // In CUDA, the program asks for the blocks of a launch, and gets those of the prediction.
    const pairs = design.classes?.map((_, at) => [`class_units[${at}], ${at}`, `class_grid_blocks[${at}]`]);
    const prints = (pairs ?? [['100000', 'grid_blocks']]).map(
      ([of, predicted]) => `std::printf("%u %u\\n", grid_for(${of}), ${predicted});`,
    );
    const printing = `#include "exported.hpp"\n#include <cstdio>\nusing namespace lockstep_walk;\nint main() { ${prints.join(' ')} }`;
    expect(ran(await header('cuda'), printing)).toBe(
      launches.map(({ gridBlocks }) => `${gridBlocks} ${gridBlocks}\n`).join(''),
    );
  });

  it('CUB reduces segments of every class as the host does', async () => {
    const { text } = await bench.render(run, 'cub');
    const said = ran(text, program('cub.cu'), EMULATING_NVCC, ['-std=c++17'], 'exported.cuh').trim().split('\n');
    expect(said.map((line) => Number(line.split(' ')[0]))).toEqual([1, 4, 32, 64, 256]);
    // Every class must have segments, or it would not be checked.
    for (const line of said) expect(Number(line.split(' ')[1])).toBeGreaterThan(10);
  });

  it.skipIf(lacks('nvcc'))('CUB itself compiles them without a warning, for the most modest architecture', async () => {
    writeFileSync(join(folder, 'exported.cuh'), (await bench.render(run, 'cub')).text);
    writeFileSync(join(folder, 'main.cu'), program('cub.cu'));
    // The emulation has shown that the code for the host has no warning.
    const flags = ['-cubin', '-std=c++17', '-arch=sm_75', '-Werror', 'all-warnings'];
    expect(() => execute('nvcc', [...flags, 'main.cu'])).not.toThrow();
  });

  it.skipIf(lacks('kokkos'))('the real Kokkos launches every unit on a host', async () => {
    const { designIndex } = designOf(4);
    writeFileSync(join(folder, 'exported.hpp'), (await bench.render(run, 'kokkos', { designIndex })).text);
    writeFileSync(join(folder, 'kokkos.cpp'), program('kokkos-host.cpp'));
    const flags = ['-std=c++17', '-fopenmp', '-isystem', dirname(findTool('kokkos')!)];
    execute(findTool('g++')!, [...flags, 'kokkos.cpp', '-o', 'kokkos', '-ltrilinos_kokkoscore', '-ldl']);
    expect(() => execute(join(folder, 'kokkos'), [])).not.toThrow();
  });
});
