import type { MemorySystem } from './bandwidth.ts';
import { contentionMs, twoPhases } from './time.ts';

/** The simple models. The regime of a machine is the model whose time is closest to the two-phase time. */
export const CONTENTION_REGIMES = [
  { id: 'no-imbalance', label: 'Bandwidth-bound', text: 'all work at full bandwidth: only the total counts' },
  {
    id: 'no-contention',
    label: 'Longest task',
    text: 'the longest task runs alone for most of the time: only M₁ counts',
  },
  { id: 'full-contention', label: 'Contended', text: 'the longest task competes with all others to its end' },
] as const;
export type ContentionRegime = (typeof CONTENTION_REGIMES)[number]['id'];

export interface RegimePoint {
  readonly regime: ContentionRegime;
  /** Fraction of the two-phase time in which the bandwidth is no longer saturated, 0…1. */
  readonly phase2Fraction: number;
  readonly ratio: number;
}

/**
 * Finds the regime of a machine with `cores` active cores, where one core has `imbalance` times the mean load and the
 * others have equal loads. If models are equally close, the first of `CONTENTION_REGIMES` is chosen.
 * @param imbalance M₁ divided by the mean load, 1 … `cores`
 */
export function findRegime(memory: MemorySystem, cores: number, imbalance: number): RegimePoint {
  const others = cores === 1 ? 0 : (cores - imbalance) / (cores - 1);
  const loads = Float64Array.from({ length: cores }, (_, i) => (i === 0 ? imbalance : others));
  const phases = twoPhases(memory, loads, 'derived');
  let best: { regime: ContentionRegime; ratio: number } | undefined;
  for (const { id } of CONTENTION_REGIMES) {
    const ratio = contentionMs(id, memory, loads) / phases.timeMs;
    if (!best || Math.abs(Math.log(ratio)) < Math.abs(Math.log(best.ratio)) - TIE) best = { regime: id, ratio };
  }
  return { ...best!, phase2Fraction: phases.phase2Ms / phases.timeMs };
}

/** Models are equally close up to this difference of |ln(ratio)|, so that rounding does not decide between them. */
const TIE = 1e-12;

export interface RegimeMap {
  readonly cores: readonly number[];
  readonly imbalances: readonly number[];
  /** One row for each entry of `cores`; `null` if the imbalance exceeds the number of cores, which is impossible. */
  readonly points: readonly (RegimePoint | null)[];
  /** Imbalances, by `cores`, at which one core moves its load in the time of all loads at the full bandwidth. */
  readonly balanceLine: readonly number[];
}

export function regimeMap(memory: MemorySystem, cores: readonly number[], imbalances: readonly number[]): RegimeMap {
  return {
    cores,
    imbalances,
    points: cores.flatMap((p) => imbalances.map((lambda) => (lambda <= p ? findRegime(memory, p, lambda) : null))),
    balanceLine: cores.map((p) => (p * memory.singleCoreBandwidthGbS) / memory.fullBandwidthGbS),
  };
}
