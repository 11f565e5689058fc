import type { Result } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import {
  categoricalLaw,
  empiricalLaw,
  MAX_SUPPORT_POINTS,
  PROBABILITY_SUM_TOLERANCE,
} from '../models/workload/laws.ts';
import { eachCsvLine } from './csv-records.ts';
import { caught, DECIMAL, refuse, shown, type ByteSource } from './source.ts';

export interface LengthsCsv {
  readonly law: LengthLaw;
  /**
   * `lengths`: one line per unit. `counts`: (length, count or weight) pairs, normalised. `probabilities`: (length,
   * probability) pairs that sum to 1.
   */
  readonly form: 'lengths' | 'counts' | 'probabilities';
  /** Number of units in the file: lines, or the sum of whole counts; `null` where it gives only proportions. */
  readonly units: number | null;
  /** Of one line per unit: the lengths in the order of the lines; `null` for other forms, and beyond `MAX_ORDERED_LENGTHS` lines. */
  readonly lengths: Float64Array | null;
}

/** Lengths whose order is kept: 256 MB. Of a longer file the law alone is known. */
export const MAX_ORDERED_LENGTHS = 2 ** 25;

const LENGTH_NAMES = ['n', 'length', 'lengths', 'iterations', 'steps', 'depth', 'degree', 'work'];
const PROBABILITY_NAMES = ['p', 'probability'];
const COUNT_NAMES = ['count', 'counts', 'weight', 'frequency', 'units'];

export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', bar: '|' } as const;
export type Delimiter = keyof typeof DELIMITERS;

/**
 * What a file's columns mean, where the file does not say it. A column is its name in the header or, where none has that name, its
 * number from 1.
 */
export interface CsvColumns {
  readonly length: string;
  /** How many units have the length; or a weight. */
  readonly count?: string;
  /** Instead of counts; probabilities sum to 1. */
  readonly probability?: string;
  /** Whether the first line is a header; by default it is one where it names the columns or has a name in every field. */
  readonly header?: boolean;
  /** By default comma, semicolon and tab all separate. */
  readonly delimiter?: Delimiter;
}

/** Which field of a record is the length, and which its weight; others are passed by. */
interface Columns {
  readonly form: LengthsCsv['form'];
  /** Fields of every record. */
  readonly width: number;
  readonly length: number;
  readonly weight: number;
}

/** How records and comments are written, and which delimiters separate fields. */
export const csvSyntax = (delimiter?: Delimiter) => ({
  delimiter: delimiter === undefined ? [',', ';', '\t'] : [DELIMITERS[delimiter]],
  record_delimiter: ['\r\n', '\n', '\r'],
  comment: '#',
  comment_no_infix: true,
});

/**
 * Reads unit lengths from CSV (RFC 4180; also `;` and tab; a byte-order mark, CRLF, blank lines and `#` comments are
 * fine), as a stream: memory grows with the distinct lengths, and with the lines whose order is kept.
 *
 * One column: the length of one unit per line, its header optional and of any name. Of more, a header names the one of
 * lengths (`n`, `length`, …) and, where there is one, that of `p`, `probability` or `count`, `weight`, …, in any order; others
 * are passed by. Two columns without a header are (n, p). Probabilities must sum to 1 within `PROBABILITY_SUM_TOLERANCE`, each length once; counts and weights are added up.
 *
 * `chosen` says instead which columns are read.
 *
 * Fails, with line and column, on anything that is not such a number, a length that is not an integer ≥ 0, a file
 * without lengths, or more than `MAX_SUPPORT_POINTS` distinct ones.
 */
export function parseLengthsCsv(source: ByteSource, label: string, chosen?: CsvColumns): Promise<Result<LengthsCsv>> {
  return caught<LengthsCsv>(async () => {
    const weightOf = new Map<number, number>();
    let columns: Columns | undefined;
    let headed = false;
    let units = 0;
    let ordered = new Float64Array(1024);
    let lines = 0;

    const takeRecord = (record: readonly string[], line: number): void => {
      if (record.length === 1 && record[0] === '') return;
      if (!columns) {
        headed = chosen ? hasHeader(record, chosen) : isHeader(record);
        columns = chosen ? chosenColumns(record, chosen, headed, label, line) : columnsOf(record, label, line);
        if (headed) return;
      }
      const { form, width } = columns;
      if (record.length !== width) {
        const fields = record.length === 1 ? 'field' : 'fields';
        refuse(
          label,
          { line, column: Math.min(record.length, width + 1) },
          `the line has ${record.length} ${fields} instead of ${width}${record.length > width ? `, ${SEPARATORS}` : ''}`,
        );
      }
      const length = readNumber(record[columns.length], label, line, columns.length, 'a length: an integer ≥ 0');
      if (!Number.isSafeInteger(length) || length < 0) {
        const got = shown(record[columns.length]);
        refuse(label, { line, column: columns.length + 1 }, `length ${got} is not an integer from 0 to 2^53 − 1`);
      }
      let weight = 1;
      if (form !== 'lengths') {
        weight = readNumber(record[columns.weight], label, line, columns.weight, 'a number ≥ 0');
        if (weight < 0) {
          const got = shown(record[columns.weight]);
          refuse(label, { line, column: columns.weight + 1 }, `${form} value ${got} is not a number ≥ 0`);
        }
        if (form === 'probabilities' && weight > 1 + PROBABILITY_SUM_TOLERANCE) {
          const got = shown(record[columns.weight]);
          const hint = headed || chosen ? '' : `. ${HEADLESS}`;
          refuse(label, { line, column: columns.weight + 1 }, `probability ${got} is not a number from 0 to 1${hint}`);
        }
      }
      units += weight;
      if (form === 'lengths' && lines < MAX_ORDERED_LENGTHS) {
        if (lines === ordered.length) {
          const more = new Float64Array(2 * lines);
          more.set(ordered);
          ordered = more;
        }
        ordered[lines] = length;
      }
      lines++;
      const before = weightOf.get(length);
      if (before !== undefined && form === 'probabilities') {
        refuse(label, { line, column: columns.length + 1 }, `length ${length} is given twice`);
      }
      weightOf.set(length, (before ?? 0) + weight);
      if (weightOf.size > MAX_SUPPORT_POINTS) {
        refuse(label, { line }, `more than ${MAX_SUPPORT_POINTS} distinct lengths, the limit`);
      }
    };

    const lastLine = await eachCsvLine(source, label, csvSyntax(chosen?.delimiter), 'lengths as CSV', takeRecord);

    if (!columns || weightOf.size === 0) {
      refuse(label, { line: lastLine }, 'the file has no lengths');
    }
    const { form } = columns;
    const law =
      form === 'probabilities'
        ? categoricalLaw(
            Array.from(weightOf, ([length, probability]) => ({ length, probability })),
            label,
          )
        : empiricalLaw(weightOf, label);
    if (!law.ok && form === 'probabilities' && !headed && !chosen)
      return { ok: false, error: { ...law.error, message: `${law.error.message}. ${HEADLESS}` } };
    if (!law.ok) return law;
    const whole = form !== 'probabilities' && Number.isSafeInteger(units);
    const lengths = form === 'lengths' && lines <= MAX_ORDERED_LENGTHS ? ordered.slice(0, lines) : null;
    return { ok: true, value: { law: law.value, form, units: whole ? units : null, lengths } };
  });
}

function readNumber(field: string, label: string, line: number, index: number, expected: string): number {
  if (field === '') refuse(label, { line, column: index + 1 }, `the field is empty, not ${expected}`);
  const value = DECIMAL.test(field) ? Number(field) : NaN;
  if (!Number.isFinite(value)) refuse(label, { line, column: index + 1 }, `${shown(field)} is not ${expected}`);
  return value;
}

/** A header has a name in every field; a first value that is `NaN`, `inf` or missing is a bad value, not a header. */
export function isHeader(record: readonly string[]): boolean {
  return record.every(
    (field) => /^\p{L}/u.test(field) && !/^(?:nan|na|inf|infinity|null|none|undefined)$/i.test(field),
  );
}

/** The position of a column in a record, or what is wrong with its name. */
function positionOf(column: string, header: readonly string[] | null, width: number): number | string {
  const named = header?.flatMap((name, at) => (name === column ? [at] : [])) ?? [];
  if (named.length > 1)
    return `${named.length} columns are named ${shown(column)}. Specify the column by its number, from 1`;
  if (named.length === 1) return named[0];
  const number = /^\d+$/.test(column) ? Number(column) : NaN;
  if (number >= 1 && number <= width) return number - 1;
  return header
    ? `no column is named ${shown(column)}. The header is ${shown(header.join(','))}`
    : `the file has no header, so a column is its number from 1 to ${width}, not ${shown(column)}`;
}

function hasHeader(record: readonly string[], { length, header }: CsvColumns): boolean {
  return header ?? (record.includes(length) || isHeader(record));
}

function chosenColumns(
  record: readonly string[],
  { length, count, probability }: CsvColumns,
  headed: boolean,
  label: string,
  line: number,
): Columns {
  const width = record.length;
  const at = (column: string): number => {
    const position = positionOf(column, headed ? record : null, width);
    return typeof position === 'number' ? position : refuse(label, { line }, position);
  };
  const weight = probability ?? count;
  return {
    form: probability !== undefined ? 'probabilities' : count !== undefined ? 'counts' : 'lengths',
    width,
    length: at(length),
    weight: weight === undefined ? -1 : at(weight),
  };
}

const SEPARATORS = 'separated by comma, semicolon or tab; decimals have a point';
const HEADLESS =
  'Two columns without a header are a length and its probability: a first line such as "length,count" or "vertex,length" says otherwise';

function columnsOf(record: readonly string[], label: string, line: number): Columns {
  const width = record.length;
  if (width === 1) return { form: 'lengths', width, length: 0, weight: -1 };
  if (!isHeader(record)) {
    if (width === 2) return { form: 'probabilities', width, length: 0, weight: 1 };
    return refuse(
      label,
      { line, column: 3 },
      `the file has ${width} columns. It needs one of lengths, or two of lengths and p or count, or a header that names the one of lengths ` +
        `(${LENGTH_NAMES.join(', ')}), ${SEPARATORS}`,
    );
  }
  const named = (names: readonly string[]): number[] =>
    record.flatMap((name, at) => (names.includes(name.toLowerCase()) ? [at] : []));
  const [length, ...furtherLengths] = named(LENGTH_NAMES);
  const probabilities = named(PROBABILITY_NAMES);
  const [weight, ...furtherWeights] = [...probabilities, ...named(COUNT_NAMES)];
  if (length === undefined || furtherLengths.length > 0 || furtherWeights.length > 0)
    return refuse(
      label,
      { line },
      `the header ${shown(record.join(','))} does not name one column of lengths (${LENGTH_NAMES.join(', ')}) and at most one of ` +
        `probabilities (${PROBABILITY_NAMES.join(', ')}) or counts (${COUNT_NAMES.join(', ')})`,
    );
  if (weight === undefined) return { form: 'lengths', width, length, weight: -1 };
  return { form: probabilities.length > 0 ? 'probabilities' : 'counts', width, length, weight };
}
