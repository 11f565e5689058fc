import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RankPage, RankRow } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import { AGREEMENT_FRACTION } from '../../src-workers/sweep/ties.ts';
import { dataFile, dataText } from '../data.ts';
import { swiftShaderEnvironment } from '../measured/swiftshader.ts';
import { findTool, lacks } from '../tools.mjs';
import { refusal } from '../unit/engine-calls.ts';
import { HOSTILE, NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';
import { EMULATING_NVCC } from './bench-cuda-plans.ts';
import type { WgslKernelRun } from './wgsl-child.ts';

// Compiles exported code with programs that use it, and runs them.

const bench = useBench();
const folder = testFolder();
const KERNEL = { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60 };
const studyOf = (change: Partial<StudyFile>): StudyFile =>
  smallStudy({ devices: ['nvidia-a100-sxm4-40gb'], kernel: KERNEL, ...change });

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
/** Runs a program in the tests' folder, and returns its output. A compiler or program that fails throws its message. */
const execute = (program: string, args: readonly string[] = [], input = '', env = process.env): string =>
  execFileSync(program, args, { cwd: folder, stdio: 'pipe', encoding: 'utf8', input, env });
const WARNINGS = ['-Werror', 'all-warnings'];
/** Flags of nvcc for the most modest architecture. Warnings about code for the host come from other compilers. */
const CUBIN = ['-cubin', '-std=c++17', '-arch=sm_75', ...WARNINGS];

describe.skipIf(lacks('g++'))('the header that chooses a launch', () => {
  const study = studyOf({
    // A hostile name must not get into the code. All programs below are compiled with it.
    name: HOSTILE,
    kernel: { ...smallStudy().kernel, cooperationCost: 0.02, origins: NOTHING_ELSE },
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      loop: ['nested'],
      balancing: ['none'],
      blockThreads: [64, 128, 256, 512],
      unitsPerThread: [1, 4],
      blocksPerMultiprocessor: [4],
    },
  });
  let header: string;
  let ask: string;
  beforeAll(async () => {
    header = (await bench.render(await bench.run(study), 'choice')).text;
    write('walk.choice.hpp', header);
    // This program reads lines "mean spread units" and prints the launch for each line.
    ask = built('choice-ask');
  });

  function built(name: string): string {
    write(`${name}.cpp`, dataText(`cuda/${name}.cpp`));
    const flags = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsanitize=address,undefined'];
    execute(findTool('g++')!, [...flags, `${name}.cpp`, '-o', name]);
    return join(folder, name);
  }
  /** Returns the launches for the lines "mean spread units" of the input. */
  const chosenFor = (input: string): readonly (readonly number[])[] =>
    execute(ask, [], input)
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number));
  const axis = (start: string): readonly number[] =>
    new RegExp(`^/// ${start}: (.*)\\. These`, 'm').exec(header)![1].split(', ').map(Number);

  it('chooses the same launch as a sweep for the laws of its table, with the same time', async () => {
    const [means, spreads, counts] = ['Mean lengths', 'Standard deviations.*?mean', 'Numbers of units'].map(axis);
    expect([means.length, spreads.length, counts.length]).toEqual([5, 6, 7]);
    const laws = ['012', '133', '204', '345', '456', '121'].map((at) => {
      const [mean, spread, count] = at.split('').map(Number);
      return [means[mean], spreads[spread], counts[count]] as const;
    });
    const chosen = chosenFor(laws.map((law) => law.join(' ')).join('\n'));
    for (const [at, [mean, spread, units]] of laws.entries()) {
      const workload = { lengths: `summary(mean=${mean},sd=${mean * spread})`, units };
      const page = await bench.call('ranking.page', { runId: await bench.run({ ...study, workload }), limit: 100 });
      const [threads, block, grid, rounds, ns] = chosen[at];
      const own = page.rows.find(
        ({ design }: RankRow) =>
          design.threadsPerUnit === threads && design.blockThreads === block && design.gridBlocks === grid,
      );
      expect(own, `${laws[at].join(' ')}: ${chosen[at].join(' ')}`).toBeDefined();
      expect(own!.design.unitsPerThread).toBe(rounds);
      expect(own!.timeMs / page.rows[0].timeMs).toBeLessThanOrEqual(1 + AGREEMENT_FRACTION);
      // The times in the header are logarithms with four decimals.
      expect(Math.abs(Math.log(ns / (own!.timeMs * 1e6)))).toBeLessThan(2e-4);
    }
    // The table would be useless if one launch were chosen for all laws.
    expect(new Set(chosen.map(([threads]) => threads)).size).toBeGreaterThan(1);
  });

  it('uses the nearest law beyond its table, with as many blocks as the units need', () => {
    const chosen = chosenFor(['1e9 1 100000', '0 0 1', '20 50 100000', '20 1 400000000'].join('\n'));
    for (const [at, units] of [100_000, 1, 100_000, 400_000_000].entries()) {
      const [threads, block, grid, rounds] = chosen[at];
      expect((block / threads) * grid * rounds).toBeGreaterThanOrEqual(units);
      expect((grid - 1) * (block / threads)).toBeLessThan(units);
    }
  });

  it('reads lengths, offsets and figures as the same, and names the simulations that it was compared with', () => {
    // This program also checks that no units lead to an empty launch.
    execute(built('choice-lengths'));
    const figures = /For 24 other laws.*? to take ([\d.]+) % more than the fastest on average, ([\d.]+) % at worst/;
    const said = figures.exec(header)!;
    expect(Number(said[1])).toBeLessThanOrEqual(Number(said[2]));
    expect(header).toMatch(
      /For the study's own lengths, .* to take (about as long as|[\d.]+ % (more|less) than) the launch of/,
    );
  });

  it.skipIf(lacks('nvcc'))('compiles with a kernel without a warning, for the most modest architecture', () => {
    // The kernel has the threads per unit as a template parameter, and sums every unit once.
    write('choice.cu', dataText('cuda/choice-kernel.cu'));
    execute('nvcc', [...CUBIN, 'choice.cu']);
  });
});

describe.skipIf(lacks('nvcc'))('the CUDA header under nvcc', () => {
  // unit/export.test.ts compares the code of this study with that of a plain one.
  it('compiles without a warning for hostile names', async () => {
    const run = await bench.run(studyOf({ name: HOSTILE.slice(0, 200), kernel: { ...KERNEL, name: '*/ 3<evil>\n' } }));
    const header = await bench.render(run, 'cuda');
    write(header.fileName, header.text);
    // This kernel has the header's launch bounds, and a host function launches it.
    const names = { HEADER: `"${header.fileName}"`, SHAPE: 'lockstep_k3_evil', BOUNDS: 'LOCKSTEP_K3_EVIL_BOUNDS' };
    const lines = Object.entries(names).map(([name, value]) => `#define ${name} ${value}\n`);
    write('hostile.cu', lines.join('') + dataText('cuda/launch-bounds.cu'));
    const flags = ['-c', '-arch=sm_80', '-std=c++14', ...WARNINGS, '-Xcompiler', '-Wall,-Wextra,-Werror'];
    execute('nvcc', [...flags, 'hostile.cu']);
  });

  it('counts beyond a 32-bit word, or is refused with the number', async () => {
    const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true, serialFraction: 0.05 };
    const axes = { threadsPerUnit: [1], blockThreads: [256], balancing: ['mixed(2)'] };
    const run = (lengths: string, units: number, unitsPerThread: number): Promise<number> =>
      bench.run(studyOf({ kernel, workload: { lengths, units }, axes: { ...axes, unitsPerThread: [unitsPerThread] } }));
    const refused = (runId: number, format: string) => refusal(bench.engine, 'export.render', { runId, format });
    const many = await run('categorical(1:0.9,500:0.1)', 2 ** 40, 65_536);
    const { text } = await bench.render(many, 'cuda');
    write('many.cu', `${text}static_assert(lockstep_walk::class_units[0] > 4294967295ull, "");\n`);
    execute('nvcc', ['-cubin', '-std=c++14', 'many.cu']);
    const above = (what: string, limit: string): string => `${what}, which is above the limit of this code (${limit})`;
    const words = /number of units of a class of design 0 is \S*, which is above the limit/;
    expect(await refused(many, 'wgsl')).toMatch(words);
    const ofDesign = 'number of units of design 0 is 1,099,511,627,776';
    expect(await refused(many, 'cub')).toContain(above(ofDesign, '2,147,483,647'));
    const threshold = 'The threshold of a class of design 0 is 5,000,000,000';
    const long = await run('categorical(5000000000:0.999,9000000000000:0.001)', 100_000_000, 1);
    for (const format of ['cuda', 'wgsl', 'kokkos', 'sycl', 'cub', 'cuda-kernel'] as const)
      expect(await refused(long, format)).toContain(`${above(threshold, '4,294,967,295')}. Export`);
    expect((await bench.render(long, 'python')).text).toContain('"class_up_to": [5000000000, 9007199254740991]');
  });

  describe('with a register cap', () => {
    const CAP = 32;
    let fileName: string;
    beforeAll(async () => {
      const axes = { ...smallStudy().axes, blockThreads: [128], registerCap: [CAP] };
      const run = await bench.run(studyOf({ axes }));
      const header = await bench.render(run, 'cuda');
      expect(header.text).toContain(`register_cap = ${CAP}u`);
      fileName = header.fileName;
      write(fileName, header.text);
    });

    /** Compiles a kernel that needs more registers than the cap, with `before` in front of the header. */
    function compile(before: string, ...flags: readonly string[]): KernelUsage {
      write(
        'capped.cu',
        `${before}
#include "${fileName}"
__global__ void LOCKSTEP_WALK_BOUNDS walk(const float* in, float* out, int n) {
  float x[48];
  for (int i = 0; i < 48; ++i) x[i] = in[threadIdx.x + i * n];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 48; ++i) x[i] = x[i] * x[(i + 7) % 48] + in[k];
  for (int i = 0; i < 48; ++i) out[threadIdx.x + i * n] = x[i];
}
`,
      );
      const args = ['-cubin', '-arch=sm_80', '-Xptxas', '-v', ...flags, 'capped.cu'];
      const { status, stderr } = spawnSync('nvcc', args, { cwd: folder, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, expect.stringContaining('Used ')]);
      return parsePtxas(stderr)[0];
    }

    it('limits the kernel to the cap, but before CUDA 12.4 only -maxrregcount does', () => {
      expect(compile('').registersPerThread).toBe(CAP);
      expect(compile('', '-maxrregcount=64').registersPerThread).toBe(CAP);
      const version = (part: string, number: number): string =>
        `#undef __CUDACC_VER_${part}__\n#define __CUDACC_VER_${part}__ ${number}\n`;
      const older = version('MAJOR', 12) + version('MINOR', 3);
      expect(compile(older).registersPerThread).toBeGreaterThan(CAP);
      expect(compile(older, `-maxrregcount=${CAP}`).registersPerThread).toBe(CAP);
    });
  });
});

// These headers run on stand-ins, which have the needed part of a library's interface and record the calls. Under nvcc,
// CUB itself is used. Kokkos itself is used if Debian's package is installed.
describe.skipIf(lacks('g++'))('the headers for libraries', () => {
  const PROGRAMS = join(import.meta.dirname, '../data/libraries');
  const program = (name: string): string => readFileSync(join(PROGRAMS, name), 'utf8');
  let run: number;
  let rows: RankPage['rows'];
  const GXX = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-attributes', '-x', 'c++'];
  beforeAll(async () => {
    const axes = {
      threadsPerUnit: [1, 4],
      balancing: ['none', 'mixed(1:8,4:32,32:100,64:400,block)'],
      blockThreads: [256],
      unitsPerThread: [1, 3],
      blocksPerMultiprocessor: [4],
    };
    const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true };
    run = await bench.run(studyOf({ workload: { lengths: 'zipf(1.2,2000)', units: 100_000 }, kernel, axes }));
    ({ rows } = await bench.call('ranking.page', { runId: run, limit: 100 }));
  });

  /** Compiles a program with an exported header and the stand-ins, runs it, and returns its output. */
  function ran(header: string, program: string, compiler = findTool('g++')!, flags = GXX, file = 'exported.hpp') {
    write(file, header);
    write('main.cu', program);
    const env = { ...process.env, CPLUS_INCLUDE_PATH: join(PROGRAMS, 'recorders') };
    execute(compiler, [...flags, 'main.cu', '-o', 'main'], '', env);
    return execute(join(folder, 'main'));
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
    const wanted = vectors.map((vector, at) => `${blocks[at]} ${design.blockThreads / vector} ${vector}\n`).join('');
    expect(ran(await header('kokkos'), program('kokkos.cpp'))).toBe(wanted);
    const expected = blocks.map((groups) => `${groups * design.blockThreads} ${design.blockThreads}\n`).join('');
    expect(ran(await header('sycl'), program('sycl.cpp'))).toBe(expected);

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
    write('exported.cuh', (await bench.render(run, 'cub')).text);
    write('main.cu', program('cub.cu'));
    execute('nvcc', [...CUBIN, 'main.cu']);
  });

  it.skipIf(lacks('kokkos'))('the real Kokkos launches every unit on a host', async () => {
    const { designIndex } = designOf(4);
    write('exported.hpp', (await bench.render(run, 'kokkos', { designIndex })).text);
    write('kokkos.cpp', program('kokkos-host.cpp'));
    const flags = ['-std=c++17', '-fopenmp', '-isystem', dirname(findTool('kokkos')!)];
    execute(findTool('g++')!, [...flags, 'kokkos.cpp', '-o', 'kokkos', '-ltrilinos_kokkoscore', '-ldl']);
    execute(join(folder, 'kokkos'));
  });
});

/** Ways to take units, each an implementation of one study. A kernel's namespace has the name of its way. */
const WAYS = [
  { name: 'rounds', balancing: 'none', threads: 4, loop: 'nested' },
  { name: 'one_loop', balancing: 'none', threads: 4, loop: 'flattened' },
  { name: 'wide', balancing: 'none', threads: 64, loop: 'nested' },
  { name: 'wide_loop', balancing: 'none', threads: 64, loop: 'flattened' },
  { name: 'shuffled', balancing: 'shuffle', threads: 1, loop: 'flattened' },
  { name: 'windows', balancing: 'window-sort(64)', threads: 1, loop: 'nested' },
  { name: 'sorted', balancing: 'full-sort', threads: 2, loop: 'nested' },
  { name: 'quantiles', balancing: 'quantile-buckets(4)', threads: 2, loop: 'nested' },
  { name: 'buckets', balancing: 'best-buckets(4)', threads: 2, loop: 'nested' },
  { name: 'fetched', balancing: 'dynamic-fetch', threads: 2, loop: 'flattened' },
  { name: 'fetched_eight', balancing: 'dynamic-fetch(8)', threads: 1, loop: 'flattened' },
  { name: 'fetched_group', balancing: 'dynamic-fetch(group)', threads: 8, loop: 'flattened' },
  { name: 'fetched_pairs', balancing: 'dynamic-fetch(group)', threads: 2, loop: 'flattened' },
  { name: 'fetched_wide', balancing: 'dynamic-fetch(2)', threads: 64, loop: 'flattened' },
  { name: 'slices', balancing: 'padded-slice(32)', threads: 1, loop: 'nested' },
  { name: 'shares', balancing: 'nonzero-split', threads: 1, loop: 'nested' },
  { name: 'path', balancing: 'merge-path', threads: 4, loop: 'nested' },
  { name: 'classes', balancing: 'mixed(1:4,8:40,group:200,block)', threads: 1, loop: 'nested' },
] as const;
/** Number of units, the same as in `skeletons.cu`. */
const UNITS = 1500;
/** Ways to take the units of an image, and of a part of another image whose edges cut tiles. */
const TILED = [
  { name: 'tiles', balancing: 'none', threads: 4, loop: 'nested' },
  { name: 'tiles_loop', balancing: 'none', threads: 1, loop: 'flattened' },
] as const;
const EVERY = [...WAYS, ...TILED];
/** Thread groups of a unit with 64 threads. Each of them computes a part of the sum. */
const THREAD_GROUPS = 2;
const BLOCK_THREADS = 128;

describe('kernels that take units in every way', () => {
  /** Best design of each way. */
  const designs = new Map<string, RankRow>();
  /** Lengths with a long tail. Every seventh unit is empty. */
  const LENGTHS = Array.from({ length: UNITS }, (_, unit) =>
    unit % 7 === 0 ? 0 : Math.floor(600 / (1 + ((unit * 7919) % 300))),
  );
  beforeAll(async () => {
    const render = async (
      ways: typeof WAYS | typeof TILED,
      workload: StudyFile['workload'],
      more: Partial<StudyFile['axes']> = {},
    ): Promise<void> => {
      const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true };
      const implementations = ways.map(({ name, balancing, threads, loop }) => ({
        name,
        kernel: {},
        axes: { balancing: [balancing], threadsPerUnit: [threads], loop: [loop] },
      }));
      const axes = {
        threadsPerUnit: [1, 2, 4, 8, 64],
        loop: ['nested' as const, 'flattened' as const],
        balancing: [...new Set(ways.map(({ balancing }) => balancing))],
        blockThreads: [BLOCK_THREADS],
        gridBlocks: [2],
        ...more,
      };
      const run = await bench.run(studyOf({ workload, kernel, implementations, axes }));
      const { rows } = await bench.call('ranking.page', { runId: run, limit: 1000 });
      for (const { name } of ways) {
        const row = rows.find(({ design }) => design.implementation === name)!;
        designs.set(name, row);
        for (const [extension, format] of [
          ['cuh', 'cuda-kernel'],
          ['wgsl', 'wgsl-kernel'],
        ])
          write(`${name}.${extension}`, (await bench.render(run, format, { designIndex: row.designIndex })).text);
      }
    };
    await render(WAYS, { lengths: 'zipf(1.3,600)', units: UNITS });
    await render(TILED, { lengths: 'example:collatz(1000)', width: 47, units: UNITS }, { blockWidth: [16] });
    copyFileSync(dataFile('cuda/skeletons.cu'), join(folder, 'skeletons.cu'));
    write('headers.inc', EVERY.map(({ name }) => `#include "${name}.cuh"\n`).join(''));
    write('checks.inc', EVERY.map(({ name }) => `CHECK(${name});\n`).join(''));
  });

  it.skipIf(lacks('g++'))('run every iteration of every unit once in CUDA, in the emulation', () => {
    // The emulation has no registers to limit, so the launch bounds are removed.
    execute(EMULATING_NVCC, ['-std=c++17', '-D__launch_bounds__(...)=', 'skeletons.cu', '-o', 'skeletons']);
    const said = execute(join(folder, 'skeletons')).trim().split('\n');
    const found = said.map((line) => {
      const [name, right, fewest, most, descents] = line.split(' ');
      return { name, right: right === '1', fewest: Number(fewest), most: Number(most), descents: Number(descents) };
    });
    expect(found.map(({ name }) => name)).toEqual(EVERY.map(({ name }) => name));
    for (const { name, right, fewest, most, descents } of found) {
      const { balancing, threads } = EVERY.find((way) => way.name === name)!;
      expect([name, right]).toEqual([name, true]);
      const cut = balancing === 'nonzero-split' || balancing === 'merge-path';
      const parts = threads > 32 ? THREAD_GROUPS : 1;
      if (name === 'classes') expect([fewest, most]).toEqual([1, 4]);
      else if (cut) expect(most).toBeGreaterThan(1);
      else expect([name, fewest, most]).toEqual([name, parts, parts]);
      if (balancing === 'full-sort') expect(descents).toBe(0);
      if (balancing === 'window-sort(64)') expect(descents).toBeLessThan(UNITS / 64);
    }
  });

  it.skipIf(lacks('g++', 'nvcc'))('compile in CUDA without a warning', () => {
    execute('nvcc', ['-cubin', '-std=c++17', '-arch=sm_80', ...WARNINGS, 'skeletons.cu']);
  });

  it.skipIf(lacks('g++', 'hipcc'))('compile in HIP for AMD', () => {
    const names = 'Malloc Memcpy MemcpyHostToDevice MemcpyDeviceToHost DeviceSynchronize Success'.split(' ');
    const renamed = names.map((name) => `-Dcuda${name}=hip${name}`);
    write('hip.cu', dataText('cuda/skeletons.cu').replace('<cuda_runtime.h>', '<hip/hip_runtime.h>'));
    // This architecture has waves of 32 lanes, as wide as the warps of the study's device.
    const flags = ['-fsyntax-only', '-x', 'hip', '-std=c++17', '--offload-arch=gfx1030'];
    execute(findTool('hipcc')!, [...flags, ...renamed, 'hip.cu'], '', { ...process.env, HIP_PLATFORM: 'amd' });
  });

  /** Lanes of a subgroup of SwiftShader. Some units have more threads. */
  const SUBGROUP = 4;

  it.skipIf(lacks('swiftshader'))('run every iteration of every unit once in WGSL, on a software adapter', () => {
    // The kernel takes every unit of an order, so any order would be right.
    const order = [...LENGTHS.keys()].toSorted((a, b) => LENGTHS[a] - LENGTHS[b]);
    const starts = [0];
    for (const length of LENGTHS) starts.push(starts.at(-1)! + length);
    const slices = LENGTHS.map((_, at) => Math.max(...LENGTHS.slice(at - (at % 32), at - (at % 32) + 32)));
    const lists: Readonly<Record<string, WgslKernelRun['lists']>> = {
      none: [],
      'dynamic-fetch': [[0]],
      'padded-slice': [slices],
      ...Object.fromEntries(['shuffle', 'window-sort', 'mixed'].map((name) => [name, [order]])),
      ...Object.fromEntries(['full-sort', 'quantile-buckets', 'best-buckets'].map((name) => [name, [order, [1, 0]]])),
      ...Object.fromEntries(['nonzero-split', 'merge-path'].map((name) => [name, [starts]])),
    };
    const runs = EVERY.map(({ name, balancing }): WgslKernelRun => {
      const { design } = designs.get(name)!;
      const classes = design.classes ?? [{ upTo: null, threadsPerUnit: null }];
      const ends = classes.map(({ upTo }) => LENGTHS.filter((length) => length <= (upTo ?? Infinity)).length);
      return {
        code: readFileSync(join(folder, `${name}.wgsl`), 'utf8'),
        lengths: LENGTHS,
        lists: lists[balancing.replace(/\(.*/, '')],
        launches: classes.map(({ threadsPerUnit }, which) => {
          const first = ends[which - 1] ?? 0;
          const units = ends[which] - first;
          const covering = threadsPerUnit && Math.ceil((units * threadsPerUnit) / BLOCK_THREADS);
          return { first, units, workgroups: covering ?? design.gridBlocks, which };
        }),
      };
    });
    write('runs.json', JSON.stringify(runs));
    // The child has a time limit, because a loop that does not end must not outlive the test.
    const said = execFileSync(process.execPath, [join(import.meta.dirname, 'wgsl-child.ts'), 'kernels', 'runs.json'], {
      cwd: folder,
      env: swiftShaderEnvironment(),
      timeout: 240_000,
      killSignal: 'SIGKILL',
      stdio: 'pipe',
      encoding: 'utf8',
    });
    const expected = LENGTHS.map((length, unit) => {
      let sum = 0;
      for (let i = 0; i < length; i += 1)
        sum = (sum + (Math.imul(unit + 1, 2654435761) ^ (Math.imul(i, 40503) + length))) >>> 0;
      return sum;
    });
    for (const [at, [sums, calls]] of (JSON.parse(said) as number[][][]).entries()) {
      const { name, balancing, threads } = EVERY[at];
      expect([name, sums]).toEqual([name, expected]);
      const parts = [name, Math.min(...calls), Math.max(...calls)];
      // In a mixed design, each invocation adds its part to a unit once.
      if (name === 'classes') expect(parts).toEqual([name, 1, BLOCK_THREADS]);
      else if (balancing === 'nonzero-split' || balancing === 'merge-path') expect(parts[2]).toBeGreaterThan(threads);
      else if (balancing === 'dynamic-fetch(group)')
        expect(parts).toEqual([name, Math.min(threads, SUBGROUP), Math.min(threads, SUBGROUP)]);
      else expect(parts).toEqual([name, threads, threads]);
    }
  });
});
