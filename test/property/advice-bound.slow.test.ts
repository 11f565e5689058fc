import { expect, it } from 'vitest';
import { boundsOf, predictPromising } from '../../src-workers/advise/bound.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { randomStudy } from '../unit/random-studies.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { exampleStudy } from '../catalogue.ts';

const BAND = 0.015;

const ALSO = ['none', 'window-sort(100)', 'padded', 'padded-slice(64)', 'nonzero-split', 'merge-path'];

/** Reduces a study to one device with fewer units, block sizes and launches, but all kinds of work distribution. */
function small(study: StudyFile, units: number): StudyFile {
  const { axes, kernel, workload } = study;
  return {
    ...study,
    kernel: { ...kernel, lengthsKnownBeforeLaunch: true },
    workload: { ...workload, units: Math.min(workload.units, units) },
    devices: study.devices.slice(0, 1),
    axes: {
      ...axes,
      threadsPerUnit: [1, 4, 32, 128],
      balancing: [...new Set([...(axes.balancing ?? []), ...ALSO])],
      blockThreads: [32, 96, 256, 1024],
      ...(axes.blocksPerMultiprocessor && { blocksPerMultiprocessor: [1, 2, 4, 16] }),
      ...(axes.gridBlocks && { gridBlocks: [132, 1056] }),
    },
  };
}

/** Distributions of work that the examples lack, and units with several thread groups. */
const SHARES = {
  threadsPerUnit: [1, 4, 32, 128],
  balancing: ['none', 'padded', 'padded-slice(32)', 'nonzero-split', 'merge-path', 'mixed(3)'],
};

/** Expects every lower bound of a design to be at most its time, and the shortest time to be NaN if it cannot run. */
async function expectBounds(study: StudyFile) {
  const plan = await planOf(study);
  const all = Uint32Array.from({ length: spaceSize(plan.axes) }, (_, design) => design);
  const { timeMs } = predictChunk(createPredictor(plan), 0, all.length);
  const { ofFamily, shortest, withLoss } = boundsOf(createPredictor(plan));
  for (const design of all) {
    expect(Number.isNaN(shortest(design))).toBe(Number.isNaN(timeMs[design]));
    if (Number.isNaN(timeMs[design])) continue;
    for (const bound of [ofFamily, shortest, withLoss])
      expect(bound(design), `design ${design}`).toBeLessThanOrEqual(timeMs[design]);
  }
  return { timeMs, all };
}

// Bounds for these seeds were once larger than the times. Seeds 216, 254, 308 and 2276 have sorted launches of a few
// blocks with heavy tails. Seed 22 fetches in a given order, and seed 1938 has uneven multiprocessors.
it.each([22, 216, 254, 308, 1938, 2276, ...Array.from({ length: 12 }, (_, seed) => seed)])(
  'the shortest time of a design is below every predicted time of random study %i',
  async (seed) => void (await expectBounds(randomStudy(seededRandom(seed)))),
);

// The study has fewer units where every unit is simulated in its order.
it.each([
  ['acts', 2 ** 17],
  ['geometric', 2 ** 17],
  ['software', 2 ** 17],
  ['spmv-skewed', 2 ** 15],
  ['spmv-uniform', 2 ** 15],
  ['shares', 2 ** 15],
  ['collatz, moving data', 2 ** 15],
  ['mandelbrot, moving data', 2 ** 16],
])(
  'the shortest time of a design of %s is below every predicted time, and saves the prediction of designs that cannot be the best',
  async (name, units) => {
    const [file, moves] = name === 'shares' ? ['spmv-skewed'] : name.split(', ');
    const read = small(exampleStudy(file), units);
    const moving = moves ? { ...read, kernel: { ...read.kernel, bytesPerIteration: 16 } } : read;
    const study = name === 'shares' ? { ...read, axes: { ...read.axes, ...SHARES } } : moving;
    const { timeMs, all } = await expectBounds(study);
    const promising = predictPromising(createPredictor(await planOf(study)), all, BAND).columns.timeMs;
    const best = timeMs.reduce((least, time) => (time < least ? time : least), Infinity);
    for (const design of all) if (timeMs[design] <= best * (1 + BAND)) expect(promising[design]).toBe(timeMs[design]);
    const predicted = promising.filter((time) => !Number.isNaN(time)).length;
    if (name === 'geometric' || name.startsWith('spmv')) expect(predicted).toBeLessThan(all.length / 2);
  },
);
