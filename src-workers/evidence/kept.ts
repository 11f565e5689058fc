import type { SpmvParameters } from './spmv-parameters.ts';
import type { FourNumbers } from './four-numbers.ts';

/** Fitted parameters of an implementation on a GPU. `db/evidence/parameters.json` has one for each column of times. */
export interface FittedImplementation {
  readonly values: SpmvParameters;
  /** Standard errors; `null` if a parameter was held or only a bound is known. */
  readonly errors: Readonly<Record<string, number | null>>;
  /** Values fitted without the matrices of a fold. */
  readonly folds: readonly SpmvParameters[];
  readonly fourNumbers: { readonly values: FourNumbers; readonly folds: readonly FourNumbers[] };
}

/** Parameters by data set and column of times. */
export type KeptParameters = Readonly<Record<string, Readonly<Record<string, FittedImplementation>>>>;

/**
 * Predicted times, µs, in order of the matrices of a file: `heldOut` by parameters fitted without the matrix, `unseen`
 * as of a GPU that nobody measured by the implementation's parameters on others; `catalogue` as a sweep predicts them,
 * by what the catalogue has of the device, and `assumed` by what it has of the other devices. `null`: there are no
 * such values, or the matrix was not measured. `predicted.json.gz` holds what the predictor said when the parameters
 * were fitted, since it takes minutes to ask it again; `test/unit/evidence.slow.test.ts` asks it for some of them.
 */
export interface KeptTimes {
  readonly heldOut: readonly number[] | null;
  readonly unseen: readonly number[] | null;
  readonly catalogue: readonly (number | null)[] | null;
  readonly assumed: readonly (number | null)[] | null;
}

/** Predictions by data set and column of times. */
export type KeptPredictions = Readonly<Record<string, Readonly<Record<string, KeptTimes>>>>;
