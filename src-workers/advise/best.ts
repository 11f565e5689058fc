import { allocateChunk, type PredictionColumns } from '../domain/columns.ts';
import { AXIS, decodeInto, type SpaceAxes, productOf } from '../domain/space.ts';
import { examine, type Candidate } from '../predict/design/candidate.ts';
import type { TimedDesign } from '../predict/time-design.ts';
import { writeInto } from '../predict/ranges.ts';
import type { Predictor } from '../predict/tables.ts';
import { sortByValue } from '../sweep/sort.ts';
import { closestBound, shortestOfFamily } from './bound.ts';
import { simplerFirst } from './pick.ts';
import { pickColumns, copyColumns } from './survey.ts';

/**
 * Branch and bound (Land & Doig 1960). A branch is a part of the space, or a family: designs that differ only in their
 * launch. A branch is skipped if its shortest possible time (`bound.ts`) exceeds the time up to which designs are kept.
 */

export interface DesignRange {
  readonly first: number;
  readonly count: number;
}

/** Predicted designs, ascending by number. */
export interface FoundDesigns {
  readonly designs: Uint32Array;
  readonly columns: PredictionColumns;
}

interface Kept {
  limitMs(): number;
  readonly columns: PredictionColumns;
  next(): number;
  /** @param design a valid design, whose prediction is in the entry that `next` returned */
  add(design: number): void;
}

/** `limitMs` is lowered each time this fraction of `wanted` was merged. Lowering it more often saves no time. */
const MERGED_FRACTION = 0.05;

const MIN_KEPT = 256;

export interface BestKept extends Kept {
  merge(found: FoundDesigns): void;
  found(): FoundDesigns;
}

/**
 * Keeps the fastest of all added designs, and of equally fast designs the first of the space.
 * @param limitMs a time that at least `wanted` designs are known not to exceed
 */
export function keepBest(wanted: number, limitMs = Infinity, most = Infinity): BestKept {
  // There is room for twice the wanted number, so that designs are rarely moved.
  const capacity = Math.min(2 * Math.max(wanted, MIN_KEPT), most) + 1;
  const columns = allocateChunk(0, capacity);
  const designs = new Float64Array(capacity);
  let size = 0;
  let ranked = 0;
  let limit = limitMs;
  const lower = (): void => {
    ranked = size;
    if (size >= wanted) limit = Math.min(limit, columns.timeMs.slice(0, size).sort()[wanted - 1]);
  };
  const found = (): FoundDesigns => {
    lower();
    const entries = Uint32Array.from({ length: size }, (_, entry) => entry);
    // Both sorts are stable, so among designs with equal times the first ones of the space stay.
    const best = sortByValue(sortByValue(entries, designs), columns.timeMs).subarray(0, wanted);
    const kept = sortByValue(best, designs);
    return { designs: kept.map((entry) => designs[entry]), columns: pickColumns(columns, kept) };
  };
  const take = (added: FoundDesigns): void => {
    if (size + added.designs.length >= capacity) drop();
    copyColumns(added.columns, columns, size);
    designs.set(added.designs, size);
    size += added.designs.length;
  };
  const drop = (): void => {
    const kept = found();
    size = 0;
    take(kept);
    ranked = size;
  };
  return {
    columns,
    limitMs: () => limit,
    next: () => size,
    add(design) {
      if (!(columns.timeMs[size] <= limit)) return;
      designs[size] = design;
      size += 1;
      if (size === capacity) drop();
    },
    merge(added) {
      take(added);
      if (size - ranked >= wanted * MERGED_FRACTION) lower();
    },
    found,
  };
}

export interface PickedDesign {
  readonly design: number;
  readonly timeMs: number;
  readonly gridBlocks: number;
}

export function keepPick(axes: SpaceAxes, limitMs: number): Kept & { picked(): PickedDesign | null } {
  const columns = allocateChunk(0, 2);
  let held = 0;
  let design = -1;
  let newer = -1;
  const entry = (of: number): number => (of === newer ? 1 - held : held);
  const compare = simplerFirst(axes, {
    timeMs: (of) => columns.timeMs[entry(of)],
    gridBlocks: (of) => columns.gridBlocks[entry(of)],
  });
  return {
    columns,
    limitMs: () => limitMs,
    next: () => 1 - held,
    add(added) {
      newer = added;
      if (!(columns.timeMs[1 - held] <= limitMs) || (design >= 0 && compare(design, added) <= 0)) return;
      held = 1 - held;
      design = added;
      newer = -1;
    },
    picked: () => (design < 0 ? null : { design, timeMs: columns.timeMs[held], gridBlocks: columns.gridBlocks[held] }),
  };
}

/** A part has whole law families (all launches, block sizes and register caps) or, if too large, whole launches. */
export interface SpaceParts {
  readonly count: number;
  at(part: number): DesignRange;
}

/** The approximate maximum number of parts. A part has a fixed cost, so it should hold some milliseconds of work. */
const MAX_PARTS = 16_384;
const MIN_PART_DESIGNS = 2048;
const MAX_UNIT = 65_536;

export function spaceParts(counts: readonly number[]): SpaceParts {
  const size = productOf(counts);
  const perLaunch = counts[AXIS.registerCap] * counts[AXIS.blockThreads];
  const sharing = perLaunch * counts[AXIS.launch];
  const unit = sharing <= MAX_UNIT ? sharing : perLaunch;
  const wanted = Math.max(MIN_PART_DESIGNS, size / MAX_PARTS);
  const stretch = unit * Math.max(1, Math.floor(wanted / unit));
  return {
    count: Math.ceil(size / stretch),
    at: (part) => ({ first: part * stretch, count: Math.min(stretch, size - part * stretch) }),
  };
}

interface LawFamily {
  /** Axis positions of the first launch with the first block size and cap. */
  readonly positions: Int32Array;
  readonly launch: number;
  readonly launches: number;
}

function* lawFamilies(counts: readonly number[], { first, count }: DesignRange): Generator<LawFamily> {
  const perLaunch = counts[AXIS.registerCap] * counts[AXIS.blockThreads];
  const end = Math.ceil((first + count) / perLaunch);
  for (let launch = Math.floor(first / perLaunch); launch < end;) {
    const positions = new Int32Array(counts.length);
    decodeInto(positions, counts, launch * perLaunch);
    const launches = Math.min(counts[AXIS.launch] - positions[AXIS.launch], end - launch);
    yield { positions, launch, launches };
    launch += launches;
  }
}

/**
 * Computes the shortest time that any design of each part can have, ms; Infinity if none can run.
 * @param parts in the order of the space; parts of one law family share their shortest time
 */
export function shortestOfParts(predictor: Predictor, parts: readonly DesignRange[]): Float64Array {
  const perFamily = productOf(predictor.counts.slice(AXIS.launch));
  let family = -1;
  let least = Infinity;
  return Float64Array.from(parts, (part) => {
    const first = Math.floor(part.first / perFamily);
    const isOfOne = part.first + part.count <= (first + 1) * perFamily;
    if (!isOfOne || first !== family) least = shortestOfPart(predictor, part);
    family = isOfOne ? first : -1;
    return least;
  });
}

function shortestOfPart(predictor: Predictor, part: DesignRange): number {
  const { counts } = predictor;
  const candidate = {} as Candidate;
  let least = Infinity;
  for (const { positions } of lawFamilies(counts, part))
    for (let block = 0; block < counts[AXIS.blockThreads]; block += 1) {
      positions[AXIS.blockThreads] = block;
      for (let cap = 0; cap < counts[AXIS.registerCap]; cap += 1) {
        positions[AXIS.registerCap] = cap;
        least = Math.min(least, shortestOfFamily(predictor, positions, candidate));
      }
    }
  return least;
}

export function searchPart(predictor: Predictor, part: DesignRange, kept: Kept): number {
  const { counts } = predictor;
  const [caps, blocks] = [counts[AXIS.registerCap], counts[AXIS.blockThreads]];
  const end = part.first + part.count;
  const candidate = {} as Candidate;
  const timed = {} as TimedDesign;
  const open: number[] = [];
  const working = new Float64Array(caps);
  const bound = new Float64Array(caps);
  let predicted = 0;
  for (const { positions, launch, launches } of lawFamilies(counts, part)) {
    const firstLaunch = positions[AXIS.launch];
    // Launches and caps of one block size follow one another, as in a sweep, because they share laws.
    for (let block = 0; block < blocks; block += 1) {
      positions[AXIS.blockThreads] = block;
      open.length = 0;
      working.fill(0);
      for (let cap = 0; cap < caps; cap += 1) {
        positions[AXIS.registerCap] = cap;
        if (shortestOfFamily(predictor, positions, candidate) <= kept.limitMs()) open.push(cap);
      }
      for (let at = 0; at < launches && open.length > 0; at += 1) {
        positions[AXIS.launch] = firstLaunch + at;
        for (const cap of open) {
          const design = ((launch + at) * caps + cap) * blocks + block;
          if (design < part.first || design >= end) continue;
          positions[AXIS.registerCap] = cap;
          examine(predictor, positions, candidate);
          if (candidate.invalid !== 0) continue;
          // All grids of a fetching design that are larger than the device have the same bound, which is computed once.
          const isFetching = candidate.balancing.kind === 'dynamic-fetch';
          if (!isFetching || candidate.workingBlocks !== working[cap]) {
            bound[cap] = closestBound(candidate);
            working[cap] = candidate.workingBlocks;
          }
          if (bound[cap] > kept.limitMs()) continue;
          writeInto(kept.columns, kept.next(), candidate, timed);
          predicted += 1;
          kept.add(design);
        }
      }
    }
  }
  return predicted;
}
