import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { chunks, encode } from '../data.ts';

/** Parses a text in small chunks, which split numbers, line ends and characters. */
const parsed = (text: string | Uint8Array) => parseLengthsCsv(chunks(text), 'file:x.csv');
async function read(text: string | Uint8Array) {
  const { law, form, units } = unwrap(await parsed(text));
  const shares = Object.fromEntries(Array.from(law.support, (length, i) => [length, law.probability[i]]));
  return [form, units, shares] as const;
}

it.each([
  ['plain', '12\n3\n3\n12'],
  ['header', 'steps per particle\n12\n3\n3\n12\n'],
  ['byte-order mark and CRLF', '\ufeffn\r\n12\r\n3\r\n3\r\n12\r\n'],
  ['mixed line ends', '12\r\n3\n3\r12\n'],
  ['blank lines, blanks, comments', '# source: a test\n\n 12\n   \n3 \n\n\n+3\n12.0\n\n'],
  ['quoted', '"12"\n"3"\n3\n1.2e1\n'],
])('lengths, one per line %s', async (_name, text) =>
  expect(await read(text)).toEqual(['lengths', 4, { 3: 0.5, 12: 0.5 }]),
);

it('lengths may be 0, and in UTF-16 with its byte-order mark, as spreadsheets save it', async () => {
  expect(await read('0\n0\n1\n1\n')).toEqual(['lengths', 4, { 0: 0.5, 1: 0.5 }]);
  const utf16 = new Uint8Array(Buffer.from('\ufeffn\tp\r\n3\t0.5\r\n12\t0.5\r\n', 'utf16le'));
  expect(await read(utf16)).toEqual(['probabilities', null, { 3: 0.5, 12: 0.5 }]);
});

describe('pairs', () => {
  it('probabilities, with and without a header, in any order and with any delimiter', async () => {
    const expected = ['probabilities', null, { 3: 0.25, 12: 0.75 }];
    const plain = '3,0.25\n12,0.75\n';
    for (const text of [plain, `n,p\n${plain}`, 'Probability;Length\n.25;3\n.75;12\n', 'n\tp\n3\t0.25\n12\t0.75\n'])
      expect(await read(text), text).toEqual(expected);
  });

  it('uses the column with the right header, beside any others', async () => {
    const expected = ['lengths', 3, { 3: 1 / 3, 12: 2 / 3 }];
    expect(await read('vertex,length\n0,12\n1,3\n2,12\n')).toEqual(expected);
    expect(await read('Degree;vertex;x\n12;0;0.5\n3;a;\n12;2;1\n')).toEqual(expected);
    expect(await read('row,length,count\na,12,2\nb,3,1\n')).toEqual(['counts', ...expected.slice(1)]);
  });

  it('an error in two columns without a header says how the columns are understood', async () => {
    expect(await parsed('0,0\n1,0\n2,1\n3,1\n')).toFail(null, /sum to 2 instead of 1 .*Two columns without a header/);
    expect(await parsed('n,p\n2,1\n3,1\n')).toFail(null, /^((?!without a header).)*$/);
  });

  it('rounded probabilities are normalised, and wrong ones are refused', async () => {
    expect((await read('1,0.333\n2,0.333\n3,0.333\n'))[2][1]).toBe(0.333 / (0.333 * 3));
    const message =
      /^file:x\.csv: the probabilities sum to 0\.8999999999999999 instead of 1 \(within 0\.001\)\. Two columns/;
    expect(await parsed('1,0.3\n2,0.3\n3,0.3\n')).toFail(null, message);
  });

  it('counts add up to units; weights are only normalised', async () => {
    expect(await read('length,count\n3,10\n12,20\n3,10\n')).toEqual(['counts', 40, { 3: 0.5, 12: 0.5 }]);
    expect(await read('length,weight\n3,0.125\n12,0.375\n')).toEqual(['counts', null, { 3: 0.25, 12: 0.75 }]);
    const { note } = unwrap(await parsed('steps,weight\n3,0.5\n'));
    expect(note).toMatch(/^The column "weight" is read as .* FILE#steps\. The column "weight" has .* not whole/);
  });
});

describe('errors have the line, the column, the wrong text and the expected form', () => {
  it.each([
    ['1\nNaN\n', 2, 1, '"NaN" is not a length: an integer ≥ 0. Correct or remove such lines'],
    ['1\n\n-2\n', 3, 1, 'length "-2" is not an integer from 0 to 2^53 − 1. Correct or remove such lines'],
    ['n\n2.5\n', 2, 1, 'length "2.5" is not an integer from 0 to 2^53 − 1'],
    ['1\n1e400\n', 2, 1, '"1e400" is not a length: an integer ≥ 0'],
    ['9007199254740993\n', 1, 1, 'length "9007199254740993" is not an integer from 0 to 2^53 − 1'],
    ['1\n0x10\n', 2, 1, '"0x10" is not a length: an integer ≥ 0'],
    ['n,p\n1,\n', 2, 2, 'the field is empty; expected a number ≥ 0'],
    ['n,p\n1\n', 2, 1, 'the line has 1 field instead of 2. Correct or remove such lines'],
    ['n,p\n1,0.5\n1,0.5\n', 3, 1, 'length 1 is given twice'],
    ['n,count\n1,-5\n', 2, 2, 'the value "-5" of the counts is not a number ≥ 0'],
    ['1\n2,3\n', 2, 2, 'the line has 2 fields instead of 1. Separate fields by comma, semicolon or tab, and write'],
    ['1,2,3\n', 1, 3, 'the file has 3 columns. It needs a single column of lengths, two columns (lengths, and'],
    ['speed,price\n1,2\n', 1, undefined, 'the header "speed, price" must name one column of lengths (n, length,'],
    ['length,p,count\n1,1,2\n', 1, undefined, 'and at most one of probabilities (p, probability) or counts'],
    ['vertex,length\n0,7,1\n', 2, 3, 'the line has 3 fields instead of 2. Separate fields by comma, semicolon or tab,'],
    ['length;a\n3;1,5\n', 2, 3, 'If decimals have a comma, specify FILE#COLUMN&delimiter=semicolon'],
    ['0,0.5\n1,3\n', 2, 2, 'probability "3" is not a number from 0 to 1. Two columns without a hea'],
    ['n,p\n1,3\n', 2, 2, 'probability "3" is not a number from 0 to 1'],
    ['12,5\n3,5\n', 1, 2, 'For other columns, add a first line such as "length,count"'],
    ['3;0,25\n', 1, 3, 'the file has 3 columns. It needs a single column of lengths, two columns (lengths, and'],
    ['a;b\n1;2\n', 1, undefined, 'specify the column of lengths as FILE#COLUMN'],
    ['len\n5\n""\n7\n', 3, 1, 'the field is empty; expected a length'],
    ['len\n1.234\n', 2, 1, 'not an integer from 0 to 2^53 − 1. If it has thousands separators, remove them'],
    ['len\n"1,234"\n', 2, 1, 'is not a length: an integer ≥ 0. If it has thousands separators, remove them'],
    ['', 1, undefined, 'the file has no lengths'],
    ['n\n', 2, undefined, 'the file has no lengths'],
    ['1\n"2\n', 2, undefined, 'Quote Not Closed'],
    [`1\n${'9'.repeat(100_000)}\n`, 2, undefined, 'Max Record Size'],
    ['a'.repeat(100_000), 1, undefined, 'Max Record Size'],
  ])('%#', async (text, line, column, message) => {
    const failure = await parsed(text);
    const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}: `;
    expect(failure).toFail(null, new RegExp(`^file:x\\.csv, ${place}`));
    const context = column === undefined ? { line } : { line, column };
    const error = { code: 'bad-input', message: expect.stringContaining(message), context };
    expect(failure).toEqual({ ok: false, error });
  });

  it('errors shorten a long field, and show control characters', async () => {
    expect(await parsed(`1\nx\u0007${'y'.repeat(1000)}\n`)).toFail(null, /"x\\u0007yyy/);
    expect(await parsed(`1\n${'y'.repeat(1000)}\n`)).toFail(null, /^.{1,149}$/);
  });

  it('an error of the source is reported', async () => {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield encode('1\n');
      throw new Error('EIO: the disk is gone');
    };
    const result = await parseLengthsCsv(source(), 'file:x.csv');
    expect(result).toFail(null, 'file:x.csv: the file cannot be read: EIO: the disk is gone');
  });

  it('reading stops at the first error', async () => {
    let chunks = 0;
    const source = async function* (): AsyncGenerator<Uint8Array> {
      for (; chunks < 100_000; chunks++) yield encode('bad\nbad\n');
    };
    expect((await parseLengthsCsv(source(), 'file:x.csv')).ok).toBe(false);
    expect(chunks).toBeLessThan(100_000);
  });
});
