import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fetchedOrder } from '../../../src-workers/predict/depth/fetched-order.ts';
import { repeatedUnits } from '../../../src-workers/predict/ordered.ts';

const lengthsOf = fc
  .array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 40 })
  .map((lengths) => Float64Array.from(lengths));

describe('what fetchers take of a given order', () => {
  it('is consecutive units: their sum, or the longest of them', () => {
    fc.assert(
      fc.property(
        lengthsOf,
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (lengths, rounds, perFetch, together) => {
          // Whole repetitions of whole fetches, so that nothing is left over.
          const units = lengths.length * perFetch * rounds;
          const all = Array.from(repeatedUnits(lengths, units));
          const runs = Array.from({ length: units / perFetch }, (_, i) => {
            const own = all.slice(i * perFetch, (i + 1) * perFetch);
            return together ? Math.max(...own) : own.reduce((a, b) => a + b, 0);
          });
          const { values, survival } = fetchedOrder(lengths, units, perFetch, together).law;
          values.forEach((value, i) => {
            const above = runs.filter((run) => run > value).length / runs.length;
            expect(Math.abs(survival[i] - above)).toBeLessThan(1e-9);
          });
          expect(values.at(-1)).toBe(Math.max(...runs));
        },
      ),
    );
  });

  it('ends with what is fetched last: long units at the end of the order are all under way, at its beginning none', () => {
    const short = Array.from({ length: 4000 }, () => 5);
    const long = Array.from({ length: 100 }, () => 500);
    const at = Float64Array.of(0, 5, 400, 500);
    const last = fetchedOrder(Float64Array.from([...short, ...long]), 4100, 1, false).lastLives(100, at);
    expect(last[2]).toBeGreaterThan(0.15);
    const first = fetchedOrder(Float64Array.from([...long, ...short]), 4100, 1, false).lastLives(100, at);
    expect(first[2]).toBe(0);
    expect(first[1]).toBe(0);
    expect(first[0]).toBeGreaterThan(0.8);
    for (const lives of [last, first])
      lives.forEach((life, i) => expect(life).toBeLessThanOrEqual(i === 0 ? 1 : lives[i - 1]));
  });
});
