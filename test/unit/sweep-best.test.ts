import { expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { keepBest, keepPick, searchPart, shortestOfParts, spaceParts } from '../../src-workers/advise/best.ts';
import { pickDesign } from '../../src-workers/advise/pick.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { AGREEMENT_FRACTION } from '../../src-workers/sweep/ties.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { randomStudy } from './random-studies.ts';
import { oneDesign, planOf } from './sweep-plans.ts';

const rankedBy = (timeMs: Float64Array): readonly number[] =>
  [...timeMs.keys()].filter((design) => timeMs[design] > 0).sort((a, b) => timeMs[a] - timeMs[b] || a - b);

const KERNEL = {
  name: 'walk',
  registersPerThread: 64,
  instructionsPerIteration: 60,
  serialFraction: 0.05,
  unit: { instructions: 120 },
  bytesPerIteration: 4,
  lengthsKnownBeforeLaunch: true,
};

/** The studies have one or two devices, or three with a CPU, and 3,000 to 6,000 designs. */
const STUDIES: Readonly<Record<string, StudyFile>> = {
  'draws, in every order': oneDesign({
    kernel: KERNEL,
    devices: ['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090'],
    axes: {
      threadsPerUnit: [1, 4, 32, 64],
      loop: ['nested', 'flattened'],
      balancing: 'none quantile-buckets(4) window-sort(4096) full-sort dynamic-fetch padded merge-path'.split(' '),
      blockThreads: { from: 256, to: 1024, step: 256 },
      unitsPerThread: [1, 2, 5, 16],
      blocksPerMultiprocessor: [1, 8],
      registerCap: [null, 40],
    },
  }),
  'constraints, a CPU, and designs of classes': oneDesign({
    workload: { lengths: 'zipf(1.5,1000)', units: 1 << 16 },
    kernel: KERNEL,
    devices: ['nvidia-h100-sxm5-80gb', 'amd-epyc-7302p', 'nvidia-v100-sxm2-16gb'],
    axes: {
      threadsPerUnit: [1, 2, 8],
      balancing: ['none', 'mixed(3)', 'row-split', 'nonzero-split'],
      blockThreads: { from: 32, to: 1024, step: 32 },
      gridBlocks: { from: 100, to: 2000, step: 100 },
      cores: [1, 4, 16],
      registerCap: [null, 48],
    },
    constraints: [
      { quantity: 'blockThreads', multipleOf: 64 },
      { quantity: 'waves', atMost: 3 },
      { quantity: 'occupancyFraction', atLeast: 0.25 },
    ],
  }),
  'units in their order, by two kernels': oneDesign({
    workload: { lengths: 'example:mandelbrot', units: 1 << 14 },
    kernel: KERNEL,
    implementations: [
      { name: 'a thread per pixel', kernel: { registersPerThread: 40 }, axes: { threadsPerUnit: [1] } },
      { name: 'shared', kernel: { serialFraction: 0.2 } },
    ],
    devices: ['nvidia-a100-sxm4-40gb'],
    axes: {
      threadsPerUnit: [1, 8],
      loop: ['nested', 'flattened'],
      balancing: ['none', 'shuffle', 'dynamic-fetch'],
      blockThreads: [32, 64, 96, 128, 256, 512],
      unitsPerThread: { from: 1, to: 8 },
      registerCap: [null, 32, 24],
    },
  }),
};

it.each(Object.keys(STUDIES))('the best designs of a space are the first of the whole ranking: %s', async (name) => {
  const plan = await planOf(STUDIES[name]);
  const size = spaceSize(plan.axes);
  const { timeMs, ...others } = predictChunk(createPredictor(plan), 0, size);
  const ranked = rankedBy(timeMs);
  const predictor = createPredictor(plan);
  const parts = spaceParts(predictor.counts);
  const inParts = Array.from({ length: parts.count }, (_, at) => parts.at(at));
  expect(inParts.reduce((sum, { first, count }) => (sum === first ? first + count : NaN), 0)).toBe(size);
  const bounds = shortestOfParts(predictor, inParts);
  for (const wanted of [1, 100, 1000]) {
    const all = keepBest(wanted);
    let predicted = 0;
    // The parts are searched in reverse order, so that the limit does not come from the best part at once.
    for (const part of inParts.toReversed()) {
      if (bounds[inParts.indexOf(part)] > all.limitMs()) continue;
      const kept = keepBest(wanted, all.limitMs(), part.count);
      predicted += searchPart(predictor, part, kept);
      all.merge(kept.found());
    }
    const { designs, columns } = all.found();
    const expected = ranked.slice(0, wanted).sort((a, b) => a - b);
    expect([...designs]).toEqual(expected);
    expect([...columns.timeMs]).toEqual(expected.map((design) => timeMs[design]));
    expect([...columns.gridBlocks]).toEqual(expected.map((design) => others.gridBlocks[design]));
    // If an even share has more slots than units, its bound is loose, because searching for units costs time.
    if (wanted === 1) expect(predicted).toBeLessThan(0.55 * ranked.length);
  }

  const perDevice = size / plan.axes.devices.length;
  const first = Math.floor(ranked[0] / perDevice) * perDevice;
  const limitMs = timeMs[ranked[0]] * (1 + AGREEMENT_FRACTION);
  const pick = keepPick(plan.axes, limitMs);
  searchPart(predictor, { first, count: perDevice }, pick);
  const near = ranked.filter((design) => timeMs[design] <= limitMs && design >= first && design < first + perDevice);
  const figures = { timeMs: (at: number) => timeMs[at], gridBlocks: (at: number) => others.gridBlocks[at] };
  expect(pick.picked()?.design).toBe(pickDesign(plan.axes, figures, near));
});

const SEEDS = Array.from({ length: 12 }, (_, at) => at + 100);
it.each(SEEDS)('the best designs of a space are the first designs of random study %i', async (seed) => {
  const plan = await planOf(randomStudy(seededRandom(seed)));
  const count = spaceSize(plan.axes);
  const { timeMs } = predictChunk(createPredictor(plan), 0, count);
  const wanted = rankedBy(timeMs).slice(0, 20);
  // Before a search, the smallest limit that can be known is the time of the last wanted design.
  const kept = keepBest(20, timeMs[wanted.at(-1) ?? -1] ?? Infinity, count);
  searchPart(createPredictor(plan), { first: 0, count }, kept);
  expect([...kept.found().designs]).toEqual(wanted.toSorted((a, b) => a - b));
});
