import type { CaseResult } from '../domain/benchmark.ts';
import { ok, type Result } from '../domain/result.ts';
import { eachCsvRecord } from './csv-records.ts';
import { caught, refuse, shown, type ByteSource } from './source.ts';

/** Columns that say which matrix; every other one is a schedule with its times. */
const MATRIX_COLUMNS = ['dataset', 'rows', 'cols', 'nnzs'] as const;
const MAX_MATRICES = 10_000;
const MAX_SCHEDULES = 50;

/**
 * Reads measured sparse matrix-vector products as gunrock/loops publishes them: CSV with a row per matrix (`dataset`, `rows`,
 * `cols`, `nnzs`) and a column per schedule with one time, ms. Each pair of matrix and schedule becomes a case; an empty field is
 * one without a time.
 *
 * Fails, with line and column, on a missing column, a file without a schedule or a matrix, a number that is none, or too many.
 */
export function parseLoopTimes(source: ByteSource, label: string): Promise<Result<readonly CaseResult[]>> {
  return caught<readonly CaseResult[]>(async () => {
    const cases: CaseResult[] = [];
    const { records, header, lines } = await eachCsvRecord(source, label, MATRIX_COLUMNS, (record, names) => {
      const schedules = schedulesOf(names);
      if (schedules.length > MAX_SCHEDULES || cases.length >= MAX_MATRICES * schedules.length) {
        const most = `${MAX_MATRICES} matrices and ${MAX_SCHEDULES} schedules`;
        refuse(label, record, `more than ${most}; expected at most that many`);
      }
      const matrix = record.text('dataset');
      if (matrix === '') refuse(label, { line: record.line, column: 1 }, 'no dataset; expected the name of a matrix');
      const [rows, columns, nonZeros] = (['rows', 'cols', 'nnzs'] as const).map((name) => record.number(name));
      for (const schedule of schedules) {
        const missing = record.text(schedule) === '';
        cases.push({
          case: {
            id: `c${cases.length}`,
            benchmark: 'external',
            parameters: { kernel: 'spmv', configuration: { matrix, schedule, rows, columns, nonZeros } },
          },
          timesMs: missing ? [] : [record.number(schedule)],
          failure: missing ? 'the file gives no time for it' : null,
          warmUpMs: [],
          clockMhz: null,
          compiled: null,
          correct: null,
          checkMessage: '',
          values: {},
        });
      }
    });
    if (records === 0 || cases.length === 0) {
      const what = records === 0 ? 'a matrix' : 'a column of a schedule';
      refuse(
        label,
        { line: Math.max(1, lines) },
        `header ${shown(header.join(','))} without ${what}; expected at least one`,
      );
    }
    return ok(cases);
  });
}

function schedulesOf(header: readonly string[]): readonly string[] {
  return header.filter((name) => name !== '' && !MATRIX_COLUMNS.some((known) => known === name));
}
