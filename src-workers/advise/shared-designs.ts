import {
  AXIS_ORDER,
  axisCounts,
  decodeInto,
  encode,
  type AxisName,
  type SpaceAxes,
  productOf,
} from '../domain/space.ts';
import { formatLaunch } from '../predict/design/launch.ts';

export function axisTexts(axes: SpaceAxes, axis: AxisName): readonly string[] {
  switch (axis) {
    case 'device':
      return [''];
    case 'implementation':
      return axes.implementations?.map(({ name }) => name) ?? [''];
    case 'blockWidth':
      return (axes.blockWidth ?? [null]).map(String);
    case 'launch':
      return axes.launch.map(formatLaunch);
    default:
      return axes[axis].map(String);
  }
}

export interface SharedDesigns {
  /** Returns a design's number in the later space; `null` if the later space does not have it. */
  readonly renumber: (design: number) => number | null;
  readonly shared: number;
  readonly listAdded: () => Uint32Array;
}

export function findSharedDesigns(earlier: SpaceAxes, later: SpaceAxes): SharedDesigns {
  const counts = axisCounts(earlier);
  const laterCounts = axisCounts(later);
  const places = AXIS_ORDER.map((axis) => {
    const [from, to] = [axisTexts(earlier, axis), axisTexts(later, axis)];
    return { inLater: from.map((text) => to.indexOf(text)), isAdded: to.map((text) => !from.includes(text)) };
  });
  const positions = new Int32Array(AXIS_ORDER.length);
  const size = productOf(laterCounts);
  const shared = productOf(places.map(({ isAdded }) => isAdded.filter((added) => !added).length));
  return {
    shared,
    listAdded: () => {
      const added: number[] = [];
      for (let design = 0; design < size && added.length < size - shared; design += 1) {
        decodeInto(positions, laterCounts, design);
        if (places.some(({ isAdded }, axis) => isAdded[positions[axis]])) added.push(design);
      }
      return Uint32Array.from(added);
    },
    renumber: (design) => {
      decodeInto(positions, counts, design);
      const moved = places.map(({ inLater }, axis) => inLater[positions[axis]]);
      return moved.includes(-1) ? null : encode(laterCounts, moved);
    },
  };
}
