import fc from 'fast-check';
import type * as piscina from 'piscina';
import { expect, vi } from 'vitest';
import { keepWorkers } from './kept-workers.ts';
import type { Failure, FailureCode, Result } from '../src-workers/domain/result.ts';

/* Properties are checked with the same values in every run. LOCKSTEP_TEST_SEED=<integer> chooses other values. */
const given = process.env.LOCKSTEP_TEST_SEED ?? '1';
if (!/^-?\d{1,9}$/.test(given))
  throw new Error(`LOCKSTEP_TEST_SEED is "${given}". Use an integer of up to nine digits.`);
fc.configureGlobal({ seed: Number(given) });

vi.mock('piscina', async (load) => {
  const loaded = await load<typeof piscina>();
  return { ...loaded, Piscina: keepWorkers(loaded.Piscina) };
});

// A regular expression has no keys of its own, so toMatchObject would otherwise let it match every value.
expect.addEqualityTesters([
  (found: unknown, wanted: unknown) =>
    wanted instanceof RegExp && !(found instanceof RegExp)
      ? typeof found === 'string' && wanted.test(found)
      : undefined,
]);

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void>> {
    /** Expects a failure with a code (`null`: any code) and a message. A regular expression as message must match. */
    toFail(code: FailureCode | null, message?: string | RegExp): R;
    /** Expects a number that differs from another one by less than a fraction of it. */
    toBeNear(wanted: number, fraction: number): R;
    /** Expects a number above `low` and below `high`. */
    toBeBetween(low: number, high: number): R;
    /** Expects a number of at least `low` and at most `high`. */
    toBeWithin(low: number, high: number): R;
  }
}
expect.extend({
  toBeNear: (found: number, wanted: number, fraction: number) => {
    const difference = found / wanted - 1;
    const message = () => `expected ${found} to differ from ${wanted} by less than ${fraction}, not by ${difference}`;
    return { pass: Math.abs(difference) < fraction, message };
  },
  toBeBetween: (found: number, low: number, high: number) => ({
    pass: found > low && found < high,
    message: () => `expected ${found} to be above ${low} and below ${high}`,
  }),
  toBeWithin: (found: number, low: number, high: number) => {
    return { pass: found >= low && found <= high, message: () => `expected ${found} to be from ${low} to ${high}` };
  },
  toFail(result: unknown, code: FailureCode | null, message: string | RegExp = /./) {
    const { ok, error } = result as Result<unknown> & { readonly error?: Failure };
    const isMessage = message instanceof RegExp ? message.test(error?.message ?? '') : message === error?.message;
    return {
      pass: !ok && (code === null || error?.code === code) && isMessage,
      message: () => `expected a failure ${code ?? ''} with the message ${message}`,
      actual: ok ? 'no failure' : error,
      expected: { code, message },
    };
  },
});
