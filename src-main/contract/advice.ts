import type { BreakdownPart } from '../../src-workers/domain/breakdown.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { DeviceEvidence, TieBand } from '../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RankRow } from './api.ts';

/** A small map of the designs with one value of threads per unit. */
interface LandscapeMap {
  readonly threadsPerUnit: number;
  /** The best time over the other axes, ms, row-major. It is NaN if no design is valid. */
  readonly timeMs: Float32Array;
  /** NaN and null if no design is valid. */
  readonly bestMs: number;
  readonly bestDesign: number | null;
}

/** The recommendation for one device of a study, saved or unsaved. */
export interface Recommendation {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  /**
   * All devices of the study, in its order. `bestMs` is null if this call did not predict the device, or if the device
   * has no valid design.
   */
  readonly devices: readonly { readonly id: string; readonly name: string; readonly bestMs: number | null }[];
  /** The picked design. Its `designIndex` refers to the whole study with all devices. */
  readonly row: RankRow;
  readonly designIndex: number;
  /** The predicted time and its interval, ms. `basis` explains in one or two sentences what the interval covers. */
  readonly time: { readonly ms: number; readonly lowMs: number; readonly highMs: number; readonly basis: string };
  /**
   * The designs tied with the fastest: their number, the tie band for designs that differ from the fastest only in
   * shape, the rule that picked one, and at most 20 of the designs, by time. A call that looked only for the fastest
   * designs has null as `count`, an empty list, and the number of known ties as `atLeast`.
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
   * The design to compare with: the requested design (`chosen`), otherwise a plain one. `change` is −0.58 if the picked
   * design takes 58 % less time.
   */
  readonly baseline: {
    readonly designIndex: number;
    readonly threadsPerUnit: number;
    readonly text: string;
    readonly ms: number;
    readonly change: number;
    readonly chosen: boolean;
  } | null;
  /** The differences between the parts of the two times, picked minus baseline, ms, largest first. */
  readonly causes: readonly { readonly part: BreakdownPart; readonly label: string; readonly ms: number }[];
  readonly why: string;
  readonly inputs: readonly InputFact[];
  /**
   * Small maps of the device, one for each value of threads per unit, in the order of the axis. Columns are block sizes
   * and rows are launches, at most 32 of each; beyond that, neighbours share a line. In a coarse prediction, each cell
   * has the time of the nearest predicted design.
   */
  readonly landscape: {
    readonly rows: number;
    readonly columns: number;
    /** `null` if the call looked only for the fastest designs, or only glanced. */
    readonly maps: readonly LandscapeMap[] | null;
    readonly picked: { readonly map: number; readonly cell: number };
  };
  /**
   * The number of designs that this answer covers: predicted, excluded by a lower bound, or requested. An exact answer
   * covers all.
   */
  readonly predicted: number;
  readonly of: number;
  /** The number of `predicted` designs that cannot run. */
  readonly invalid: number;
  readonly elapsedMs: number;
  readonly uncertainty?: Uncertainty;
}

/** The expected loss of a design with unknown inputs. The regret of a draw is ln(time / best time of the draw). */
export interface UncertainDesign {
  readonly designIndex: number;
  readonly design: Design;
  readonly text: string;
  /** The time with unknown inputs at the middle of their laws, and its 5 % and 95 % quantiles over the draws, ms. */
  readonly timeMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  /** The mean regret: 0.04 is about 4 % slower than the best (e^0.04). */
  readonly expectedRegret: number;
  /** The probability that the design is within 3 % of the best, 0…1. */
  readonly chanceBest: number;
  /** The 90 % quantile of the regret. */
  readonly worst90: number;
}

/** An input without a stated value, with the 5 % and 95 % quantiles of its law. */
export interface UnknownInput {
  readonly input: InputFact;
  readonly range: readonly [number, number];
  readonly source: string;
}

export interface WorthKnowing extends UnknownInput {
  /** The expected reduction of `expectedRegret` if the input becomes known. */
  readonly gain: number;
  readonly learn: 'inspect' | 'probe' | 'ask';
  /** How to find the value: `Read the kernel's code: lockstep kernel inspect …`. */
  readonly how: string;
  readonly sentence: string;
}

export interface Uncertainty {
  readonly device: { readonly id: string; readonly name: string };
  /** The number of draws of the unknown inputs, or 1 if every input is given. */
  readonly draws: number;
  /** Designs within this fraction of the best count as equally good: 0.03. */
  readonly within: number;
  readonly unknown: readonly UnknownInput[];
  /** The design with the least expected regret. `point` is the fastest with unknown inputs at their middle. */
  readonly robust: UncertainDesign;
  readonly point: UncertainDesign;
  /** The robust design first, then the other designs by expected regret. At most 40, plus the requested designs. */
  readonly designs: readonly UncertainDesign[];
  /** The inputs worth knowing, by gain; none below 0.1 %. */
  readonly worthKnowing: readonly WorthKnowing[];
  /** The designs that the model cannot distinguish from the robust one. Null if there are none. */
  readonly separation: {
    /** The number of these designs, and the axes in which they differ: `block sizes`. */
    readonly count: number;
    readonly what: string;
    /** The number of designs to measure, and the expected regret after that. */
    readonly measure: number;
    readonly within: number;
    readonly designs: readonly number[];
    readonly sentence: string;
  } | null;
  readonly elapsedMs: number;
}

/** A design that becomes the best one if an input leaves the range in which the recommended design holds. */
export interface Takeover {
  /** A value just beyond the range, where this design is recommended. */
  readonly at: number;
  readonly designIndex: number;
  /** The differences from the recommended design: `16 threads per unit, 128-thread blocks`. */
  readonly text: string;
  /**
   * The largest saving from choosing another design on this side of the range, as a fraction of the recommended
   * design's time. It is 1 if the recommended design cannot run there.
   */
  readonly gain: number;
}

/** The effect of one input on the recommendation. */
export interface InputSensitivity {
  readonly input: InputFact;
  /**
   * The tried values in ascending order. The next fields have, for each value, the best time, the recommended design's
   * time (NaN if it is invalid), and the design that would be recommended.
   */
  readonly values: readonly number[];
  readonly bestMs: readonly number[];
  readonly recommendedMs: readonly number[];
  readonly designs: readonly number[];
  /**
   * The range of the input in which the recommended design stays within the tie band of the best. An end is null if it
   * lies beyond the tried values. A gap between two tried values is not detected.
   */
  readonly holds: readonly [number | null, number | null];
  /** The design that takes over just beyond each end, or `null`. */
  readonly below: Takeover | null;
  readonly above: Takeover | null;
  /**
   * `Serial fraction σ decides: below 0.021 → 16 threads per unit; above 0.12 → 2 threads per unit.` It is empty if the
   * advice holds over the whole range.
   */
  readonly sentence: string;
}

export interface Sensitivity {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  readonly designIndex: number;
  readonly design: string;
  readonly timeMs: number;
  /** The tie band for designs that differ from the recommended one only in shape. */
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  /** The deciding inputs first, then the others by how much they change the recommended design's time. */
  readonly inputs: readonly InputSensitivity[];
  readonly elapsedMs: number;
}

/** The predicted times of designs that a caller named by their parameters, in the order of the call. */
export interface AskedTimes {
  readonly device: { readonly id: string; readonly name: string };
  /** Times in ms. A time is null if the design cannot run; `reasons` then says why. */
  readonly timesMs: readonly (number | null)[];
  readonly reasons: readonly (string | null)[];
  /** The work of each design, if it was asked for; null if the design cannot run, or on a CPU. */
  readonly work?: readonly (LaunchWork | null)[];
}

/** The predicted work of a launch on a GPU. */
export interface LaunchWork {
  /** Instructions of thread groups; null if an iteration has none. */
  readonly instructions: number | null;
  /** Traffic of device memory; null if the kernel is not known to move data. */
  readonly bytes: number | null;
}

/** One design for several scenarios. A scenario is a run and a device, with or without a changed input. */
export interface Robust {
  readonly scenarios: readonly {
    readonly id: string;
    readonly label: string;
    readonly bestMs: number;
    readonly best: string;
    /** The tie band. A regret within it cannot be distinguished from none. */
    readonly tieBand: TieBand;
    readonly device: { readonly id: string; readonly name: string };
    readonly evidence: DeviceEvidence | null;
  }[];
  /** At most 10 designs, by worst-case regret. `regret[i]` is the time over the best time of scenario i, minus 1. */
  readonly designs: readonly {
    readonly design: Design;
    readonly text: string;
    readonly worst: number;
    readonly mean: number;
    readonly regret: readonly number[];
    readonly timeMs: readonly number[];
  }[];
  /** The worst regret if the best design of scenario i is used in all scenarios; NaN if it is invalid in one. */
  readonly ownBest: readonly number[];
  /** The number of designs that are valid in all scenarios. */
  readonly common: number;
}
