import type { Result } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { categoricalLaw, empiricalLaw, MAX_SUPPORT_POINTS } from '../models/workload/laws.ts';
import { eachCsvLine } from './csv-records.ts';
import { caught, DECIMAL, refuse, shown, type ByteSource } from './source.ts';

export interface LengthsCsv {
  readonly law: LengthLaw;
  /**
   * `lengths`: one line per unit. `counts`: (length, count or weight) pairs, normalised. `probabilities`: (length,
   * probability) pairs that sum to 1.
   */
  readonly form: 'lengths' | 'counts' | 'probabilities';
  /** Units the file speaks of: lines, or the sum of whole counts; `null` where it gives only proportions. */
  readonly units: number | null;
}

const LENGTH_NAMES = ['n', 'length', 'lengths', 'iterations', 'steps', 'depth'];
const PROBABILITY_NAMES = ['p', 'probability'];
const COUNT_NAMES = ['count', 'counts', 'weight', 'frequency', 'units'];

/** Which field of a record is the length, and which its weight. */
interface Columns {
  readonly form: LengthsCsv['form'];
  readonly length: number;
  readonly weight: number;
}

/**
 * Reads unit lengths from CSV (RFC 4180; also `;` and tab; a byte-order mark, CRLF, blank lines and `#` comments are
 * fine), as a stream: memory grows with the distinct lengths only.
 *
 * One column: the length of one unit per line, its header optional and of any name. Two columns: a header names them
 * (`n`, `length`, … and `p`, `probability` or `count`, `weight`, …), in any order; without a header they are (n, p).
 * Probabilities must sum to 1 within `PROBABILITY_SUM_TOLERANCE`, each length once; counts and weights are added up.
 *
 * Fails, with line and column, on anything that is not such a number, a length that is not an integer ≥ 0, a file
 * without lengths, or more than `MAX_SUPPORT_POINTS` distinct ones.
 */
export function parseLengthsCsv(source: ByteSource, label: string): Promise<Result<LengthsCsv>> {
  return caught<LengthsCsv>(async () => {
    const weightOf = new Map<number, number>();
    let columns: Columns | undefined;
    let units = 0;

    const takeRecord = (record: readonly string[], line: number): void => {
      if (record.length === 1 && record[0] === '') return;
      if (!columns) {
        columns = columnsOf(record, label, line);
        if (isHeader(record)) return;
      }
      const { form } = columns;
      const width = form === 'lengths' ? 1 : 2;
      if (record.length !== width) {
        refuse(
          label,
          { line, column: Math.min(record.length, width + 1) },
          `${record.length} fields; expected ${width}`,
        );
      }
      const length = readNumber(record[columns.length], label, line, columns.length, 'a length: an integer ≥ 0');
      if (!Number.isSafeInteger(length) || length < 0) {
        const got = shown(record[columns.length]);
        refuse(label, { line, column: columns.length + 1 }, `length ${got}; expected an integer from 0 to 2^53 − 1`);
      }
      let weight = 1;
      if (form !== 'lengths') {
        weight = readNumber(record[columns.weight], label, line, columns.weight, 'a number ≥ 0');
        if (weight < 0) {
          const got = shown(record[columns.weight]);
          refuse(label, { line, column: columns.weight + 1 }, `${form} value ${got}; expected a number ≥ 0`);
        }
      }
      units += weight;
      const before = weightOf.get(length);
      if (before !== undefined && form === 'probabilities') {
        refuse(
          label,
          { line, column: columns.length + 1 },
          `length ${length} is given again; expected each length once`,
        );
      }
      weightOf.set(length, (before ?? 0) + weight);
      if (weightOf.size > MAX_SUPPORT_POINTS) {
        refuse(label, { line }, `more than ${MAX_SUPPORT_POINTS} distinct lengths; expected at most that many`);
      }
    };

    const options = {
      delimiter: [',', ';', '\t'],
      record_delimiter: ['\r\n', '\n', '\r'],
      comment: '#',
      comment_no_infix: true,
    };
    const lines = await eachCsvLine(source, label, options, 'lengths as CSV', takeRecord);

    if (!columns || weightOf.size === 0) {
      refuse(label, { line: lines }, 'the file ends without a length; expected at least one');
    }
    const { form } = columns;
    const law =
      form === 'probabilities'
        ? categoricalLaw(
            Array.from(weightOf, ([length, probability]) => ({ length, probability })),
            label,
          )
        : empiricalLaw(weightOf, label);
    if (!law.ok) return law;
    const whole = form !== 'probabilities' && Number.isSafeInteger(units);
    return { ok: true, value: { law: law.value, form, units: whole ? units : null } };
  });
}

function readNumber(field: string, label: string, line: number, index: number, expected: string): number {
  if (field === '') refuse(label, { line, column: index + 1 }, `the field is empty; expected ${expected}`);
  const value = DECIMAL.test(field) ? Number(field) : NaN;
  if (!Number.isFinite(value)) refuse(label, { line, column: index + 1 }, `${shown(field)}; expected ${expected}`);
  return value;
}

/** A header has a name in every field; a first value that is `NaN`, `inf` or missing is a bad value, not a header. */
function isHeader(record: readonly string[]): boolean {
  return record.every(
    (field) => /^\p{L}/u.test(field) && !/^(?:nan|na|inf|infinity|null|none|undefined)$/i.test(field),
  );
}

function columnsOf(record: readonly string[], label: string, line: number): Columns {
  if (record.length === 1) return { form: 'lengths', length: 0, weight: -1 };
  if (record.length !== 2) {
    refuse(
      label,
      { line, column: 3 },
      `${record.length} columns; expected one of lengths, or two of lengths and p or count`,
    );
  }
  if (!isHeader(record)) return { form: 'probabilities', length: 0, weight: 1 };
  const names = record.map((name) => name.toLowerCase());
  const length = names.findIndex((name) => LENGTH_NAMES.includes(name));
  const weight = 1 - length;
  if (length >= 0 && PROBABILITY_NAMES.includes(names[weight])) return { form: 'probabilities', length, weight };
  if (length >= 0 && COUNT_NAMES.includes(names[weight])) return { form: 'counts', length, weight };
  return refuse(
    label,
    { line },
    `header ${shown(record.join(','))}; expected a length (${LENGTH_NAMES.join(', ')}) and a probability ` +
      `(${PROBABILITY_NAMES.join(', ')}) or a count (${COUNT_NAMES.join(', ')})`,
  );
}
