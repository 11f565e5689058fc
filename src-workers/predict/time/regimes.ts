import type { RegimeId } from '../../domain/regime.ts';
import type { ListedBlocks, PlacedBlocks } from '../dealing/blocks.ts';
import { computePlacedCycles } from './placed.ts';
import { computeInOrderCycles } from './in-order.ts';
import type { Residency } from './residency.ts';
import {
  computeEqualBlocksCycles,
  computeFewWavesCycles,
  hasEqualBlocks,
  isFewWaves,
  isOneWave,
  computeManyWavesCycles,
  computeOneWaveCycles,
  type Wave,
} from './waves.ts';

/** If blocks have different numbers of units per slot, `residency` is for the larger number. */
export interface TimedLaunch extends Wave {
  /** All blocks with their depths, in equally likely orders; empty unless all are listed and fit the device at once. */
  readonly placed: readonly PlacedBlocks[];
  readonly inOrder: ListedBlocks | null;
  /** The blocks that have one unit less per slot, if the units do not divide evenly over the grid; otherwise `null`. */
  readonly shorter: Residency | null;
  /** Number of first blocks that have more units; 0.3 means 30 % of the first block's slots. */
  readonly fullerBlocks: number;
  /** Mean number of times that a lane fetches from the shared counter; 0 without dynamic fetch. */
  readonly fetchedUnits: number;
}

export interface Regime {
  readonly id: RegimeId;
  /** Whether the regime fits the launch, provided that no earlier regime does. */
  when(launch: TimedLaunch): boolean;
  cycles(launch: TimedLaunch): number;
}

/** The first regime that fits is used. Labels, methods and accuracies for the interface are in `domain/regime.ts`. */
export const REGIMES: readonly Regime[] = [
  { id: 'given-order', when: ({ inOrder }) => inOrder !== null, cycles: computeGivenOrderCycles },
  { id: 'known-blocks', when: ({ placed }) => placed.length > 0, cycles: computePlacedBlocksCycles },
  { id: 'uneven-fetch', when: isUnevenFetch, cycles: computeUnevenFetchCycles },
  { id: 'uneven-grid', when: ({ shorter }) => shorter !== null, cycles: computeUnevenGridCycles },
  { id: 'equal-blocks', when: hasEqualBlocks, cycles: computeEqualBlocksCycles },
  { id: 'one-wave', when: isOneWave, cycles: computeOneWaveCycles },
  { id: 'few-waves', when: isFewWaves, cycles: computeFewWavesCycles },
  { id: 'many-waves', when: () => true, cycles: computeManyWavesCycles },
];

export function findRegime(launch: TimedLaunch): Regime {
  for (const regime of REGIMES) if (regime.when(launch)) return regime;
  throw new TypeError('No regime fits the launch.');
}

export function computeLaunchCycles(launch: TimedLaunch): number {
  return findRegime(launch).cycles(launch);
}

const UNKNOWN_PLACES: readonly PlacedBlocks[] = [];

export function makePlainLaunch(residency: Residency, gridBlocks: number, multiprocessors: number): TimedLaunch {
  return {
    residency,
    gridBlocks,
    multiprocessors,
    placed: UNKNOWN_PLACES,
    inOrder: null,
    shorter: null,
    fullerBlocks: 0,
    fetchedUnits: 0,
  };
}

function computeGivenOrderCycles({ inOrder, gridBlocks, multiprocessors, residency }: TimedLaunch): number {
  const { residentBlocks, cyclesPerIteration, schedulers } = residency;
  return computeInOrderCycles(inOrder!, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration, schedulers);
}

function computePlacedBlocksCycles({ placed, multiprocessors, residency }: TimedLaunch): number {
  const { cyclesPerIteration, schedulers } = residency;
  let sum = 0;
  for (const blocks of placed) sum += computePlacedCycles(blocks, multiprocessors, cyclesPerIteration, schedulers);
  return sum / placed.length;
}

function isUnevenFetch({ fetchedUnits, gridBlocks, multiprocessors, residency }: TimedLaunch): boolean {
  return (
    fetchedUnits > 1 &&
    gridBlocks > multiprocessors &&
    gridBlocks % multiprocessors !== 0 &&
    gridBlocks < multiprocessors * residency.residentBlocks
  );
}

/**
 * Computes the cycles of a dynamic fetch in which some multiprocessors hold fewer blocks. Their groups are faster and
 * fetch more units, so the units run out when a group of mean speed would end. Every lane takes a first unit, whatever
 * its speed.
 */
function computeUnevenFetchCycles({ residency, gridBlocks, multiprocessors, fetchedUnits }: TimedLaunch): number {
  const { cyclesPerIteration, block } = residency;
  const few = Math.floor(gridBlocks / multiprocessors);
  const fuller = gridBlocks - few * multiprocessors;
  const at = (blocks: number): number => computeLaunchCycles(makePlainLaunch(residency, blocks, multiprocessors));
  const fast = cyclesPerIteration[few * block.groupsPerBlock];
  const slow = cyclesPerIteration[(few + 1) * block.groupsPerBlock];
  const least = at(few * multiprocessors);
  if (!(slow > fast)) return least;
  const mean = gridBlocks / ((fuller * (few + 1)) / slow + ((multiprocessors - fuller) * few) / fast);
  const together = least + ((mean - fast) / (slow - fast)) * (at((few + 1) * multiprocessors) - least);
  return together + (at(gridBlocks) - together) / fetchedUnits;
}

function computeUnevenGridCycles(launch: TimedLaunch): number {
  const none = timeKind(launch, launch.shorter!, launch.gridBlocks);
  if (launch.fullerBlocks >= 1) return timeBothKinds(launch, launch.fullerBlocks, none);
  // Only some slots of one block have an additional unit.
  return none + launch.fullerBlocks * Math.max(0, timeBothKinds(launch, 1, none) - none);
}

/** @param none time of a launch whose blocks all have the smaller number of units, cycles */
function timeBothKinds(launch: TimedLaunch, fullerBlocks: number, none: number): number {
  const { residency, gridBlocks } = launch;
  const part = fullerBlocks / gridBlocks;
  const mixed = part * timeKind(launch, residency, gridBlocks) + (1 - part) * none;
  return Math.max(mixed, timeKind(launch, residency, fullerBlocks));
}

function timeKind({ multiprocessors }: TimedLaunch, kind: Residency, blocks: number): number {
  return computeLaunchCycles(makePlainLaunch(kind, blocks, multiprocessors));
}
