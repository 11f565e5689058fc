import fc from 'fast-check';
import type * as piscina from 'piscina';
import { expect, vi } from 'vitest';
import { keepWorkers } from './kept-workers.ts';
import type { Failure, FailureCode, Result } from '../src-workers/domain/result.ts';

/*
 * Properties are tried on the same values in every run, so that a failure comes from the change.
 * LOCKSTEP_TEST_SEED=<integer> tries other values.
 */
const given = process.env.LOCKSTEP_TEST_SEED ?? '1';
if (!/^-?\d{1,9}$/.test(given))
  throw new Error(`LOCKSTEP_TEST_SEED is "${given}". Use an integer of up to nine digits.`);
fc.configureGlobal({ seed: Number(given) });

vi.mock('piscina', async (load) => {
  const loaded = await load<typeof piscina>();
  return { ...loaded, Piscina: keepWorkers(loaded.Piscina) };
});

// Without this, a regular expression inside toMatchObject matches every text, because it has no own keys to compare.
expect.addEqualityTesters([
  (found: unknown, wanted: unknown) =>
    wanted instanceof RegExp && typeof found === 'string' ? wanted.test(found) : undefined,
]);

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void>> {
    /** Expects a failure with a code (`null`: any) and a message, or a message that a regular expression matches. */
    toFail(code: FailureCode | null, message?: string | RegExp): R;
  }
}
expect.extend({
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
