import type { BreakdownPart } from '../../src-workers/domain/breakdown.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { DeviceEvidence, TieBand } from '../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RankRow } from './api.ts';

interface LandscapeMap {
  readonly threadsPerUnit: number;
  /** The best time of each cell over the axes that are not shown, row-major; NaN if no design is valid there. */
  readonly timeMs: Float32Array;
  readonly bestMs: number;
  readonly bestDesign: number | null;
}

export interface Recommendation {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  readonly devices: readonly { readonly id: string; readonly name: string; readonly bestMs: number | null }[];
  /** The picked design. Its `designIndex` counts the designs of all devices of the study. */
  readonly row: RankRow;
  readonly designIndex: number;
  readonly time: { readonly ms: number; readonly lowMs: number; readonly highMs: number; readonly basis: string };
  /**
   * The designs that are tied with the fastest: at most 20, fastest first. `fraction`: the tie band for designs that
   * differ only in block size or grid. If only the fastest designs were searched, `count` is null and `atLeast` counts
   * the known ties.
   */
  readonly ties: {
    readonly count: number | null;
    readonly atLeast: number;
    readonly fraction: number;
    readonly band: TieBand;
    readonly rule: string;
    readonly designs: readonly number[];
  };
  /** The requested design (`chosen`) or a plain one. `change` is −0.58 if the picked design takes 58 % less time. */
  readonly baseline: {
    readonly designIndex: number;
    readonly threadsPerUnit: number;
    readonly text: string;
    readonly ms: number;
    readonly change: number;
    readonly chosen: boolean;
  } | null;
  readonly causes: readonly { readonly part: BreakdownPart; readonly label: string; readonly ms: number }[];
  readonly why: string;
  readonly inputs: readonly InputFact[];
  /**
   * One map for each value of threads per unit, with at most 32 columns (block sizes) and 32 rows (launches), so a
   * column or row may stand for several values. In a coarse prediction, a cell without a predicted design has the time
   * of the nearest predicted one.
   */
  readonly landscape: {
    readonly rows: number;
    readonly columns: number;
    readonly maps: readonly LandscapeMap[] | null;
    readonly picked: { readonly map: number; readonly cell: number };
  };
  /** Number of designs that the answer covers, out of `of`: predicted, excluded by a lower bound, or requested. */
  readonly predicted: number;
  readonly of: number;
  readonly invalid: number;
  readonly elapsedMs: number;
  readonly uncertainty?: Uncertainty;
  readonly measured?: FastestMeasured;
}

/** The fastest measured design of the device in a run, if it is not the recommended design. */
export interface FastestMeasured {
  readonly designIndex: number;
  readonly text: string;
  readonly medianMs: number;
  readonly sentence: string;
}

/** The regret of a design in one draw of the unknown inputs is ln(time / best time of the draw). */
export interface UncertainDesign {
  readonly designIndex: number;
  readonly design: Design;
  readonly text: string;
  /** The time with every unknown input at the middle of its law, and the 5 % and 95 % quantiles over the draws, ms. */
  readonly timeMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  /** The mean of ln(time / best time) over the draws. At 0.04, the design is about 4 % slower. */
  readonly expectedRegret: number;
  /** The probability that the design is within 3 % of the best, 0…1. */
  readonly chanceBest: number;
  readonly worst90: number;
}

/** An input without a stated value. `range`: the 5 % and 95 % quantiles of its law. */
export interface UnknownInput {
  readonly input: InputFact;
  readonly range: readonly [number, number];
  readonly source: string;
}

export interface WorthKnowing extends UnknownInput {
  /** How much `expectedRegret` is expected to fall if the input becomes known. */
  readonly gain: number;
  readonly learn: 'inspect' | 'probe' | 'ask';
  readonly how: string;
  readonly sentence: string;
}

export interface Uncertainty {
  readonly device: { readonly id: string; readonly name: string };
  readonly draws: number;
  /** Two designs count as equally good if their times differ by at most this fraction: 0.03. */
  readonly within: number;
  readonly unknown: readonly UnknownInput[];
  /** `robust` has about the least expected regret. `point` is picked at the middle value of every unknown input. */
  readonly robust: UncertainDesign;
  readonly point: UncertainDesign;
  /** The robust design first, then other designs by expected regret: at most 40, plus the requested designs. */
  readonly designs: readonly UncertainDesign[];
  /** Inputs worth knowing, largest gain first. Gains below 0.1 % are left out. */
  readonly worthKnowing: readonly WorthKnowing[];
  readonly separation: {
    /** The model cannot tell `count` designs or block sizes (`what`) apart. */
    readonly count: number;
    readonly what: string;
    /** How many designs to measure. `within`: the expected regret after these measurements. */
    readonly measure: number;
    readonly within: number;
    readonly designs: readonly number[];
    readonly sentence: string;
  } | null;
  readonly elapsedMs: number;
}

/** The design that is recommended instead when an input leaves the range in which the recommendation holds. */
export interface Takeover {
  readonly at: number;
  readonly designIndex: number;
  readonly text: string;
  /** The largest saving from another design on this side, 0…1; 1 if the recommended design cannot run there. */
  readonly gain: number;
}

export interface InputSensitivity {
  readonly input: InputFact;
  /** The tried values, ascending. Each list below has an entry for every value: a time (NaN if invalid) or a design. */
  readonly values: readonly number[];
  readonly bestMs: readonly number[];
  readonly recommendedMs: readonly number[];
  readonly designs: readonly number[];
  /** The range in which the recommended design is tied with the best. An end beyond the tried values is null. */
  readonly holds: readonly [number | null, number | null];
  readonly below: Takeover | null;
  readonly above: Takeover | null;
  readonly sentence: string;
}

export interface Sensitivity {
  readonly device: { readonly id: string; readonly name: string; readonly evidence: DeviceEvidence | null };
  readonly designIndex: number;
  readonly design: string;
  readonly timeMs: number;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly inputs: readonly InputSensitivity[];
  readonly elapsedMs: number;
}

export interface AskedTimes {
  readonly device: { readonly id: string; readonly name: string };
  readonly timesMs: readonly (number | null)[];
  readonly reasons: readonly (string | null)[];
  readonly work?: readonly (LaunchWork | null)[];
}

export interface LaunchWork {
  /** Instructions that thread groups issue; null if an iteration of the kernel has none. */
  readonly instructions: number | null;
  /** Bytes read and written in device memory; null if the kernel is not known to move data. */
  readonly bytes: number | null;
}

/** One design for several scenarios. A scenario is a run and a device, with or without a changed input. */
export interface Robust {
  readonly scenarios: readonly {
    readonly id: string;
    readonly label: string;
    readonly bestMs: number;
    readonly best: string;
    readonly tieBand: TieBand;
    readonly device: { readonly id: string; readonly name: string };
    readonly evidence: DeviceEvidence | null;
  }[];
  /** At most 10 designs, by worst regret. `regret[i]` is the time divided by the best time of scenario i, minus 1. */
  readonly designs: readonly {
    readonly design: Design;
    readonly text: string;
    readonly worst: number;
    readonly mean: number;
    readonly regret: readonly number[];
    readonly timeMs: readonly number[];
  }[];
  /** The worst regret if all scenarios use the best design of scenario i; NaN if it is invalid in a scenario. */
  readonly ownBest: readonly number[];
  readonly common: number;
}
