import { expect, it } from 'vitest';
import { hasanMeasuredSurfaces, hasanModelSurfaces } from '../../../src-workers/models/pipeline/hasan-surfaces.ts';
import { fitHasan } from '../../../src-workers/models/pipeline/reproduce-hasan-kim.ts';

const soft = fitHasan();
const meanAbsolute = (values: Float64Array) => values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;

it('covers the launches of Figure 1, row by row of blocks', () => {
  const { equationTimeMs, equationEfficiency, softTimeMs } = hasanModelSurfaces(soft);
  expect(equationTimeMs.values).toHaveLength(2496);
  // 16 blocks of 32 threads are 512 of 26,624 resident threads, and the time is τ plus that part of it.
  expect(equationTimeMs.values[0]).toBeCloseTo(14.5 * (1 + 512 / 26624), 12);
  // The last launch of the first row has 16 × 1024 threads.
  expect(equationEfficiency.values[31]).toBeCloseTo(1 / (1 + 16384 / 26624), 12);
  // 1,248 blocks of 1,024 threads are 96 blocks per multiprocessor. Two are resident, so there are 48 waves of at least
  // τ.
  expect(softTimeMs.values[2495]).toBeGreaterThan(48 * 14.5);
});

it('shows that the printed equations miss their own table by far, and that soft saturation is close to it', () => {
  const { timeMs, equationErrorPoints, softErrorPoints } = hasanMeasuredSurfaces(soft);
  expect(timeMs.values).toHaveLength(160);
  expect(timeMs.values[1 * 10 + 4]).toBe(15.42);
  expect(meanAbsolute(equationErrorPoints.values)).toBeCloseTo(7.9, 1);
  expect(meanAbsolute(softErrorPoints.values)).toBeLessThan(1);
});
