import { ok, type Result, badInput } from '../../domain/result.ts';
import { median } from '../../numeric/statistics.ts';
import { saturatingCores, type BandwidthCurve, type MemorySystem } from '../contention/bandwidth.ts';

/** A STREAM measurement on the first `cores` cores. */
export interface MeasuredBandwidth {
  readonly cores: number;
  /** Bandwidth of all these cores together, 10⁹ bytes per second. */
  readonly bandwidthGbS: number;
}

export interface BandwidthCalibration {
  readonly curve: BandwidthCurve;
  /** β, the bandwidth of one core, and ρ, the highest bandwidth of any number of cores. */
  readonly memory: MemorySystem;
  readonly saturatingCores: number;
}

/** Computes BW_i, the bandwidth of i cores, as a median. It is interpolated for numbers of cores not measured. */
export function calibrateBandwidth(measured: readonly MeasuredBandwidth[]): Result<BandwidthCalibration> {
  const bad = measured.find(
    ({ cores, bandwidthGbS }) =>
      !(Number.isInteger(cores) && cores >= 1 && bandwidthGbS > 0 && bandwidthGbS < Infinity),
  );
  if (bad)
    return badInput(`A measurement has ${bad.bandwidthGbS} GB/s on ${bad.cores} cores. The bandwidth must be positive, and the number of cores an integer ≥ 1.`); // prettier-ignore
  const measuredAt = [...new Set(measured.map(({ cores }) => cores))].sort((a, b) => a - b);
  if (measuredAt[0] !== 1)
    return badInput(
      `The bandwidth of a single core is missing (measured numbers of cores: ${measuredAt.join(', ') || 'none'}). Measure it too.`,
    );
  const curve = new Float64Array(measuredAt.at(-1)! + 1);
  let last = 0;
  for (const cores of measuredAt) {
    const own = measured.filter((point) => point.cores === cores).map((point) => point.bandwidthGbS);
    curve[cores] = median(Float64Array.from(own));
    for (let between = last + 1; between < cores; between += 1) {
      const share = (between - last) / (cores - last);
      curve[between] = curve[last] + share * (curve[cores] - curve[last]);
    }
    last = cores;
  }
  const memory = { singleCoreBandwidthGbS: curve[1], fullBandwidthGbS: Math.max(...curve) };
  return ok({ curve, memory, saturatingCores: saturatingCores(memory) });
}
