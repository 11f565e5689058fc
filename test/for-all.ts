import fc from 'fast-check';

/** A law that must hold for random values: the arbitraries, and then what is expected of their values. */
type Law<Values extends [unknown, ...unknown[]]> = [
  ...arbitraries: { [Place in keyof Values]: fc.Arbitrary<Values[Place]> },
  holds: (...values: Values) => boolean | void,
];

/** Checks a law for a hundred values of each arbitrary. */
export function forAll<Values extends [unknown, ...unknown[]]>(...law: Law<Values>): void {
  fc.assert(fc.property(...law));
}

/** Like `forAll`, with another number of values. */
export const forAllOf =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...law: Law<Values>): void =>
    fc.assert(fc.property(...law), { numRuns });
