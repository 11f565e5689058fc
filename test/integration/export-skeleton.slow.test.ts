import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RankRow } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { findTool, lacks } from '../tools.mjs';
import { swiftShaderEnvironment } from '../measured/swiftshader.ts';
import { EMULATING_NVCC } from './bench-cuda-plans.ts';
import type { WgslKernelRun } from './skeleton-webgpu-child.ts';
import { dataFile } from '../data.ts';
import { testFolder, useBench } from '../workplace.ts';

/**
 * Ways to take units, each of which is an implementation of one study. A kernel's namespace has the name of its way.
 */
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

const bench = useBench();
const folder = testFolder();
/** Best design of each way. */
let designs: ReadonlyMap<string, RankRow>;
/** Lengths with a long tail. Every seventh unit is empty. */
const LENGTHS = Array.from({ length: UNITS }, (_, unit) =>
  unit % 7 === 0 ? 0 : Math.floor(600 / (1 + ((unit * 7919) % 300))),
);
beforeAll(async () => {
  const study = (
    ways: typeof WAYS | typeof TILED,
    workload: StudyFile['workload'],
    axes: Partial<StudyFile['axes']>,
  ): StudyFile =>
    smallStudy({
      devices: ['nvidia-a100-sxm4-40gb'],
      workload,
      kernel: { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60, lengthsKnownBeforeLaunch: true },
      implementations: ways.map(({ name, balancing, threads, loop }) => ({
        name,
        kernel: {},
        axes: { balancing: [balancing], threadsPerUnit: [threads], loop: [loop] },
      })),
      axes: {
        threadsPerUnit: [1, 2, 4, 8, 64],
        loop: ['nested', 'flattened'],
        balancing: [...new Set(ways.map(({ balancing }) => balancing))],
        blockThreads: [BLOCK_THREADS],
        gridBlocks: [2],
        ...axes,
      },
    });
  const found = new Map<string, RankRow>();
  const render = async (ways: typeof WAYS | typeof TILED, own: StudyFile): Promise<void> => {
    const run = await bench.run(own);
    const { rows } = await bench.call('ranking.page', { runId: run, limit: 1000 });
    for (const { name } of ways) {
      const row = rows.find(({ design }) => design.implementation === name)!;
      found.set(name, row);
      for (const extension of ['cuh', 'wgsl']) {
        const format = extension === 'cuh' ? 'cuda-kernel' : 'wgsl-kernel';
        const { text } = await bench.render(run, format, { designIndex: row.designIndex });
        writeFileSync(join(folder, `${name}.${extension}`), text);
      }
    }
  };
  await render(WAYS, study(WAYS, { lengths: 'zipf(1.3,600)', units: UNITS }, {}));
  const image = { lengths: 'example:collatz(1000)', width: 47, units: UNITS };
  await render(TILED, study(TILED, image, { blockWidth: [16] }));
  designs = found;
  copyFileSync(dataFile('cuda/skeletons.cu'), join(folder, 'main.cu'));
  writeFileSync(join(folder, 'headers.inc'), EVERY.map(({ name }) => `#include "${name}.cuh"\n`).join(''));
  writeFileSync(join(folder, 'checks.inc'), EVERY.map(({ name }) => `CHECK(${name});\n`).join(''));
});

describe.skipIf(lacks('g++'))('the CUDA kernels', () => {
  it('run every iteration of every unit once, in the emulation', () => {
    // The emulation has no registers to limit, so the launch bounds are removed.
    const flags = ['-std=c++17', '-D__launch_bounds__(...)=', 'main.cu', '-o', 'main'];
    execFileSync(EMULATING_NVCC, flags, { cwd: folder, stdio: 'pipe' });
    const said = execFileSync(join(folder, 'main'), { encoding: 'utf8' }).trim().split('\n');
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

  it.skipIf(lacks('nvcc'))('compile without a warning', () => {
    // The emulation has shown that the code for the host has no warning.
    const args = ['-cubin', '-std=c++17', '-arch=sm_80', '-Werror', 'all-warnings', 'main.cu'];
    const compile = () => execFileSync(findTool('nvcc')!, args, { cwd: folder, stdio: 'pipe' });
    expect(compile).not.toThrow();
  });
});

/** Lanes of a subgroup of SwiftShader. Some units have more threads. */
const SUBGROUP = 4;

describe.skipIf(lacks('swiftshader'))('the WGSL kernels', () => {
  it('run every iteration of every unit once, on a software adapter', () => {
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
    const file = join(folder, 'runs.json');
    writeFileSync(file, JSON.stringify(runs));
    // The child has a time limit, because a loop that does not end must not outlive the test.
    const said = execFileSync(process.execPath, [join(import.meta.dirname, 'skeleton-webgpu-child.ts'), file], {
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
