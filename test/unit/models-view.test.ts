import katex from 'katex';
import { describe, expect, it } from 'vitest';
import { reproduce } from '../../src-workers/reproductions.ts';
import { reproductionRow } from '../../src-workers/domain/reproduction.ts';
import { MODEL_PAGES } from '../../src-renderer/views/models/pages.ts';
import { findDecimals, findRows, tablesOf, tally } from '../../src-renderer/views/models/reproduction.ts';
import { highlight } from '../../src-renderer/views/export/highlight.ts';

describe('the pages', () => {
  it('have formulas that can be typeset', () => {
    const formulas = MODEL_PAGES.flatMap(({ equations, symbols }) => [...equations, ...symbols].map(([tex]) => tex));
    expect(formulas.length).toBeGreaterThan(60);
    for (const formula of formulas)
      expect(() => katex.renderToString(formula, { displayMode: true, strict: 'error' })).not.toThrow();
  });

  it('have tables whose rows are complete', () => {
    for (const { id, equations, symbols, sources } of MODEL_PAGES) {
      for (const row of equations) expect([2, 3], `${id}: ${row[0]}`).toContain(row.length);
      for (const row of symbols) expect([2, 3], `${id}: ${row[0]}`).toContain(row.length);
      for (const [citation, doi] of sources) {
        expect(citation, id).toMatch(/\.$/);
        if (doi !== undefined) expect(doi, id).toMatch(/^10\.\d{4,}\/\S+$/);
      }
    }
  });

  it('show each reproduced table on exactly one page', () => {
    const all = reproduce();
    for (const table of all)
      expect(
        MODEL_PAGES.filter((page) => tablesOf(page, all).includes(table)),
        `${table.paper}: ${table.table}`,
      ).toHaveLength(1);
  });
});

describe('reproduced figures', () => {
  const table = (name: string, passed: boolean) => {
    const rows = [reproductionRow('n = 2', 1, 1, 0.1), reproductionRow('n = 4', 1, passed ? 1 : 2, 0.1)];
    return { paper: 'p', citation: '', table: name, unit: '1', rows, passed, notes: [] };
  };
  it('list failed tables and rows first', () => {
    const found = findRows([table('good', true), table('bad', false)], '');
    expect(found.map((each) => each.table.table)).toEqual(['bad', 'good']);
    expect(found[0].rows.map(({ passed }) => passed)).toEqual([false, true]);
  });
  it('are found by each of their words', () => {
    expect(findRows([table('good', true), table('bad', false)], 'bad n=')).toEqual([]);
    expect(findRows([table('good', true), table('bad', false)], 'BAD 4')[0].rows).toHaveLength(1);
    expect(findRows([table('good', true), table('bad', false)], 'failed')).toHaveLength(1);
  });

  it('have the decimals of the paper, and those that show an allowed error', () => {
    const row = (paper: number, tolerance: number, kind: 'absolute' | 'relative') =>
      reproductionRow('n=4', paper, paper, tolerance, kind);
    expect(findDecimals([row(1.09, 0.001, 'relative'), row(1.163, 0.001, 'relative')])).toBe(3);
    expect(findDecimals([row(32, 0.5, 'absolute'), row(7.9, 0.05, 'absolute')])).toBe(2);
    expect(findDecimals([row(26, 1e-9, 'absolute'), row(4, 0, 'absolute')])).toBe(0);
  });
  it('are counted', () => {
    expect(tally([table('good', true), table('bad', false)])).toEqual({ passed: 3, total: 4 });
  });
});

it('the previews have highlighted pieces that add up to the text', () => {
  const text = '#define A __launch_bounds__(64, 2)\nconstexpr unsigned x = 4u; // 3 "x"\n{"a": -1.5e-3, "b": null}\n';
  const tokens = highlight(text);
  expect(tokens.map((token) => token.text).join('')).toBe(text);
  expect(tokens.filter(({ kind }) => kind === 'comment').map((token) => token.text)).toEqual(['// 3 "x"']);
  expect(tokens.filter(({ kind }) => kind === 'number').map((token) => token.text)).toEqual([
    '64',
    '2',
    '4u',
    '-1.5e-3',
  ]);
});
