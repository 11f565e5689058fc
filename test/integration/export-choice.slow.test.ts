import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RankRow } from '../../src-main/contract/api.ts';
import { AGREEMENT_FRACTION } from '../../src-workers/sweep/ties.ts';
import { findTool, lacks } from '../tools.mjs';
import { HOSTILE, NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';
import { dataText } from '../data.ts';

/** This program reads lines "mean spread units" and prints the launch for each line. */
const ASK = dataText('cuda/choice-ask.cpp');

/**
 * This program takes lengths as a list, as offsets and as figures, which must all lead to the same choice. A program
 * without units must get an empty launch.
 */
const LENGTHS = dataText('cuda/choice-lengths.cpp');

/** The kernel has the threads per unit as a template parameter, and sums every unit once. */
const KERNEL = dataText('cuda/choice-kernel.cu');

describe.skipIf(lacks('g++'))('the header that chooses a launch', () => {
  const bench = useBench();
  const folder = testFolder();
  const study = smallStudy({
    // A hostile name must not get into the code. All programs below are compiled with it.
    name: HOSTILE,
    devices: ['nvidia-a100-sxm4-40gb'],
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
    writeFileSync(join(folder, 'walk.choice.hpp'), header);
    ask = built('ask', ASK);
  });

  function built(name: string, program: string): string {
    writeFileSync(join(folder, `${name}.cpp`), program);
    const flags = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsanitize=address,undefined'];
    execFileSync(findTool('g++')!, [...flags, `${name}.cpp`, '-o', name], { cwd: folder, stdio: 'pipe' });
    return join(folder, name);
  }
  /** Returns the launches for the lines "mean spread units" of the input. */
  const chosenFor = (input: string): readonly (readonly number[])[] => {
    const lines = execFileSync(ask, { input, encoding: 'utf8' }).trim().split('\n');
    return lines.map((line) => line.split(' ').map(Number));
  };
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
      const slots = (block / threads) * grid;
      expect(slots * rounds).toBeGreaterThanOrEqual(units);
      expect((grid - 1) * (block / threads)).toBeLessThan(units);
    }
  });

  it('reads lengths, offsets, and a bounded sample of many', () => {
    execFileSync(built('lengths', LENGTHS), { stdio: 'pipe' });
  });

  it('names the simulations that it was compared with', () => {
    const figures = /For 24 other laws.*? to take ([\d.]+) % more than the fastest on average, ([\d.]+) % at worst/;
    const said = figures.exec(header)!;
    expect(Number(said[1])).toBeLessThanOrEqual(Number(said[2]));
  });

  it.skipIf(lacks('nvcc'))('compiles with a kernel without a warning, for the most modest architecture', () => {
    writeFileSync(join(folder, 'main.cu'), KERNEL);
    // The programs above have shown that the header has no warning on the host.
    const flags = ['-cubin', '-std=c++17', '-arch=sm_75', '-Werror', 'all-warnings'];
    execFileSync('nvcc', [...flags, 'main.cu'], { cwd: folder, stdio: 'pipe' });
  });
});
