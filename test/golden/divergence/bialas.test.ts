import { describe, expect, it } from 'vitest';
import { runLoops } from '../../../src-workers/models/divergence/figures.ts';
import { loopLimits } from '../../../src-workers/models/divergence/program.ts';
import { reproduceBialas } from '../../../src-workers/models/divergence/reproduce-bialas.ts';

describe('the figures of Bialas and Strzelecki', () => {
  const tables = reproduceBialas();

  it('reproduces every row', () => {
    for (const table of tables) {
      expect(
        table.rows.filter((row) => !row.passed),
        table.table,
      ).toEqual([]);
      expect(table.passed).toBe(true);
    }
  });

  it('checks all 32 patterns of both loops, and predicts the overhead of the double loop', () => {
    expect(tables.map((table) => table.rows.length)).toEqual([96, 96, 10, 7]);
    expect(tables[3].rows.at(-1)!.ours).toBeCloseTo(19.3, 0);
  });

  it('has the limits of Table I', () => {
    expect(loopLimits(0)).toEqual(new Array(32).fill(32));
    expect(loopLimits(2).slice(28)).toEqual([32, 32, 31, 30]);
    expect(loopLimits(28).slice(0, 6)).toEqual([32, 32, 32, 32, 31, 30]);
    expect(loopLimits(31)).toEqual(Array.from({ length: 32 }, (_, lane) => 32 - lane));
  });

  it('walks through the single loop with n = 2 as Figure 3 does', () => {
    const run = runLoops('single', 2);
    expect(run.events.map(({ kind, token }) => [kind, token.id, token.mask, token.pc])).toEqual([
      ['push', 'SYNC', 0xffffffff, 10],
      ['push', 'DIV', 0x80000000, 9],
      ['push', 'DIV', 0x40000000, 9],
      ['pop', 'DIV', 0x40000000, 9],
      ['pop', 'DIV', 0x80000000, 9],
      ['pop', 'SYNC', 0xffffffff, 10],
    ]);
    const lastBranch = run.programCounters.lastIndexOf(8);
    expect(run.activeMasks[lastBranch]).toBe(0x3fffffff);
    expect([...run.depths.slice(-4)]).toEqual([3, 2, 1, 0]);
  });
});
