import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { TableSummary } from '../../../src-workers/domain/table.ts';
import { parseLengthsCsv } from '../../../src-workers/parse/csv.ts';
import { formatWorkload, parseWorkload } from '../../../src-workers/parse/grammar.ts';
import { inspectTable } from '../../../src-workers/parse/table.ts';
import { readChoice, suggestChoice, toColumns } from '../../../src-renderer/shell/files/table-choice.ts';
import { forAllAsync } from '../../for-all.ts';
import { chunks } from '../../data.ts';

const inspect = async (text: string, asked = {}): Promise<TableSummary> =>
  unwrap(await inspectTable(chunks(text), 'x.csv', asked));
const lines = (...rows: readonly string[]) => `${rows.join('\n')}\n`;

/** Returns what the sheet suggests for a file, and the result of importing it. */
async function suggested(text: string) {
  const summary = await inspect(text);
  const choice = suggestChoice(summary);
  return { summary, choice, reading: readChoice(summary, choice), columns: toColumns(summary, choice) };
}

describe('the interpretation of a table', () => {
  it('prefers, among unknown names, whole numbers that do not number the lines', async () => {
    const { choice, reading, columns } = await suggested(
      lines('job,host,hops seen,ms', '1,a,5,0.5', '2,b,5,0.25', '3,a,9,1', '4,c,7,2'),
    );
    expect(choice).toEqual({ meaning: 'unit', length: 2, weight: null });
    expect(reading).toEqual({ ok: true, units: 4, text: '4 units, 3 distinct lengths' });
    expect(columns).toEqual({ length: 'hops seen', header: true, delimiter: 'comma' });
  });
  it('prefers a column with faults to the numbers of the lines, and says what is wrong', async () => {
    const { choice, reading } = await suggested(lines('id;length', '1;5', '2;-3', '3;', '4;7'));
    expect(choice.length).toBe(1);
    expect(reading).toMatchObject({ ok: false, problem: expect.stringMatching(/^Line [34] /) as string });
    const thousands = await suggested(lines('Knoten;Anzahl', '1;12', '2;1.234.567', '3;7'));
    expect(thousands.reading).toMatchObject({
      ok: false,
      problem: 'Line 3 of Anzahl has the text “1.234.567”. If it has thousands separators, remove them.',
    });
    const gap = await suggested('len\n5\n""\n7\n');
    expect(gap.reading).toMatchObject({ ok: false, problem: expect.stringContaining('Line 3 has no value') as string });
  });
  it.each([
    ['a;b\n1;2\n', 'semicolon', true],
    ['a\tb\n1\t2\n', 'tab', true],
    ['a|b\n1|2\n', 'bar', true],
    ['1,2\n3,4\n', 'comma', false],
    ['5\n6\n', 'comma', false],
    ['"a,b";c\n"1,2";3\n', 'semicolon', true],
    ['2nd,steps\n1,4\n2,5\n', 'comma', true],
  ])('%j: finds its delimiter and its header', async (text, delimiter, header) =>
    expect(await inspect(text)).toMatchObject({ delimiter, header }),
  );
  it('finds counted lengths by the name of the counts, and probabilities by their sum', async () => {
    const counted = await suggested(lines('value,count', '3,10', '12,30'));
    expect(counted.choice).toEqual({ meaning: 'count', length: 0, weight: 1 });
    expect(counted.reading).toEqual({ ok: true, units: 40, text: '40 units, 2 distinct lengths' });
    const probable = await suggested(lines('0.25;3', '0.75;12'));
    expect(probable.choice).toEqual({ meaning: 'probability', length: 1, weight: 0 });
    expect(probable.reading).toMatchObject({ ok: true, units: null });
  });
  it('finds edges by the names of their ends, or, like an import without a choice, by two numbers with a space between them', async () => {
    const { choice, reading, columns } = await suggested(lines('weight source target', '5 0 1', '5 0 2', '5 2 1'));
    expect(choice).toEqual({ meaning: 'target', length: 1, weight: 2 });
    expect(reading).toEqual({ ok: true, units: null, text: '3 edges; a length is an out-degree' });
    expect(columns).toEqual({ length: 'source', target: 'target', header: true, delimiter: 'space' });
    expect((await suggested(lines('0 1', '0 2', '2 1'))).choice).toEqual({ meaning: 'target', length: 0, weight: 1 });
    expect((await suggested(lines('0,1', '0,2', '2,1'))).choice.meaning).toBe('unit');
  });
  it('reads UTF-16, as spreadsheets save it', async () => {
    const utf16 = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(Buffer.from('\ufeffid\tsteps\r\n1\t3\r\n2\t12\r\n', 'utf16le'));
    };
    const summary = unwrap(await inspectTable(utf16(), 'x.csv'));
    expect([summary.delimiter, summary.columns.map(({ name }) => name)]).toEqual(['tab', ['id', 'steps']]);
  });
});

it.each([
  [lines('a,b', '1,x', '2,y'), 1, 'Line 2 of b has the text “x”. Choose a column of numbers.'],
  [lines('a,b', '1,4', '2,2.5'), 1, 'Line 3 of b has 2.5. Lengths are whole numbers of iterations. Choose'],
  [lines('a,b', '1,4', '2,-2'), 1, 'Line 3 of b has -2.'],
  [lines('a,b', '1,4', '2,', '3,5'), 1, 'Line 3 has no value in b. Fill it in or delete the line.'],
  [lines('a,b', '1,4', '2', '3,5'), 1, 'Line 3 has 1 field, but the first line has 2. Choose another delimiter'],
  [lines('a,b', '1,', '2,'), 1, 'b is empty.'],
])('names the error of a choice with its line: %j', async (text, length, problem) => {
  const reading = readChoice(await inspect(text), { meaning: 'unit', length, weight: null });
  expect(reading.ok ? '' : reading.problem).toContain(problem);
});
it('the error of a choice explains a header without rows, counts of 0, and a missing column of weights', async () => {
  const problem = async (text: string, weight: number | null) => {
    const reading = readChoice(await inspect(text, { header: true }), { meaning: 'count', length: 0, weight });
    return reading.ok ? '' : reading.problem;
  };
  expect(await problem('steps,n\n', 1)).toContain('no records');
  expect(await problem(lines('steps,n', '3,0'), 1)).toContain('All counts are 0');
  expect(await problem(lines('steps,n', '3,1'), null)).toBe('Choose the column of counts.');
});

describe('the engine and the command line import what the sheet shows', () => {
  const name = fc
    .string({
      minLength: 1,
      maxLength: 8,
      unit: fc.constantFrom('a', 'b', ' ', '#', '&', '=', ',', ';', '"', '(', ')', '1'),
    })
    .map((s) => `x${s}`);
  const table = fc.record({
    names: fc.uniqueArray(name, { minLength: 2, maxLength: 4, selector: (text) => text.trim() }),
    rows: fc.array(fc.array(fc.nat(50), { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 30 }),
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    counted: fc.boolean(),
  });
  it('for any table', async () =>
    await forAllAsync(100)(table, async ({ names, rows, delimiter, counted }) => {
      const quoted = names.map((text) => `"${text.replaceAll('"', '""')}"`);
      const text = lines(quoted.join(delimiter), ...rows.map((row) => row.slice(0, names.length).join(delimiter)));
      const summary = await inspect(text, { delimiter: DELIMITERS[delimiter] });
      const choice = { meaning: counted ? 'count' : 'unit', length: 0, weight: counted ? 1 : null } as const;
      const reading = readChoice(summary, choice);
      const columns = toColumns(summary, choice);
      const written = formatWorkload({ kind: 'file', path: 'x.csv', columns });
      expect(unwrap(parseWorkload(written))).toEqual({ kind: 'file', path: 'x.csv', columns });
      const parsed = await parseLengthsCsv(chunks(text), 'x.csv', columns);
      const lengths = rows.flatMap(([length, n]) => (counted ? Array<number>(n).fill(length) : [length]));
      if (!reading.ok) {
        expect(lengths).toEqual([]);
        return;
      }
      const { law, units } = unwrap(parsed);
      expect(units).toBe(reading.units);
      expect(units).toBe(lengths.length);
      const least = Math.min(...lengths);
      const share = lengths.filter((length) => length === least).length / lengths.length;
      expect(law.probability[law.support.indexOf(least)]).toBeCloseTo(share, 12);
    }));
  const DELIMITERS: Readonly<Record<string, TableSummary['delimiter']>> = {
    ',': 'comma',
    ';': 'semicolon',
    '\t': 'tab',
    '|': 'bar',
  };
});
