import { AXIS, axisCounts, decodeInto, encode, type SpaceAxes, productOf } from '../domain/space.ts';
import { spread } from './coarse.ts';

/**
 * Finds designs that can be the best under some draw of the unknown inputs: the best designs of the leading groups
 * (designs that differ only in block size, launch and register cap), and variants of them.
 */

/** A group is skipped if its best time is more than this many times the best time of all groups. */
const HOPELESS = 6;
const MAX_GROUPS = 64;
const BLOCKS = 6;
const LAUNCHES = 5;

export function makeGroupFinder(counts: readonly number[]): (design: number) => number {
  const perGroup = productOf(counts.slice(AXIS.launch));
  return (design) => Math.floor(design / perGroup);
}

/** Returns the fastest design of each group, fastest first: at most `MAX_GROUPS`, and none beyond `HOPELESS`. */
export function bestOfGroups(axes: SpaceAxes, designs: Uint32Array, timeMs: Float64Array): readonly number[] {
  const group = makeGroupFinder(axisCounts(axes));
  const best = new Map<number, number>();
  designs.forEach((design, at) => {
    if (Number.isNaN(timeMs[at])) return;
    const known = best.get(group(design));
    if (known === undefined || timeMs[at] < timeMs[known]) best.set(group(design), at);
  });
  const entries = [...best.values()].sort((a, b) => timeMs[a] - timeMs[b]);
  return entries
    .filter((at) => timeMs[at] <= HOPELESS * timeMs[entries[0]])
    .slice(0, MAX_GROUPS)
    .map((at) => designs[at]);
}

export function listVariants(axes: SpaceAxes, designs: readonly number[]): readonly number[] {
  const counts = axisCounts(axes);
  const usual = axes.blockThreads.flatMap((threads, at) => (Number.isInteger(Math.log2(threads)) ? [at] : []));
  const among = usual.length >= 3 ? usual : [...axes.blockThreads.keys()];
  const blocks = spread(among, BLOCKS).map((at) => among[at]);
  const launches = spread([...axes.launch.keys()], LAUNCHES);
  const positions = new Int32Array(counts.length);
  return designs.flatMap((design) => {
    decodeInto(positions, counts, design);
    return blocks.flatMap((block) =>
      launches.map((launch) => {
        positions[AXIS.blockThreads] = block;
        positions[AXIS.launch] = launch;
        return encode(counts, positions);
      }),
    );
  });
}

export function listNeighbours(axes: SpaceAxes, designs: readonly number[]): readonly number[] {
  const counts = axisCounts(axes);
  const strides = { [AXIS.blockThreads]: 1, [AXIS.launch]: counts[AXIS.registerCap] * counts[AXIS.blockThreads] };
  return designs.flatMap((design) =>
    Object.entries(strides).flatMap(([axis, stride]) => {
      const count = counts[Number(axis)];
      const first = design - (Math.floor(design / stride) % count) * stride;
      return Array.from({ length: count }, (_, at) => first + at * stride);
    }),
  );
}
