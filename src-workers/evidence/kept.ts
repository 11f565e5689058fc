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
