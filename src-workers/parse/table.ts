import { parse } from 'csv-parse/sync';
import { ok, type Result } from '../domain/result.ts';
import type { PlacedField, TableColumn, TableSummary } from '../domain/table.ts';
import { shortened } from '../domain/text.ts';
import { MAX_SUPPORT_POINTS } from '../models/workload/laws.ts';
import type { ColumnTable } from './columns.ts';
import { csvSyntax, DELIMITERS, isHeader, type Delimiter } from './csv.ts';
import { eachCsvLine } from './csv-records.ts';
import { caught, DECIMAL, HEAD_BYTES, peeked, refuse, type ByteSource } from './source.ts';

const MAX_COLUMNS = 256;
const PREVIEW_ROWS = 8;
const PREVIEW_CHARACTERS = 60;
const SAMPLE_RECORDS = 20;

/** Returns the delimiter that splits the first records into the most fields, equally many in each; else comma. */
function guessDelimiter(sample: Uint8Array): Delimiter {
  let best: { readonly delimiter: Delimiter; readonly fields: number } = { delimiter: 'comma', fields: 1 };
  for (const delimiter of Object.keys(DELIMITERS) as Delimiter[]) {
    let records: string[][];
    try {
      records = parse(sample, {
        ...csvSyntax(delimiter),
        bom: true,
        trim: true,
        skip_empty_lines: true,
        relax_column_count: true,
        relax_quotes: true,
        to: SAMPLE_RECORDS,
      });
    } catch {
      continue;
    }
    // Spaces also separate words, so a space is used only if no other delimiter separates fields.
    if (delimiter === 'space' && best.fields > 1) break;
    // The sample may end in the middle of its last record.
    if (records.length > 1 && records.length < SAMPLE_RECORDS && sample.length >= HEAD_BYTES) records.pop();
    const fields = records[0]?.length ?? 1;
    if (fields > best.fields && records.every((record) => record.length === fields)) best = { delimiter, fields };
  }
  return best.delimiter;
}

class ColumnReader {
  readonly values = new Set<number>();
  fields = 0;
  empty = 0;
  numbers = 0;
  wholes = 0;
  total = 0;
  max = -Infinity;
  many = false;
  min = Infinity;
  firstBad: PlacedField | null = null;
  firstText: PlacedField | null = null;

  take(field: string, line: number): void {
    this.fields++;
    if (field === '') this.empty++;
    const value = DECIMAL.test(field) ? Number(field) : NaN;
    if (!Number.isFinite(value)) {
      this.firstText = earlier(this.firstText, field, line);
      this.firstBad = earlier(this.firstBad, field, line);
      return;
    }
    this.numbers++;
    if (value > this.max) this.max = value;
    if (value >= 0) this.total += value;
    if (value < this.min) this.min = value;
    if (!Number.isSafeInteger(value) || value < 0) {
      this.firstBad = earlier(this.firstBad, field, line);
      return;
    }
    this.wholes++;
    if (this.many) return;
    this.values.add(value);
    if (this.values.size <= MAX_SUPPORT_POINTS) return;
    this.many = true;
    this.values.clear();
  }

  summary(name: string): TableColumn {
    const { fields, empty, numbers, wholes, many, values, total, min, max, firstBad, firstText } = this;
    const kind =
      fields === empty ? 'empty' : wholes === fields ? 'whole' : numbers === fields - empty ? 'number' : 'text';
    return { name, kind, distinct: many ? null : values.size, total, min, max, firstBad, firstText };
  }
}

const cut = (field: string): string => shortened(field, PREVIEW_CHARACTERS);

/** Returns the field on the earlier line: a first record that is no header is added after the other records. */
const earlier = (known: PlacedField | null, field: string, line: number): PlacedField =>
  known !== null && known.line < line ? known : { line, field: cut(field) };

export interface AskedSyntax {
  readonly delimiter?: Delimiter | undefined;
  readonly header?: boolean | undefined;
}

export function inspectTable(
  source: ByteSource,
  label: string,
  asked: AskedSyntax = {},
): Promise<Result<TableSummary>> {
  return caught<TableSummary>(async () => {
    const { head, whole } = await peeked(source);
    const delimiter = asked.delimiter ?? guessDelimiter(head);
    let first: { readonly fields: readonly string[]; readonly line: number } | null = null;
    let columns: ColumnReader[] = [];
    const rows: (readonly string[])[] = [];
    let records = 0;
    let ragged: TableSummary['ragged'] = null;
    await eachCsvLine(whole, label, csvSyntax(delimiter), 'a table as CSV', (fields, line) => {
      // A first line with one empty field is the header of a column without a name, so it is skipped.
      if (first === null && fields.length === 1 && fields[0] === '') return;
      if (first === null) {
        if (fields.length > MAX_COLUMNS)
          refuse(label, { line }, `the file has ${fields.length} columns; the limit is ${MAX_COLUMNS}`);
        first = { fields, line };
        columns = fields.map(() => new ColumnReader());
        return;
      }
      records++;
      if (fields.length !== columns.length) ragged ??= { line, fields: fields.length };
      if (rows.length < PREVIEW_ROWS) rows.push(fields.map(cut));
      for (let i = 0; i < columns.length; i++) columns[i].take(fields[i] ?? '', line);
    });
    if (first === null) return refuse(label, { line: 1 }, 'the file is empty. Choose a file with lengths');
    // The callback above assigns `first`, but the compiler does not see this.
    const { fields, line } = first as { readonly fields: readonly string[]; readonly line: number };
    const header = asked.header ?? (records > 0 && looksLikeHeader(fields, columns));
    if (!header) {
      records++;
      rows.unshift(fields.map(cut));
      fields.forEach((field, i) => columns[i].take(field, line));
    }
    return ok({
      format: 'text',
      delimiter,
      header,
      columns: columns.map((column, i) => column.summary(header ? cut(fields[i]) : '')),
      rows: rows.slice(0, PREVIEW_ROWS),
      records,
      ragged,
    });
  });
}

export async function inspectColumns(
  table: ColumnTable,
  label: string,
  format: 'parquet' | 'arrow',
): Promise<Result<TableSummary>> {
  const { names } = table;
  if (names.length === 0 || names.length > MAX_COLUMNS)
    refuse(label, {}, `the file has ${names.length} columns of plain values or of lists. It needs 1 to ${MAX_COLUMNS}`);
  const columns = names.map(() => new ColumnReader());
  const rows = Array.from({ length: Math.min(PREVIEW_ROWS, table.rows) }, (): string[] => []);
  for await (const group of table.groups(names))
    for (const [at, parts] of group.columns.entries()) {
      let row = group.firstRow;
      for (const part of parts)
        for (const value of part) {
          const field = value === null || value === undefined ? '' : String(value);
          if (row < rows.length) rows[row][at] = cut(field);
          columns[at].take(field, ++row);
        }
    }
  return ok({
    format,
    delimiter: 'comma',
    header: true,
    columns: columns.map((column, at) => column.summary(cut(names[at]))),
    rows,
    records: table.rows,
    ragged: null,
  });
}

function looksLikeHeader(fields: readonly string[], columns: readonly ColumnReader[]): boolean {
  return (
    isHeader(fields) ||
    columns.some(({ numbers, fields: all }, i) => numbers > 0 && numbers === all && isHeader([fields[i]]))
  );
}
