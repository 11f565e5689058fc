import type { BenchBackend, UnitLoopProfile, UnitLoopWorkload } from '../domain/benchmark.ts';
import type { Design, WholeUnitBalancing } from '../domain/design.ts';
import type { KernelProfile } from '../domain/kernel.ts';
import { fail, ok, type Result } from '../domain/result.ts';
import { bucketRanges } from '../predict/depth/group-depth.ts';
import { empiricalLaw } from '../models/workload/laws.ts';
import { arbitraryOrder, type UniformSource } from '../numeric/random.ts';

/** Most units of a measured workload: lengths, order and results are 4 bytes each, on the host and on the device. */
export const MAX_MEASURED_UNITS = 2 ** 26;

/** How a launch is cut up: slots of u threads, `unitsPerGroup` of them in a full thread group, dealt out in rounds. */
export interface SlotLayout {
  /** Units in flight in one block. */
  readonly slotsPerBlock: number;
  /** n: units side by side in a full thread group. */
  readonly unitsPerGroup: number;
  /** Thread groups of a block; the last may be partly filled. */
  readonly groupsPerBlock: number;
  /** Units in flight in the whole grid: the distance between a slot's units in the order. */
  readonly slots: number;
  /** Units of the slots that have most. */
  readonly rounds: number;
}

/**
 * In round j, slot s of block b takes the unit at position j·slots + blockOrder[b]·slotsPerBlock + s of the order, if there
 * is one. Fails with `bad-input` on a design that cannot be laid out.
 *
 * @param units work units of the workload, ≥ 1
 */
export function slotLayout(
  design: Pick<Design, 'threadsPerUnit' | 'blockThreads' | 'gridBlocks'>,
  threadGroupWidth: number,
  units: number,
): Result<SlotLayout> {
  const { threadsPerUnit: u, blockThreads, gridBlocks } = design;
  if (u > threadGroupWidth && u % threadGroupWidth === 0)
    return fail(
      'unsupported',
      `${u} threads per unit cannot be measured by the loop that stands in for a kernel: it has at most the ${threadGroupWidth} threads of a thread group. Choose a design with fewer`,
    );
  if (!(Number.isInteger(Math.log2(u)) && u >= 1 && u <= threadGroupWidth))
    return fail('bad-input', `threads per unit must be a power of two from 1 to ${threadGroupWidth}, not ${u}`);
  if (!(Number.isSafeInteger(blockThreads) && blockThreads >= u && blockThreads % u === 0))
    return fail('bad-input', `a block of ${blockThreads} threads is not a multiple of the ${u} threads per unit`);
  if (!(Number.isSafeInteger(gridBlocks) && gridBlocks >= 1))
    return fail('bad-input', `a grid of ${gridBlocks} blocks has none to run`);
  const slotsPerBlock = blockThreads / u;
  const slots = slotsPerBlock * gridBlocks;
  return ok({
    slotsPerBlock,
    unitsPerGroup: Math.min(threadGroupWidth, blockThreads) / u,
    groupsPerBlock: Math.ceil(blockThreads / threadGroupWidth),
    slots,
    rounds: Math.ceil(units / slots),
  });
}

/** Why a balancing that is no `WholeUnitBalancing` is not measured. */
export function noStandIn(balancing: string): string {
  if (balancing === 'row-split') return `balancing ${balancing} is for the cores of a CPU. Use one for a GPU`;
  return `balancing ${balancing} cannot be measured by the loop that stands in for a kernel: it runs whole units, without padding. Choose a design with another balancing`;
}

/**
 * The order in which units are dealt out: position → unit. Shortest first where lengths decide, equal lengths and the
 * inside of a bucket in the order of the units, so that the same lengths always give the same order. Dynamic fetch hands
 * units out as they stand.
 *
 * Linear in the units, besides the choice of the best buckets. Fails with `bad-input` on more than `MAX_MEASURED_UNITS` or
 * no units.
 *
 * @param lengths iterations of unit 0, 1, 2, …
 * @param unitsPerGroup n of the design: the best buckets depend on it
 */
export function unitOrder(
  lengths: Uint32Array,
  balancing: WholeUnitBalancing,
  unitsPerGroup: number,
): Result<Uint32Array> {
  const units = lengths.length;
  if (units < 1 || units > MAX_MEASURED_UNITS)
    return fail('bad-input', `${units} units of work are not within 1 to ${MAX_MEASURED_UNITS}`);
  switch (balancing.kind) {
    case 'none':
    case 'dynamic-fetch':
      return ok(Uint32Array.from({ length: units }, (_, unit) => unit));
    case 'shuffle':
      return ok(Uint32Array.from(arbitraryOrder(units, 1)));
    case 'full-sort':
      return ok(byLength(lengths));
    case 'window-sort': {
      const window = balancing.units;
      // Within a window the sorted order of all is also the window's own.
      const next = Float64Array.from({ length: Math.ceil(units / window) }, (_, w) => w * window);
      const order = new Uint32Array(units);
      for (const unit of byLength(lengths)) order[next[Math.floor(unit / window)]++] = unit;
      return ok(order);
    }
    case 'quantile-buckets':
    case 'best-buckets': {
      const counts = new Map<number, number>();
      for (const length of lengths) counts.set(length, (counts.get(length) ?? 0) + 1);
      const law = empiricalLaw(counts);
      if (!law.ok) return law;
      const sorted = byLength(lengths);
      const bucketOf = new Uint8Array(units);
      const next: number[] = [];
      let passed = 0;
      let from = 0;
      for (const { share } of bucketRanges(law.value, unitsPerGroup, balancing)) {
        passed += share;
        const to = Math.round(passed * units);
        for (let position = from; position < to; position++) bucketOf[sorted[position]] = next.length;
        next.push(from);
        from = to;
      }
      const order = new Uint32Array(units);
      for (let unit = 0; unit < units; unit++) order[next[bucketOf[unit]]++] = unit;
      return ok(order);
    }
  }
}

/** Units by length, stable: least significant half first, 16 bits a pass. */
function byLength(lengths: Uint32Array): Uint32Array {
  let order = Uint32Array.from({ length: lengths.length }, (_, unit) => unit);
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  for (let shift = 0; shift < 32 && longest >>> shift > 0; shift += 16) {
    const next = new Uint32Array(65537);
    for (const length of lengths) next[((length >>> shift) & 0xffff) + 1]++;
    for (let digit = 1; digit < next.length; digit++) next[digit] += next[digit - 1];
    const sorted = new Uint32Array(order.length);
    for (const unit of order) sorted[next[(lengths[unit] >>> shift) & 0xffff]++] = unit;
    order = sorted;
  }
  return order;
}

/**
 * Which block of the layout the device's block 0, 1, 2, … works on: at random where the order is sorted throughout, since
 * the predictions take the blocks of sorted units to start in random order; as they stand otherwise.
 */
export function blockOrder(balancing: WholeUnitBalancing, gridBlocks: number, random: UniformSource): Uint32Array {
  const order = Uint32Array.from({ length: gridBlocks }, (_, block) => block);
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
    case 'window-sort':
    case 'dynamic-fetch':
      return order;
    case 'full-sort':
    case 'quantile-buckets':
    case 'best-buckets':
      // Fisher and Yates.
      for (let i = gridBlocks - 1; i > 0; i--) {
        const j = Math.floor(random() * (i + 1));
        const block = order[i];
        order[i] = order[j];
        order[j] = block;
      }
      return order;
  }
}

/** The scrambling step of the unit loop; see `UnitLoopProfile`. Unsigned 32 bits in and out. */
export function mix(value: number): number {
  let v = value ^ (value >>> 16);
  v = Math.imul(v, 0x7feb352d);
  return (v ^ (v >>> 15)) >>> 0;
}

/** Word `index` of the table that the unit loop's loads walk. */
export function tableWord(index: number): number {
  return mix((index + 0x51ed270b) >>> 0);
}

/** What every design of the workload must leave in result[unit]. Time: the total of the lengths, times the steps. */
export function referenceResults(workload: UnitLoopWorkload): Uint32Array {
  const results = new Uint32Array(workload.lengths.length);
  referenceResultsInto(results, workload, 0, results.length);
  return results;
}

/** The results of units `from` to `to` (excluded) alone, for a page that must answer in between. */
export function referenceResultsInto(
  results: Uint32Array,
  { lengths, profile }: UnitLoopWorkload,
  from: number,
  to: number,
): void {
  const { parallelSteps, serialSteps, dependentLoads, tableWords } = profile;
  for (let unit = from; unit < to; unit++) {
    let x = mix(unit + 1);
    for (let iteration = lengths[unit]; iteration > 0; iteration--) {
      let a = x;
      for (let j = 1; j <= parallelSteps; j++) a ^= mix((x + Math.imul(j, 0x9e3779b9)) | 0);
      for (let load = 0; load < dependentLoads; load++) a = (a + tableWord((a >>> 4) & (tableWords - 1))) | 0;
      for (let step = 0; step < serialSteps; step++) a = mix((a + 0x85ebca6b) | 0);
      x = a >>> 0;
    }
    results[unit] = x;
  }
}

/** What runs the loop in place of a kernel. */
type LoopBackend = Exclude<BenchBackend, 'program' | 'hip'>;

/**
 * Instructions of a step, of a dependent load, and of the loop's own turn. As the source says it: two shifts, two XOR and a
 * multiplication, the addition before and the XOR after; shift, mask, load and addition. nvcc 13 makes three-input logic of two
 * of a step and a 64-bit address of an index, by the machine code of compute capabilities 7.5 to 12.0.
 */
const INSTRUCTIONS: Readonly<Record<LoopBackend, { step: number; load: number; turn: number }>> = {
  cuda: { step: 6, load: 6, turn: 5 },
  webgpu: { step: 7, load: 4, turn: 0 },
  cpu: { step: 7, load: 4, turn: 0 },
};
/** 128 MiB: the most a WebGPU buffer holds by default, and beyond the last cache of all but the newest accelerators. */
const TABLE_WORDS = 2 ** 25;

/**
 * The unit loop that stands in for a kernel: as many instructions per iteration, as large a part of them serial, as many
 * dependent loads, all to the nearest whole step, and one step at least. The cost of cooperation is not copied: the loop
 * pays what its exchanges cost on the device.
 */
export function unitLoopProfile(
  kernel: Pick<KernelProfile, 'instructionsPerIteration' | 'serialFraction' | 'dependentLoadsPerIteration'>,
  backend: LoopBackend,
): UnitLoopProfile {
  const { step, load, turn } = INSTRUCTIONS[backend];
  const dependentLoads = Math.round(kernel.dependentLoadsPerIteration);
  const instructions = kernel.instructionsPerIteration - turn - dependentLoads * load;
  const steps = Math.max(1, Math.round(instructions / step));
  const serialSteps = Math.round(kernel.serialFraction * steps);
  return {
    parallelSteps: steps - serialSteps,
    serialSteps,
    dependentLoads,
    tableWords: dependentLoads > 0 ? TABLE_WORDS : 1,
  };
}
