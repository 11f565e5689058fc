import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { playableDesign } from '../unit/designs.ts';
import { KERNEL, oneDesign, planOf } from '../unit/sweep-plans.ts';
import { gpu } from '../catalogue.ts';

type Row = Readonly<Record<string, string>>;
const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const DESIGNS: readonly Row[] = parse(read('../data/played/designs.csv'), { columns: true });

interface Rule {
  /** The largest accepted error of the prediction, as a fraction. */
  readonly within: number;
  readonly simulation: { readonly seed: number; readonly halfWidth: number; readonly maxReplications: number };
  /** True if the order of the example's lengths is ignored, so that units are draws from their law. */
  readonly isDrawn?: boolean;
  readonly latencyCycles?: number;
  readonly kneeSoftness?: number;
}

/** Simulated means have an error of 1 %. Of about a hundred designs like these, 95 % were predicted within 6 %. */
const FEW_WAVES = { within: 0.06, simulation: { seed: 1, halfWidth: 0.01, maxReplications: 60 } };
/** The simulated means are known more accurately than the predictions. */
const STEADY = { seed: 3, halfWidth: 0.008, maxReplications: 60 };

const RULES: Readonly<Record<string, Rule>> = {
  // Nearly every group contains a pixel that runs to the limit, so all multiprocessors share the last wave.
  tied: { ...FEW_WAVES, within: 0.02, isDrawn: true },
  /* A block of 96 threads is one and a half groups if groups are 64 wide. */
  'half-empty': { ...FEW_WAVES, isDrawn: true },
  /* Grids that do not divide the units give their first blocks one more unit per slot. */
  uneven: { ...FEW_WAVES, isDrawn: true },
  /* One unit more than slots makes one slot slower, not a block. */
  'one-more': FEW_WAVES,
  // The blocks of these launches are not independent draws from one law. They have a fixed number of units from each
  // bucket, one block is the longest, or the units have the order of a window.
  ordered: {
    within: 0.08,
    simulation: { seed: 1, halfWidth: 0.01, maxReplications: 2000 },
    latencyCycles: 1500,
    kneeSoftness: 3,
  },
  /* Groups take units from one counter. Multiprocessors with one block less are faster and take more units. */
  fetched: FEW_WAVES,
  /* The limit of 12 % is the 95th percentile that test/bench/balancing.ts requires. */
  sorted: {
    within: 0.12,
    simulation: { seed: 7, halfWidth: 0.015, maxReplications: 40 },
    latencyCycles: 1500,
    kneeSoftness: 3.2,
  },
  // Designs that the geometric example recommends. A sample must not miss the longest blocks, which end a launch.
  best: { within: 0.035, simulation: { seed: 7, halfWidth: 0.02, maxReplications: 24 } },
  /* Slots take equal shares of the iterations, wherever a unit begins. */
  'even-shares': { within: 0.02, simulation: STEADY },
  padded: { within: 0.03, simulation: STEADY },
  /* Several thread groups share a unit. */
  'shared-units': { within: 0.02, simulation: { seed: 3, halfWidth: 0.004, maxReplications: 150 } },
  /* Each class of lengths has a launch of its own. */
  classes: { within: 0.07, simulation: STEADY },
  /* Rows are so regular that lanes stay in step. Predicted as independent, they were 29 and 37 % too long. */
  regular: { within: 0.06, simulation: { seed: 1, halfWidth: 0.01, maxReplications: 10 } },
};

function studyOf({ example, ...row }: Row): StudyFile {
  const given = example ? (JSON.parse(read(`../../db/examples/${example}.json`)) as StudyFile) : null;
  const [launch, count] = row['launch'].split('=');
  return oneDesign({
    workload: { lengths: given?.workload.lengths ?? row['lengths'], units: Number(row['units']) },
    kernel: {
      ...(given?.kernel ?? { ...KERNEL, lengthsKnownBeforeLaunch: true }),
      ...(row['registers'] && { registersPerThread: Number(row['registers']) }),
      ...(row['instructions'] && { instructionsPerIteration: Number(row['instructions']) }),
      ...(row['serialFraction'] && { serialFraction: Number(row['serialFraction']) }),
      ...(row['cooperationCost'] && { cooperationCost: Number(row['cooperationCost']) }),
      ...(row['setupIterations'] && {
        unit: { instructions: Number(row['setupIterations']) * KERNEL.instructionsPerIteration },
      }),
    },
    devices: [row['device']],
    axes: {
      threadsPerUnit: [Number(row['threadsPerUnit'])],
      ...(row['loop'] && { loop: [row['loop'] as 'nested' | 'flattened'] }),
      balancing: [row['balancing']],
      blockThreads: [Number(row['blockThreads'])],
      ...(row['launch'] && { [launch]: [Number(count)] }),
    },
  });
}

it.each(DESIGNS)('$rule: $example $lengths, $units units, $balancing, $blockThreads × $launch, $loop', async (row) => {
  const { within, simulation, isDrawn, latencyCycles, kneeSoftness } = RULES[row['rule']];
  const device = gpu(row['device']);
  const resized = row['multiprocessors'] && {
    ...device,
    multiprocessors: Number(row['multiprocessors']),
    occupancy: { family: 'generic' } as const,
    limits: { ...device.limits, maxBlocksPerMultiprocessor: Number(row['residentBlocks']) },
  };
  const plan = await planOf(studyOf(row), [resized || device], !isDrawn);
  const issueCycles = Number(row['issueCycles']);
  const calibrated = issueCycles > 0 && { pipeline: { [device.id]: { latencyCycles: latencyCycles!, issueCycles, kneeSoftness: kneeSoftness! } } }; // prettier-ignore
  const predictor = createPredictor({ ...plan, ...calibrated });
  const predictedMs = predictChunk(predictor, 0, 1).timeMs[0];
  const { meanMs, lowMs, highMs } = unwrap(simulateDesign(predictor, 0, simulation));
  // The prediction and the simulation have the same sorting time. It would hide the error of the kernel's time, so it
  // is subtracted. The error of the simulated mean is added to the tolerance.
  const isSorted = row['rule'] === 'sorted';
  const sortingMs = isSorted ? playableDesign(predictor, 0)!.balancingMs : 0;
  const unknown = isSorted ? (highMs - lowMs) / 2 / (meanMs - sortingMs) : 0;
  expect(predictedMs - sortingMs).toBeNear(meanMs - sortingMs, within + unknown);
});
