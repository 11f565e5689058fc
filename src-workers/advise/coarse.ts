import { AXIS, axisCounts, decodeInto, encode, type SpaceAxes, productOf } from '../domain/space.ts';

/** The approximate number of designs in a first estimate, which takes some milliseconds once the laws are known. */
const COARSE_DESIGNS = 512;
const MIN_PER_AXIS = 2;

export function coarseAxes(axes: SpaceAxes) {
  const counts = axisCounts(axes);
  const blocks = counts[AXIS.blockThreads];
  const launches = counts[AXIS.launch];
  const families = productOf(counts) / (blocks * launches);
  const room = COARSE_DESIGNS / families;
  const perBlock = Math.max(MIN_PER_AXIS, Math.round(Math.sqrt(room)));
  const perLaunch = Math.max(MIN_PER_AXIS, Math.floor(room / Math.min(perBlock, blocks)));
  return {
    blocks: spread(axes.blockThreads.map(Math.log2), perBlock),
    launches: spread([...axes.launch.keys()], perLaunch),
  };
}

/** Lists designs with few block sizes and launches and all values on other axes. Neighbours share many laws. */
export function coarseDesigns(axes: SpaceAxes): Uint32Array {
  const counts = axisCounts(axes);
  const { blocks, launches } = coarseAxes(axes);
  const designs: number[] = [];
  const positions = new Int32Array(counts.length);
  const outer = [...counts];
  outer[AXIS.blockThreads] = 1;
  outer[AXIS.launch] = 1;
  outer[AXIS.registerCap] = 1;
  for (let family = 0; family < productOf(outer); family += 1) {
    decodeInto(positions, outer, family);
    for (positions[AXIS.blockThreads] of blocks)
      for (positions[AXIS.launch] of launches)
        for (let cap = 0; cap < counts[AXIS.registerCap]; cap += 1) {
          positions[AXIS.registerCap] = cap;
          designs.push(encode(counts, positions));
        }
  }
  return Uint32Array.from(designs);
}

/** Cuts the range of ascending values into `count` equal parts, and returns the positions nearest to their middles. */
export function spread(values: readonly number[], count: number): readonly number[] {
  if (values.length <= count) return values.map((_, at) => at);
  const first = values[0];
  const step = (values.at(-1)! - first) / count;
  const chosen = new Set<number>();
  for (let part = 0; part < count; part += 1) {
    const wanted = first + (part + 0.5) * step;
    let nearest = 0;
    for (let at = 1; at < values.length; at += 1)
      if (Math.abs(values[at] - wanted) < Math.abs(values[nearest] - wanted)) nearest = at;
    chosen.add(nearest);
  }
  return [...chosen];
}
