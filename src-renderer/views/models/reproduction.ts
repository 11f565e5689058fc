import type { ReproductionRow, ReproductionTable } from '../../../src-workers/domain/reproduction.ts';
import type { ModelPage } from './page.ts';

export function tablesOf(
  { tables }: Pick<ModelPage, 'tables'>,
  all: readonly ReproductionTable[],
): readonly ReproductionTable[] {
  if (!tables) return [];
  return all.filter(({ paper, table }) => paper === tables.paper && (tables.title?.test(table) ?? true));
}

export function findRows(tables: readonly ReproductionTable[], query: string) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const holds = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  return tables
    .map((table) => ({
      table,
      rows: table.rows
        .filter((row) => holds(`${table.table} ${row.label} ${row.passed ? 'passed' : 'failed'}`))
        .sort((a, b) => Number(a.passed) - Number(b.passed)),
    }))
    .filter(({ rows }) => rows.length > 0)
    .sort((a, b) => Number(a.table.passed) - Number(b.table.passed));
}

const decimalsOf = (value: number): number => (String(Number(value.toPrecision(5))).split('.')[1] ?? '').length;
/** Tolerances below this only allow for rounding. */
const ROUNDING = 1e-4;

export function findDecimals(rows: readonly ReproductionRow[]): number {
  const decimals = rows.map(({ paper, tolerance, errorKind }) => {
    const isRounding = errorKind === 'relative' || tolerance < ROUNDING;
    return Math.max(decimalsOf(paper), isRounding ? 0 : Math.ceil(-Math.log10(tolerance)));
  });
  return Math.min(4, Math.max(0, ...decimals));
}

export function tally(tables: readonly ReproductionTable[]): { readonly passed: number; readonly total: number } {
  const rows = tables.flatMap((table) => table.rows);
  return { passed: rows.filter(({ passed }) => passed).length, total: rows.length };
}
