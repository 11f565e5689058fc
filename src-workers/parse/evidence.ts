import { SLICE_ROWS, type MatrixSummary } from '../models/spmv/summary.ts';
import { ok, type Result, badInput } from '../domain/result.ts';
import { caught, type ByteSource } from './source.ts';
import { eachCsvRecord } from './csv-records.ts';

export interface MeasuredMatrices {
  readonly matrices: readonly MatrixSummary[];
  /** Times by column name, µs; NaN if an implementation was not measured. */
  readonly times: ReadonlyMap<string, Float64Array>;
}

const SIZES = [
  'rows',
  'columns',
  'nonzeros',
  'min',
  'q1',
  'median',
  'q3',
  'max',
  'mean',
  'variance',
  'skewness',
] as const;
type SizeName = (typeof SIZES)[number];

/**
 * The columns are `matrix`, the columns of `SIZES`, optionally `sellp_cells`, and times in µs (`wanted`). An empty
 * field or 0 means "not measured". Matrices without elements are dropped. Failures name the line.
 */
export function parseEvidence(
  source: ByteSource,
  label: string,
  wanted: readonly string[],
): Promise<Result<MeasuredMatrices>> {
  return caught(async (): Promise<Result<MeasuredMatrices>> => {
    const matrices: MatrixSummary[] = [];
    const rows: number[][] = [];
    let columns: readonly string[] = [];
    const { header } = await eachCsvRecord(source, label, ['matrix', ...SIZES], (record, names) => {
      columns = wanted.filter((name) => names.includes(name));
      const number = (name: SizeName): number =>
        // Only skewness may be negative; for a single row it is not defined.
        name === 'skewness' && /^(-.*|nan)?$/i.test(record.text(name))
          ? Number(record.text(name))
          : record.number(name);
      const sizes = Object.fromEntries(SIZES.map((name) => [name, number(name)])) as Pick<MatrixSummary, SizeName>;
      if (!(sizes.rows > 0 && sizes.nonzeros > 0)) return;
      const slicedCells = record.text('sellp_cells') === '' ? null : record.number('sellp_cells');
      matrices.push({ name: record.text('matrix'), ...sizes, slicedCells });
      rows.push(columns.map((name) => (record.text(name) === '' ? NaN : record.number(name) || NaN)));
    });
    columns = wanted.filter((name) => header.includes(name));
    if (columns.length === 0)
      return badInput(
        `${label}: the file has no column of times. Add at least one of ${wanted.slice(0, 8).join(', ')}${wanted.length > 8 ? ', …' : ''}.`,
      );
    const times = new Map(columns.map((name, at) => [name, Float64Array.from(rows, (row) => row[at])]));
    return ok({ matrices: withCells(matrices), times });
  });
}

/** Bytes of a stored cell: a value of 8 and an index of 4. */
const CELL_BYTES = 12;
const SLICE_ENTRY_BYTES = 8;

/**
 * Computes numbers of cells. For most matrices, Ginkgo's file has a twelfth of the number, rounded. For other matrices,
 * it has the bytes of the cells and of the arrays of slices, divided by 12. The two can be told apart, because a number
 * of cells is a multiple of 64, at least the non-zeros, and at most the cells of rows that are all as long as the
 * longest.
 */
function withCells(matrices: readonly MatrixSummary[]): readonly MatrixSummary[] {
  // Padding never makes a matrix smaller, so a value far below the non-zeros is not a number of cells.
  if (!matrices.some(({ slicedCells, nonzeros }) => slicedCells !== null && slicedCells < nonzeros / 2))
    return matrices;
  return matrices.map((matrix) => {
    const { slicedCells: stored, rows, nonzeros, max } = matrix;
    if (stored === null) return matrix;
    const slices = Math.ceil(rows / SLICE_ROWS);
    const most = slices * SLICE_ROWS * max;
    const whole = (cells: number): number => Math.round(cells / SLICE_ROWS) * SLICE_ROWS;
    const withoutArrays = stored - (SLICE_ENTRY_BYTES * (2 * slices + 1)) / CELL_BYTES;
    const asCells = Math.abs(withoutArrays - whole(withoutArrays)) < 1 && withoutArrays >= nonzeros - SLICE_ROWS;
    // The stored twelfth was rounded, so the exact twelfth may be smaller by up to 0.5.
    const asTwelfth = (stored - 0.5) * CELL_BYTES <= most;
    const cells = asCells || !asTwelfth ? withoutArrays : stored * CELL_BYTES;
    return { ...matrix, slicedCells: Math.max(SLICE_ROWS, whole(cells)) };
  });
}
