import { expect, it } from 'vitest';
import { reproduceHasan, reproduceKim } from '../../../src-workers/models/pipeline/reproduce-hasan-kim.ts';

// The papers' figures are in the source (with their DOI), because the reproduction is part of the product.
it('reproduces every row', () => {
  for (const table of [...reproduceHasan(), ...reproduceKim()]) {
    expect(
      table.rows.filter((row) => !row.passed),
      table.table,
    ).toEqual([]);
    expect(table.passed).toBe(true);
  }
});

it('fits five rows of Hasan Table 2 and predicts all the others', () => {
  const [, cells, summary] = reproduceHasan();
  expect(cells.rows).toHaveLength(110);
  expect(summary.rows[0].ours).toBeLessThanOrEqual(1.5);
});
