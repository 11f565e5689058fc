/** Predictions beside public measurements of real GPUs. */

/** An implementation on a GPU: predictions of matrices that the fit of their parameters had not seen, beside measured times. */
export interface ImplementationEvidence {
  /** As the source names it. */
  readonly name: string;
  /** Which implementation of `models/spmv` it is. */
  readonly implementation: string;
  readonly takes: string;
  /** Matrices with a measured time. */
  readonly count: number;
  /** |predicted / measured − 1|. */
  readonly medianError: number;
  readonly p90Error: number;
  /** Of predicted and measured times, −1…1. */
  readonly spearman: number;
  /** Errors of a simpler model for comparison: four fitted numbers (start, per byte, per element of the longest row, per row). */
  readonly fourNumbers: { readonly medianError: number; readonly spearman: number };
  readonly parameters: readonly EvidenceParameter[];
}

export interface EvidenceParameter {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly meaning: string;
  readonly value: number;
  /** Standard error; `null` where only a bound is known or the data do not decide it. */
  readonly standardError: number | null;
  /** What it may be. */
  readonly lower: number;
  readonly upper: number;
}

/** How good the choice by prediction is: times are over that of the fastest implementation measured of a matrix, ≥ 1. */
export interface ChoiceEvidence {
  /** Matrices with at least two measured implementations. */
  readonly count: number;
  /** Geometric mean, and 95th percentile. */
  readonly regret: number;
  readonly regretP95: number;
  /** Share of matrices for which the fastest was chosen, 0…1. */
  readonly hitRate: number;
  /** The one implementation that is best for all, among those measured of every matrix. `null` where there is none. */
  readonly bestFixed: { readonly name: string; readonly regret: number } | null;
  /** Of the choice by the fit of four numbers. */
  readonly fourNumbersRegret: number;
}

export interface GpuEvidence {
  readonly device: string;
  /** As the source names it. */
  readonly column: string;
  readonly implementations: readonly ImplementationEvidence[];
  /** `null` where no matrix has two measured implementations. */
  readonly choice: ChoiceEvidence | null;
  /** Of matrices with at least 10⁶ non-zeros; `null` where there are none. */
  readonly choiceLarge: ChoiceEvidence | null;
}

/** A GPU whose own measurements were left out: its parameters are those of the other GPUs, scaled by the data sheets. */
export interface UnseenEvidence {
  readonly device: string;
  readonly count: number;
  readonly medianError: number;
  readonly regret: number;
  /** Of matrices with at least 10⁶ non-zeros, whose time is not that of a launch. */
  readonly medianErrorLarge: number | null;
  readonly regretLarge: number | null;
}

/** A GPU, with the times of one of its implementations. */
export interface GpuDetail {
  readonly gpu: GpuEvidence;
  /** `null` where the data set has no other GPU to take parameters from. */
  readonly unseen: UnseenEvidence | null;
  readonly points: EvidencePoints;
}

export interface DatasetEvidence {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly licence: string;
  readonly notes: readonly string[];
  readonly gpus: readonly GpuEvidence[];
  readonly unseen: readonly UnseenEvidence[];
}

/** Times of one implementation, matrix by matrix, for plots. */
export interface EvidencePoints {
  readonly names: readonly string[];
  readonly nonzeros: Float64Array;
  readonly skewness: Float64Array;
  /** µs. */
  readonly measured: Float64Array;
  readonly predicted: Float64Array;
}
