import {
  isEvenShare,
  isLockstep,
  isPartition,
  needsLengths,
  runsOn,
  type Balancing,
  type LockstepBalancing,
  type MixedBalancing,
  type PartitionBalancing,
} from '../../domain/design.ts';
import type { CpuDevice, Device, GpuDevice } from '../../domain/device.ts';
import {
  AXIS,
  decodeInto,
  getBlockWidth,
  type GridLaunch,
  rowPosition,
  type SpaceConstraint,
} from '../../domain/space.ts';
import { countStep } from '../../numeric/steps.ts';
import { computeEvenShares, computeMeanItems } from '../dealing/even-share.ts';
import { countRows, type Tile } from '../dealing/tiles.ts';
import { getClasses, resolveThreads } from './classes.ts';
import { getDealtPredictor, getTiledPredictor } from '../predictor.ts';
import { resolveLaunch } from './launch.ts';
import type { SweepPlan } from '../plan.ts';
import { REASON, type Shape } from './shapes.ts';
import type { Pace, Predictor, UnitClass } from '../tables.ts';

/** One design with its values on all axes, or the reason why it is invalid (a code of INVALID_REASONS, > 0). */
export interface Candidate {
  predictor: Predictor;
  invalid: number;
  device: Device;
  deviceAt: number;
  capAt: number;
  blockAt: number;
  threadsAt: number;
  shape: Shape;
  threadsPerUnit: number;
  unitsPerGroup: number;
  loopAt: number;
  balancingAt: number;
  balancing: Balancing;
  gridBlocks: number;
  /** Maximum number of units of a slot in the launch. */
  unitsPerThread: number;
  workingBlocks: number;
  /** Mean number of units of a slot in a working block. */
  meanUnitsPerThread: number;
  itemsPerSlot: number;
  classes: readonly ClassCandidate[] | null;
  pace: Pace | null;
}

export interface GpuCandidate extends Candidate {
  device: GpuDevice;
  balancing: LockstepBalancing;
}

export interface CpuCandidate extends Candidate {
  device: CpuDevice;
  balancing: PartitionBalancing;
}

export interface ClassCandidate {
  readonly units: UnitClass;
  readonly candidate: GpuCandidate;
}

export function isOneLaunch(candidate: Candidate): candidate is GpuCandidate {
  return candidate.device.kind === 'gpu' && isLockstep(candidate.balancing);
}

export function isOnCpu(candidate: Candidate): candidate is CpuCandidate {
  return candidate.device.kind === 'cpu';
}

type Quantity = SpaceConstraint['quantity'];

/** The quantities that may differ between launches with the same block size. */
const OF_LAUNCH: ReadonlySet<Quantity> = new Set(['unitsPerThread', 'gridBlocks', 'waves']);

function violates({ plan }: Predictor, candidate: Candidate, except?: ReadonlySet<Quantity>): boolean {
  for (const { quantity, atLeast, atMost, multipleOf } of plan.constraints) {
    if (except?.has(quantity)) continue;
    const value = quantityOf(quantity, plan, candidate);
    if (value === null) continue;
    if (atLeast !== undefined && value < atLeast) return true;
    if (atMost !== undefined && value > atMost) return true;
    if (multipleOf !== undefined && value % multipleOf !== 0) return true;
  }
  return false;
}

function quantityOf(quantity: Quantity, { axes, kernel }: SweepPlan, candidate: Candidate): number | null {
  const { device, shape } = candidate;
  switch (quantity) {
    case 'threadsPerUnit':
    case 'unitsPerThread':
    case 'gridBlocks':
      return candidate[quantity];
    case 'occupancyFraction':
    case 'residentBlocks':
      return shape[quantity];
    case 'blockThreads':
      return device.kind === 'cpu' ? null : axes.blockThreads[candidate.blockAt];
    case 'registerCap':
      return device.kind === 'cpu' ? null : (axes.registerCap[candidate.capAt] ?? kernel.registersPerThread);
    case 'waves':
      return device.kind === 'cpu' ? 1 : candidate.gridBlocks / (device.multiprocessors * shape.residentBlocks);
  }
}

export function countUnitsPerFetch({ fetch }: Extract<LockstepBalancing, { kind: 'dynamic-fetch' }>): number {
  return typeof fetch === 'number' ? fetch : 1;
}

function allows({ allowed }: Predictor, positions: Int32Array): boolean {
  return (
    allowed === null ||
    (allowed.threadsPerUnit[positions[AXIS.threadsPerUnit]] &&
      allowed.loop[positions[AXIS.loop]] &&
      allowed.balancing[positions[AXIS.balancing]] &&
      allowed.registerCap[positions[AXIS.registerCap]] &&
      allowed.blockThreads[positions[AXIS.blockThreads]])
  );
}

/** The predictor of the implementation, of the tiled order, or of the lanes to which a unit is dealt. */
function findOwnPredictor(whole: Predictor, positions: Int32Array): Predictor {
  const implementation = whole.implementations[positions[AXIS.implementation]];
  // Even shares deal all items at once, not unit by unit, so they need no predictor of lanes.
  if (isEvenShare(implementation.balancing[positions[AXIS.balancing]])) return implementation;
  const tile = implementation.plan.axes.blockWidth && findTile(implementation, positions);
  return getDealtPredictor(
    tile ? getTiledPredictor(implementation, tile) : implementation,
    positions[AXIS.threadsPerUnit],
  );
}

/** `null` if a block is one row, there is a balancing, or the tile is not whole or does not fit the image. */
function findTile({ plan, balancing }: Predictor, positions: Int32Array): Tile | null {
  const { axes, width, units, ordered } = plan;
  const blockWidth = getBlockWidth(axes, positions[AXIS.blockWidth]);
  if (blockWidth === null || width === undefined || balancing[positions[AXIS.balancing]].kind !== 'none') return null;
  const tile = {
    width: blockWidth / axes.threadsPerUnit[positions[AXIS.threadsPerUnit]],
    height: axes.blockThreads[positions[AXIS.blockThreads]] / blockWidth,
  };
  const rows = countRows(ordered?.iterations.length ?? units, units, width);
  const fits = tile.width <= width && tile.height <= rows;
  return fits && Number.isInteger(tile.width) && Number.isInteger(tile.height) ? tile : null;
}

export function examine(whole: Predictor, positions: Int32Array, candidate: Candidate): void {
  countStep();
  examineOwn(findOwnPredictor(whole, positions), positions, candidate);
}

export function examineDesign(
  whole: Predictor,
  index: number,
): { readonly positions: Int32Array; readonly candidate: Candidate } {
  const positions = new Int32Array(whole.counts.length);
  decodeInto(positions, whole.counts, index);
  const candidate = {} as Candidate;
  examine(whole, positions, candidate);
  return { positions, candidate };
}

/**
 * Finds a reason that makes all launches with the same values of the other axes invalid.
 * @param positions those of a design with the first launch, or with the first launch for GPUs if there is any
 */
export function examineFamily(whole: Predictor, positions: Int32Array, candidate: Candidate): void {
  countStep();
  const predictor = findOwnPredictor(whole, positions);
  examineShape(predictor, positions, candidate);
  if (candidate.device.kind === 'cpu') {
    if (!isPlain(predictor, positions)) candidate.invalid = REASON['not-on-device'];
  } else if (candidate.invalid === 0 && violates(predictor, candidate, OF_LAUNCH))
    candidate.invalid = REASON.constraint;
}

/** Fills in the fields of a design that do not depend on its launch, and a reason that makes every launch invalid. */
function examineShape(predictor: Predictor, positions: Int32Array, candidate: Candidate): void {
  const { axes } = predictor.plan;
  const device = axes.devices[positions[AXIS.device]];
  const blockThreads = axes.blockThreads[positions[AXIS.blockThreads]];
  const shapeAt =
    device.kind === 'cpu'
      ? positions[AXIS.launch]
      : (positions[AXIS.threadsPerUnit] * axes.registerCap.length + positions[AXIS.registerCap]) *
          axes.blockThreads.length +
        positions[AXIS.blockThreads];
  const shape = predictor.shapes[positions[AXIS.device]][shapeAt];
  const threadsPerUnit = axes.threadsPerUnit[positions[AXIS.threadsPerUnit]];
  const balancing = predictor.balancing[positions[AXIS.balancing]];
  candidate.predictor = predictor;
  candidate.device = device;
  candidate.deviceAt = positions[AXIS.device];
  candidate.capAt = positions[AXIS.registerCap];
  candidate.blockAt = positions[AXIS.blockThreads];
  candidate.threadsAt = positions[AXIS.threadsPerUnit];
  candidate.pace = null;
  candidate.shape = shape;
  candidate.threadsPerUnit = threadsPerUnit;
  candidate.loopAt = positions[AXIS.loop];
  candidate.balancingAt = positions[AXIS.balancing];
  candidate.balancing = balancing;
  candidate.gridBlocks = 0;
  candidate.unitsPerThread = 0;
  candidate.workingBlocks = 0;
  candidate.meanUnitsPerThread = 0;
  candidate.unitsPerGroup = 0;
  candidate.itemsPerSlot = 0;
  candidate.classes = null;
  candidate.invalid = 0;
  if (device.kind === 'cpu') return;
  candidate.invalid = findInvalidShape(predictor, positions, candidate, device.threadGroupWidth);
  if (candidate.invalid === 0)
    candidate.unitsPerGroup = Math.max(1, Math.min(device.threadGroupWidth, blockThreads) / threadsPerUnit);
}

function findInvalidShape(
  predictor: Predictor,
  positions: Int32Array,
  { shape, threadsPerUnit, balancing, blockAt }: Candidate,
  width: number,
): number {
  const { axes, kernel } = predictor.plan;
  if (axes.launch[positions[AXIS.launch]].kind === 'cores' || !runsOn(balancing, 'gpu')) return REASON['not-on-device'];
  if (!allows(predictor, positions)) return REASON.implementation;
  if (shape.invalid !== 0) return shape.invalid;
  if (width % threadsPerUnit !== 0 && threadsPerUnit % width !== 0) return REASON['group-width'];
  if (axes.blockThreads[blockAt] % threadsPerUnit !== 0) return REASON['block-not-multiple'];
  if (needsLengths(balancing) && !kernel.lengthsKnownBeforeLaunch) return REASON['lengths-unknown'];
  const isRow = getBlockWidth(axes, positions[AXIS.blockWidth]) === null;
  return isRow || findTile(predictor, positions) !== null ? 0 : REASON['block-shape'];
}

function examineOwn(predictor: Predictor, positions: Int32Array, candidate: Candidate): void {
  examineShape(predictor, positions, candidate);
  if (candidate.invalid !== 0) return;
  const { plan } = predictor;
  const { device, shape, threadsPerUnit, balancing } = candidate;
  if (device.kind === 'cpu') return examineOnCpu(predictor, positions, candidate);
  if (balancing.kind === 'mixed') return examineClasses(predictor, balancing, positions, candidate);
  const slotsPerBlock = plan.axes.blockThreads[candidate.blockAt] / threadsPerUnit;
  const launchValue = plan.axes.launch[positions[AXIS.launch]] as GridLaunch;
  let launch = resolveLaunch(launchValue, plan.units, slotsPerBlock, device.multiprocessors);
  // A class may have fewer units than the design has slots. Every slot then takes one unit at most.
  if (predictor.isClass && !launch.everyBlockWorks)
    launch = resolveLaunch(ONE_EACH, plan.units, slotsPerBlock, device.multiprocessors);
  candidate.gridBlocks = launch.gridBlocks;
  candidate.unitsPerThread = launch.unitsPerThread;
  // Blocks after the first wave of a fetching launch find no units left. The last even shares may be empty.
  candidate.workingBlocks = launch.gridBlocks;
  const fetching = balancing.kind === 'dynamic-fetch';
  if (fetching) candidate.workingBlocks = Math.min(launch.gridBlocks, device.multiprocessors * shape.residentBlocks);
  else if (isEvenShare(balancing)) {
    const items = computeMeanItems(balancing, plan.units, predictor.meanLength);
    const shares = computeEvenShares(items, launch.gridBlocks * slotsPerBlock);
    candidate.itemsPerSlot = shares.itemsPerSlot;
    candidate.workingBlocks = Math.ceil(shares.workingSlots / slotsPerBlock);
  }
  candidate.meanUnitsPerThread = launch.meanUnitsPerThread * (launch.gridBlocks / candidate.workingBlocks);
  // Even shares cut units, so there may be more working slots than units.
  const isIdle = isEvenShare(balancing)
    ? candidate.itemsPerSlot <= 1 && candidate.workingBlocks < launch.gridBlocks
    : !launch.everyBlockWorks ||
      (fetching && (candidate.workingBlocks - 1) * slotsPerBlock * countUnitsPerFetch(balancing) >= plan.units);
  if (launch.gridBlocks > device.limits.maxGridBlocks) candidate.invalid = REASON['grid-blocks'];
  else if (isIdle) candidate.invalid = REASON['idle-blocks'];
  else if (violates(predictor, candidate)) candidate.invalid = REASON.constraint;
}

const ONE_EACH = { kind: 'units-per-thread', value: 1 } as const;

function examineClasses(
  predictor: Predictor,
  balancing: MixedBalancing,
  positions: Int32Array,
  candidate: Candidate,
): void {
  const { device, deviceAt, threadsPerUnit, blockAt } = candidate;
  const { plan } = predictor;
  if (device.kind !== 'gpu' || threadsPerUnit !== 1) {
    candidate.invalid = REASON.classes;
    return;
  }
  const blockThreads = plan.axes.blockThreads[blockAt];
  const divided = getClasses(predictor, balancing, deviceAt);
  // The number of threads that share a unit must be a power of two.
  if (divided.some(({ threads }) => threads === 'block') && !Number.isInteger(Math.log2(blockThreads))) {
    candidate.invalid = REASON['block-not-multiple'];
    return;
  }
  const classes = divided.map((units): ClassCandidate => {
    const own = positions.slice();
    const threads = resolveThreads(units.threads, device, blockThreads);
    own[AXIS.threadsPerUnit] = units.predictor.plan.axes.threadsPerUnit.indexOf(threads);
    own[AXIS.balancing] = 0;
    own[AXIS.implementation] = 0;
    const launched = {} as GpuCandidate;
    examineOwn(getDealtPredictor(units.predictor, own[AXIS.threadsPerUnit]), own, launched);
    return { units, candidate: launched };
  });
  candidate.classes = classes;
  candidate.unitsPerGroup = Math.min(device.threadGroupWidth, blockThreads);
  for (const { candidate: own } of classes) {
    candidate.gridBlocks += own.gridBlocks;
    candidate.workingBlocks += own.workingBlocks;
    candidate.unitsPerThread = Math.max(candidate.unitsPerThread, own.unitsPerThread);
  }
  candidate.meanUnitsPerThread = plan.units / (candidate.gridBlocks * blockThreads);
  candidate.invalid = classes.find(({ candidate: own }) => own.invalid !== 0)?.candidate.invalid ?? 0;
  if (candidate.invalid === 0 && violates(predictor, candidate)) candidate.invalid = REASON.constraint;
}

/** Whether the settings for GPUs have their plain values, which represent all others on a CPU. */
function isPlain({ plan: { axes }, balancing }: Predictor, positions: Int32Array): boolean {
  return (
    axes.threadsPerUnit[positions[AXIS.threadsPerUnit]] === 1 &&
    axes.loop[positions[AXIS.loop]] === 'nested' &&
    axes.registerCap[positions[AXIS.registerCap]] === null &&
    positions[AXIS.blockThreads] === 0 &&
    positions[AXIS.blockWidth] === rowPosition(axes) &&
    isPartition(balancing[positions[AXIS.balancing]])
  );
}

function examineOnCpu(predictor: Predictor, positions: Int32Array, candidate: Candidate): void {
  const { plan } = predictor;
  const { axes, kernel } = plan;
  const { shape, balancing } = candidate;
  if (!isPlain(predictor, positions)) candidate.invalid = REASON['not-on-device'];
  else if (predictor.allowed?.balancing[positions[AXIS.balancing]] === false) candidate.invalid = REASON.implementation;
  else if (shape.invalid !== 0) candidate.invalid = shape.invalid;
  else if (needsLengths(balancing) && !kernel.lengthsKnownBeforeLaunch) candidate.invalid = REASON['lengths-unknown'];
  else {
    const cores = axes.launch[positions[AXIS.launch]].value;
    candidate.gridBlocks = cores;
    candidate.unitsPerThread = Math.ceil(plan.units / cores);
    candidate.workingBlocks = cores;
    candidate.meanUnitsPerThread = plan.units / cores;
    if (cores > plan.units) candidate.invalid = REASON['idle-blocks'];
    else if (violates(predictor, candidate)) candidate.invalid = REASON.constraint;
  }
}
