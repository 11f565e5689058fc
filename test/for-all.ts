import fc from 'fast-check';

/** A property of random values: their generators, and then the check. */
type Property<Values extends [unknown, ...unknown[]], Holds = boolean | void> = [
  ...arbitraries: { [Place in keyof Values]: fc.Arbitrary<Values[Place]> },
  holds: (...values: Values) => Holds,
];

/** Checks a property with a hundred random inputs. */
export function forAll<Values extends [unknown, ...unknown[]]>(...property: Property<Values>): void {
  fc.assert(fc.property(...property));
}

export const forAllOf =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...property: Property<Values>): void =>
    fc.assert(fc.property(...property), { numRuns });

/** Works like `forAllOf`, for a check that returns a promise. */
export const forAllAsync =
  (numRuns: number) =>
  <Values extends [unknown, ...unknown[]]>(...property: Property<Values, Promise<void>>): Promise<void> =>
    fc.assert(fc.asyncProperty(...property), { numRuns });

export const whole = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max });

export const real = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true });
