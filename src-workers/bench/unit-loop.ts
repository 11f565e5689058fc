import { parseBalancing } from '../domain/balancing.ts';
import { isWholeUnit, type Design, type WholeUnitBalancing } from '../domain/design.ts';
import { ok, type Result, unsupported, badInput } from '../domain/result.ts';
import { listBucketRanges } from '../predict/depth/prepared-law.ts';
import { empiricalLaw } from '../models/workload/laws.ts';
import { arbitraryOrder, shuffle, type UniformSource } from '../numeric/random.ts';

/** Lengths, order and results take 4 bytes per unit each. */
export const MAX_MEASURED_UNITS = 2 ** 26;

export interface SlotLayout {
  readonly slotsPerBlock: number;
  /** n: units side by side in a full thread group. */
  readonly unitsPerGroup: number;
  /** The last thread group may be incomplete. */
  readonly groupsPerBlock: number;
  /** Slots of the whole grid. In the order of units, the units of a slot are this far apart. */
  readonly slots: number;
  readonly rounds: number;
}

/** In round j, slot s of block b takes the unit at position j·slots + blockOrder[b]·slotsPerBlock + s of the order. */
export function slotLayout(
  design: Pick<Design, 'threadsPerUnit' | 'blockThreads' | 'gridBlocks'>,
  threadGroupWidth: number,
  units: number,
): Result<SlotLayout> {
  const { threadsPerUnit: u, blockThreads, gridBlocks } = design;
  if (u > threadGroupWidth && u % threadGroupWidth === 0)
    return unsupported(
      `The loop that stands in for a kernel cannot measure ${u} threads per unit, since only the ${threadGroupWidth} threads of a thread group can share a unit. Choose a design with fewer threads per unit.`,
    );
  if (!(Number.isInteger(Math.log2(u)) && u >= 1 && u <= threadGroupWidth))
    return badInput(`threads per unit must be a power of two from 1 to ${threadGroupWidth}, not ${u}`);
  if (!(Number.isSafeInteger(blockThreads) && blockThreads >= u && blockThreads % u === 0))
    return badInput(`A block of ${blockThreads} threads is not a multiple of the ${u} threads per unit.`);
  if (!(Number.isSafeInteger(gridBlocks) && gridBlocks >= 1))
    return badInput(`The grid has ${gridBlocks} blocks. It needs at least one.`);
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

export function parseStandIn(text: string): Result<WholeUnitBalancing> {
  const balancing = parseBalancing(text);
  if (!balancing.ok) return balancing;
  if (isWholeUnit(balancing.value)) return ok(balancing.value);
  if (text === 'row-split')
    return unsupported(`The balancing ${text} is for the cores of a CPU. Use a balancing for a GPU.`);
  return unsupported(
    `The loop that stands in for a kernel cannot measure the balancing ${text}, since it runs whole units without padding. Choose a design with another balancing.`,
  );
}

/**
 * Returns the unit at each position. Orders by length begin with the shortest unit (of each window). Equal lengths, and
 * units within a bucket, keep their order. Fails with `bad-input` on no or too many units.
 * @param unitsPerGroup n of the design, on which the best buckets depend
 */
export function unitOrder(
  lengths: Uint32Array,
  balancing: WholeUnitBalancing,
  unitsPerGroup: number,
): Result<Uint32Array> {
  const units = lengths.length;
  if (units < 1 || units > MAX_MEASURED_UNITS)
    return badInput(`The number of units must be from 1 to ${MAX_MEASURED_UNITS}, not ${units}.`);
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
      for (const { share } of listBucketRanges(law.value, unitsPerGroup, balancing)) {
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

/** Sorts units by length with a stable radix sort of 16 bits per pass. */
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

/** Maps blocks of the device to blocks of the layout: at random after a full sort or buckets, as predictions assume. */
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
      shuffle(order, random);
      return order;
  }
}

export function mix(value: number): number {
  let v = value ^ (value >>> 16);
  v = Math.imul(v, 0x7feb352d);
  return (v ^ (v >>> 15)) >>> 0;
}

/** A sector is the smallest transfer of a device's memory. */
export const SECTOR_WORDS = 8;

/** Every word holds the first word of the next sector. All sectors form a ring (`ringNext` of words.cuh). */
export function ringTable(words: number): Uint32Array {
  const table = new Uint32Array(words);
  for (let sector = 0; sector < words / SECTOR_WORDS; sector++) {
    const next = ((Math.imul(sector, 0x915f77f5) + 0x6c078965) * SECTOR_WORDS) & (words - 1);
    table.fill(next, sector * SECTOR_WORDS, (sector + 1) * SECTOR_WORDS);
  }
  return table;
}

/** Computes result[unit] = f · (1 + 1 + 2 + … + length) with f = mix(unit + 1) | 1. */
export function referenceResults(lengths: Uint32Array): Uint32Array {
  return lengths.map((length, unit) => {
    const [half, other] = length % 2 === 0 ? [length / 2, length + 1] : [(length + 1) / 2, length];
    return Math.imul(mix(unit + 1) | 1, 1 + Math.imul(half, other));
  });
}
