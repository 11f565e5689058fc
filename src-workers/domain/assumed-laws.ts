import data from '../../db/assumed.json' with { type: 'json' };

export interface AssumedLaw {
  readonly quantiles: readonly number[];
  readonly dependentLoads?: readonly number[];
  readonly bytes?: readonly number[];
  /** The law of the fraction of gathers that miss, if the size of the array is unknown. */
  readonly unsized?: readonly number[];
  readonly source: string;
  readonly learn: 'inspect' | 'probe' | 'ask';
}

export const ASSUMED_LAWS: Readonly<Record<string, AssumedLaw>> = data.laws as Readonly<Record<string, AssumedLaw>>;

/**
 * Returns the middle of a law, which predictions take for an input without a value. Laws have an odd number of values.
 */
export function middleOfLaw(law: readonly number[]): number {
  return law[(law.length - 1) / 2];
}
