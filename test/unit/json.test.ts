import { expect, test } from 'vitest';
import { parseJson } from '../../src-main/contract/json.ts';

test('a text of only brackets is refused if it is nested too deeply', () => {
  expect(parseJson('['.repeat(1_000_000), 'a.json')).toFail(
    null,
    'a.json, line 1, column 101: JSON needs at most 100 levels of brackets here, not "[".',
  );
  const deepest = '['.repeat(100) + ']'.repeat(100);
  expect(parseJson(deepest, 'a.json')).toStrictEqual({ ok: true, value: JSON.parse(deepest) as unknown });
});

test('a string may have any number of escapes', () => {
  const text = `{"${'\\n'.repeat(4_000_000)}":"\\u00e9\\"x"}`;
  expect(parseJson(text, 'a.json')).toStrictEqual({ ok: true, value: JSON.parse(text) as unknown });
});

test.each([
  ['["\\x"]', 'line 1, column 2: JSON needs a value or "]" here'],
  ['["a\n"]', 'line 1, column 2: JSON needs a value or "]" here'],
  ['["a\\u12g4"]', 'line 1, column 2: JSON needs a value or "]" here'],
  ['["a', 'line 1, column 2: JSON needs a value or "]" here'],
])('%j contains an invalid string', (text, message) =>
  expect(parseJson(text, 'a.json')).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } }),
);
