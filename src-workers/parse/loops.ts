import { NOTHING_MEASURED, type CaseResult } from '../domain/benchmark.ts';
import { ok, type Result } from '../domain/result.ts';
import { eachCsvRecord } from './csv-records.ts';
import { caught, refuse, type ByteSource } from './source.ts';

const MATRIX_COLUMNS = ['dataset', 'rows', 'cols', 'nnzs'] as const;
const MAX_MATRICES = 10_000;
const MAX_SCHEDULES = 50;

/**
 * Reads sparse matrix-vector products in the form of gunrock/loops: CSV with a row per matrix and a column per schedule
 * with one time, ms. An empty field is a case without a time. Failures name line and column.
 */
export function parseLoopTimes(source: ByteSource, label: string): Promise<Result<readonly CaseResult[]>> {
  return caught<readonly CaseResult[]>(async () => {
    const cases: CaseResult[] = [];
    let matrices = 0;
    const { header, lines } = await eachCsvRecord(source, label, MATRIX_COLUMNS, (record, names) => {
      const schedules = names.filter((name) => name !== '' && !MATRIX_COLUMNS.some((known) => known === name));
      if (schedules.length === 0 || schedules.length > MAX_SCHEDULES)
        refuse(label, { line: 1 }, `the file has ${schedules.length} schedules. It needs 1 to ${MAX_SCHEDULES}`);
      matrices++;
      if (matrices > MAX_MATRICES)
        refuse(label, record, `the file has more matrices than the limit of ${MAX_MATRICES}`);
      const matrix = record.text('dataset');
      if (matrix === '') refuse(label, { line: record.line, column: 1 }, 'the dataset is empty. It must name a matrix');
      const [rows, columns, nonZeros] = (['rows', 'cols', 'nnzs'] as const).map((name) => record.number(name));
      for (const schedule of schedules) {
        const missing = record.text(schedule) === '';
        cases.push({
          ...NOTHING_MEASURED,
          case: {
            id: `c${cases.length}`,
            benchmark: 'external',
            parameters: { kernel: 'spmv', configuration: { matrix, schedule, rows, columns, nonZeros } },
          },
          timesMs: missing ? [] : [record.number(schedule)],
          failure: missing ? 'the file gives no time for this case' : null,
        });
      }
    });
    if (matrices === 0) {
      const after = header.length > 0 ? ' after its header' : '';
      refuse(label, { line: Math.max(1, lines) }, `the file ends${after} without a matrix`);
    }
    return ok(cases);
  });
}
