import { expect, it } from 'vitest';
import { parseArithmetic } from '../../src-workers/domain/arithmetic.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

/** A manifest may contain arithmetic. */

const VALUES: Readonly<Record<string, number>> = { n: 10, block: 4 };
const read = (text: string) => unwrap(parseArithmetic(text, Object.keys(VALUES)));

it.each([
  ['7', 7],
  ['{n}', 10],
  ['n + 1', 11],
  ['n - 2 - 3', 5],
  ['2 + 3 * {block}', 14],
  ['(2 + 3) * block', 20],
  ['ceil(n / block)', 3],
  ['floor(n/block) * 1.5e1', 30],
  ['-n + -(2 - 1)', -11],
  ['n % 4 * 2', 4],
  ['max(n, 4 * block) / min(2, log2(16))', 8],
])('%s is %d', (text, value) => expect(read(text).value((name) => VALUES[name])).toBe(value));

it('names its variables, and is translated to C++ with the type double', () => {
  const found = read('ceil({n} / 3) * (block % 2) - 1');
  expect([...found.names]).toEqual(['n', 'block']);
  const words = '((std::ceil((double(one.n) / double(3))) * std::fmod(double(one.block), double(2))) - double(1))';
  expect(found.cpp((name) => `double(one.${name})`)).toBe(words);
});

it.each([
  ['n +', 'a number or a name is missing at the end'],
  ['n 1', 'an operator is missing before "1"'],
  ['n)', '")" is one too many'],
  ['n, 1', '"," is one too many'],
  ['(n', '")" is missing at the end'],
  ['* n', 'a number or a name is missing before "*"'],
  ['m + 1', '"m" is not one of n, block'],
  ['sqrt(n)', '"sqrt" is not one of the functions ceil, floor, log2, min, max'],
  ['min(n)', 'min takes two numbers'],
  ['n; exit', '";" is neither a number, a name nor a sign'],
  ['{n', '"{" is neither a number, a name nor a sign'],
  ['', 'a number or a name is missing at the end'],
  ['constructor', '"constructor" is not one of n, block'],
  ['1'.repeat(201), 'it has more than 200 characters'],
])('refuses %s', (text, why) => expect(parseArithmetic(text, Object.keys(VALUES))).toFail(null, why));
