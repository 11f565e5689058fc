import type { RankRow } from '../../../src-main/contract/api.ts';
import type { GlossaryId } from '../../../src-workers/domain/glossary.ts';
import { NBSP, change, factor } from '../../format/numbers.ts';

export interface DesignLine {
  readonly label: string;
  readonly term?: GlossaryId | undefined;
  readonly here: string;
  readonly base: string;
  readonly change: string;
  readonly tone: '' | 'faster' | 'slower';
  readonly quiet?: boolean;
}

const changeText = (here: number, there: number): string =>
  // A change of many hundred percent is easier to read as a factor.
  here >= 10 * there
    ? factor(here / there)
    : `${change(here, there, Math.abs(here / there - 1) < 0.9995 ? 1 : 0)}${NBSP}%`;

export function designLines(row: RankRow, base: RankRow | null) {
  const isBase = base?.designIndex === row.designIndex;
  return {
    words: (label: string, write: (row: RankRow) => string, term?: GlossaryId): DesignLine => ({
      label,
      term,
      here: write(row),
      base: base ? write(base) : '–',
      change: '',
      tone: '',
    }),
    /** With `better`, smaller numbers have the colours of faster designs, and larger numbers of slower designs. */
    numbers(
      label: string,
      read: (row: RankRow) => number,
      write: (value: number) => string,
      { better = false, term }: { readonly better?: boolean; readonly term?: GlossaryId } = {},
    ): DesignLine {
      const here = row.invalid === null ? read(row) : NaN;
      const there = base?.invalid === null ? read(base) : NaN;
      const known = Number.isFinite(here) && Number.isFinite(there) && !isBase;
      const relative = Math.round((here / there - 1) * 1000);
      return {
        label,
        term,
        here: write(here),
        base: base ? write(there) : '–',
        change: known ? changeText(here, there) : '–',
        tone: !better || !known || relative === 0 ? '' : relative < 0 ? 'faster' : 'slower',
      };
    },
  };
}
