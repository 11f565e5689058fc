/** The models of ordering and launch that the prediction uses, for the pages. */
import type { WholeUnitBalancing } from '../../../src-workers/domain/design.ts';
import type { PipelineParameters } from '../../../src-workers/domain/kernel.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { makeGroupDepthLaw } from '../../../src-workers/predict/depth/group-depth.ts';
import { isSorted } from '../../../src-workers/predict/time/dealt-launch.ts';
import { prepareBlockLaw } from '../../../src-workers/predict/time/block-law.ts';
import { computeLaunchCycles, makePlainLaunch } from '../../../src-workers/predict/time/regimes.ts';
import { smoothRounds } from '../../../src-workers/predict/time/cycles.ts';
import { makeResidency } from '../../../src-workers/predict/time/residency.ts';
import { cyclesPerIteration, cycleTable } from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { plain } from '../../format/numbers.ts';

/** With sorted units, the loss does not depend on the units per thread, so it is computed for one unit per thread. */
const depthOf = (law: LengthLaw, unitsPerGroup: number, balancing: WholeUnitBalancing, unitsPerThread: number) =>
  makeGroupDepthLaw(law, unitsPerGroup, balancing, 'nested', isSorted(balancing) ? 1 : unitsPerThread, {
    setupIterations: 0,
  });

export function orderedLoss(law: LengthLaw, unitsPerGroup: number, balancing: WholeUnitBalancing, unitsPerThread: number): number {
  return depthOf(law, unitsPerGroup, balancing, unitsPerThread).aggregateLoss;
} // prettier-ignore

/** The pages' assumed kernel. Its softness was fitted (see the page of soft saturation). */
export const ASSUMED_PIPELINE: PipelineParameters = { latencyCycles: 600, issueCycles: 30, kneeSoftness: 6.5, schedulers: 4 }; // prettier-ignore
export const assumed = (multiprocessors: number): string => {
  const { latencyCycles, issueCycles, kneeSoftness, schedulers } = ASSUMED_PIPELINE;
  return `Assumed: ${multiprocessors} multiprocessors, ${schedulers} schedulers each; latency ${latencyCycles} cycles, issue cost ${issueCycles} cycles. Softness ${plain(kneeSoftness)} is fitted to times of a Tesla K20 (see Soft saturation).`;
};

export interface LaunchShape {
  readonly law: LengthLaw;
  readonly unitsPerGroup: number;
  readonly groupsPerBlock: number;
  readonly residentBlocks: number;
  readonly multiprocessors: number;
}

export function launchModel({ law, unitsPerGroup, groupsPerBlock, residentBlocks, multiprocessors }: LaunchShape) {
  const block = prepareBlockLaw(depthOf(law, unitsPerGroup, { kind: 'none' }, 1), groupsPerBlock);
  const residentGroups = residentBlocks * groupsPerBlock;
  const { schedulers: count } = ASSUMED_PIPELINE;
  const rate = smoothRounds(cycleTable(ASSUMED_PIPELINE, Math.max(64, residentGroups)), count);
  const prepared = makeResidency(block, residentBlocks, rate, { count, issueShare: 1 });
  const waveCycles = block.meanBlock * cyclesPerIteration(ASSUMED_PIPELINE, residentGroups);
  return {
    cycles: (gridBlocks: number) => computeLaunchCycles(makePlainLaunch(prepared, gridBlocks, multiprocessors)),
    /** The usual estimate: whole waves, each as long as an average block at full residency. */
    wholeWavesCycles: (gridBlocks: number) => Math.ceil(gridBlocks / (multiprocessors * residentBlocks)) * waveCycles,
  };
}

/** Computes the cycles of a launch in which no lane waits for another, and no usable block slot is ever empty. */
export function idealCycles(shape: LaunchShape, meanLength: number, gridBlocks: number): number {
  const { multiprocessors, residentBlocks, groupsPerBlock } = shape;
  const active = Math.min(residentBlocks, Math.ceil(gridBlocks / multiprocessors)) * groupsPerBlock;
  const waves = Math.max(1, gridBlocks / (multiprocessors * residentBlocks));
  return waves * meanLength * cyclesPerIteration(ASSUMED_PIPELINE, active);
}
