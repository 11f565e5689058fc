/**
 * A finite law of unit lengths, iterations. `support` is strictly increasing, integers ≥ 0; `probability[i] =
 * P(W = support[i]) > 0`; the probabilities sum to 1 within rounding.
 */
export interface LengthLaw {
  readonly label: string;
  readonly support: Float64Array;
  readonly probability: Float64Array;
  /** Probability that was cut off before renormalisation, since the support was infinite or too long. */
  readonly truncatedMass: number;
  /** Set if the law was fitted to given figures (`summary(…)`), so that only its shape is assumed. */
  readonly fitted?: true;
}

export interface LawMoments {
  readonly mean: number;
  readonly standardDeviation: number;
  readonly supportMin: number;
  readonly supportMax: number;
}
