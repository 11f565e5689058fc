import { countStep } from '../numeric/steps.ts';
import type { DeviceRun } from './device.ts';
import { seededRandom, type Random } from './random.ts';

export interface ReplicationOptions {
  readonly seed: number;
  /** Replications before an early stop, ≥ 2. */
  readonly atLeast: number;
  readonly atMost: number;
  /** The simulation stops once the 95 % interval reaches at most this fraction of the mean to either side. */
  readonly relativeHalfWidth?: number;
  /** Minimum number of replications while all times are equal and their spread is unknown; `atLeast` if omitted. */
  readonly identicalAtLeast?: number;
}

export interface TimeDistribution {
  readonly cycles: Float64Array;
  readonly meanCycles: number;
  readonly standardDeviationCycles: number;
  /** 95 % confidence interval of the mean (Student). */
  readonly confidenceLowCycles: number;
  readonly confidenceHighCycles: number;
}

export function replicationRandom(seed: number, replication: number): Random {
  return seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(replication + 1, 0x85ebca77));
}

/** Replication i has stream i of the seed, so a run can be extended. */
export function replicate(device: DeviceRun, options: ReplicationOptions): TimeDistribution {
  const { atLeast, atMost, relativeHalfWidth = 0, identicalAtLeast = atLeast } = options;
  const cycles: number[] = [];
  let mean = 0;
  let squares = 0;
  while (cycles.length < atMost) {
    countStep();
    const value = device.run(replicationRandom(options.seed, cycles.length));
    cycles.push(value);
    const delta = value - mean;
    mean += delta / cycles.length;
    squares += delta * (value - mean);
    const error = Math.sqrt(squares / (cycles.length - 1) / cycles.length);
    if (cycles.length < (squares === 0 ? identicalAtLeast : atLeast)) continue;
    if (error * studentQuantile975(cycles.length - 1) <= relativeHalfWidth * mean) break;
  }
  const n = cycles.length;
  const deviation = Math.sqrt(squares / (n - 1));
  const error = deviation / Math.sqrt(n);
  const halfWidth = error * studentQuantile975(n - 1);
  return {
    cycles: Float64Array.from(cycles),
    meanCycles: mean,
    standardDeviationCycles: deviation,
    confidenceLowCycles: mean - halfWidth,
    confidenceHighCycles: mean + halfWidth,
  };
}

/**
 * Computes the 0.975 quantile of Student's t by the Cornish–Fisher expansion (Abramowitz and Stegun 26.7.5), which is
 * poor for one and two degrees of freedom. Those two have a closed form.
 */
function studentQuantile975(freedom: number): number {
  if (freedom === 1) return Math.tan(0.475 * Math.PI);
  if (freedom === 2) return 2 * 0.475 * Math.sqrt(2 / (1 - 4 * 0.475 * 0.475));
  const x = 1.959963984540054;
  const x2 = x * x;
  const g1 = (x * (x2 + 1)) / 4;
  const g2 = (x * (5 * x2 * x2 + 16 * x2 + 3)) / 96;
  const g3 = (x * (3 * x2 * x2 * x2 + 19 * x2 * x2 + 17 * x2 - 15)) / 384;
  return x + g1 / freedom + g2 / (freedom * freedom) + g3 / (freedom * freedom * freedom);
}
