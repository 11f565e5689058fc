import { SLICE_ROWS, type MatrixSummary } from '../models/spmv/summary.ts';
import { fail, type Result } from '../domain/result.ts';
import { caught, type ByteSource } from './source.ts';
import { eachCsvRecord } from './csv-records.ts';

/** Times of implementations for many matrices. */
export interface MeasuredMatrices {
  readonly matrices: readonly MatrixSummary[];
  /** Columns of times, as the header names them; µs, NaN if an implementation was not measured. */
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

/**
 * Reads measured times: CSV with the columns `matrix`, those of `SIZES` and, where it is known, `sellp_cells`; the
 * columns of `wanted` that the file has are times, µs. An empty field and 0 stand for "not measured". Matrices without
 * elements are left out.
 *
 * Fails with the line where a column is missing or a field is not a number, and where the file has none of the wanted
 * columns.
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
      const number = (name: (typeof SIZES)[number]): number =>
        // Only skewness may be negative, and a single row has none.
        name === 'skewness' && /^(-.*|nan)?$/i.test(record.text(name))
          ? Number(record.text(name))
          : record.number(name);
      const [size, wide, nonzeros, min, q1, median, q3, max, mean, variance, skewness] = SIZES.map(number);
      if (!(size > 0 && nonzeros > 0)) return;
      const cells = record.text('sellp_cells');
      matrices.push({
        name: record.text('matrix'),
        rows: size,
        columns: wide,
        nonzeros,
        min,
        q1,
        median,
        q3,
        max,
        mean,
        variance,
        skewness,
        slicedCells: cells === '' ? null : record.number('sellp_cells'),
      });
      rows.push(columns.map((name) => (record.text(name) === '' ? NaN : record.number(name) || NaN)));
    });
    columns = wanted.filter((name) => header.includes(name));
    if (columns.length === 0)
      return fail(
        'bad-input',
        `${label}: the file has no column of times. Specify at least one of ${wanted.slice(0, 8).join(', ')}${wanted.length > 8 ? ', …' : ''}.`,
      );
    const times = new Map(columns.map((name, at) => [name, Float64Array.from(rows, (row) => row[at])]));
    return { ok: true, value: { matrices: withCells(matrices), times } };
  });
}

/** Bytes of a stored element (value and index), and of an entry of the two arrays that describe slices. */
const CELL_BYTES = 12;
const SLICE_ENTRY_BYTES = 8;

/**
 * Matrices with the cells of their slices. Where the column holds cells, nothing changes. In the file of the ginkgo
 * data it was made from storage in two ways: most values are a twelfth of the cells, rounded; the others are the cells
 * and the arrays of the slices, in units of a cell. Cells are a multiple of 64, at least the non-zeros and at most all
 * rows as long as the longest, which decides.
 */
function withCells(matrices: readonly MatrixSummary[]): readonly MatrixSummary[] {
  // No padding makes a matrix smaller: the column then holds something else.
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
    // Rounding a twelfth costs up to half a unit.
    const asTwelfth = (stored - 0.5) * CELL_BYTES <= most;
    const cells = asCells || !asTwelfth ? withoutArrays : stored * CELL_BYTES;
    return { ...matrix, slicedCells: Math.max(SLICE_ROWS, whole(cells)) };
  });
}
