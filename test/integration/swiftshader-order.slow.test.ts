import { expect, it } from 'vitest';
import { measureLoss } from '../measured/loss.ts';
import { lacks } from '../tools.mjs';

// A real lockstep machine confirms the order of designs whose predicted times differ by 20 % or more. Other load does
// not disturb this, because the fastest of many launches counts. If the launches do not suffice, more are made.
const APART = 1.2;
const ROUNDS = [1, 2, 4, 8];

it.skipIf(lacks('swiftshader')).each(['geometric(0.05)', 'geometric(0.3)'])(
  'units of %s in random order are slower than sorted ones, as the models say',
  async (text) => {
    let wrong: string[] = [];
    for (const rounds of ROUNDS) {
      const rows = await measureLoss(text, rounds);
      const pairs = rows.flatMap((a) => rows.map((b) => [a, b] as const));
      const apart = pairs.filter(([a, b]) => a.modelLoss >= APART * b.modelLoss);
      const orders = apart.filter(([a, b]) => a.balancing === 'none' && b.balancing === 'full-sort');
      expect(orders.length).toBeGreaterThanOrEqual(2);
      wrong = apart
        .filter(([a, b]) => a.measuredLoss <= b.measuredLoss)
        .map((pair) => pair.map((row) => `${row.balancing} × ${row.unitsPerGroup}: ${row.measuredLoss}`).join(', '));
      if (wrong.length === 0) break;
    }
    expect(wrong).toEqual([]);
  },
);
