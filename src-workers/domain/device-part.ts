import type { Device, GpuDevice } from './device.ts';
import { ok, type Result, badInput } from './result.ts';

/** Bytes from the L2 to one multiprocessor: 64 on a V100 (Jia et al. 2018, arXiv:1804.06826), assumed for others. */
const BYTES_PER_MULTIPROCESSOR_CYCLE = 64;

/** `ID:66`: 66 multiprocessors of a device. `ID:66:slice`: with only their share of its memory. */
const PART = /^(.+?):([1-9]\d{0,5})(:slice)?$/;

export function findWhole(id: string): string | null {
  return PART.exec(id)?.[1] ?? null;
}

/**
 * Finds a device or a part of one, such as a green context. Without `:slice`, the rest of the device is assumed idle.
 * With it, the part has only its share of memory and L2, as in a multi-instance GPU.
 * @returns undefined if there is no such device; `bad-input` if it has no such part
 */
export function deviceById<D extends Device>(devices: readonly D[], id: string): Result<D> | undefined {
  const exact = devices.find((device) => device.id === id);
  if (exact) return ok(exact);
  const [whole] = id.split(':', 1);
  const device = devices.find((each) => each.id === whole);
  if (!device) return undefined;
  if (device.kind === 'cpu')
    return badInput(`"${id}": ${whole} is a CPU. Set axes.cores to the number of cores to use.`);
  const [, , count, slice] = PART.exec(id) ?? [];
  const multiprocessors = Number(count);
  if (!(multiprocessors < device.multiprocessors))
    return badInput(
      `"${id}": a part of this device has 1 to ${device.multiprocessors - 1} multiprocessors, not ${count ?? id.slice(whole.length + 1)}. The whole device is "${whole}".`,
    );
  return ok({ ...device, ...makePart(device, multiprocessors, slice !== undefined) });
}

function makePart(device: GpuDevice, multiprocessors: number, slice: boolean): GpuDevice {
  const { id, name, vendor, clockMhz, memoryBandwidthGbS, memoryGib, l2Bytes, sources } = device;
  const { randomSectorsGbS, cachedSectorsGbS } = device;
  const all = device.multiprocessors;
  const share = multiprocessors / all;
  const reach = (BYTES_PER_MULTIPROCESSOR_CYCLE * multiprocessors * clockMhz) / 1e3;
  const reached = (rateGbS: number): number => Math.min(slice ? share * rateGbS : rateGbS, reach);
  const text = `${multiprocessors} of ${all} ${vendor === 'nvidia' ? 'SMs' : 'multiprocessors'}`;
  const shared = slice
    ? 'in proportion to the multiprocessors, as in a slice of a multi-instance GPU'
    : `all that the device has, with no other work on it; at most ${BYTES_PER_MULTIPROCESSOR_CYCLE} bytes per multiprocessor and cycle`;
  const whole = sources['*'] ?? '';
  return {
    ...device,
    id: `${id}:${multiprocessors}${slice ? ':slice' : ''}`,
    name: `${name} (${text}${slice ? ', slice' : ''})`,
    multiprocessors,
    memoryBandwidthGbS: reached(memoryBandwidthGbS),
    ...(randomSectorsGbS !== undefined && { randomSectorsGbS: reached(randomSectorsGbS) }),
    ...(cachedSectorsGbS !== undefined && { cachedSectorsGbS: reached(cachedSectorsGbS) }),
    memoryGib: slice ? share * memoryGib : memoryGib,
    l2Bytes: slice ? Math.floor(share * l2Bytes) : l2Bytes,
    sources: {
      ...sources,
      multiprocessors: `given: ${text} (${sources['multiprocessors'] ?? whole})`,
      memoryBandwidthGbS: `estimate: ${shared} (${sources['memoryBandwidthGbS'] ?? whole})`,
      memoryGib: slice ? `estimate: ${shared}` : (sources['memoryGib'] ?? whole),
      l2Bytes: `estimate: ${slice ? shared : 'all that the device has, with no other work on it'} (${sources['l2Bytes'] ?? whole})`,
    },
  };
}
