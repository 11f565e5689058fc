import type { PipelineParameters } from '../domain/kernel.ts';
import type { PlayedLaunch } from '../domain/timeline.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { makeGroupDepthLaw } from '../predict/depth/group-depth.ts';
import { cycleTable } from '../models/pipeline/soft-saturation.ts';
import { allocateTimeline, prepareDevice } from './device.ts';
import { replicate, replicationRandom } from './replicate.ts';
import { independentGroups } from './samplers.ts';

/** A launch on an invented device that is small enough to watch. */
export interface PlayRequest {
  /** n: units of one thread group, drawn from the law. */
  readonly unitsPerGroup: number;
  readonly groupsPerBlock: number;
  readonly residentBlocks: number;
  readonly multiprocessors: number;
  readonly gridBlocks: number;
  readonly pipeline: PipelineParameters;
  readonly seed: number;
}

const PLAY_REPLICATIONS = 30;

export function playLaunch(law: LengthLaw, request: PlayRequest): PlayedLaunch {
  const { unitsPerGroup, groupsPerBlock, residentBlocks, multiprocessors, gridBlocks, pipeline, seed } = request;
  const depth = makeGroupDepthLaw(law, unitsPerGroup, { kind: 'none' }, 'nested', 1, { setupIterations: 0 });
  const launch = {
    multiprocessors,
    residentBlocks,
    groupsPerBlock,
    gridBlocks,
    cyclesPerIteration: cycleTable(
      pipeline,
      pipeline.schedulers * Math.ceil((residentBlocks * groupsPerBlock) / pipeline.schedulers),
    ),
    schedulers: { count: pipeline.schedulers, issueShare: 1 },
  };
  const device = prepareDevice(launch, independentGroups(depth));
  const times = replicate(device, { seed, atLeast: PLAY_REPLICATIONS, atMost: PLAY_REPLICATIONS });
  const timeline = allocateTimeline(gridBlocks);
  device.run(replicationRandom(seed, 0), timeline);
  return {
    multiprocessors,
    residentBlocks,
    groupsPerBlock,
    replicationCycles: times.cycles,
    meanLowCycles: times.confidenceLowCycles,
    meanHighCycles: times.confidenceHighCycles,
    lastDispatchCycles: device.lastDispatchCycles,
    blockMultiprocessor: Float64Array.from(timeline.blockMultiprocessor),
    blockSlot: listSlots(timeline, launch),
    blockStartCycles: timeline.blockStartCycles,
    blockEndCycles: timeline.blockEndCycles,
    stepMultiprocessor: Float64Array.from(timeline.stepMultiprocessor),
    stepCycles: Float64Array.from(timeline.stepCycles),
    stepActiveGroups: Float64Array.from(timeline.stepActiveGroups),
  };
}

/** Gives each block the first free block slot, which need not be the simulated one. */
function listSlots(
  timeline: ReturnType<typeof allocateTimeline>,
  { multiprocessors, residentBlocks }: { readonly multiprocessors: number; readonly residentBlocks: number },
): Float64Array {
  const freeAt = new Float64Array(multiprocessors * residentBlocks);
  return Float64Array.from(timeline.blockMultiprocessor, (multiprocessor, block) => {
    const first = multiprocessor * residentBlocks;
    const own = freeAt.subarray(first, first + residentBlocks);
    const slot = own.findIndex((time) => time <= timeline.blockStartCycles[block]);
    own[slot] = timeline.blockEndCycles[block];
    return slot;
  });
}
