import { implementationKind } from '../domain/evidence.ts';
import type { Design } from '../domain/design.ts';
import type { Device } from '../domain/device.ts';
import type { Coordinate, TuningSpace } from './tuner.ts';

/** A design of a space that is tuned, as it was predicted. */
export interface PredictedDesign {
  readonly design: Design;
  readonly timeMs: number;
  readonly residentBlocks: number;
}

/** Widths of the errors of predictions, of ln(time): standard deviations. */
export interface ErrorWidths {
  /** Between designs that differ in shape alone. */
  readonly shapes: number;
  /** Between designs that take their work in different ways. */
  readonly kinds: number;
}

/** Corrections of values a factor of 4 apart keep 1/e of their correlation. */
const RANGE = 2;
/** Of the variance of errors: the part that goes by one coordinate at a time. */
const SEPARATE = 0.5;

/** The designs of one device as the tuner sees them. */
export function tuningSpace(device: Device, designs: readonly PredictedDesign[], widths: ErrorWidths): TuningSpace {
  const names = (value: (one: PredictedDesign) => string): Omit<Coordinate, 'deviation'> => {
    const known = [...new Set(designs.map(value))];
    return { values: Float64Array.from(designs, (one) => known.indexOf(value(one))), range: 0 };
  };
  const sizes = (value: (one: PredictedDesign) => number): Omit<Coordinate, 'deviation'> => ({
    values: Float64Array.from(designs, (one) => Math.log2(value(one))),
    range: RANGE,
  });
  const ways = [
    names(({ design }) => design.implementation ?? ''),
    names(({ design }) => implementationKind(device, design.threadsPerUnit, design.balancing)),
  ];
  const shapes = [
    names(({ design }) => design.loop),
    names(({ design }) => design.balancing),
    names(({ design }) => `${design.registerCap}`),
    sizes(({ design }) => design.threadsPerUnit),
    sizes(({ design }) => design.unitsPerThread),
    sizes(({ design }) => design.gridBlocks),
    sizes(({ design }) => design.blockThreads),
    sizes(({ design, residentBlocks }) => Math.max(1, residentBlocks * design.blockThreads)),
  ];
  const differ = ({ values }: Pick<Coordinate, 'values'>): boolean => values.some((value) => value !== values[0]);
  const withDeviation = (some: readonly Omit<Coordinate, 'deviation'>[], variance: number): readonly Coordinate[] => {
    const used = some.filter(differ);
    return used.map((one) => ({ ...one, deviation: Math.sqrt(variance / used.length) }));
  };
  return {
    predictedMs: Float64Array.from(designs, ({ timeMs }) => timeMs),
    coordinates: [
      ...withDeviation(ways, Math.max(0, widths.kinds ** 2 - widths.shapes ** 2)),
      ...withDeviation(shapes, SEPARATE * widths.shapes ** 2),
    ],
    deviation: Math.sqrt(1 - SEPARATE) * widths.shapes,
  };
}
