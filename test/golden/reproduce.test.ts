import { expect, it } from 'vitest';
import { reproduce, REPRODUCTIONS } from '../../src-workers/reproductions.ts';

it('has the tables of every paper under its own name, and all of them pass', () => {
  expect(Object.keys(REPRODUCTIONS).sort()).toEqual(['bialas', 'hasan', 'kim', 'langguth', 'swatman']);
  for (const name of Object.keys(REPRODUCTIONS)) {
    const tables = reproduce(name);
    expect(tables.length).toBeGreaterThan(0);
    for (const table of tables) {
      expect(table.paper).toBe(name);
      expect(table.rows.length, table.table).toBeGreaterThan(0);
      expect(table.passed, table.table).toBe(true);
    }
  }
  expect(reproduce()).toHaveLength(Object.keys(REPRODUCTIONS).reduce((sum, name) => sum + reproduce(name).length, 0));
});
