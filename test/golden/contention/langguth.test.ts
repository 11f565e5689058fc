import { describe, expect, it } from 'vitest';
import { saturatingCores } from '../../../src-workers/models/contention/bandwidth.ts';
import { LANGGUTH_CPUS } from '../../../src-workers/models/contention/langguth-figures.ts';
import { reproduceLangguth } from '../../../src-workers/models/contention/reproduce-langguth.ts';

// The printed figures are in the source, with their citation, because the reproduction is part of the product.
const tables = reproduceLangguth();

describe('the tables of Langguth, Cai and Trotter', () => {
  it('reproduces every row', () => {
    for (const table of tables) {
      expect(
        table.rows.filter((row) => !row.passed),
        table.table,
      ).toEqual([]);
      expect(table.passed).toBe(true);
    }
  });

  it('covers ten CPUs in every column', () => {
    expect(LANGGUTH_CPUS).toHaveLength(10);
    for (const table of tables) expect(table.rows.length % 10).toBe(0);
  });

  it('says where the slides contradict themselves', () => {
    const notes = tables.flatMap((table) => table.notes).join('\n');
    expect(LANGGUTH_CPUS.filter((cpu) => saturatingCores(cpu) !== cpu.kneeCores).map((cpu) => cpu.cpu)).toEqual([
      'AMD Epyc 7302P (Rome)',
    ]);
    expect(notes).toContain('AMD Epyc 7302P (Rome): the slides list K = 5, but ⌈ρ/β⌉ = 4');
    expect(notes).toContain('NVIDIA Grace GH200: printed 309.8 GB/s, above the bound');
  });
});
