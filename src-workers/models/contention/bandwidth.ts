import type { CpuDevice } from '../../domain/device.ts';
import { fail, ok, type Result } from '../../domain/result.ts';

/** β and ρ of a machine; a `CpuDevice` is one. */
export type MemorySystem = Pick<CpuDevice, 'singleCoreBandwidthGbS' | 'fullBandwidthGbS'>;

/**
 * Bandwidth by active cores, GB/s: entry i is BW_i, with i cores active; entry 0 is 0. Length: cores + 1.
 */
export type BandwidthCurve = Float64Array;

/** K = ⌈ρ/β⌉: the fewest cores that use the whole bandwidth, if each could use its own to the end. */
export function saturatingCores(memory: MemorySystem): number {
  return Math.ceil(memory.fullBandwidthGbS / memory.singleCoreBandwidthGbS);
}

/**
 * The max-rate curve: BW_i = min(i·β, ρ). Gropp, Olson, Samfass, EuroMPI 2016, doi:10.1145/2966884.2966919, as Langguth,
 * Cai, Trotter apply it to cores.
 */
export function maxRateCurve(memory: MemorySystem, cores: number): BandwidthCurve {
  return Float64Array.from({ length: cores + 1 }, (_, i) =>
    Math.min(i * memory.singleCoreBandwidthGbS, memory.fullBandwidthGbS),
  );
}

/**
 * A curve from measurements.
 *
 * @param measuredGbS bandwidth of 1, 2, 3, … active cores, GB/s; without gaps
 * @returns the curve, or `bad-input` naming the first entry that is no positive number
 */
export function measuredCurve(measuredGbS: readonly number[]): Result<BandwidthCurve> {
  if (measuredGbS.length === 0)
    return fail('bad-input', 'the bandwidth curve is empty. It needs one entry per active core');
  const bad = measuredGbS.findIndex((value) => !(value > 0 && Number.isFinite(value)));
  if (bad >= 0) {
    const message = `the bandwidth with ${bad + 1} active cores must be a positive number of GB/s, not ${measuredGbS[bad]}`;
    return fail('bad-input', message, { activeCores: bad + 1 });
  }
  return ok(Float64Array.of(0, ...measuredGbS));
}

/** Milliseconds to move `bytes` at `gbPerSecond` (10⁹ bytes). */
export function transferMs(bytes: number, gbPerSecond: number): number {
  return bytes / (gbPerSecond * 1e6);
}
