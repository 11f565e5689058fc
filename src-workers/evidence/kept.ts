import type { SpmvParameters } from './spmv-parameters.ts';
import type { FourNumbers } from './four-numbers.ts';

/** Fitted parameters of an implementation on a GPU: `db/evidence/parameters.json` holds one for each column of times. */
export interface FittedImplementation {
  readonly values: SpmvParameters;
  /** Standard errors; `null` where a parameter was held or only a bound is known. */
  readonly errors: Readonly<Record<string, number | null>>;
  /** Values fitted without the matrices of a fold. */
  readonly folds: readonly SpmvParameters[];
  readonly fourNumbers: { readonly values: FourNumbers; readonly folds: readonly FourNumbers[] };
}

/** By data set and column of times. */
export type KeptParameters = Readonly<Record<string, Readonly<Record<string, FittedImplementation>>>>;

/**
 * Predicted times, µs, by data set and column, in order of the matrices of its file: each by parameters fitted without it, and as of a GPU that
 * nobody measured (`null`: no other GPU has the implementation). `db/evidence/predicted.json.gz` holds what the predictor said when the
 * parameters were fitted, since it takes a minute to ask it again; `test/unit/evidence.slow.test.ts` asks it for some of them.
 */
export type KeptPredictions = Readonly<
  Record<
    string,
    Readonly<Record<string, { readonly heldOut: readonly number[] | null; readonly unseen: readonly number[] | null }>>
  >
>;
