import { describe, expect, it } from 'vitest';
import { saturatingCores } from '../../src-workers/models/contention/bandwidth.ts';
import { LANGGUTH_CPUS } from '../../src-workers/models/contention/langguth-figures.ts';
import { runLoops } from '../../src-workers/models/divergence/figures.ts';
import { loopLimits } from '../../src-workers/models/divergence/program.ts';
import { hasanMeasuredSurfaces, hasanModelSurfaces } from '../../src-workers/models/pipeline/hasan-surfaces.ts';
import { fitHasan } from '../../src-workers/models/pipeline/reproduce-hasan-kim.ts';
import { reproduce, REPRODUCTIONS } from '../../src-workers/reproductions.ts';

// The papers' figures are in the source, with their citations, because the reproduction is part of the product.

const all = reproduce();
const tablesOf = (name: string) => all.filter(({ paper }) => paper === name);

it('reproduces every row of the papers', () => {
  expect(Object.keys(REPRODUCTIONS).sort()).toEqual(['bialas', 'hasan', 'kim', 'langguth', 'swatman']);
  expect([...new Set(all.map(({ paper }) => paper))].sort()).toEqual(Object.keys(REPRODUCTIONS).sort());
  for (const { table, rows, passed } of all) {
    expect(rows.length, table).toBeGreaterThan(0);
    expect([table, rows.filter((row) => !row.passed), passed]).toEqual([table, [], true]);
  }
  expect(reproduce('hasan').map(({ table }) => table)).toEqual(tablesOf('hasan').map(({ table }) => table));
});

describe('Swatman et al. 2022', () => {
  const tables = tablesOf('swatman');

  it('has all 25 modelled means to every printed digit', () => {
    const modelled = tables.find((table) => table.table === 'Table I, modelled mean loss')!;
    expect(modelled.rows.length).toBe(25);
    for (const { label, ours, paper } of modelled.rows)
      expect([label, ours.toFixed(3)]).toEqual([label, paper.toFixed(3)]);
  });

  it('names the published groups for which the margin of two per cent does not hold', () => {
    const notes = tables.find((table) => table.table.startsWith('Public data, measured'))!.notes.join(' ');
    expect(notes).toContain('does not hold for geometric(0.05), n = 32 (2.03 %)');
  });
});

it('Bialas and Strzelecki check all 32 patterns of both loops, and predict the overhead of the double loop', () => {
  const tables = tablesOf('bialas');
  expect(tables.map((table) => table.rows.length)).toEqual([96, 96, 10, 7]);
  expect(tables[3].rows.at(-1)!.ours).toBeCloseTo(19.3, 0);
});

it('Bialas and Strzelecki have the limits of Table I', () => {
  expect(loopLimits(0)).toEqual(new Array(32).fill(32));
  expect(loopLimits(2).slice(28)).toEqual([32, 32, 31, 30]);
  expect(loopLimits(28).slice(0, 6)).toEqual([32, 32, 32, 32, 31, 30]);
  expect(loopLimits(31)).toEqual(Array.from({ length: 32 }, (_, lane) => 32 - lane));
});

it('Bialas and Strzelecki walk through the single loop with n = 2 as Figure 3 does', () => {
  const run = runLoops('single', 2);
  expect(run.events.map(({ kind, token }) => [kind, token.id, token.mask, token.pc])).toEqual([
    ['push', 'SYNC', 0xffffffff, 10],
    ['push', 'DIV', 0x80000000, 9],
    ['push', 'DIV', 0x40000000, 9],
    ['pop', 'DIV', 0x40000000, 9],
    ['pop', 'DIV', 0x80000000, 9],
    ['pop', 'SYNC', 0xffffffff, 10],
  ]);
  expect(run.activeMasks[run.programCounters.lastIndexOf(8)]).toBe(0x3fffffff);
  expect([...run.depths.slice(-4)]).toEqual([3, 2, 1, 0]);
});

it('covers ten CPUs in every column of Langguth, Cai and Trotter, and says where the slides contradict themselves', () => {
  const tables = tablesOf('langguth');
  expect(LANGGUTH_CPUS).toHaveLength(10);
  for (const table of tables) expect(table.rows.length % 10).toBe(0);
  const notes = tables.flatMap((table) => table.notes).join('\n');
  const contradicting = LANGGUTH_CPUS.filter((cpu) => saturatingCores(cpu) !== cpu.kneeCores);
  expect(contradicting.map(({ cpu }) => cpu)).toEqual(['AMD Epyc 7302P (Rome)']);
  expect(notes).toContain('AMD Epyc 7302P (Rome): the slides list K = 5, but ⌈ρ/β⌉ = 4');
  expect(notes).toContain('NVIDIA Grace GH200: the printed 309.8 GB/s are above the bound');
});

describe('Hasan et al. 2014', () => {
  const soft = fitHasan();
  const meanAbsolute = (values: Float64Array) =>
    values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;

  it('is fitted to five rows of Table 2, and all the others are predicted', () => {
    const [, cells, summary] = tablesOf('hasan');
    expect(cells.rows).toHaveLength(110);
    expect(summary.rows[0].ours).toBeCloseTo(1.36, 2);
  });

  it('has the launches of Figure 1, row by row of blocks', () => {
    const { equationTimeMs, equationEfficiency, softTimeMs } = hasanModelSurfaces(soft);
    expect(equationTimeMs.values).toHaveLength(2496);
    // 16 blocks of 32 threads are 512 of 26,624 resident threads. The time grows from τ by this fraction.
    expect(equationTimeMs.values[0]).toBeCloseTo(14.5 * (1 + 512 / 26624), 12);
    // The last launch of the first row has 16 × 1024 threads.
    expect(equationEfficiency.values[31]).toBeCloseTo(1 / (1 + 16384 / 26624), 12);
    // 1,248 blocks of 1,024 threads are 96 per multiprocessor. Two are resident, so there are 48 waves of at least τ.
    expect(softTimeMs.values[2495]).toBeGreaterThan(48 * 14.5);
  });

  it('prints equations that miss its own table by far, and soft saturation is close to the table', () => {
    const { timeMs, equationErrorPoints, softErrorPoints } = hasanMeasuredSurfaces(soft);
    expect(timeMs.values).toHaveLength(160);
    expect(timeMs.values[1 * 10 + 4]).toBe(15.42);
    expect(meanAbsolute(equationErrorPoints.values)).toBeCloseTo(7.9, 1);
    expect(meanAbsolute(softErrorPoints.values)).toBeLessThan(1);
  });
});
