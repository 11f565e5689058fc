import type { Result } from '../domain/result.ts';
import { eachCsvLine } from './csv-records.ts';
import { takeLengths, WRONG_LINES, type CountColumn, type LengthForm, type ReadLengths } from './length-taker.ts';
import { countedText, thousandsHint } from '../domain/text.ts';
import { caught, DECIMAL, refuse, shown, type ByteSource } from './source.ts';

const LENGTH_NAMES = ['n', 'length', 'lengths', 'iterations', 'steps', 'depth', 'degree', 'work'];
const PROBABILITY_NAMES = ['p', 'probability'];
const COUNT_NAMES = ['count', 'counts', 'weight', 'frequency', 'units'];
const SOURCE_NAMES = ['source', 'src', 'from', 'fromnodeid'];
const TARGET_NAMES = ['target', 'dst', 'destination', 'to', 'tonodeid'];

export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', bar: '|', space: ' ' } as const;
export type Delimiter = keyof typeof DELIMITERS;

/** The meaning of columns. A column is given by its name in the header or, if none has it, by its number from 1. */
export interface CsvColumns {
  readonly length: string;
  readonly count?: string;
  /** The column of probabilities, which must sum to 1. It takes the place of counts. */
  readonly probability?: string;
  /** For an edge list: the column of targets. The column `length` then has the sources. */
  readonly target?: string;
  /** By default, the first line is a header if it names `length` or has a name in every field. */
  readonly header?: boolean;
  /** If omitted, comma, semicolon and tab all separate fields. */
  readonly delimiter?: Delimiter;
}

/** Positions of the fields read: the length and its weight (−1 if none), or the source and the target of an edge. */
export interface Columns {
  readonly form: LengthForm;
  readonly width: number;
  readonly length: number;
  readonly weight: number;
  readonly counts?: CountColumn;
}

export const csvSyntax = (delimiter?: Delimiter) => ({
  delimiter: delimiter === undefined ? [',', ';', '\t'] : [DELIMITERS[delimiter]],
  record_delimiter: ['\r\n', '\n', '\r'],
  comment: '#',
  comment_no_infix: true,
});

/**
 * Reads unit lengths from CSV (RFC 4180; also `;`, tab, a byte-order mark, CRLF, blank lines and `#` comments) as a
 * stream. Memory grows with the number of distinct lengths, and with the number of lines whose order is kept. A header
 * names the columns; two columns without a header are lengths and probabilities. Probabilities must sum to 1 within
 * `PROBABILITY_SUM_TOLERANCE`. Counts of equal lengths are added.
 * `chosen` names the columns in place of a header. `undirected`: an edge counts at both of its ends. `attributed`:
 * fields after the ends of an edge are skipped. Failures name line and column.
 */
export function parseLengthsCsv(
  source: ByteSource,
  label: string,
  chosen?: CsvColumns,
  { undirected = false, attributed = false } = {},
): Promise<Result<ReadLengths>> {
  return caught<ReadLengths>(async () => {
    let columns: Columns | undefined;
    let taken: ReturnType<typeof takeLengths> | undefined;

    const takeRecord = (record: readonly string[], line: number): void => {
      // A first line with one empty field is the header of a column without a name. Later, `""` is a missing value.
      if (!columns && record.length === 1 && record[0] === '') return;
      if (!columns || !taken) {
        const headed = chosen ? hasHeader(record, chosen) : isHeader(record);
        const found = chosen ? chosenColumns(record, chosen, headed, label, line) : findColumns(record, label, line);
        const place = (at: number, isWeight: boolean) => ({
          line: at,
          column: (isWeight ? found.weight : found.length) + 1,
        });
        columns = found;
        const hint = headed || chosen ? '' : `. ${HEADLESS}`;
        taken = takeLengths(found.form, label, place, { undirected, hint, counts: found.counts });
        if (headed) return;
      }
      const { form, width, length, weight } = columns;
      if (attributed ? record.length < Math.max(length, weight) + 1 : record.length !== width)
        refuse(
          label,
          { line, column: Math.min(record.length, width + 1) },
          `the line has ${countedText(record.length, 'field')} instead of ${width}${record.length > width && chosen?.delimiter === undefined ? `. ${SEPARATORS}` : WRONG_LINES}`,
        );
      const [first, second] = form === 'edges' ? EDGE_ENDS : LENGTH_AND_WEIGHT;
      taken.take(
        readNumber(record[length], label, line, length, first),
        form === 'lengths' ? 1 : readNumber(record[weight], label, line, weight, second),
        line,
        record[length],
      );
    };

    const syntax = { ...csvSyntax(chosen?.delimiter), ...(attributed && { quote: null }) };
    const lastLine = await eachCsvLine(source, label, syntax, 'lengths as CSV', takeRecord);
    return taken ? taken.finish({ line: lastLine }) : refuse(label, { line: lastLine }, 'the file has no lengths');
  });
}

const LENGTH_AND_WEIGHT = ['a length: an integer ≥ 0', 'a number ≥ 0'] as const;
const VERTEX = 'the number of a vertex. Number the vertices from 0, as networkx.convert_node_labels_to_integers does';
const EDGE_ENDS = [VERTEX, VERTEX] as const;

function readNumber(field: string, label: string, line: number, index: number, expected: string): number {
  const remedy = expected === VERTEX ? '' : WRONG_LINES;
  if (field === '') refuse(label, { line, column: index + 1 }, `the field is empty; expected ${expected}${remedy}`);
  const value = DECIMAL.test(field) ? Number(field) : NaN;
  if (!Number.isFinite(value))
    refuse(label, { line, column: index + 1 }, `${shown(field)} is not ${expected}${thousandsHint(field) || remedy}`);
  return value;
}

/** Returns whether a record has a name in every field. `NaN`, `inf` and missing values are no names. */
export function isHeader(record: readonly string[]): boolean {
  return record.every(
    (field) => /^\p{L}/u.test(field) && !/^(?:nan|na|inf|infinity|null|none|undefined)$/i.test(field),
  );
}

function findPosition(column: string, header: readonly string[] | null, width: number): number | string {
  const named = header?.flatMap((name, at) => (name === column ? [at] : [])) ?? [];
  if (named.length > 1)
    return `${named.length} columns are named ${shown(column)}. Specify the column by its number, from 1`;
  if (named.length === 1) return named[0];
  const number = /^\d+$/.test(column) ? Number(column) : NaN;
  if (number >= 1 && number <= width) return number - 1;
  return header
    ? `no column is named ${shown(column)}. The header is ${shown(header.join(', '))}`
    : `no column is named ${shown(column)}, since the file has no header. Specify a number from 1 to ${width}`;
}

function hasHeader(record: readonly string[], { length, header }: CsvColumns): boolean {
  // A column number is not looked up in the first record, which may contain the same number as a value.
  return header ?? ((!/^\d+$/.test(length) && record.includes(length)) || isHeader(record));
}

export function chosenColumns(
  record: readonly string[],
  { length, count, probability, target }: CsvColumns,
  headed: boolean,
  label: string,
  line: number,
): Columns {
  const width = record.length;
  const at = (column: string): number => {
    const position = findPosition(column, headed ? record : null, width);
    return typeof position === 'number' ? position : refuse(label, { line }, position);
  };
  const weight = target ?? probability ?? count;
  const weighted = probability === undefined ? 'counts' : 'probabilities';
  return {
    form: weight === undefined ? 'lengths' : target === undefined ? weighted : 'edges',
    width,
    length: at(length),
    weight: weight === undefined ? -1 : at(weight),
    ...(weight !== undefined && weight === count && { counts: { name: weight, guessedBeside: null } }),
  };
}

const SEPARATORS =
  'Separate fields by comma, semicolon or tab, and write decimals with a point. If decimals have a comma, specify FILE#COLUMN&delimiter=semicolon';
const HEADLESS =
  'Two columns without a header are a length and its probability. For other columns, add a first line such as ' +
  '"length,count", "vertex,length" or "source,target"';

export function findColumns(
  record: readonly string[],
  label: string,
  line: number,
  headed = isHeader(record),
): Columns {
  const width = record.length;
  if (width === 1) return { form: 'lengths', width, length: 0, weight: -1 };
  if (!headed) {
    if (width === 2) return { form: 'probabilities', width, length: 0, weight: 1 };
    return refuse(
      label,
      { line, column: 3 },
      `the file has ${width} columns. It needs a single column of lengths, two columns (lengths, and p or count), or a header that names the column of lengths ` +
        `(${LENGTH_NAMES.join(', ')}). ${SEPARATORS}`,
    );
  }
  const named = (names: readonly string[]): number[] =>
    record.flatMap((name, at) => (names.includes(name.toLowerCase()) ? [at] : []));
  const [length, ...furtherLengths] = named(LENGTH_NAMES);
  const [from, ...furtherSources] = named(SOURCE_NAMES);
  const [to, ...furtherTargets] = named(TARGET_NAMES);
  const isEdges = from !== undefined && to !== undefined && furtherSources.length + furtherTargets.length === 0;
  if (length === undefined && isEdges) return { form: 'edges', width, length: from, weight: to };
  const probabilities = named(PROBABILITY_NAMES);
  const [weight, ...furtherWeights] = [...probabilities, ...named(COUNT_NAMES)];
  if (length === undefined || furtherLengths.length > 0 || furtherWeights.length > 0)
    return refuse(
      label,
      { line },
      `the header ${shown(record.join(', '))} must name one column of lengths (${LENGTH_NAMES.join(', ')}) and at most one of ` +
        `probabilities (${PROBABILITY_NAMES.join(', ')}) or counts (${COUNT_NAMES.join(', ')}), or the source and target of edges. Otherwise, specify the column of lengths as FILE#COLUMN`,
    );
  if (weight === undefined) return { form: 'lengths', width, length, weight: -1 };
  if (probabilities.length > 0) return { form: 'probabilities', width, length, weight };
  return { form: 'counts', width, length, weight, counts: { name: record[weight], guessedBeside: record[length] } };
}
