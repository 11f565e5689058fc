import fc from 'fast-check';
import { expect } from 'vitest';

/*
 * Properties are tried on the same values in every run, so that a failure comes from the change.
 * LOCKSTEP_TEST_SEED=<integer> tries other values.
 */
const given = process.env.LOCKSTEP_TEST_SEED ?? '1';
if (!/^-?\d{1,9}$/.test(given))
  throw new Error(`LOCKSTEP_TEST_SEED is "${given}". Use an integer of up to nine digits.`);
fc.configureGlobal({ seed: Number(given) });

// Without this, a regular expression inside toMatchObject matches every text, because it has no own keys to compare.
expect.addEqualityTesters([
  (found: unknown, wanted: unknown) =>
    wanted instanceof RegExp && typeof found === 'string' ? wanted.test(found) : undefined,
]);
