import type { PredictionColumns } from '../domain/columns.ts';
import { AXIS } from '../domain/space.ts';
import type { Ranking } from './ranking.ts';

/** What of a ranking says which designs are equal: plain data, for a worker. */
export interface ComparedDesigns extends Pick<Ranking, 'axes' | 'strides' | 'counts' | 'waves'> {
  readonly columns: Pick<PredictionColumns, 'timeMs' | 'gridBlocks'>;
}

/** Times of one launch agree to rounding: the same work is added up in another order. */
const SAME_TIME = 1e-9;

/**
 * Which designs differ in nothing that matters: of one device and implementation, with the same threads per unit, balancing and block size, the same
 * blocks and register cap in effect, and the same time to 1e-9 (then the form of the loop makes no difference either). A cap at or
 * above what the compiler wants caps nothing. Blocks that start when a fetching launch has no unit left do nothing.
 * @param registersPerThread what the compiler uses without a cap, where there are no implementations
 * @returns of each design the first of its equals, which stands for them; an invalid design stands for itself
 */
export function firstEquals(ranking: ComparedDesigns, registersPerThread: number): Uint32Array {
  const { axes, strides, counts, columns, waves } = ranking;
  const { timeMs, gridBlocks } = columns;
  const first = Uint32Array.from(timeMs, (_, design) => design);
  const wanted = axes.implementations?.map(({ kernel }) => kernel.registersPerThread) ?? [registersPerThread];
  const caps = wanted.map((registers) => axes.registerCap.map((cap) => Math.min(cap ?? Infinity, registers)));
  const fetches = axes.balancing.map((balancing) => balancing.startsWith('dynamic-fetch'));
  // What may differ among equals: loop, launch and cap. All else is walked through, one set of candidates at a time.
  const loose: readonly number[] = [AXIS.loop, AXIS.launch, AXIS.registerCap];
  const sorted = Uint32Array.from(
    loose.reduce<readonly number[]>(
      (all, axis) =>
        all.flatMap((offset) => Array.from({ length: counts[axis] }, (_, at) => offset + at * strides[axis])),
      [0],
    ),
  ).sort();
  /** The designs that stand for others: of each number of blocks the newest, and of each of them the one before. */
  const newest = new Map<number, number>();
  const standing = new Uint32Array(sorted.length);
  const earlier = new Int32Array(sorted.length);
  const capOf = (design: number): number =>
    caps[Math.floor(design / strides[AXIS.implementation]) % counts[AXIS.implementation]][
      Math.floor(design / strides[AXIS.registerCap]) % counts[AXIS.registerCap]
    ];
  const blocksOf = (design: number, fetching: boolean): number =>
    fetching && waves[design] > 1 ? Math.round(gridBlocks[design] / waves[design]) : gridBlocks[design];
  const gather = (base: number): void => {
    const fetching = fetches[Math.floor(base / strides[AXIS.balancing]) % counts[AXIS.balancing]];
    newest.clear();
    let many = 0;
    for (const offset of sorted) {
      const design = base + offset;
      const time = timeMs[design];
      if (Number.isNaN(time)) continue;
      const blocks = blocksOf(design, fetching);
      const before = newest.get(blocks) ?? -1;
      const cap = capOf(design);
      let at = before;
      while (at >= 0 && !(Math.abs(timeMs[standing[at]] - time) <= SAME_TIME * time && capOf(standing[at]) === cap))
        at = earlier[at];
      if (at >= 0) {
        first[design] = standing[at];
        continue;
      }
      standing[many] = design;
      earlier[many] = before;
      newest.set(blocks, many);
      many += 1;
    }
  };
  const fixed = counts.map((_, axis) => axis).filter((axis) => !loose.includes(axis));
  const walk = (level: number, base: number): void => {
    const axis = fixed[level];
    if (axis === undefined) return gather(base);
    for (let at = 0; at < counts[axis]; at += 1) walk(level + 1, base + at * strides[axis]);
  };
  walk(0, 0);
  return first;
}

/** A list of designs in which equal ones are one row, and how many each row stands for. */
export interface GroupedList {
  readonly list: Uint32Array;
  /** Of each row: designs of the original list that it stands for; 0 of a row that was listed by opening another. */
  readonly counts: Uint32Array;
}

/**
 * Keeps of equal designs the one that is read first, at its place; behind it the others, where it is opened.
 * @param first of each design the first of its equals
 * @param fromEnd the list is read from its end
 * @param opened first equals whose designs are all listed
 */
export function groupedDesigns(
  original: Uint32Array,
  first: Uint32Array,
  fromEnd: boolean,
  opened: ReadonlySet<number>,
): GroupedList {
  const size = original.length;
  const members = new Uint32Array(first.length);
  for (const design of original) members[first[design]] += 1;
  const others = new Map<number, number[]>([...opened].map((group) => [group, []]));
  if (opened.size > 0) for (const design of original) others.get(first[design])?.push(design);
  const list = new Uint32Array(size);
  const counts = new Uint32Array(size);
  let rows = 0;
  for (let i = 0; i < size; i += 1) {
    const design = original[fromEnd ? size - 1 - i : i];
    const group = first[design];
    if (members[group] === 0) continue;
    list[rows] = design;
    counts[rows] = members[group];
    members[group] = 0;
    rows += 1;
    for (const other of others.get(group) ?? []) if (other !== design) list[rows++] = other;
  }
  const kept = { list: list.slice(0, rows), counts: counts.slice(0, rows) };
  if (!fromEnd) return kept;
  return { list: kept.list.reverse(), counts: kept.counts.reverse() };
}
