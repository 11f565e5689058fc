import { join } from 'node:path';
import type { UnitLoopProfile } from '../../src-workers/domain/benchmark.ts';
import type { Design, WholeUnitBalancing } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { makeGroupDepthLaw } from '../../src-workers/predict/depth/group-depth.ts';
import { formatBalancing } from '../../src-workers/domain/balancing.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { resolveWorkload } from '../../src-workers/parse/grammar.ts';
import { fileOpener } from '../../src-workers/parse/open-file.ts';
import { designOf } from '../measuring.ts';
import { spreadLengths, timeInTurn, type Batch } from './swiftshader.ts';

// Compares the measured lockstep loss with the models. A group of 4 lanes has n = 1, 2 or 4 units side by side, all
// with the same serial work. The time for n, divided by that for n = 1 with as many groups, is the aggregate loss.
const ROOT = join(import.meta.dirname, '../..');
const BALANCINGS: readonly WholeUnitBalancing[] = [
  { kind: 'none' },
  { kind: 'window-sort', units: 64 },
  { kind: 'full-sort' },
];
const UNITS_PER_GROUP = [1, 2, 4];
/** A launch has one block of the largest size. A single thread runs it, so load on the other cores does not matter. */
const BLOCK_THREADS = 256;
const LANES = 4;
/** Number of iterations of all groups at n = 1. A launch takes some milliseconds, so it is rarely interrupted. */
const ITERATIONS = 10_000;
/** An iteration has so many instructions that small differences between loops do not matter. */
const INSTRUCTIONS = 448;
const REPEATS = 10;

export interface LossRow {
  readonly balancing: string;
  readonly unitsPerGroup: number;
  readonly measuredLoss: number;
  readonly modelLoss: number;
}

function modelLoss(law: LengthLaw, n: number, balancing: WholeUnitBalancing): number {
  return balancing.kind === 'none'
    ? lossMoments(law, [n])[0].aggregateLoss
    : makeGroupDepthLaw(law, n, balancing, 'nested', 1, { setupIterations: 0 }).aggregateLoss;
}

/**
 * Measures the loss of a workload in every order, and puts the loss of the models beside the measured one.
 * @param rounds how often all orders are measured in turn; the fastest launch of all rounds counts
 */
export async function measureLoss(text: string, rounds: number): Promise<readonly LossRow[]> {
  const law = unwrap(await resolveWorkload(text, { openFile: fileOpener(join(ROOT, 'db/examples')) }));
  const { mean } = moments(law);
  const groups = Math.max(64, 64 * Math.round(ITERATIONS / mean / 64));
  const design = (n: number, balancing: WholeUnitBalancing): Design =>
    designOf({
      threadsPerUnit: LANES / n,
      unitsPerThread: (groups * LANES) / BLOCK_THREADS,
      balancing: formatBalancing(balancing),
      blockThreads: BLOCK_THREADS,
      gridBlocks: 1,
    });
  const profile: UnitLoopProfile = {
    version: 3,
    sharing: 'split',
    unitInstructions: 0,
    combineInstructions: 0,
    instructionsPerIteration: INSTRUCTIONS,
    integerShare: 1,
    fp64Share: 0,
    specialShare: 0,
    // These values make an iteration with one thread per unit as long as an iteration with several.
    serialFraction: 1,
    cooperationCost: 0,
    dependentLoadsPerIteration: 0,
    bytesPerIteration: 0,
    registersPerThread: 32,
    tableWords: 8,
  };
  const batches = UNITS_PER_GROUP.flatMap((n): Batch[] => {
    const lengths = spreadLengths(law, groups * n, 1);
    return [
      {
        workload: { label: text, lengths, profile, traffic: null },
        designs: BALANCINGS.map((balancing) => design(n, balancing)),
      },
      {
        workload: { label: 'empty', lengths: lengths.map(() => 0), profile, traffic: null },
        designs: [design(n, { kind: 'none' })],
      },
    ];
  });
  const { samplesNs } = await timeInTurn(batches, rounds, REPEATS);
  const fastestMs = (batch: number, at: number): number => Math.min(...samplesNs[batch][at]) / 1e6;
  const alone = fastestMs(0, 0) - fastestMs(1, 0);
  return UNITS_PER_GROUP.flatMap((n, i) =>
    BALANCINGS.map((balancing, j): LossRow => {
      const timeMs = fastestMs(2 * i, j);
      // A group of empty units still makes one pass, so the difference contains one pass too few per group.
      const measuredLoss = (((timeMs - fastestMs(2 * i + 1, 0)) / alone) * (mean - 1) + 1) / mean;
      return {
        balancing: formatBalancing(balancing),
        unitsPerGroup: n,
        measuredLoss,
        modelLoss: modelLoss(law, n, balancing),
      };
    }),
  );
}
