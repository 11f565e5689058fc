import { parse } from 'csv-parse/sync';
import { ok, type Result } from '../domain/result.ts';
import type { PlacedField, TableColumn, TableSummary } from '../domain/table.ts';
import { shortened } from '../domain/text.ts';
import { MAX_SUPPORT_POINTS } from '../models/workload/laws.ts';
import { csvSyntax, DELIMITERS, isHeader, type Delimiter } from './csv.ts';
import { eachCsvLine } from './csv-records.ts';
import { caught, DECIMAL, refuse, type ByteSource } from './source.ts';

const MAX_COLUMNS = 256;
const PREVIEW_ROWS = 8;
const PREVIEW_CHARACTERS = 60;
/** What the delimiter is guessed from. */
const SAMPLE_BYTES = 65_536;
const SAMPLE_RECORDS = 20;

/** The delimiter that cuts the first records into the most fields, as many in each; comma where none does. */
export function guessDelimiter(sample: Uint8Array): Delimiter {
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
    // The last record may be cut off where the sample ends.
    if (records.length > 1 && records.length < SAMPLE_RECORDS && sample.length >= SAMPLE_BYTES) records.pop();
    const fields = records[0]?.length ?? 1;
    if (fields > best.fields && records.every((record) => record.length === fields)) best = { delimiter, fields };
  }
  return best.delimiter;
}

/** What is known of a column while its fields go by. */
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

/** The first record may be read last, when it turns out to be no header. */
const earlier = (known: PlacedField | null, field: string, line: number): PlacedField =>
  known !== null && known.line < line ? known : { line, field: cut(field) };

/** Says what a CSV file holds, for a person who then chooses its columns. The file is read once, as a stream. */
export function inspectTable(
  source: ByteSource,
  label: string,
  asked: { readonly delimiter?: Delimiter | undefined; readonly header?: boolean | undefined } = {},
): Promise<Result<TableSummary>> {
  return caught<TableSummary>(async () => {
    const { sample, whole } = await sampled(source);
    const delimiter = asked.delimiter ?? guessDelimiter(sample);
    let first: { readonly fields: readonly string[]; readonly line: number } | null = null;
    let columns: ColumnReader[] = [];
    const rows: (readonly string[])[] = [];
    let records = 0;
    let ragged: TableSummary['ragged'] = null;
    await eachCsvLine(whole, label, csvSyntax(delimiter), 'a table as CSV', (fields, line) => {
      if (fields.length === 1 && fields[0] === '') return;
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
    // The callback above assigns it, which the compiler does not follow.
    const { fields, line } = first as { readonly fields: readonly string[]; readonly line: number };
    const header = asked.header ?? (records > 0 && looksLikeHeader(fields, columns));
    if (!header) {
      records++;
      rows.unshift(fields.map(cut));
      fields.forEach((field, i) => columns[i].take(field, line));
    }
    return ok({
      delimiter,
      header,
      columns: columns.map((column, i) => column.summary(header ? cut(fields[i]) : '')),
      rows: rows.slice(0, PREVIEW_ROWS),
      records,
      ragged,
    });
  });
}

/** A header has a text where the column holds numbers; or names in every field. */
function looksLikeHeader(fields: readonly string[], columns: readonly ColumnReader[]): boolean {
  return (
    isHeader(fields) ||
    columns.some(({ numbers, fields: all }, i) => numbers > 0 && numbers === all && isHeader([fields[i]]))
  );
}

/** The first bytes of a source, and a source that still has all of them. */
async function sampled(source: ByteSource): Promise<{ readonly sample: Uint8Array; readonly whole: ByteSource }> {
  const iterator = source[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < SAMPLE_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    chunks.push(next.value);
    bytes += next.value.length;
  }
  const sample = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    sample.set(chunk, at);
    at += chunk.length;
  }
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    yield* chunks;
    yield* { [Symbol.asyncIterator]: () => iterator };
  };
  return { sample: sample.subarray(0, SAMPLE_BYTES), whole: whole() };
}
