import fc from 'fast-check';

/** A property that must hold for random values: their generators, and then the check. */
type Property<Values extends [unknown, ...unknown[]], Holds = boolean | void> = [
  ...arbitraries: { [Place in keyof Values]: fc.Arbitrary<Values[Place]> },
  holds: (...values: Values) => Holds,
];

/** Checks that a property holds for a hundred random inputs. */
export function forAll<Values extends [unknown, ...unknown[]]>(...property: Property<Values>): void {
  fc.assert(fc.property(...property));
}

/** Like `forAll`, with another number of values. */
export const forAllOf =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...property: Property<Values>): void =>
    fc.assert(fc.property(...property), { numRuns });

/** Like `forAllOf`, where the expectation waits for something. */
export const forAllAsync =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...property: Property<Values, Promise<void>>): Promise<void> =>
    fc.assert(fc.asyncProperty(...property), { numRuns });
