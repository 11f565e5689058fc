import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import { studyAxes } from '../../../src-main/services/studies/plan.ts';
import { parseStudy } from '../../../src-main/contract/parse.ts';
import { boundsOf } from '../../../src-workers/advise/bound.ts';
import { AXIS, encode } from '../../../src-workers/domain/space.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { mandelbrotLengths } from '../../../src-workers/models/workload/generated.ts';
import { orderByTiles } from '../../../src-workers/predict/dealing/tiles.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { makeGivenLengths, makeUnitLaw } from '../../../src-workers/predict/ordered.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { simulateDesign } from '../../../src-workers/simulate/simulate-design.ts';
import { oneDesign, planOf, predicted } from '../sweep-plans.ts';
import { gpu } from '../../catalogue.ts';

const image = (width: number, height: number, units = width * height): StudyFile['workload'] => {
  return { lengths: `example:mandelbrot(${width},${height},200)`, units };
};

/** Computes the losses of all thread groups, thread by thread, for a launch in which each block has one tile. */
function countedLosses(width: number, height: number, threads: number, across: number, u: number) {
  const lengths = mandelbrotLengths(width, height, 200);
  let [work, lockstep, losses, groups] = [0, 0, 0, 0];
  for (let top = 0; top < height; top += threads / across)
    for (let left = 0; left < width; left += across / u)
      for (let first = 0; first < threads; first += 32) {
        const own: number[] = [];
        for (let thread = first; thread < Math.min(threads, first + 32); thread += u) {
          const x = left + Math.floor((thread % across) / u);
          const y = top + Math.floor(thread / across);
          own.push(x < width && y < height ? lengths[y * width + x] : 0);
        }
        const sum = own.reduce((total, length) => total + length, 0);
        const most = Math.max(...own) * own.length;
        work += sum;
        lockstep += most;
        losses += sum > 0 ? most / sum : 1;
        groups += 1;
      }
  return { aggregateLoss: lockstep / work, meanLoss: losses / groups };
}

describe('the order of an image by tiles', () => {
  it.each([
    { width: 256, height: 128, threads: 256, across: 16, u: 1 },
    { width: 200, height: 150, threads: 256, across: 16, u: 1 },
    { width: 200, height: 150, threads: 96, across: 8, u: 1 },
    { width: 200, height: 150, threads: 1024, across: 32, u: 1 },
    { width: 130, height: 70, threads: 128, across: 16, u: 4 },
  ])('has the losses that are counted thread by thread: %j', async ({ width, height, threads, across, u }) => {
    const axes = { blockThreads: [threads], blockWidth: [across], threadsPerUnit: [u] };
    const { columns } = await predicted(oneDesign({ workload: image(width, height), axes }));
    expect(columns.invalidReason[0]).toBe(0);
    const counted = countedLosses(width, height, threads, across, u);
    // Columns store losses in single precision.
    expect(columns.aggregateLoss[0]).toBeNear(counted.aggregateLoss, 2 ** -23);
    expect(columns.meanLoss[0]).toBeNear(counted.meanLoss, 2 ** -23);
  });

  it('is the plain order if a block is one row whose width divides the image', async () => {
    const study = oneDesign({
      workload: image(256, 128, 5 * 256 * 128),
      devices: ['nvidia-a100-sxm4-40gb', 'amd-rx-7900-xtx'],
      axes: { blockThreads: [128], blockWidth: [null, 128], loop: ['nested', 'flattened'], unitsPerThread: [1, 3] },
    });
    const { predictor, columns } = await predicted(study);
    const { counts } = predictor;
    const { timeMs, aggregateLoss } = columns;
    const stride = counts.slice(AXIS.blockWidth + 1).reduce((product, count) => product * count, 1);
    for (let design = 0; design < timeMs.length; design += 1) {
      if (Math.floor(design / stride) % 2 === 1) continue;
      expect(timeMs[design + stride], `design ${design}`).toBe(timeMs[design]);
      expect(aggregateLoss[design + stride]).toBe(aggregateLoss[design]);
    }
  });

  it('keeps every unit at its place, with empty places beyond the edges', () => {
    // The lengths are 5 × 3 units in tiles of 2 × 2. There are two whole images and 4 units of a third.
    const lengths = Float64Array.from({ length: 15 }, (_, unit) => unit + 1);
    const units = 2 * 15 + 4;
    const law = makeUnitLaw('x', makeGivenLengths(lengths), units);
    const tiled = orderByTiles(lengths, units, law, 5, { width: 2, height: 2 });
    expect([...tiled.lengths]).toEqual([1, 2, 6, 7, 3, 4, 8, 9, 5, 0, 10, 0, 11, 12, 0, 0, 13, 14, 0, 0, 15, 0, 0, 0]);
    // The 4 units of the third image fill its first tile.
    expect(tiled.units).toBe(2 * 24 + 4);
    expect(tiled.law.support[0]).toBe(0);
    expect(tiled.law.probability[0]).toBeCloseTo(1 - 34 / 52, 12);
    expect(tiled.law.probability.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 12);
  });

  it('is within a few percent of the event simulation, and never below its bounds', async () => {
    const blocks = { blockThreads: [64, 256, 704], blockWidth: [null, 8, 16] };
    const study = oneDesign({
      workload: image(300, 200),
      devices: ['nvidia-a100-sxm4-40gb', 'amd-rx-7900-xtx'],
      axes: { ...blocks, loop: ['nested', 'flattened'], unitsPerThread: [1, 4] },
    });
    const { predictor, columns } = await predicted(study);
    const { timeMs } = columns;
    const designs = Uint32Array.from(timeMs.keys()).filter((at) => timeMs[at] > 0);
    const { shortest, withLoss } = boundsOf(predictor);
    const errors = Array.from(designs, (design) => {
      for (const bound of [shortest, withLoss]) expect(bound(design)).toBeLessThanOrEqual(timeMs[design]);
      const { meanMs } = unwrap(simulateDesign(predictor, design, { seed: 1, halfWidth: 0.01, maxReplications: 5 }));
      return Math.abs(timeMs[design] / meanMs - 1);
    }).sort((a, b) => a - b);
    expect(errors.length).toBe(72);
    expect(errors[36]).toBeLessThan(0.005);
    // Blocks of 704 threads do not divide evenly among four schedulers.
    expect(errors[71]).toBeLessThan(0.15);
  });

  it('refuses shapes that a block cannot have, and widths without rows', async () => {
    const axes = { blockThreads: [256], blockWidth: [null, 16, 48, 512], balancing: ['none', 'dynamic-fetch'] };
    const { predictor, columns } = await predicted(oneDesign({ workload: image(128, 128), axes }));
    const all = Array.from(columns.timeMs, (_, design) => describeDesign(predictor, design));
    // Each width has a design with `none`, then one that fetches, whose units may be anywhere in a block.
    const refused = Array<string>(5).fill('block-shape');
    expect(all.map(({ invalid }) => invalid)).toEqual([null, null, null, ...refused]);
    expect(all[2].design).toMatchObject({ blockThreads: 256, blockWidth: 16 });
    expect(all[0].design).not.toHaveProperty('blockWidth');
    const taller = await planOf(oneDesign({ workload: image(256, 8), axes: { ...axes, blockWidth: [16] } }));
    expect(describeDesign(createPredictor(taller), 0).invalid).toBe('block-shape');
    const rowless = studyAxes(unwrap(parseStudy(JSON.stringify(oneDesign({ axes })))), [gpu('nvidia-a100-sxm4-40gb')]);
    expect(rowless).toMatchObject({ error: { code: 'bad-input', context: { field: 'axes.blockWidth' } } });
  });

  it('does not change the numbers of designs if a study names no width', async () => {
    const axes = { blockThreads: [64, 128], unitsPerThread: [1, 2], threadsPerUnit: [1, 2] };
    const plain = await predicted(oneDesign({ workload: image(64, 64), axes }));
    expect(encode(plain.predictor.counts, [0, 0, 0, 1, 0, 0, 1, 0, 1])).toBe(7);
    const row = await predicted(oneDesign({ workload: image(64, 64), axes: { ...axes, blockWidth: [null] } }));
    expect(row.columns.timeMs).toEqual(plain.columns.timeMs);
  });
});
