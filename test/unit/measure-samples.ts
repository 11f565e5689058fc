import type { MeasuredCase, MeasuredTime } from '../../src-main/contract/measuring.ts';
import { measuredTime } from '../../src-main/services/measuring/times.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { designOf } from '../measuring.ts';

/** Makes invented measurements for tests of the Measure view. Their structure is real, but their numbers are not. */

export const sampleDesign = (change: Partial<Design> = {}): Design =>
  designOf({ threadsPerUnit: 4, unitsPerThread: 19, loop: 'flattened', blockThreads: 128, registerCap: 64, ...change });

export function sampleTime(medianMs: number, change: Partial<MeasuredTime> = {}): MeasuredTime {
  const uniform = mersenneTwister(Math.round(medianMs * 1e6) % 2 ** 31);
  const timesMs = Array.from({ length: 15 }, () => medianMs * (1 + 0.012 * (uniform() - 0.45) ** 3 * 8));
  const warmUpMs = [1.21, 1.04, 1.006].map((factor) => factor * medianMs);
  return { ...measuredTime({ timesMs, detail: { warmUpMs, clockMhz: 1395 } })!, ...change };
}

export function sampleCase(position: number, change: Partial<MeasuredCase> = {}): MeasuredCase {
  const { design = sampleDesign(), predictedMs = 4 } = change;
  const designIndex = 1000 + position;
  return {
    position,
    case: {
      id: `design-${position}`,
      benchmark: 'unit-loop',
      parameters: { design: design ?? sampleDesign(), designIndex, predictedMs, residentBlocks: 2 },
    },
    label: `design ${designIndex}`,
    deviceId: 'nvidia-a100-sxm4-40gb',
    designIndex,
    design,
    predictedMs,
    measured: null,
    correct: true,
    failure: null,
    registersPerThread: 40,
    values: {},
    ...change,
  };
}
