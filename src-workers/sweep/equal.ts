import type { PredictionColumns } from '../domain/columns.ts';
import { AXIS } from '../domain/space.ts';
import type { Ranking } from './ranking.ts';

/** The part of a ranking that decides which designs are equal; plain data, so that a worker can receive it. */
export interface ComparedDesigns extends Pick<Ranking, 'axes' | 'strides' | 'counts' | 'waves' | 'designs'> {
  readonly columns: Pick<PredictionColumns, 'timeMs' | 'gridBlocks'>;
}

/** Relative difference up to which times count as equal: work added up in another order is rounded differently. */
const SAME_TIME = 1e-9;

/**
 * Groups equal designs. They agree in device, implementation, threads per unit, balancing, block shape, number of
 * blocks, effective register cap and, to 1e-9, time; the form of the loop then makes no difference. In a fetching
 * launch, blocks that start when no unit is left have no effect.
 * @param registersPerThread registers that the compiler uses without a cap, if there are no implementations
 * @returns for each entry, the first entry that is equal to it; an invalid design is equal only to itself
 */
export function firstEquals(ranking: ComparedDesigns, registersPerThread: number): Uint32Array {
  const { axes, strides, counts, columns, waves, designs } = ranking;
  const { timeMs, gridBlocks } = columns;
  const first = Uint32Array.from(timeMs, (_, entry) => entry);
  const wanted = axes.implementations?.map(({ kernel }) => kernel.registersPerThread) ?? [registersPerThread];
  const caps = wanted.map((registers) => axes.registerCap.map((cap) => Math.min(cap ?? Infinity, registers)));
  const fetches = axes.balancing.map((balancing) => balancing.startsWith('dynamic-fetch'));
  // Equal designs may differ in loop, launch and cap, so only designs that agree on the other axes have to be compared.
  const loose: readonly number[] = [AXIS.loop, AXIS.launch, AXIS.registerCap];
  const sorted = Uint32Array.from(
    loose.reduce<readonly number[]>(
      (all, axis) =>
        all.flatMap((offset) => Array.from({ length: counts[axis] }, (_, at) => offset + at * strides[axis])),
      [0],
    ),
  ).sort();
  /** For each number of blocks, the last position in `standing`, the list of the groups' first designs. */
  const newest = new Map<number, number>();
  const most = Math.min(sorted.length, timeMs.length);
  const standing = new Uint32Array(most);
  /** For each position in `standing`, the previous one with the same number of blocks. */
  const earlier = new Int32Array(most);
  const capOf = (entry: number): number => {
    const design = designs ? designs[entry] : entry;
    return caps[Math.floor(design / strides[AXIS.implementation]) % counts[AXIS.implementation]][
      Math.floor(design / strides[AXIS.registerCap]) % counts[AXIS.registerCap]
    ];
  };
  const isFetching = (design: number): boolean =>
    fetches[Math.floor(design / strides[AXIS.balancing]) % counts[AXIS.balancing]];
  const blocksOf = (design: number, fetching: boolean): number =>
    fetching && waves[design] > 1 ? Math.round(gridBlocks[design] / waves[design]) : gridBlocks[design];
  /** @param offsets distances of the entries from `base` */
  const gather = (base: number, offsets: Iterable<number>, fetching: boolean): void => {
    newest.clear();
    let many = 0;
    for (const offset of offsets) {
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
    if (axis === undefined) return gather(base, sorted, isFetching(base));
    for (let at = 0; at < counts[axis]; at += 1) walk(level + 1, base + at * strides[axis]);
  };
  if (!designs) {
    walk(0, 0);
    return first;
  }
  const sets = Map.groupBy(designs.keys(), (entry) =>
    loose.reduce(
      (rest, axis) => rest - (Math.floor(designs[entry] / strides[axis]) % counts[axis]) * strides[axis],
      designs[entry],
    ),
  );
  for (const [base, entries] of sets) gather(0, entries, isFetching(base));
  return first;
}

export interface GroupedList {
  readonly list: Uint32Array;
  /** Number of designs of the original list that each row represents; 0 for a row that belongs to an opened row. */
  readonly counts: Uint32Array;
}

/**
 * Keeps the first design of each group of equal designs, and every design of an opened group.
 * @param firstOf returns the entry of the first design that is equal to a design
 * @param opened the first designs of the groups whose designs are all to be listed
 */
export function groupedDesigns(
  original: Uint32Array,
  firstOf: (design: number) => number,
  entries: number,
  opened: ReadonlySet<number>,
): GroupedList {
  const size = original.length;
  const members = new Uint32Array(entries);
  for (const design of original) members[firstOf(design)] += 1;
  const others = new Map<number, number[]>([...opened].map((group) => [group, []]));
  if (opened.size > 0) for (const design of original) others.get(firstOf(design))?.push(design);
  const list = new Uint32Array(size);
  const counts = new Uint32Array(size);
  let rows = 0;
  for (const design of original) {
    const group = firstOf(design);
    if (members[group] === 0) continue;
    list[rows] = design;
    counts[rows] = members[group];
    members[group] = 0;
    rows += 1;
    for (const other of others.get(group) ?? []) if (other !== design) list[rows++] = other;
  }
  return { list: list.slice(0, rows), counts: counts.slice(0, rows) };
}
