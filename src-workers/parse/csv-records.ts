import { pipeline } from 'node:stream/promises';
import { CsvError, parse, type Options } from 'csv-parse';
import { DECIMAL, readBytes, refuse, shown, type ByteSource } from './source.ts';

/** Real records are far shorter. The limit bounds the memory for a file without line ends. */
const MAX_RECORD_BYTES = 4096;

/** Returns the number of lines. `expected` says which form the file must have. Throws a `FailureError`. */
export async function eachCsvLine(
  source: ByteSource,
  label: string,
  options: Options,
  expected: string,
  take: (fields: readonly string[], line: number) => void,
): Promise<number> {
  const parser = parse({
    bom: true,
    trim: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_RECORD_BYTES,
    ...options,
    // The callback consumes the records, so the stream does not queue them.
    on_record: (fields: string[], context) => {
      take(fields, context.lines);
      return null;
    },
  });
  parser.resume();
  try {
    await pipeline(readBytes(source, label), parser);
  } catch (error) {
    if (error instanceof CsvError)
      refuse(label, { line: Number(error['lines'] ?? 1) }, `${error.message}. The file must be ${expected}`);
    throw error;
  }
  return parser.info.lines;
}

export interface CsvRecord {
  readonly line: number;
  text(column: string): string;
  number(column: string): number;
}

/** Reads CSV whose header names at least `columns`, in any order. Throws a `FailureError` that names the line. */
export async function eachCsvRecord(
  source: ByteSource,
  label: string,
  columns: readonly string[],
  take: (record: CsvRecord, header: readonly string[]) => void,
): Promise<{ readonly header: readonly string[]; readonly lines: number }> {
  let header: readonly string[] | undefined;
  const takeRecord = (fields: readonly string[], line: number): void => {
    if (!header) {
      for (const name of columns) {
        if (!fields.includes(name))
          refuse(label, { line }, `the header ${shown(fields.join(','))} has no column ${name}`);
      }
      header = fields;
      return;
    }
    const names = header;
    const text = (column: string): string => fields[names.indexOf(column)] ?? '';
    const number = (column: string): number => {
      const field = text(column);
      const value = DECIMAL.test(field) ? Number(field) : NaN;
      if (value >= 0 && Number.isFinite(value)) return value;
      return refuse(label, { line, column: names.indexOf(column) + 1 }, `${shown(field)} is not a number ≥ 0`);
    };
    take({ line, text, number }, names);
  };
  const lines = await eachCsvLine(source, label, {}, 'CSV with a header', takeRecord);
  return { header: header ?? [], lines };
}
