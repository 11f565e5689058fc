import type { CpuDevice } from '../../domain/device.ts';

export type MemorySystem = Pick<CpuDevice, 'singleCoreBandwidthGbS' | 'fullBandwidthGbS'>;

/** Bandwidth by active cores, GB/s: entry i is BW_i, entry 0 is 0. Length: cores + 1. */
export type BandwidthCurve = Float64Array;

/** K = ⌈ρ/β⌉: the fewest cores that use the full bandwidth ρ, if each core moves data at its own bandwidth β. */
export function saturatingCores(memory: MemorySystem): number {
  return Math.ceil(memory.fullBandwidthGbS / memory.singleCoreBandwidthGbS);
}

/** Bandwidth of i cores, min(i·β, ρ): Gropp, Olson, Samfass, EuroMPI 2016, doi:10.1145/2966884.2966919. */
export function maxRateCurve(memory: MemorySystem, cores: number): BandwidthCurve {
  return Float64Array.from({ length: cores + 1 }, (_, i) =>
    Math.min(i * memory.singleCoreBandwidthGbS, memory.fullBandwidthGbS),
  );
}

export function transferMs(bytes: number, gbPerSecond: number): number {
  return bytes / (gbPerSecond * 1e6);
}
