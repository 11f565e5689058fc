import type { Design } from '../domain/design.ts';
import type { Device } from '../domain/device.ts';
import { AXIS, axisCounts, rowPosition, type SpaceAxes, axisStrides } from '../domain/space.ts';

export function plainText(design: Pick<Design, 'threadsPerUnit'>, kind: Device['kind']): string {
  if (kind === 'cpu') return 'even rows over all cores';
  const { threadsPerUnit } = design;
  const threads = threadsPerUnit === 1 ? 'one thread' : `${threadsPerUnit} threads`;
  return `${threads} per unit, no balancing, no register cap, blocks of about 256 threads`;
}

const smallest = (distances: readonly number[]): number => distances.indexOf(Math.min(...distances));

/**
 * Finds the design that one would write first on a device (`plainText`); `null` if none is valid. On a GPU, its blocks
 * cover all units or, if the space has no such launch, fill the device about once.
 * @param device position on the device axis
 * @param waves returns how many times a design's blocks fill the device; NaN if the design is invalid
 */
export function plainDesign(axes: SpaceAxes, device: number, waves: (design: number) => number): number | null {
  const counts = axisCounts(axes);
  const strides = axisStrides(counts);
  const isCpu = axes.devices[device].kind === 'cpu';
  const first =
    device * strides[AXIS.device] +
    rowPosition(axes) * strides[AXIS.blockWidth] +
    smallest(axes.threadsPerUnit) * strides[AXIS.threadsPerUnit] +
    Math.max(0, axes.loop.indexOf('nested')) * strides[AXIS.loop] +
    Math.max(0, axes.balancing.indexOf(isCpu ? 'row-split' : 'none')) * strides[AXIS.balancing] +
    smallest(axes.registerCap.map((cap) => (cap === null ? 0 : 1 / cap))) * strides[AXIS.registerCap];
  const sizes = axes.blockThreads
    .map((threads, at) => ({ at, distance: Math.abs(Math.log2(threads / 256)) }))
    .sort((a, b) => a.distance - b.distance);
  const bases = Array.from(
    { length: counts[AXIS.implementation] },
    (_, at) => first + at * strides[AXIS.implementation],
  );
  for (const { base, at } of bases.flatMap((base) => sizes.map(({ at }) => ({ base, at })))) {
    let chosen: number | null = null;
    let bestDistance = Infinity;
    for (let launch = 0; launch < counts[AXIS.launch]; launch += 1) {
      const design = base + launch * strides[AXIS.launch] + at * strides[AXIS.blockThreads];
      const taken = waves(design);
      if (Number.isNaN(taken)) continue;
      const { kind, value } = axes.launch[launch];
      const covering = kind === 'units-per-thread' && value === 1;
      const distance = isCpu ? -value : covering ? -1 : Math.abs(Math.log2(taken));
      if (distance < bestDistance) [chosen, bestDistance] = [design, distance];
    }
    if (chosen !== null) return chosen;
  }
  return null;
}
