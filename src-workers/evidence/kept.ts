import type { SpmvParameters } from './spmv-parameters.ts';
import type { FourNumbers } from './four-numbers.ts';

/** The entry of one column of times in `db/evidence/parameters.json`. */
export interface FittedImplementation {
  readonly values: SpmvParameters;
  /** Standard errors; `null` if one is at least the value itself. */
  readonly errors: Readonly<Record<string, number | null>>;
  /** For each fold, the values that were fitted without its matrices. */
  readonly folds: readonly SpmvParameters[];
  readonly fourNumbers: { readonly values: FourNumbers; readonly folds: readonly FourNumbers[] };
}

/** Parameters by data set and column of times. */
export type KeptParameters = Readonly<Record<string, Readonly<Record<string, FittedImplementation>>>>;

/**
 * Predicted times, µs, in the order of a file's matrices. `heldOut`: with parameters fitted without the matrix.
 * `unseen`: for the GPU as if it had not been measured. `catalogue`: as in a sweep, with the catalogue's values of the
 * device. `assumed`: with values taken from the catalogue's other devices. `null`: the needed values are missing, or
 * the matrix was not measured. Launches on the H100 have only `catalogue`.
 * The predictions take minutes, so `predicted.json.gz` stores them. `test/unit/evidence.slow.test.ts` repeats some.
 */
export interface KeptTimes {
  readonly heldOut: readonly number[] | null;
  readonly unseen: readonly number[] | null;
  readonly catalogue: readonly (number | null)[] | null;
  readonly assumed: readonly (number | null)[] | null;
}

/** Times by data set, and within a data set by column of times or by GPU. */
export type KeptPredictions = Readonly<Record<string, Readonly<Record<string, KeptTimes>>>>;
