import type { AnyDemo } from './demo.ts';

/** Parses a table: a line for each row, ` :: ` between its columns. */
export const rows = (table: TemplateStringsArray): readonly (readonly string[])[] =>
  table.raw[0]
    .trim()
    .split(/\n\s*/)
    .map((row) => row.split(' :: '));

/** A page of the Models view. A model is added to the view by adding its page to `MODEL_PAGES`. */
export interface ModelPage {
  readonly id: string;
  readonly label: string;
  /** Its heading in the list. */
  readonly group: 'Lockstep' | 'Device' | 'Whole' | 'Measured';
  /** The question that the model answers. */
  readonly question: string;
  readonly text: readonly string[];
  /** KaTeX source :: its meaning in one sentence :: its number in its source (`Eq. 7–11`) unless it is ours. */
  readonly equations: readonly (readonly string[])[];
  /** KaTeX source :: meaning :: unit, except for ratios and counts. */
  readonly symbols: readonly (readonly string[])[];
  /** Where the model holds, and where it does not. */
  readonly validity: readonly string[];
  /** Contradictions in the source, and how they are resolved. */
  readonly contradictions?: readonly string[];
  /** Each source as a citation, then its DOI. */
  readonly sources: readonly (readonly string[])[];
  /** The reproduction tables of the page: the paper's short name, and a pattern for the title of its table. */
  readonly tables?: { readonly paper: string; readonly title?: RegExp };
  readonly demo?: AnyDemo;
}
