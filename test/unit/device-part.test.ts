import { describe, expect, it } from 'vitest';
import { deviceById, findWhole } from '../../src-workers/domain/device-part.ts';
import { isEstimate, type Device } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { shortNames } from '../../src-renderer/format/devices.ts';
import { isSameDevice } from '../../src-main/services/measuring/device.ts';
import { KERNEL, oneDesign, planOf } from './sweep-plans.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { CPUS, gpu } from '../catalogue.ts';

const H100 = gpu('nvidia-h100-sxm5-80gb');
const devices: readonly Device[] = [H100, gpu('amd-mi300x'), CPUS[0]];
const part = (id: string) => {
  const device = unwrap(deviceById(devices, id)!);
  if (device.kind !== 'gpu') throw new Error('no GPU');
  return device;
};

describe('a part of a device', () => {
  it('has its own multiprocessors, and the whole memory and L2', () => {
    const half = part(`${H100.id}:66`);
    expect(half).toMatchObject({ id: `${H100.id}:66`, name: `${H100.name} (66 of 132 SMs)`, multiprocessors: 66 });
    const { memoryBandwidthGbS, memoryGib, l2Bytes, limits, clockMhz } = H100;
    expect(half).toMatchObject({ memoryBandwidthGbS, memoryGib, l2Bytes, limits, clockMhz });
    expect(isEstimate(half, 'memoryBandwidthGbS')).toBe(true);
    expect(part('amd-mi300x:38').name).toContain('(38 of 304 multiprocessors)');
    expect(findWhole(half.id)).toBe(H100.id);
    expect(findWhole(H100.id)).toBeNull();
  });

  it('cannot use all of the bandwidth with few multiprocessors: 64 bytes per multiprocessor and cycle', () => {
    const few = part(`${H100.id}:10`);
    expect(few.memoryBandwidthGbS).toBeCloseTo((64 * 10 * 1980) / 1e3, 9);
    // Random sectors from memory are slower than this limit. Those from the cache are as fast as the limit.
    expect(few).toMatchObject({ randomSectorsGbS: H100.randomSectorsGbS, cachedSectorsGbS: few.memoryBandwidthGbS });
    expect('randomSectorsGbS' in part('amd-mi300x:38')).toBe(false);
  });

  it('has a share of memory, bandwidth and L2 if it is a slice', () =>
    expect(part(`${H100.id}:33:slice`)).toMatchObject({
      name: `${H100.name} (33 of 132 SMs, slice)`,
      memoryBandwidthGbS: H100.memoryBandwidthGbS / 4,
      randomSectorsGbS: H100.randomSectorsGbS! / 4,
      cachedSectorsGbS: H100.cachedSectorsGbS! / 4,
      l2Bytes: H100.l2Bytes / 4,
      memoryGib: 20,
    }));

  it.each([
    [`${H100.id}:132`, 'a part of this device has 1 to 131 multiprocessors, not 132. The whole device is'],
    ...['0', '066', '1.5', '3:half'].map((size) => [`${H100.id}:${size}`, `1 to 131 multiprocessors, not ${size}.`]),
    [`${CPUS[0].id}:2`, 'is a CPU. Set axes.cores to the number of cores to use'],
  ])('is refused: %s', (id, message) => {
    const found = deviceById(devices, id);
    expect(found && !found.ok && found.error.message).toContain(message);
  });

  it.each(['nobody:3', 'nobody'])('does not exist: %s', (id) => expect(deviceById(devices, id)).toBeUndefined());

  it('shows its size in short names, and is not taken for the whole device that was measured', () => {
    expect(shortNames([H100.name, part(`${H100.id}:66`).name])).toEqual(['H100', 'H100 (66 of 132 SMs)']);
    expect(isSameDevice(part(`${H100.id}:66`), { name: 'NVIDIA H100 80GB HBM3', multiprocessors: 132 })).toBe(false);
    expect(isSameDevice(H100, { name: 'NVIDIA H100 80GB HBM3', multiprocessors: 132 })).toBe(true);
  });

  // More multiprocessors never slow the best design. If arithmetic limits it, half as many take twice as long.
  it('takes longer the fewer multiprocessors it has', async () => {
    const sizes = [11, 33, 66].map((count) => part(`${H100.id}:${count}`));
    const plan = await planOf(
      oneDesign({
        workload: { lengths: 'geometric(0.05)', units: 2 ** 23 },
        kernel: { ...KERNEL, instructionsPerIteration: 50, bytesPerIteration: 0 },
        devices: [...sizes, H100].map(({ id }) => id),
        axes: { blockThreads: [256], unitsPerThread: [1] },
      }),
      [...sizes, H100],
    );
    const times = [...predictChunk(createPredictor(plan), 0, 4).timeMs];
    for (let i = 1; i < times.length; i++) expect(times[i]).toBeLessThan(times[i - 1]);
    expect(Math.abs(times[2] / times[3] - 2)).toBeLessThan(0.1);
  });
});
