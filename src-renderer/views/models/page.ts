import type { AnyDemo } from './demo.ts';

/** A table as it is written: a line for each row, ` :: ` between its columns. */
export const rows = (table: TemplateStringsArray): readonly (readonly string[])[] =>
  table.raw[0]
    .trim()
    .split(/\n\s*/)
    .map((row) => row.split(' :: '));

/** One page of the Models view. A model is added to the view by adding its page to `MODEL_PAGES`. */
export interface ModelPage {
  readonly id: string;
  readonly label: string;
  /** Heading in the list. */
  readonly group: 'Lockstep' | 'Device' | 'Whole' | 'Measured';
  /** The question it answers. */
  readonly question: string;
  readonly text: readonly string[];
  /** KaTeX source :: what it says, in one sentence :: its number in its source (`Eq. 7–11`) unless it is ours. */
  readonly equations: readonly (readonly string[])[];
  /** KaTeX source :: meaning :: unit, except of ratios and counts. */
  readonly symbols: readonly (readonly string[])[];
  /** Where the model holds, and where it does not. */
  readonly validity: readonly string[];
  /** Where the source disagrees with itself, and what is done about it. */
  readonly contradictions?: readonly string[];
  /** Each source as a citation, then its DOI. */
  readonly sources: readonly (readonly string[])[];
  /** Reproduction tables that belong to it: the paper's short name and what its table's title matches. */
  readonly tables?: { readonly paper: string; readonly title?: RegExp };
  readonly demo?: AnyDemo;
}
