import fc from 'fast-check';

/*
 * Properties are tried on the same values in every run, so that a failure belongs to what was changed.
 * LOCKSTEP_TEST_SEED=<integer> tries others.
 */
const given = process.env.LOCKSTEP_TEST_SEED ?? '1';
if (!/^-?\d{1,9}$/.test(given))
  throw new Error(`LOCKSTEP_TEST_SEED is "${given}"; expected an integer of up to nine digits.`);
fc.configureGlobal({ seed: Number(given) });
