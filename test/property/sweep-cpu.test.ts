import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CpuDevice } from '../../src-workers/domain/device.ts';
import type { PartitionBalancing } from '../../src-workers/domain/design.ts';
import { computeCoreLoads, createCpuLoads, predictCpu } from '../../src-workers/predict/cpu.ts';
import { makeGivenLengths } from '../../src-workers/predict/ordered.ts';
import { forAll } from '../for-all.ts';

const machine = fc
  .record({
    cores: fc.integer({ min: 1, max: 64 }),
    beta: fc.double({ min: 1, max: 50, noNaN: true }),
    ratio: fc.double({ min: 1, max: 40, noNaN: true }),
  })
  .map(
    ({ cores, beta, ratio }) =>
      ({
        kind: 'cpu',
        id: 'x',
        name: 'x',
        vendor: 'x',
        cores,
        singleCoreBandwidthGbS: beta,
        fullBandwidthGbS: beta * ratio,
        kneeCores: Math.ceil(ratio),
        sources: {},
      }) satisfies CpuDevice,
  );
const lengths = fc
  .array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 300 })
  .map((values) => Float64Array.from(values));
const partition = fc
  .constantFrom<PartitionBalancing['kind']>('row-split', 'nonzero-split', 'merge-path')
  .map((kind) => ({ kind }));
const traffic = { bytesPerIteration: 12, bytesPerUnit: 20 };
/** The tolerance covers the rounding of a staircase of at most 64 steps. */
const SLACK = 1e-12;

describe('a prediction on a CPU', () => {
  it('is never slower with more bandwidth', () => {
    forAll(
      machine,
      lengths,
      partition,
      fc.double({ min: 1, max: 3, noNaN: true }),
      fc.double({ min: 1, max: 3, noNaN: true }),
      (device, rows, kind, core, all) => {
        const loads = createCpuLoads(traffic, rows.length, makeGivenLengths(rows));
        const faster = {
          ...device,
          singleCoreBandwidthGbS: device.singleCoreBandwidthGbS * core,
          fullBandwidthGbS: device.fullBandwidthGbS * all,
        };
        const before = predictCpu(loads, device, kind, device.cores).timeMs;
        expect(predictCpu(loads, faster, kind, device.cores).timeMs).toBeLessThanOrEqual(before * (1 + SLACK));
      },
    );
  });

  it('is between the time of all bytes at full bandwidth and the time of all bytes on one core', () => {
    forAll(machine, lengths, partition, (device, rows, kind) => {
      const loads = createCpuLoads(traffic, rows.length, makeGivenLengths(rows));
      const total = computeCoreLoads(loads, kind, device.cores).reduce((a, b) => a + b, 0);
      const { timeMs, loss } = predictCpu(loads, device, kind, device.cores);
      expect(timeMs).toBeGreaterThanOrEqual((total / (device.fullBandwidthGbS * 1e6)) * (1 - SLACK));
      expect(timeMs).toBeLessThanOrEqual(predictCpu(loads, device, kind, 1).timeMs * (1 + SLACK));
      expect(loss).toBeGreaterThanOrEqual(1 - SLACK);
      expect(loss).toBeLessThanOrEqual(device.cores * (1 + SLACK));
    });
  });
});
