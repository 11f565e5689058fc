import type { AnyDemo } from './demo.ts';
import type { ModelName } from './names.ts';

export const rows = (table: TemplateStringsArray): readonly (readonly string[])[] =>
  table.raw[0]
    .trim()
    .split(/\n\s*/)
    .map((row) => row.split(' :: '));

export interface PageContent {
  readonly group: 'Lockstep' | 'Device' | 'Whole' | 'Measured';
  readonly question: string;
  readonly text: readonly string[];
  /**
   * For each equation: KaTeX source :: its meaning in one sentence :: its number in the source, such as `Eq. 7–11`;
   * none for an equation of ours.
   */
  readonly equations: readonly (readonly string[])[];
  /** For each symbol: KaTeX source :: meaning :: unit; without a unit for ratios and counts. */
  readonly symbols: readonly (readonly string[])[];
  readonly validity: readonly string[];
  readonly contradictions?: readonly string[];
  readonly sources: readonly (readonly string[])[];
  /** The paper's short name and, optionally, a pattern for the titles of its reproduction tables. */
  readonly tables?: { readonly paper: string; readonly title?: RegExp };
  readonly demo?: AnyDemo;
}
export type ModelPage = ModelName & PageContent;
