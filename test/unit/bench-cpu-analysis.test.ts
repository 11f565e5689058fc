import { expect, test } from 'vitest';
import {
  compareContention,
  contentionFromStream,
  measuredCpu,
  type MeasuredContentionCase,
} from '../../src-workers/bench/cpu/analysis.ts';
import { contentionCases } from '../../src-workers/bench/cpu/cpu-plan.ts';
import { caseShares } from '../../src-workers/bench/cpu/shares.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { maxRateCurve, type BandwidthCurve } from '../../src-workers/models/contention/bandwidth.ts';
import { staircaseMs } from '../../src-workers/models/contention/time.ts';
import { validateDevice } from '../../src-workers/parse/device.ts';
import { measuringDevice } from '../measuring.ts';

const CORES = 6;
const NOISE = [1, 1.02, 0.98, 1.01, 0.99, 1, 1];

/** Returns the measurements of a machine that follows the staircase exactly, except for noise around the median. */
function measuredBy(curve: BandwidthCurve): MeasuredContentionCase[] {
  return contentionCases({ cores: CORES, totalBytes: 2 ** 28 }).map((each) => {
    const { loadBytes } = unwrap(caseShares(each));
    const timeMs = staircaseMs(curve, Float64Array.from(loadBytes));
    return { case: each, timesMs: NOISE.map((factor) => factor * timeMs), values: {} };
  });
}

const SOFT = Float64Array.of(0, 10, 19, 26, 31, 33, 34);

test('β, ρ, K and the curve are found for a machine that has them', () => {
  const found = unwrap(contentionFromStream(measuredBy(SOFT)));
  // The tolerance covers the rounding of two divisions and a product.
  found.curve.forEach((bandwidth, cores) => expect(Math.abs(bandwidth - SOFT[cores])).toBeLessThan(1e-12 * 34));
  expect(found).toMatchObject({ saturatingCores: 4, cores: [1, 2, 3, 4, 5, 6] });
  for (const { value, low, high } of found.bandwidth) {
    expect(low).toBeLessThan(value);
    expect(high).toBeGreaterThan(value);
  }
});

test('only the staircase explains a staircase, and errors have the sign of prediction minus measurement', () => {
  const cases = measuredBy(SOFT);
  const compared = compareContention(unwrap(contentionFromStream(cases)), cases);
  expect(compared).toHaveLength(2 * (CORES - 1));
  for (const { cores, models } of compared) {
    const error = Object.fromEntries(models.map((each) => [each.model, each.error]));
    expect(Math.abs(error.staircase)).toBeLessThan(1e-12);
    expect(error['no-imbalance']).toBeLessThan(0);
    if (cores > 2) expect(error['full-contention']).toBeGreaterThan(0);
  }
});

test('on the max-rate curve the two-phase formula equals the staircase if the cores saturate the memory', () => {
  const cases = measuredBy(maxRateCurve({ singleCoreBandwidthGbS: 10, fullBandwidthGbS: 25 }, CORES));
  for (const { cores, models } of compareContention(unwrap(contentionFromStream(cases)), cases)) {
    if (cores < 3) continue;
    expect(Math.abs(models.find(({ model }) => model === 'two-phase')!.error)).toBeLessThan(1e-9);
  }
});

test('β needs a measurement of one core, and cases without a time or with nonsense are left out', () => {
  const cases = measuredBy(SOFT);
  const without = contentionFromStream(cases.filter(({ case: each }) => each.id !== 'stream-1'));
  const missing = /The bandwidth of a single core is missing \(measured numbers of cores: 2, 3, 4, 5, 6\)/;
  expect(without).toFail(null, missing);
  const odd: MeasuredContentionCase[] = [
    { ...cases[0], timesMs: [] },
    { case: { id: 'odd', benchmark: 'triangular', parameters: { cores: 2, rows: 2 ** 40 } }, timesMs: [1], values: {} },
    { case: { id: 'wide', benchmark: 'triangular', parameters: { cores: 9, rows: 90 } }, timesMs: [1], values: {} },
  ];
  expect(compareContention(unwrap(contentionFromStream(cases)), [...odd, ...cases])).toHaveLength(2 * (CORES - 1));
});

test('the device made from a measured machine is valid in the catalogue', () => {
  const measured = unwrap(contentionFromStream(measuredBy(SOFT)));
  const properties = { startedAt: '2026-11-21T00:00:00Z' };
  const machine = measuringDevice({ backend: 'cpu', name: 'Intel(R) Core(TM) i7', multiprocessors: CORES, properties });
  const device = unwrap(measuredCpu(machine, measured));
  expect(unwrap(validateDevice(device))).toEqual(device);
  expect(device).toMatchObject({ id: 'measured-intel-r-core-tm-i7-6', vendor: 'Intel', cores: 6, kneeCores: 4 });
  expect([device.singleCoreBandwidthGbS, device.fullBandwidthGbS]).toEqual([10, 34]);
  const part = measuredCpu({ ...machine, multiprocessors: 8 }, measured);
  expect(part).toFail(null, 'Only 6 of the 8 cores were measured. Measure with all of them.');
});
