import type { BreakdownPart } from '../../src-workers/domain/breakdown.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { DeviceEvidence, TieBand } from '../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RankRow } from './api.ts';

/** One small map: designs with the same threads per unit. */
interface LandscapeMap {
  readonly threadsPerUnit: number;
  /** The best time over the other axes, ms, row-major. NaN if no design is valid. */
  readonly timeMs: Float32Array;
  /** NaN and null if no design is valid. */
  readonly bestMs: number;
  readonly bestDesign: number | null;
}

/** The recommendation for one device of a study, saved or not. */
export interface Recommendation {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  /**
   * All devices of the study, in its order. `bestMs` is null for devices that this call did not predict or that have no
   * valid design.
   */
  readonly devices: readonly { readonly id: string; readonly name: string; readonly bestMs: number | null }[];
  /** The picked design. Its `designIndex` refers to the whole study with all devices. */
  readonly row: RankRow;
  readonly designIndex: number;
  /** Predicted time and its interval, ms. One or two sentences say what the interval covers. */
  readonly time: { readonly ms: number; readonly lowMs: number; readonly highMs: number; readonly basis: string };
  /**
   * Designs tied with the fastest (`count`), the band of those that differ from it in shape alone, the rule by which
   * one was picked, and the first of them by time, at most 20. Not counted (null, and none listed) where the fastest
   * designs alone were looked for: then those that are known to tie are counted (`atLeast`).
   */
  readonly ties: {
    readonly count: number | null;
    readonly atLeast: number;
    readonly fraction: number;
    readonly band: TieBand;
    readonly rule: string;
    readonly designs: readonly number[];
  };
  /**
   * The design that the picked one is compared with: the requested design (`chosen`), otherwise a plain one. `change`
   * is −0.58 if the picked design takes 58 % less time.
   */
  readonly baseline: {
    readonly designIndex: number;
    readonly text: string;
    readonly ms: number;
    readonly change: number;
    readonly chosen: boolean;
  } | null;
  /**
   * Differences between the parts of the two times, picked minus baseline, ms, the largest first. They add up to the
   * whole difference.
   */
  readonly causes: readonly { readonly part: BreakdownPart; readonly label: string; readonly ms: number }[];
  readonly why: string;
  readonly inputs: readonly InputFact[];
  /**
   * Small maps of the device, one for each value of threads per unit, in the order of the axis. Block sizes run across
   * and launches up, at most 32 of each; beyond that, neighbours share a line. In a coarse prediction each cell has the
   * time of the nearest predicted design.
   */
  readonly landscape: {
    readonly rows: number;
    readonly columns: number;
    /** `null` if only the fastest designs were looked for. */
    readonly maps: readonly LandscapeMap[] | null;
    /** The place of the picked design. */
    readonly picked: { readonly map: number; readonly cell: number };
  };
  /**
   * Number of designs that were predicted, were ruled out by a lower limit of their time, or were asked for. Exact
   * answers contain all designs.
   */
  readonly predicted: number;
  readonly of: number;
  /** How many of `predicted` cannot run. */
  readonly invalid: number;
  readonly elapsedMs: number;
  /** Present only if the call asks for it. */
  readonly uncertainty?: Uncertainty;
}

/**
 * The expected loss of a design if some inputs are unknown. A regret is ln(time of the design / best time of the same
 * draw).
 */
export interface UncertainDesign {
  readonly designIndex: number;
  readonly design: Design;
  /** The design in one line. */
  readonly text: string;
  /**
   * Predicted time with unknown inputs at the middle of their laws, and the 5 % and 95 % quantiles of the time over the
   * draws, ms.
   */
  readonly timeMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  /** Mean: 0.04 is 4 % over the best. */
  readonly expectedRegret: number;
  /** Chance of being within 3 % of the best, 0…1. */
  readonly chanceBest: number;
  /** Nine of ten draws lose less. */
  readonly worst90: number;
}

/** An input without a stated value, with the range of its law: 5 and 95 %. */
export interface UnknownInput {
  readonly input: InputFact;
  readonly range: readonly [number, number];
  /** The source of the law. */
  readonly source: string;
}

export interface WorthKnowing extends UnknownInput {
  /** The part of `expectedRegret` that knowing the input is expected to save. */
  readonly gain: number;
  readonly learn: 'inspect' | 'probe' | 'ask';
  /** An instruction for finding the value: `Read the kernel's code: lockstep kernel inspect …`. */
  readonly how: string;
  readonly sentence: string;
}

/** Advice where some inputs are not known. */
export interface Uncertainty {
  readonly device: { readonly id: string; readonly name: string };
  /** Draws of the unknown inputs; 1 if all is given: then `robust` is the design that is recommended without. */
  readonly draws: number;
  /** Designs within this fraction of the best count as equally good: 0.03. */
  readonly within: number;
  readonly unknown: readonly UnknownInput[];
  /** The design with the least expected regret, and the fastest with unknown inputs at the middle of their laws. */
  readonly robust: UncertainDesign;
  readonly point: UncertainDesign;
  /** The robust design first, then the other designs by expected regret. At most 40, plus the requested designs. */
  readonly designs: readonly UncertainDesign[];
  /** The inputs worth knowing, by gain; none below 0.1 %. */
  readonly worthKnowing: readonly WorthKnowing[];
  /** The designs that the model cannot tell from the robust one. Null if there are none. */
  readonly separation: {
    /**
     * Number of designs that the model does not tell from the robust one, and the axes in which they differ: `block
     * sizes`.
     */
    readonly count: number;
    readonly what: string;
    /** Designs to measure, and the regret that is expected then. */
    readonly measure: number;
    readonly within: number;
    readonly designs: readonly number[];
    readonly sentence: string;
  } | null;
  readonly elapsedMs: number;
}

/** A design that becomes the best one where an input leaves the range in which the recommended one holds. */
export interface Takeover {
  /** A value just beyond the range, at which it is recommended. */
  readonly at: number;
  readonly designIndex: number;
  /** What differs from the recommended design: `16 threads per unit, 128-thread blocks`. */
  readonly text: string;
  /**
   * The most that choosing anew saves on this side of the range, as a fraction of the recommended design's time; 1
   * if that cannot run.
   */
  readonly gain: number;
}

/** What one input changes. */
export interface InputSensitivity {
  readonly input: InputFact;
  /**
   * The values tried, ascending, and at each the best time, the recommended design's time (NaN if it is invalid) and
   * the design that would be recommended there.
   */
  readonly values: readonly number[];
  readonly bestMs: readonly number[];
  readonly recommendedMs: readonly number[];
  readonly designs: readonly number[];
  /**
   * Range of the input in which the recommended design stays within the tie band of the best. An end is null if it lies
   * beyond the values that were tried. A gap between two tried values is not detected.
   */
  readonly holds: readonly [number | null, number | null];
  /** The design that takes over just beyond each end; `null` if none does. */
  readonly below: Takeover | null;
  readonly above: Takeover | null;
  /**
   * `Serial fraction σ decides: below 0.021 → 16 threads per unit; above 0.12 → 2 threads per unit.`; empty if the
   * advice holds over the whole range.
   */
  readonly sentence: string;
}

export interface Sensitivity {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  readonly designIndex: number;
  /** The recommended design, in one line. */
  readonly design: string;
  readonly timeMs: number;
  /** Band of designs that differ from the recommended one in shape alone. */
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  /** Deciding inputs first, then by the swing of the recommended design's time. */
  readonly inputs: readonly InputSensitivity[];
  readonly elapsedMs: number;
}

/** Predicted times of designs that were asked for by their parameters, in that order. */
export interface AskedTimes {
  readonly device: { readonly id: string; readonly name: string };
  /** Times in ms. Null if a design cannot run; then the reason is given. */
  readonly timesMs: readonly (number | null)[];
  readonly reasons: readonly (string | null)[];
}

/** One design for several scenarios: (run, device) pairs, and those with one input changed. */
export interface Robust {
  readonly scenarios: readonly {
    readonly id: string;
    readonly label: string;
    readonly bestMs: number;
    readonly best: string;
    /** Regret below its fraction cannot be distinguished from none. */
    readonly tieBand: TieBand;
    readonly device: { readonly id: string; readonly name: string };
    /** The measurements of the device; `null` if there are none. */
    readonly evidence: DeviceEvidence | null;
  }[];
  /** The smallest worst-case regret first; at most 10. `regret[i]`: time over the best of scenario i, less 1. */
  readonly designs: readonly {
    readonly design: Design;
    readonly text: string;
    readonly worst: number;
    readonly mean: number;
    readonly regret: readonly number[];
    readonly timeMs: readonly number[];
  }[];
  /** Worst regret where the best of scenario i is used in all; NaN if it is invalid in one. */
  readonly ownBest: readonly number[];
  /** Designs that are valid in all scenarios. */
  readonly common: number;
}
