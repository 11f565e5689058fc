import { implementationKind } from '../domain/evidence.ts';
import type { Design } from '../domain/design.ts';
import type { Device } from '../domain/device.ts';
import type { Coordinate, TuningSpace } from './tuner.ts';

export interface PredictedDesign {
  readonly design: Design;
  readonly timeMs: number;
  readonly residentBlocks: number;
}

export function tuningSpace(device: Device, designs: readonly PredictedDesign[], deviation: number): TuningSpace {
  const names = (value: (one: PredictedDesign) => string): Coordinate => {
    const known = [...new Set(designs.map(value))];
    return { values: Float64Array.from(designs, (one) => known.indexOf(value(one))), range: 0 };
  };
  const sizes = (value: (one: PredictedDesign) => number): Coordinate => ({
    values: Float64Array.from(designs, (one) => Math.log2(value(one))),
    range: 1,
  });
  const coordinates = [
    names(({ design }) => design.implementation ?? ''),
    names(({ design }) => implementationKind(device, design.threadsPerUnit, design.balancing)),
    names(({ design }) => design.loop),
    names(({ design }) => design.balancing),
    names(({ design }) => `${design.registerCap}`),
    names(({ design }) => `${design.blockWidth}`),
    sizes(({ design }) => design.threadsPerUnit),
    sizes(({ design }) => design.unitsPerThread),
    sizes(({ design }) => design.gridBlocks),
    sizes(({ design }) => design.blockThreads),
    sizes(({ design, residentBlocks }) => Math.max(1, residentBlocks * design.blockThreads)),
  ];
  return {
    predictedMs: Float64Array.from(designs, ({ timeMs }) => timeMs),
    coordinates: coordinates.filter(({ values }) => values.some((value) => value !== values[0])),
    deviation,
  };
}
