import { describe, expect, it } from 'vitest';
import { reproduceSwatman } from '../../src-workers/models/imbalance/reproduce-swatman.ts';

// The golden figures are in src-workers/models/imbalance/swatman-figures.ts, with their sources.
describe('Swatman et al. 2022', () => {
  const tables = reproduceSwatman();

  it('reproduces every table within its tolerance', () => {
    for (const table of tables)
      expect([table.table, table.rows.filter((row) => !row.passed)]).toEqual([table.table, []]);
    expect(tables.every((table) => table.passed)).toBe(true);
  });

  it('computes all 25 modelled means to every printed digit', () => {
    const modelled = tables.find((table) => table.table === 'Table I, modelled mean loss')!;
    expect(modelled.rows.length).toBe(25);
    for (const row of modelled.rows)
      expect([row.label, row.ours.toFixed(3)]).toEqual([row.label, row.paper.toFixed(3)]);
  });

  it('names the published groups for which the margin of two per cent does not hold', () => {
    const notes = tables.find((table) => table.table.startsWith('Public data, measured'))!.notes.join(' ');
    expect(notes).toContain('does not hold for geometric(0.05), n = 32 (2.03 %)');
  });
});
