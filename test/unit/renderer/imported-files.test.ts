import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pastedName, takeText } from '../../../src-renderer/shell/files/intake.ts';
import { readChoice, suggestChoice, toColumns } from '../../../src-renderer/shell/files/table-choice.ts';
import type { App } from '../../../src-renderer/state/app.svelte.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { TableSummary } from '../../../src-workers/domain/table.ts';
import { parseLengthsCsv } from '../../../src-workers/parse/csv.ts';
import { formatWorkload, parseWorkload } from '../../../src-workers/parse/grammar.ts';
import { inspectTable } from '../../../src-workers/parse/table.ts';
import { chunks } from '../../data.ts';
import { forAllAsync } from '../../for-all.ts';

it.each([
  ['4\n4\n5\n', 'pasted.csv'],
  ['length,count\r\n3,10\r\n', 'pasted.csv'],
  ['  {"lockstep": 1}', 'pasted.json'],
  ['__global__ void walk() {\n}\n', 'pasted.csv'],
  ['word', null],
  ['https://example.org/a?b=1', null],
  ['17', null],
  ['Just some prose,\nof two lines.\n', null],
])('pasted text %j is recognised as %s', (text, name) => expect(pastedName(text)).toBe(name));

it('pasted text is refused with a reason if it is not recognised', async () => {
  const said: string[] = [];
  await takeText({ notices: { show: (text: string) => said.push(text) } } as unknown as App, 'Some prose.\nMore.');
  expect(said).toEqual(['Nothing was imported: the pasted text is neither a table with numbers nor a study']);
});

const inspect = async (text: string, asked = {}): Promise<TableSummary> =>
  unwrap(await inspectTable(chunks(text), 'x.csv', asked));
const lines = (...rows: readonly string[]) => `${rows.join('\n')}\n`;

/** Returns what the sheet suggests for a file, and the result of importing it. */
async function suggested(...rows: readonly string[]) {
  const summary = await inspect(lines(...rows));
  const choice = suggestChoice(summary);
  return { choice, reading: readChoice(summary, choice), columns: toColumns(summary, choice) };
}

describe('the interpretation of a table', () => {
  it('prefers, among unknown names, whole numbers that do not number the lines', async () =>
    expect(await suggested('job,host,hops seen,ms', '1,a,5,0.5', '2,b,5,0.25', '3,a,9,1', '4,c,7,2')).toEqual({
      choice: { meaning: 'unit', length: 2, weight: null },
      reading: { ok: true, units: 4, text: '4 units, 3 distinct lengths' },
      columns: { length: 'hops seen', header: true, delimiter: 'comma' },
    }));
  it('prefers a column with faults to the numbers of the lines, and says what is wrong', async () => {
    const { choice, reading } = await suggested('id;length', '1;5', '2;-3', '3;', '4;7');
    expect(choice.length).toBe(1);
    expect(reading).toMatchObject({ ok: false, problem: /^Line [34] / });
    const thousands = await suggested('Knoten;Anzahl', '1;12', '2;1.234.567', '3;7');
    const problem = 'Line 3 of Anzahl has the text “1.234.567”. If it has thousands separators, remove them.';
    expect(thousands.reading).toMatchObject({ ok: false, problem });
    const gaps = [await suggested('len', '5', '""', '7'), await suggested('name,count', 'a,3', 'b,', 'c,7')];
    const said = ['len', 'count'].map((column) => `Line 3 has no value in ${column}. Fill it in or delete the line.`);
    expect(gaps.map(({ reading }) => !reading.ok && reading.problem)).toEqual(said);
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
    expect(await suggested('value,count', '3,10', '12,30')).toMatchObject({
      choice: { meaning: 'count', length: 0, weight: 1 },
      reading: { ok: true, units: 40, text: '40 units, 2 distinct lengths' },
    });
    const choice = { meaning: 'probability', length: 1, weight: 0 };
    expect(await suggested('0.25;3', '0.75;12')).toMatchObject({ choice, reading: { ok: true, units: null } });
  });
  it('finds edges by the names of their ends, or, like an import without a choice, by two numbers with a space between them', async () => {
    expect(await suggested('weight source target', '5 0 1', '5 0 2', '5 2 1')).toEqual({
      choice: { meaning: 'target', length: 1, weight: 2 },
      reading: { ok: true, units: null, text: '3 edges; each length is the out-degree of a vertex' },
      columns: { length: 'source', target: 'target', header: true, delimiter: 'space' },
    });
    expect((await suggested('0 1', '0 2', '2 1')).choice).toEqual({ meaning: 'target', length: 0, weight: 1 });
    expect((await suggested('0,1', '0,2', '2,1')).choice.meaning).toBe('unit');
  });
  it('reads UTF-16, as spreadsheets save it', async () => {
    const utf16 = chunks(Buffer.from('\ufeffid\tsteps\r\n1\t3\r\n2\t12\r\n', 'utf16le'));
    const summary = unwrap(await inspectTable(utf16, 'x.csv'));
    expect(summary).toMatchObject({ delimiter: 'tab', columns: [{ name: 'id' }, { name: 'steps' }] });
  });
});

async function problemOf(text: string, choice: Parameters<typeof readChoice>[1], asked = {}): Promise<string> {
  const reading = readChoice(await inspect(text, asked), choice);
  return reading.ok ? '' : reading.problem;
}
it.each([
  [lines('a,b', '1,x', '2,y'), 'Line 2 of b has the text “x”. Choose a column of numbers.'],
  [lines('a,b', '1,4', '2,2.5'), 'Line 3 of b has 2.5. Lengths are whole numbers of iterations. Choose'],
  [lines('a,b', '1,4', '2,-2'), 'Line 3 of b has -2.'],
  [lines('a,b', '1,4', '2,', '3,5'), 'Line 3 has no value in b. Fill it in or delete the line.'],
  [lines('a,b', '1,4', '2', '3,5'), 'Line 3 has 1 field, but the first line has 2. Choose another delimiter'],
  [lines('a,b', '1,', '2,'), 'b is empty.'],
])('names the error of a choice with its line: %j', async (text, problem) =>
  expect(await problemOf(text, { meaning: 'unit', length: 1, weight: null })).toContain(problem),
);
it.each([
  ['steps,n\n', 1, 'no records'],
  [lines('steps,n', '3,0'), 1, 'All counts are 0'],
  [lines('steps,n', '3,1'), null, 'Choose the column of counts.'],
])('names the error of counts: %j', async (text, weight, problem) =>
  expect(await problemOf(text, { meaning: 'count', length: 0, weight }, { header: true })).toContain(problem),
);

it('the engine and the command line import what the sheet shows, for any table', () => {
  const DELIMITERS = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' } as const;
  const unit = fc.constantFrom('a', 'b', ' ', '#', '&', '=', ',', ';', '"', '(', ')', '1');
  const name = fc.string({ minLength: 1, maxLength: 8, unit }).map((text) => `x${text}`);
  const table = fc.record({
    names: fc.uniqueArray(name, { minLength: 2, maxLength: 4, selector: (text) => text.trim() }),
    rows: fc.array(fc.array(fc.nat(50), { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 30 }),
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    counted: fc.boolean(),
  });
  return forAllAsync(100)(table, async ({ names, rows, delimiter, counted }) => {
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
    expect([units, reading.units]).toEqual([lengths.length, lengths.length]);
    const least = Math.min(...lengths);
    const share = lengths.filter((length) => length === least).length / lengths.length;
    expect(law.probability[law.support.indexOf(least)]).toBeCloseTo(share, 12);
  });
});
