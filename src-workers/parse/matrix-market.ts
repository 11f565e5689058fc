import { ok, type Result, badInput } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { countedText } from '../domain/text.ts';
import { countLengths } from '../models/workload/generated.ts';
import { empiricalLaw } from '../models/workload/laws.ts';
import { caught, DECIMAL, readBytes, refuse as refuseIn, shown, type ByteSource, type Refuse } from './source.ts';

export interface MatrixRows {
  readonly law: LengthLaw;
  readonly rows: number;
  readonly columns: number;
  readonly rowLengths: Float64Array;
}

/** Receives an entry of the whole matrix, including mirrored entries. Rows and columns count from 0. */
export type MatrixEntry = (row: number, column: number, value: number) => void;

/** One number is kept for each row, at most 256 MB in total. */
const MAX_MATRIX_ROWS = 2 ** 25;
/** The format allows 1024 characters, but real files have longer comments. */
const MAX_LINE_CHARACTERS = 65_536;

const LAYOUTS = ['coordinate', 'array'] as const;
const VALUES_OF = { real: 1, integer: 1, complex: 2, pattern: 0 } as const;
type Field = keyof typeof VALUES_OF;
const FIELDS = Object.keys(VALUES_OF) as Field[];
const SYMMETRIES = ['general', 'symmetric', 'skew-symmetric', 'hermitian'] as const;

interface Banner {
  readonly layout: (typeof LAYOUTS)[number];
  readonly field: Field;
  readonly symmetry: (typeof SYMMETRIES)[number];
}

interface Size {
  readonly rows: number;
  readonly columns: number;
  readonly entries: number;
}

/**
 * Reads the row lengths of a Matrix Market file (Boisvert, Pozo, Remington: "The Matrix Market Exchange Formats",
 * NISTIR 5935, 1996) as a stream. Explicit zeros and repeated positions of a coordinate file count, since a sparse
 * kernel stores them. An entry off the diagonal of a symmetric file also counts in the mirrored row.
 * @param entry receives every counted entry, with the value 1 in a pattern. With it, complex matrices are rejected
 */
export function parseMatrixMarket(source: ByteSource, label: string, entry?: MatrixEntry): Promise<Result<MatrixRows>> {
  return caught<MatrixRows>(async () => {
    let banner: Banner | undefined;
    let size: Size | undefined;
    let rowLengths = new Float64Array(0);
    let taken = 0;
    let lineNumber = 0;
    const refuse: Refuse = (problem, column) => refuseIn(label, { line: Math.max(1, lineNumber), column }, problem);
    // The next position in an array file, which is written by columns. Columns of a symmetric matrix start on or below
    // the diagonal.
    let row = 0;
    let column = 0;

    const countIn = (at: number, column: number, value: number): void => {
      if (at >= rowLengths.length) rowLengths = resized(rowLengths, Math.max(at + 1, rowLengths.length * 2, 1024));
      rowLengths[at]++;
      entry?.(at, column, value);
    };

    for await (const line of textLines(source, label)) {
      lineNumber++;
      if (!banner) {
        banner = parseBanner(line, refuse);
        if (entry && banner.field === 'complex')
          refuse('the values are complex. Specify a matrix of real or integer values, or a pattern');
        continue;
      }
      if (line.startsWith('%')) continue;
      const fields = line.trim().split(/\s+/);
      if (fields[0] === '') continue;
      if (!size) {
        size = parseSize(fields, banner, refuse);
        row = banner.symmetry === 'skew-symmetric' ? 1 : 0;
        continue;
      }
      if (taken === size.entries)
        refuse(
          `${shown(line)} follows the last entry, although the header announces ${countedText(size.entries, 'entry', 'entries')}`,
        );
      taken++;
      const mirrored = banner.symmetry !== 'general';
      const sign = banner.symmetry === 'skew-symmetric' ? -1 : 1;
      if (banner.layout === 'coordinate') {
        checkFieldCount(fields, 2 + VALUES_OF[banner.field], refuse);
        const i = readIndex(fields[0], size.rows, 'row', refuse);
        const j = readIndex(fields[1], size.columns, 'column', refuse);
        readValues(fields, 2, banner.field, refuse);
        if (i === j && banner.symmetry === 'skew-symmetric')
          refuse(`entry ${i} ${j} is on the diagonal, which is empty in a skew-symmetric matrix`);
        const value = banner.field === 'pattern' ? 1 : numberIn(fields[2]);
        countIn(i - 1, j - 1, value);
        if (mirrored && i !== j) countIn(j - 1, i - 1, sign * value);
      } else {
        checkFieldCount(fields, VALUES_OF[banner.field], refuse);
        if (readValues(fields, 0, banner.field, refuse)) {
          const value = numberIn(fields[0]);
          countIn(row, column, value);
          if (mirrored && row !== column) countIn(column, row, sign * value);
        }
        row++;
        if (row === size.rows) {
          column++;
          row = banner.symmetry === 'general' ? 0 : banner.symmetry === 'skew-symmetric' ? column + 1 : column;
        }
      }
    }

    if (!banner) refuse('the file is empty. It must begin with a %%MatrixMarket banner');
    if (!size) refuse('the file ends before its size line (rows and columns)');
    if (taken < size.entries)
      refuse(`the file ends after ${countedText(taken, 'entry', 'entries')}; the header says ${size.entries}`);
    if (size.rows === 0) return badInput(`${label}: the matrix has no rows`);
    rowLengths = resized(rowLengths, size.rows);
    const law = empiricalLaw(countLengths(rowLengths), label);
    if (!law.ok) return law;
    return ok({ law: law.value, rows: size.rows, columns: size.columns, rowLengths });
  });
}

/** Returns the lines without their ends (LF or CRLF). */
export async function* textLines(
  source: ByteSource,
  label: string,
  most = MAX_LINE_CHARACTERS,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  let count = 0;
  const checked = (line: string): string => {
    count++;
    if (line.length > most) refuseIn(label, { line: count }, `the line is longer than the limit of ${most} characters`);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  };
  for await (const chunk of readBytes(source, label)) {
    const text = rest + decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      yield checked(text.slice(start, end));
      start = end + 1;
    }
    rest = text.slice(start);
    if (rest.length > most) checked(rest);
  }
  rest += decoder.decode();
  if (rest !== '') yield checked(rest);
}

function parseBanner(line: string, refuse: Refuse): Banner {
  const words = line.trim().toLowerCase().split(/\s+/);
  if (words[0] !== '%%matrixmarket')
    refuse(`${shown(line)} is not a banner such as %%MatrixMarket matrix coordinate real general`);
  if (words[1] !== 'matrix') refuse(`the banner names the object ${shown(words[1] ?? '')} instead of matrix`);
  if (words.length !== 5) refuse(`the banner has ${words.length} words. It needs %%MatrixMarket matrix and three more`);
  const layout = readOneOf(LAYOUTS, words[2], 'format', refuse);
  const field = readOneOf(FIELDS, words[3], 'field', refuse);
  const symmetry = readOneOf(SYMMETRIES, words[4], 'symmetry', refuse);
  if (field === 'pattern' && layout === 'array')
    refuse('array pattern does not exist, because an array must have values. Use array real, integer or complex');
  if (field === 'pattern' && symmetry !== 'general' && symmetry !== 'symmetric')
    refuse(`pattern ${symmetry} does not exist. Use pattern general or pattern symmetric`);
  if (symmetry === 'hermitian' && field !== 'complex')
    refuse(`${field} hermitian does not exist. Use complex hermitian`);
  return { layout, field, symmetry };
}

function readOneOf<T extends string>(allowed: readonly T[], word: string, what: string, refuse: Refuse): T {
  const found = allowed.find((candidate) => candidate === word);
  return found ?? refuse(`the ${what} ${shown(word)} is not one of ${allowed.join(', ')}`);
}

function parseSize(fields: readonly string[], banner: Banner, refuse: Refuse): Size {
  const names = banner.layout === 'coordinate' ? ['rows', 'columns', 'entries'] : ['rows', 'columns'];
  if (fields.length !== names.length)
    refuse(`the size line has ${countedText(fields.length, 'number')}. It needs ${names.join(', ')}`);
  const sizes = fields.map((field, i) => {
    const value = /^\d+$/.test(field) ? Number(field) : NaN;
    if (!Number.isSafeInteger(value)) refuse(`${names[i]}: ${shown(field)} is not an integer ≥ 0`);
    return value;
  });
  const [rows, columns] = sizes;
  if (rows > MAX_MATRIX_ROWS) refuse(`${rows} rows exceed the limit of ${MAX_MATRIX_ROWS}`);
  if (banner.symmetry !== 'general' && rows !== columns)
    refuse(`a matrix that is ${banner.symmetry} must be square, not ${rows} × ${columns}`);
  if (banner.layout === 'coordinate') return { rows, columns, entries: sizes[2] };
  const triangle = (banner.symmetry === 'skew-symmetric' ? rows - 1 : rows + 1) * (rows / 2);
  const entries = banner.symmetry === 'general' ? rows * columns : triangle;
  if (!Number.isSafeInteger(entries)) refuse(`${rows} × ${columns} entries exceed the limit of 2^53`);
  return { rows, columns, entries: Math.max(0, entries) };
}

function checkFieldCount(fields: readonly string[], expected: number, refuse: Refuse): void {
  if (fields.length !== expected) refuse(`the line has ${countedText(fields.length, 'field')} instead of ${expected}`);
}

function readIndex(field: string, size: number, what: string, refuse: Refuse): number {
  const index = /^\d+$/.test(field) ? Number(field) : NaN;
  if (!(index >= 1 && index <= size))
    refuse(
      `the ${what} index ${shown(field)} is not within 1…${size}${index === 0 ? ' (indices count from 1, this file may count from 0)' : ''}`,
    );
  return index;
}

/** Fortran writes exponents with D. */
const numberIn = (field: string): number => Number(field.replace(/[dD]/, 'e'));

function readValues(fields: readonly string[], first: number, field: Field, refuse: Refuse): boolean {
  let nonZero = false;
  for (let i = first; i < fields.length; i++) {
    const text = fields[i];
    const valid = field === 'integer' ? /^[+-]?\d+$/.test(text) : DECIMAL.test(text.replace(/[dD]/, 'e'));
    if (!valid) refuse(`${shown(text)} is not ${field === 'integer' ? 'an integer' : 'a number'}`, i + 1);
    // A value with a digit 1 to 9 before the exponent is not 0. So `1e-400` counts, although a double cannot hold it.
    nonZero ||= /^[^eEdD]*[1-9]/.test(text);
  }
  return nonZero;
}

function resized(lengths: Float64Array<ArrayBuffer>, size: number): Float64Array<ArrayBuffer> {
  return new Float64Array(lengths.buffer.transfer(size * Float64Array.BYTES_PER_ELEMENT));
}
