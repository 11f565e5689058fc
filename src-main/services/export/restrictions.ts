import { axisStrides, decodeInto, encode, productOf } from '../../../src-workers/domain/space.ts';

export interface WordedAxis {
  readonly count: number;
  readonly lacks: (places: readonly number[]) => string;
}

/** In a space with more designs than this, only pairs of values are checked, not triples. */
const MAX_FOR_TRIPLES = 2 ** 20;

/**
 * Returns conditions that exclude each combination of two or three values that no valid design has.
 * @param valid numbers of the designs that can run, mixed radix over the axes, slowest first
 * @returns the conditions, and how many invalid designs still pass them
 */
export function restrictionsOf(
  axes: readonly WordedAxis[],
  valid: Uint32Array,
): { readonly conditions: readonly string[]; readonly wrong: number } {
  const counts = axes.map(({ count }) => count);
  const size = productOf(counts);
  const strides = axisStrides(counts);
  const isValid = new Uint8Array(size);
  for (const design of valid) isValid[design] = 1;
  let wrong = Uint32Array.from({ length: size }, (_, design) => design).filter((design) => isValid[design] === 0);
  const conditions: string[] = [];
  for (const some of subsets(axes.length, size > MAX_FOR_TRIPLES ? 2 : 3)) {
    const own = some.map((at) => counts[at]);
    const keyOf = (design: number): number =>
      some.reduce((key, at) => key * counts[at] + (Math.floor(design / strides[at]) % counts[at]), 0);
    const has = new Uint8Array(productOf(own));
    for (const design of valid) has[keyOf(design)] = 1;
    const refused = new Set<number>();
    const rest = wrong.filter((design) => {
      const key = keyOf(design);
      if (has[key] === 0) refused.add(key);
      return has[key] === 1;
    });
    if (rest.length === wrong.length) continue;
    wrong = rest;
    for (const places of together(own, refused))
      conditions.push(some.map((at, i) => axes[at].lacks(places[i])).join(' or '));
  }
  return { conditions, wrong: wrong.length };
}

function subsets(axes: number, most: number): readonly (readonly number[])[] {
  const all = Array.from({ length: axes }, (_, at) => at);
  const pairs = all.flatMap((a) => all.slice(a + 1).map((b) => [a, b]));
  return most === 2 ? pairs : [...pairs, ...pairs.flatMap(([a, b]) => all.slice(b + 1).map((c) => [a, b, c]))];
}

function together(counts: readonly number[], refused: ReadonlySet<number>): readonly (readonly number[][])[] {
  const positions = new Int32Array(counts.length);
  let products = Array.from(refused, (key): number[][] => {
    decodeInto(positions, counts, key);
    return Array.from(positions, (place) => [place]);
  });
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    const joined = new Map<string, number[][]>();
    for (const product of products.sort((a, b) => a[axis][0] - b[axis][0])) {
      const key = product.map((places, at) => (at === axis ? '' : places.join(' '))).join('|');
      const known = joined.get(key);
      if (known) known[axis].push(...product[axis]);
      else joined.set(key, product.map((places) => [...places])); // prettier-ignore
    }
    products = [...joined.values()];
  }
  return products;
}

/** Returns the designs' numbers in a space whose axes keep only the positions `places`. The order stays the same. */
export function renumbered(designs: Iterable<readonly number[]>, places: readonly (readonly number[])[]): Uint32Array {
  const counts = places.map(({ length }) => length);
  const at = places.map((kept) => new Map(kept.map((place, i) => [place, i])));
  const positions = Array.from(designs, (one) => one.map((place, axis) => at[axis].get(place)!));
  return Uint32Array.from(new Set(positions.map((one) => encode(counts, one))));
}
