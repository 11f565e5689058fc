import { expect, it } from 'vitest';
import { main } from '../../src-main/cli/main.ts';
import type { MeasuringDetail } from '../../src-main/contract/measuring.ts';
import { externalFile, externalTable } from '../../src-renderer/views/measure/external.ts';
import { csvCell, tableText } from '../../src-workers/domain/csv.ts';
import { fail } from '../../src-workers/domain/result.ts';
import { fileOpener } from '../../src-workers/parse/open-file.ts';
import { captured } from '../command-line.ts';

it('a failure with a huge text is shortened, and keeps its beginning and its advice', () => {
  const failure = fail('bad-input', `The name "${'x'.repeat(3_000_000)}" is too long. Specify a shorter one.`);
  const shortened = /^The name "x+ … \(2,99\d,\d{3} characters left out\) … x+" is too long\. Specify a shorter one\.$/;
  expect(failure).toFail('bad-input', shortened);
  expect(JSON.stringify(failure).length).toBeLessThan(2100);
});

it.each([
  ['an option', [`--${'x'.repeat(100_000)}`]],
  ['a workload', ['loss', '--workload', `geometric(${'9'.repeat(100_000)})`]],
])('the command line does not print megabytes for %s either', async (_, args) => {
  const { status, err } = await captured((terminal) => main(args, terminal));
  expect(status).toBeGreaterThan(0);
  expect(err.length).toBeLessThan(2200);
});

it.each(['\\\\host\\a.csv', '//host/share/a.csv', '\\/host/a.csv', '\\\\?\\UNC\\host\\a.csv'])(
  'a study cannot make Windows sign in to another machine: %s',
  async (path) => {
    const message = `${path} is on another machine. Copy it to the folder of the study.`;
    expect(await fileOpener('/studies')(path)).toFail('bad-input', message);
  },
);

const FORMULAS = ['=1+1', '+A1', '-1+2', '-O3', '@x', '\t=1', ' =1', '|cmd', '=HYPERLINK("http://x","y")'];

it('cells of a table are never formulas, quoted if they contain separators, and numbers stay numbers', () => {
  for (const separator of [',', '\t'])
    for (const value of FORMULAS) expect(csvCell(value, separator).replace(/^"/, '')).toMatch(/^'/);
  for (const text of ['a,b', '-0,5']) expect(csvCell(text)).toBe(`"${text}"`);
  expect(csvCell('a\tb', '\t')).toBe('"a\tb"');
  expect(csvCell('say "x"\n')).toBe('"say ""x""\n"');
  for (const number of [-1.5, '-3.25', '+1e-3', '-3.25E7']) expect(csvCell(number)).toBe(String(number));
  expect(tableText([['a', null, 2], [-1, '', 'c']])).toBe('a,,2\n-1,,c'); // prettier-ignore
});

it('a file of imported kernels protects names of another program from being read as formulas', () => {
  const each = (position: number, configuration: Record<string, string | number>) => ({
    position,
    case: { benchmark: 'external', parameters: { kernel: 'k', configuration } },
    measured: null,
    failure: '=cmd()',
    values: {},
  });
  const cases = [each(0, { '=evil': '@SUM(A1)', n: -3 }), each(1, { '=evil': 'plain', n: 4 })];
  const table = externalTable({ cases } as unknown as Pick<MeasuringDetail, 'cases'>);
  const lines = tableText(externalFile(table)).split('\n');
  expect(lines[0]).toBe("rank,'=evil,n,median ms,low ms,high ms,repeats,failure");
  expect(lines[1]).toBe(",'@SUM(A1),-3,,,,,'=cmd()");
});
