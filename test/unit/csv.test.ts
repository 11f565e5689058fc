import { expect, it } from 'vitest';
import { csvCell, tableText } from '../../src-workers/domain/csv.ts';
import type { MeasuringDetail } from '../../src-main/contract/measuring.ts';
import { externalFile, externalTable } from '../../src-renderer/views/measure/external.ts';

const FORMULAS = ['=1+1', '+1', '-1', '@x', '\t=1', ' =1', '|cmd', '=HYPERLINK("http://x","y")'];

it('cells of a table are never formulas of a spreadsheet', () => {
  for (const separator of [',', '\t'])
    for (const value of FORMULAS) expect(csvCell(value, separator).replace(/^"/, '')).toMatch(/^'/);
});
it('cells of a table are quoted if they contain separators, and numbers stay numbers', () => {
  expect(csvCell('a,b')).toBe('"a,b"');
  expect(csvCell('a\tb', '\t')).toBe('"a\tb"');
  expect(csvCell('say "x"\n')).toBe('"say ""x""\n"');
  expect(csvCell(-1.5)).toBe('-1.5');
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
