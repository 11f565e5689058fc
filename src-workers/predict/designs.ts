import {
  INVALID_REASONS,
  type Design,
  type DesignClass,
  type InvalidReason,
  type LockstepBalancing,
} from '../domain/design.ts';
import type { Device, GpuDevice } from '../domain/device.ts';
import { AXIS, getBlockWidth, decodeInto } from '../domain/space.ts';
import {
  examine,
  examineDesign,
  isOneLaunch,
  type Candidate,
  type ClassCandidate,
  type GpuCandidate,
} from './design/candidate.ts';
import { getPace } from './cost/pace.ts';
import type { Dealing } from './dealing/deal.ts';
import { playFetches, type SimulatedFetches } from './fetches.ts';
import { computeBalancingMs, computeBlockStartsMs, computeIterationFactor } from './launch-costs.ts';
import { makeDealing } from './launches.ts';
import type { Predictor } from './tables.ts';
import type { CycleTable, Schedulers } from './time/cycles.ts';

/** Counts designs by the code of their invalid reason (index 0: valid), without predicting them. */
export function classifyDesigns(predictor: Predictor, first: number, count: number): Float64Array {
  const tally = new Float64Array(INVALID_REASONS.length);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  decodeInto(positions, predictor.counts, first);
  for (let i = 0; i < count; i += 1) {
    examine(predictor, positions, candidate);
    tally[candidate.invalid] += 1;
    advance(positions, predictor.counts);
  }
  return tally;
}

function advance(positions: Int32Array, counts: readonly number[]): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    positions[axis] += 1;
    if (positions[axis] < counts[axis]) return;
    positions[axis] = 0;
  }
}

export function describeDesign(
  predictor: Predictor,
  index: number,
): {
  readonly design: Design;
  readonly device: Device;
  readonly invalid: InvalidReason | null;
  readonly residentThreadGroups: number;
  /** Bytes that a lane moves in an iteration; `null` if the accesses are unknown, or the design is mixed or invalid. */
  readonly bytesPerIteration: number | null;
} {
  const { positions, candidate } = examineDesign(predictor, index);
  const { kernel } = candidate.predictor.plan;
  const { axes } = predictor.plan;
  const blockWidth = getBlockWidth(axes, positions[AXIS.blockWidth]);
  return {
    bytesPerIteration:
      kernel.accesses && candidate.invalid === 0 && isOneLaunch(candidate)
        ? getPace(candidate).bytesPerIteration
        : null,
    device: candidate.device,
    invalid: candidate.invalid === 0 ? null : INVALID_REASONS[candidate.invalid].code,
    residentThreadGroups:
      candidate.shape.residentBlocks * candidate.shape.groupsPerBlock * candidate.shape.threadGroupsPerGroup,
    design: {
      ...(axes.implementations && { implementation: axes.implementations[positions[AXIS.implementation]].name }),
      threadsPerUnit: axes.threadsPerUnit[positions[AXIS.threadsPerUnit]],
      unitsPerThread: candidate.unitsPerThread,
      loop: axes.loop[positions[AXIS.loop]],
      balancing: axes.balancing[positions[AXIS.balancing]],
      blockThreads:
        candidate.device.kind === 'cpu' && candidate.invalid === 0
          ? 1
          : axes.blockThreads[positions[AXIS.blockThreads]],
      ...(blockWidth !== null && candidate.device.kind === 'gpu' && { blockWidth }),
      gridBlocks: candidate.gridBlocks,
      registerCap: axes.registerCap[positions[AXIS.registerCap]],
      ...(candidate.classes && { classes: candidate.classes.map(describeClass) }),
    },
  };
}

function describeClass({ units, candidate }: ClassCandidate): DesignClass {
  return {
    upTo: units.upTo === Infinity ? null : units.upTo,
    threadsPerUnit: candidate.threadsPerUnit,
    units: candidate.predictor.plan.units,
    gridBlocks: candidate.gridBlocks,
  };
}

export interface PlayableDesign extends Omit<Dealing, 'units'> {
  readonly device: GpuDevice;
  readonly balancing: LockstepBalancing;
  readonly unitsPerThread: number;
  readonly threadGroupsPerGroup: number;
  readonly residentBlocks: number;
  /** Iterations that every group runs in addition to its share of the work, if slots take even shares. */
  readonly overheadIterations: number;
  /** Cycles of an iteration while w work groups are active on a multiprocessor, for w from 0 to the maximum. */
  readonly cyclesPerIteration: CycleTable;
  readonly schedulers: Schedulers;
  readonly fetches: SimulatedFetches | null;
  /** Milliseconds of one cycle of `cyclesPerIteration`, from the clock and `computeIterationFactor`. */
  readonly msPerCycle: number;
  /** The time in which the device starts the blocks one after another, in cycles of `cyclesPerIteration`. */
  readonly leastCycles: number;
  /** Time before the launch, which is not part of the kernel's time. */
  readonly balancingMs: number;
}

export interface PlayableLaunch {
  readonly predictor: Predictor;
  readonly design: PlayableDesign;
}

/** Lists the launches of a design in order, one for each class of a mixed design; none if it is invalid or on a CPU. */
export function listPlayableLaunches(whole: Predictor, index: number): readonly PlayableLaunch[] {
  const { candidate } = examineDesign(whole, index);
  if (candidate.invalid !== 0) return [];
  if (isOneLaunch(candidate)) return [makePlayable(candidate)];
  const launches = (candidate.classes ?? []).map(({ candidate: own }) => makePlayable(own));
  return launches.map(({ predictor, design }, at) => ({
    predictor,
    design: at === 0 ? { ...design, balancingMs: computeBalancingMs(candidate) } : design,
  }));
}

export function computeBalancingTime(whole: Predictor, index: number): number {
  const { candidate } = examineDesign(whole, index);
  return candidate.invalid === 0 ? computeBalancingMs(candidate) : 0;
}

function makePlayable(candidate: GpuCandidate): PlayableLaunch {
  const { predictor, device, balancing, shape } = candidate;
  const { units: _, ...dealing } = makeDealing(candidate);
  const msPerCycle = computeIterationFactor(candidate) / (device.clockMhz * 1e3);
  const { getCycles, schedulers, overheadIterations } = getPace(candidate);
  const design: PlayableDesign = {
    device,
    balancing,
    ...dealing,
    unitsPerThread: candidate.unitsPerThread,
    threadGroupsPerGroup: shape.threadGroupsPerGroup,
    residentBlocks: shape.residentBlocks,
    overheadIterations,
    cyclesPerIteration: getCycles(),
    schedulers,
    fetches: playFetches(candidate),
    msPerCycle,
    leastCycles: computeBlockStartsMs(candidate) / msPerCycle,
    balancingMs: computeBalancingMs(candidate),
  };
  return { predictor, design };
}
