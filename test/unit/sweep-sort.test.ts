import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sortByKey, sortByValue } from '../../src-workers/sweep/sort.ts';
import { forAll, forAllOf } from '../for-all.ts';

/** Sorts by Array.sort, which is stable, as a reference for the radix sort. Minus zero equals zero in both. */
function reference(items: Uint32Array, values: ArrayLike<number>): number[] {
  return Array.from(items).sort((a, b) => values[a] - values[b]);
}

/** Generates neighbours that a float32 cannot separate, negative numbers, both zeros, infinities, and repeats. */
const troublesome = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer({ min: 0, max: 40 }).map((step) => 1 + step * Number.EPSILON),
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    Infinity,
    -Infinity,
    Number.MIN_VALUE,
    -Number.MIN_VALUE,
    Number.MAX_VALUE,
    2 ** 24 + 1,
    2 ** 24,
  ),
  fc.integer({ min: -5, max: 5 }),
);

describe('sortByValue', () => {
  it('equals Array.sort over float64 values, and is stable for equal ones', () => {
    forAllOf(400)(fc.array(troublesome, { maxLength: 300 }), fc.infiniteStream(fc.nat()), (list, picks) => {
      const values = Float64Array.from(list);
      // The items are in random order, and some are left out.
      const items = Uint32Array.from(
        list.map((_, i) => i).sort((a, b) => ((a * 7919) % 311) - ((b * 7919) % 311) || a - b),
      ).filter(() => picks.next().value % 8 !== 0);
      const got = Array.from(sortByValue(items, values));
      // Infinity − Infinity is NaN, so the reference compares instead of subtracting.
      const wanted = Array.from(items).sort((a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0));
      expect(got).toEqual(wanted);
    });
  });

  it('equals Array.sort over float32 and 16-bit columns', () =>
    forAll(
      fc.array(fc.float({ noNaN: true, noDefaultInfinity: true })),
      fc.array(fc.integer({ min: 0, max: 65535 })),
      (floats, words) => {
        for (const values of [Float32Array.from(floats), Uint16Array.from(words)]) {
          const items = Uint32Array.from(values, (_, i) => i);
          expect(Array.from(sortByValue(items, values))).toEqual(reference(items, values));
        }
      },
    ));

  it('does not change its input', () => {
    const items = Uint32Array.of(2, 0, 1);
    sortByValue(items, Float64Array.of(3, 2, 1));
    expect(Array.from(items)).toEqual([2, 0, 1]);
  });

  it('sorts no items, one item, and items that are all equal', () => {
    expect(Array.from(sortByValue(new Uint32Array(0), Float64Array.of(1)))).toEqual([]);
    expect(Array.from(sortByValue(Uint32Array.of(4), Float64Array.of(0, 0, 0, 0, 9)))).toEqual([4]);
    expect(Array.from(sortByValue(Uint32Array.of(2, 0, 1), Float64Array.of(5, 5, 5)))).toEqual([2, 0, 1]);
  });
});

it('sortByKey equals a stable Array.sort by the key of the item', () =>
  forAll(fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1 }), (list) => {
    const keys = Uint16Array.from(list);
    const items = Uint32Array.from(list, (_, i) => list.length - 1 - i);
    expect(Array.from(sortByKey(items, keys, 13))).toEqual(reference(items, keys));
  }));
