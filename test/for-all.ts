import fc from 'fast-check';

/** A law that must hold for random values: the arbitraries, and then what is expected of their values. */
type Law<Values extends [unknown, ...unknown[]], Holds = boolean | void> = [
  ...arbitraries: { [Place in keyof Values]: fc.Arbitrary<Values[Place]> },
  holds: (...values: Values) => Holds,
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

/** Like `forAllOf`, where the expectation waits for something. */
export const forAllAsync =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...law: Law<Values, Promise<void>>): Promise<void> =>
    fc.assert(fc.asyncProperty(...law), { numRuns });
