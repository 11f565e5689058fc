import type { Device } from './device.ts';
import type { LoopForm } from './kernel.ts';
import { conflict, type Result } from './result.ts';

/**
 * How units are ordered or handed out if a slot takes whole units. `none`: in the order of the workload, or as
 * independent draws if it has no order. `k`: number of buckets. `units`: size of a window. `fetch`: the units that one
 * addition to the common counter takes: a number for one slot (1 if omitted), or with `group` one for each slot.
 */
export type WholeUnitBalancing =
  | { readonly kind: 'none' }
  | { readonly kind: 'shuffle' }
  | { readonly kind: 'quantile-buckets'; readonly k: number }
  | { readonly kind: 'best-buckets'; readonly k: number }
  | { readonly kind: 'window-sort'; readonly units: number }
  | { readonly kind: 'full-sort' }
  | { readonly kind: 'dynamic-fetch'; readonly fetch?: number | 'group' };

/** Lanes run idle iterations up to the longest of all units (ELL), or of their slice of `units` units (SELL). */
export type PaddedBalancing = { readonly kind: 'padded' } | { readonly kind: 'padded-slice'; readonly units: number };

/**
 * Every slot takes the same number of iterations, or of iterations and unit ends together (merge path). A slot searches
 * for the start of its share, and passes its part of a cut unit on to the next slot (the carry).
 */
export interface EvenShareBalancing {
  readonly kind: 'nonzero-split' | 'merge-path';
}

export interface LengthClass {
  readonly threads: number | 'group' | 'block';
  /** The longest length, iterations; omitted for the last class. */
  readonly upTo?: number;
}

/** Classes by length, the shortest first, or the number of classes to choose (`predict/design/classes.ts`). */
export interface MixedBalancing {
  readonly kind: 'mixed';
  readonly classes: number | readonly LengthClass[];
}

export type LockstepBalancing = WholeUnitBalancing | PaddedBalancing | EvenShareBalancing;

/** Units are cut into one contiguous share per core: equal numbers of units, of iterations, or of both together. */
export const CPU_BALANCING = ['row-split', 'nonzero-split', 'merge-path'] as const;
export interface PartitionBalancing {
  readonly kind: (typeof CPU_BALANCING)[number];
}

export type Balancing = LockstepBalancing | MixedBalancing | PartitionBalancing;

export function isLockstep(balancing: Balancing): balancing is LockstepBalancing {
  return balancing.kind !== 'row-split' && balancing.kind !== 'mixed';
}

export function runsOn(balancing: Balancing, kind: Device['kind']): boolean {
  return kind === 'cpu' ? isPartition(balancing) : isLockstep(balancing) || balancing.kind === 'mixed';
}

export function needsLengths({ kind }: Balancing): boolean {
  return kind !== 'none' && kind !== 'shuffle' && kind !== 'dynamic-fetch' && kind !== 'row-split';
}

export function isWholeUnit(balancing: Balancing): balancing is WholeUnitBalancing {
  return isLockstep(balancing) && !isEvenShare(balancing) && !isPadded(balancing);
}

export function isEvenShare(balancing: Balancing): balancing is EvenShareBalancing {
  return balancing.kind === 'nonzero-split' || balancing.kind === 'merge-path';
}

export function isPadded(balancing: Balancing): balancing is PaddedBalancing {
  return balancing.kind === 'padded' || balancing.kind === 'padded-slice';
}

export function isPartition(balancing: Balancing): balancing is PartitionBalancing {
  // This runs for every design of a sweep, and comparisons are faster than a search.
  return balancing.kind === 'row-split' || balancing.kind === 'nonzero-split' || balancing.kind === 'merge-path';
}

export function isCpuDesign({ balancing, blockThreads }: Pick<Design, 'balancing' | 'blockThreads'>): boolean {
  return balancing === 'row-split' || (blockThreads === 1 && CPU_BALANCING.some((kind) => kind === balancing));
}

/** One mapping of a workload onto a device. On a CPU it is a partition over `gridBlocks` cores, one thread each. */
export interface Design {
  readonly implementation?: string;
  /** u: threads that share one unit; a power of two up to the whole block. */
  readonly threadsPerUnit: number;
  /** m: units that each slot of u threads processes, one after another. */
  readonly unitsPerThread: number;
  readonly loop: LoopForm;
  readonly balancing: string;
  readonly blockThreads: number;
  /** Width of a block's tile, threads, if units are in rows (an image). If omitted, a block takes consecutive units. */
  readonly blockWidth?: number;
  readonly gridBlocks: number;
  readonly registerCap: number | null;
  readonly classes?: readonly DesignClass[];
}

export interface DesignClass {
  /** The longest length, iterations; `null` for the last class. */
  readonly upTo: number | null;
  readonly threadsPerUnit: number;
  readonly units: number;
  readonly gridBlocks: number;
}

export function blockText({ blockThreads, blockWidth }: Pick<Design, 'blockThreads' | 'blockWidth'>): string {
  return blockWidth === undefined ? String(blockThreads) : `${blockWidth} × ${blockThreads / blockWidth}`;
}

export function implementationText({ implementation }: Pick<Design, 'implementation'>): string {
  return implementation === undefined ? '' : `${implementation}: `;
}

export const blockWord = (design: Pick<Design, 'blockThreads' | 'blockWidth'>): string =>
  blockText(design).replaceAll(' × ', 'x');

export function designText(design: Design): string {
  const { threadsPerUnit, unitsPerThread, gridBlocks, loop, balancing, registerCap } = design;
  const named = implementationText(design);
  if (isCpuDesign(design)) return `${named}cores=${gridBlocks} partition=${balancing}`;
  const block = blockWord(design);
  const flattened = loop === 'flattened' ? ' flattened' : '';
  const cap = registerCap === null ? '' : ` cap=${registerCap}`;
  return `${named}u=${threadsPerUnit} m=${unitsPerThread} block=${block} grid=${gridBlocks} order=${balancing}${flattened}${cap}`;
}

const LAUNCH_AXES = 'axes.unitsPerThread, axes.gridBlocks or axes.blocksPerMultiprocessor';

/** `change` names the fields of a study to change. Positions in this list are stored, so they must stay. */
export const INVALID_REASONS = [
  { code: 'valid', text: 'valid', change: '' },
  { code: 'block-threads', text: 'more threads per block than the device allows', change: 'axes.blockThreads' },
  {
    code: 'registers',
    text: 'one block needs more registers than a multiprocessor has',
    change: 'kernel.registersPerThread, axes.registerCap or axes.blockThreads',
  },
  {
    code: 'shared-memory',
    text: 'one block needs more shared memory than a multiprocessor has',
    change: 'kernel.sharedMemoryBytesPerBlock',
  },
  { code: 'grid-blocks', text: 'more blocks than the device can launch', change: LAUNCH_AXES },
  {
    code: 'block-not-multiple',
    text: 'the block is not a multiple of the threads per unit',
    change: 'axes.blockThreads or axes.threadsPerUnit',
  },
  {
    code: 'lengths-unknown',
    text: 'the balancing needs lengths that are not known before launch',
    change: 'kernel.lengthsKnownBeforeLaunch or axes.balancing',
  },
  {
    code: 'group-width',
    text: 'the width of a thread group is not a multiple of the threads per unit',
    change: 'axes.threadsPerUnit',
  },
  { code: 'constraint', text: 'removed by a constraint of the study', change: 'constraints' },
  {
    code: 'no-residency',
    text: 'no block fits on a multiprocessor',
    change: 'axes.blockThreads or what a block needs (kernel)',
  },
  { code: 'idle-blocks', text: 'some blocks would get no unit of work', change: LAUNCH_AXES },
  { code: 'not-on-device', text: 'this setting has no effect on this device', change: 'axes or devices' },
  { code: 'cores', text: 'more cores than the device has', change: 'axes.cores' },
  {
    code: 'implementation',
    text: 'the implementation does not allow this setting',
    change: 'axes or the axes of the implementations',
  },
  {
    code: 'classes',
    text: 'each class of length has its own threads per unit, so the design itself must have one thread per unit',
    change: 'axes.threadsPerUnit',
  },
  {
    code: 'block-shape',
    text: 'the block cannot have this shape: its width must divide its threads, its tile must fit in the image, and the balancing must be none',
    change: 'axes.blockWidth',
  },
  {
    code: 'thread-registers',
    text: 'more registers per thread than the device allows',
    change: 'kernel.registersPerThread or axes.registerCap',
  },
] as const;
export type InvalidReason = (typeof INVALID_REASONS)[number]['code'];

export const reasonText = (reason: InvalidReason): string => INVALID_REASONS.find(({ code }) => code === reason)!.text;

export function invalidDesign(index: number, reason: InvalidReason): Result<never> {
  return conflict(`Design ${index} cannot run: ${reasonText(reason)}. Specify a valid design.`, { design: index });
}

const MAX_SAID_REASONS = 3;

/** @param tally number of designs for each entry of `INVALID_REASONS` */
export function noneValidText(where: string, tally: ArrayLike<number>): string {
  const found = INVALID_REASONS.map((reason, code) => ({ ...reason, count: tally[code] }))
    .filter(({ code, count }) => code !== 'valid' && count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_SAID_REASONS);
  if (found.length === 0) return `No design is valid on ${where}. Change the axes.`;
  const reasons = found.map(({ text, count }) => `${text} (${count.toLocaleString('en')})`).join('; ');
  return `No design is valid on ${where}: ${reasons}. Change ${found[0].change}.`;
}

/** Bits of `limitedBy`, numbered as in NVIDIA's occupancy header. */
export const LIMITING_FACTORS = [
  { bit: 1, code: 'warps', text: 'thread-group slots' },
  { bit: 2, code: 'registers', text: 'registers' },
  { bit: 4, code: 'sharedMemory', text: 'shared memory' },
  { bit: 8, code: 'blocks', text: 'block slots' },
] as const;
export type LimitingFactor = (typeof LIMITING_FACTORS)[number]['code'];

export function limitingFactors(mask: number): LimitingFactor[] {
  return LIMITING_FACTORS.filter((factor) => mask & factor.bit).map((factor) => factor.code);
}
