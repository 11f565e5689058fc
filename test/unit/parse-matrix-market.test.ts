import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseMatrixMarket } from '../../src-workers/parse/matrix-market.ts';
import { chunks } from '../data.ts';

const read = (text: string) => parseMatrixMarket(chunks(text.replace(/^%% /, '%%MatrixMarket matrix ')), 'mtx:x');
async function rowsOf(banner: string, ...lines: string[]): Promise<number[]> {
  return [...unwrap(await read(`%% ${banner}\n${lines.join('\n')}\n`)).rowLengths];
}

describe('coordinate files', () => {
  it('reads general matrices with every field', async () => {
    expect(await rowsOf('coordinate real general', '3 4 3', '1 1 1.5', '1 4 -2e3', '3 2 1.0D+02')).toEqual([2, 0, 1]);
    expect(await rowsOf('coordinate integer general', '2 2 2', '2 1 5', '2 2 -7')).toEqual([0, 2]);
    expect(await rowsOf('coordinate complex general', '2 2 1', '2 1 5 0.5')).toEqual([0, 1]);
    expect(await rowsOf('coordinate pattern general', '2 2 1', '1 2')).toEqual([1, 0]);
  });

  it('symmetric files count both triangles, also from an entry above the diagonal, and the diagonal once', async () => {
    expect(await rowsOf('coordinate real symmetric', '3 3 3', '1 1 1', '2 1 1', '3 2 1')).toEqual([2, 2, 1]);
    expect(await rowsOf('coordinate pattern symmetric', '3 3 1', '3 1')).toEqual([1, 0, 1]);
    expect(await rowsOf('coordinate real skew-symmetric', '3 3 2', '2 1 1', '3 1 1')).toEqual([2, 1, 1]);
    expect(await rowsOf('coordinate complex hermitian', '2 2 2', '1 1 1 0', '2 1 0 1')).toEqual([2, 1]);
    expect(await rowsOf('coordinate pattern symmetric', '3 3 2', '1 3', '2 1')).toEqual([2, 1, 1]);
  });

  it('explicit zeros and repeated positions are stored entries, and rows without entries have length 0', async () => {
    expect(await rowsOf('coordinate real general', '2 2 3', '1 1 0', '1 1 0.0', '2 1 1')).toEqual([2, 1]);
    const { law, rows, columns } = unwrap(await read('%% coordinate pattern general\n4 9 1\n2 9\n'));
    expect([rows, columns, ...law.support, ...law.probability]).toEqual([4, 9, 0, 1, 0.75, 0.25]);
  });

  it('comments, blank lines, CRLF, any case, no last line end', async () => {
    const text =
      '%%matrixmarket MATRIX Coordinate Pattern General\r\n% über\r\n%\r\n\r\n 2 2\t2\r\n1 1\r\n\r\n% more\r\n  2 1  ';
    expect([...unwrap(await read(text)).rowLengths]).toEqual([1, 1]);
  });
});

it('array files are read column by column, without zeros: all, the lower triangle if symmetric, or below the diagonal if skew-symmetric', async () => {
  expect(await rowsOf('array real general', '2 3', '1', '0', '0.0', '-0e5', '3', '4')).toEqual([2, 1]);
  expect(await rowsOf('array complex general', '1 2', '0 0', '0 1')).toEqual([1]);
  // Column 1 has rows 1…3, column 2 has rows 2…3, and column 3 has row 3.
  expect(await rowsOf('array real symmetric', '3 3', '1', '0', '5', '0', '0', '0')).toEqual([2, 0, 1]);
  expect(await rowsOf('array integer symmetric', '2 2', '0', '0', '1')).toEqual([0, 1]);
  expect(await rowsOf('array real skew-symmetric', '3 3', '1', '0', '1')).toEqual([1, 2, 1]);
  expect(await rowsOf('array real skew-symmetric', '1 1')).toEqual([0]);
});

const coordinate = '%% coordinate real general\n';
it.each(
  Object.entries({
    '': 'line 1: the file is empty. It must begin with a %%MatrixMarket banner',
    '1 2 3\n': 'line 1: "1 2 3" is not a banner such as %%MatrixMarket matrix coordinate real general',
    '%%MatrixMarket vector coordinate real general\n': 'line 1: the banner names the object "vector" instead of matrix',
    '%% coordinate real\n': 'line 1: the banner has 4 words. It needs %%MatrixMarket matrix and three more',
    '%%MatrixMarket matrix sparse real general\n': 'line 1: the format "sparse" is not one of coordinate, array',
    '%% coordinate quaternion general\n':
      'line 1: the field "quaternion" is not one of real, integer, complex, pattern',
    '%% coordinate real upper\n':
      'line 1: the symmetry "upper" is not one of general, symmetric, skew-symmetric, hermitian',
    '%% array pattern general\n': 'line 1: array pattern does not exist, because an array must have values',
    '%% coordinate pattern skew-symmetric\n':
      'line 1: pattern skew-symmetric does not exist. Use pattern general or pattern symmetric',
    '%% coordinate real hermitian\n': 'line 1: real hermitian does not exist. Use complex hermitian',
    '%% coordinate real symmetric\n2 3 1\n': 'line 2: a matrix that is symmetric must be square, not 2 × 3',
    [coordinate]: 'ends before its size line',
    [`${coordinate}2 2\n`]: 'line 2: the size line has 2 numbers. It needs rows, columns, entries',
    [`${coordinate}2 -2 1\n`]: 'line 2: columns: "-2" is not an integer ≥ 0',
    [`${coordinate}0 0 0\n`]: 'mtx:x: the matrix has no rows',
    [`${coordinate}9999999999 2 1\n`]: 'line 2: 9999999999 rows exceed the limit of 33554432',
    [`${coordinate}99999999999999999999 2 1\n`]: 'line 2: rows: "99999999999999999999" is not an integer ≥ 0',
    [`${coordinate}2 2 9007199254740991\n1 1 1\n`]: 'ends after 1 entry; the header says 9007199254740991',
    '%% array real general\n33554432 9007199254740991\n':
      'line 2: 33554432 × 9007199254740991 entries exceed the limit of 2^53',
    [`${coordinate}2 2 2\n1 1 1\n`]: 'line 3: the file ends after 1 entry; the header says 2',
    [`${coordinate}2 2 1\n1 1 1\n2 2 1\n`]: 'line 4: "2 2 1" follows the last entry',
    [`${coordinate}2 2 1\n1 1 1\n\nhello\n`]: 'line 5: "hello" follows the last entry',
    [`${coordinate}2 2 1\n3 1 1\n`]: 'line 3: the row index "3" is not within 1…2',
    [`${coordinate}2 2 1\n1.5 1 1\n`]: 'row index "1.5"',
    [`${coordinate}2 2 1\n1 1\n`]: 'line 3: the line has 2 fields instead of 3',
    [`${coordinate}2 2 1\n1 1 nan\n`]: 'line 3, column 3: "nan" is not a number',
    '%% coordinate integer general\n1 1 1\n1 1 1.5\n': 'line 3, column 3: "1.5" is not an integer',
    '%% coordinate real skew-symmetric\n2 2 1\n1 1 1\n':
      'line 3: entry 1 1 is on the diagonal, which is empty in a skew-symmetric matrix',
    [`${coordinate}% ${'x'.repeat(100_000)}\n`]: 'line 2: the line is longer than the limit of 65536 characters',
  }),
)('a wrong file is refused: %#', async (text, message) =>
  expect(await read(text)).toMatchObject({ error: { message: expect.stringContaining(message) } }),
);
