import { maxRateCurve, saturatingCores, transferMs, type BandwidthCurve, type MemorySystem } from './bandwidth.ts';
import { descending, largestLoad, totalLoad } from './loads.ts';

/**
 * The models of Langguth, Cai, Trotter, "Modelling Load Imbalance in Shared Memory Multicore Systems" (slides), for the
 * time of an unbalanced, memory-bound computation on P cores. The loads M_i are in bytes, one per core, numbered from
 * the largest. β is the bandwidth of one core alone, ρ that of all cores.
 */

export interface ContentionStep {
  readonly fromMs: number;
  readonly toMs: number;
  readonly activeCores: number;
  readonly bandwidthGbS: number;
}

/**
 * Computes the staircase: while i cores are active, each moves data at BW_i/i, and the core with the least remaining
 * work stops first. Source: Thune, Reinemo, Skeie, Cai, IEEE Trans. Parallel Distrib. Syst. 34 (2023).
 * @param curve bandwidth by active cores; throws `RangeError` if it covers fewer cores than there are loads
 */
export function staircaseSteps(curve: BandwidthCurve, loadBytes: Float64Array): ContentionStep[] {
  if (curve.length <= loadBytes.length) {
    throw new RangeError(`The bandwidth curve goes up to ${curve.length - 1} cores instead of ${loadBytes.length}.`);
  }
  const sorted = descending(loadBytes);
  const steps: ContentionStep[] = [];
  let fromMs = 0;
  for (let active = sorted.length; active >= 1; active--) {
    const bytes = sorted[active - 1] - (active < sorted.length ? sorted[active] : 0);
    if (bytes === 0) continue;
    const toMs = fromMs + transferMs(bytes * active, curve[active]);
    steps.push({ fromMs, toMs, activeCores: active, bandwidthGbS: curve[active] });
    fromMs = toMs;
  }
  return steps;
}

export function staircaseMs(curve: BandwidthCurve, loadBytes: Float64Array): number {
  return staircaseSteps(curve, loadBytes).at(-1)?.toMs ?? 0;
}

/**
 * `derived` is the slides' formula: T = (Σ_{i>K} M_i + K·M_K)/ρ + (M₁ − M_K)/β. With K = ⌈ρ/β⌉ it equals the staircase
 * on `maxRateCurve`.
 *
 * `tabulated` gives the slides' table of triangular workloads: T = (ΣM − (M₁ − M_K))/ρ + (M₁ − M_K)/β. It counts the
 * work above M_K of processors 2 … K in the first phase, so it is never less than `derived`.
 */
export type TwoPhaseForm = 'derived' | 'tabulated';

export interface TwoPhases {
  readonly phase1Ms: number;
  readonly phase2Ms: number;
  readonly timeMs: number;
}

/** @param knee K ≥ 1: `saturatingCores(memory)`, or a source's `kneeCores`; with fewer loads than K, M_K is 0 */
export function twoPhases(
  memory: MemorySystem,
  loadBytes: Float64Array,
  form: TwoPhaseForm,
  knee: number = saturatingCores(memory),
): TwoPhases {
  const sorted = descending(loadBytes);
  const largest = sorted.length === 0 ? 0 : sorted[0];
  const atKnee = knee <= sorted.length ? sorted[knee - 1] : 0;
  const phase1Bytes =
    form === 'derived' ? totalLoad(sorted.subarray(knee)) + knee * atKnee : totalLoad(sorted) - (largest - atKnee);
  const phase1Ms = transferMs(phase1Bytes, memory.fullBandwidthGbS);
  const phase2Ms = transferMs(largest - atKnee, memory.singleCoreBandwidthGbS);
  return { phase1Ms, phase2Ms, timeMs: phase1Ms + phase2Ms };
}

/** All bytes divided by the time, GB/s: the slides give every result in this form. */
export function effectiveBandwidthGbS(loadBytes: Float64Array, timeMs: number): number {
  return totalLoad(loadBytes) / (timeMs * 1e6);
}

export const CONTENTION_MODELS = [
  { id: 'no-imbalance', label: 'No imbalance', formula: 'ΣM/ρ' },
  { id: 'no-contention', label: 'No contention', formula: 'M₁/β' },
  { id: 'full-contention', label: 'Full contention', formula: 'M₁P/ρ' },
  { id: 'two-phase-tabulated', label: 'Two-phase (as tabulated)', formula: '(ΣM − (M₁ − M_K))/ρ + (M₁ − M_K)/β' },
  { id: 'two-phase', label: 'Two-phase', formula: '(Σ_{i>K} M_i + K·M_K)/ρ + (M₁ − M_K)/β' },
  { id: 'staircase', label: 'Staircase', formula: 'Σ i·(M_i − M_{i+1})/BW_i' },
] as const;
export type ContentionModel = (typeof CONTENTION_MODELS)[number]['id'];

/** Computes the time by one of the models, ms, with K = ⌈ρ/β⌉ in both two-phase forms. */
export function contentionMs(
  model: ContentionModel,
  memory: MemorySystem,
  loadBytes: Float64Array,
  curve: BandwidthCurve = maxRateCurve(memory, loadBytes.length),
): number {
  switch (model) {
    case 'no-imbalance':
      return transferMs(totalLoad(loadBytes), memory.fullBandwidthGbS);
    case 'no-contention':
      return transferMs(largestLoad(loadBytes), memory.singleCoreBandwidthGbS);
    case 'full-contention':
      return transferMs(largestLoad(loadBytes) * loadBytes.length, memory.fullBandwidthGbS);
    case 'two-phase-tabulated':
      return twoPhases(memory, loadBytes, 'tabulated').timeMs;
    case 'two-phase':
      return twoPhases(memory, loadBytes, 'derived').timeMs;
    case 'staircase':
      return staircaseMs(curve, loadBytes);
  }
}
