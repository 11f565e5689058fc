import type { Balancing } from './design.ts';
import { fail, ok, type Result } from './result.ts';

const FORMS =
  'none, shuffle, quantile-buckets(K), best-buckets(K), window-sort(UNITS), full-sort, dynamic-fetch, dynamic-fetch(UNITS), ' +
  'dynamic-fetch(group), padded or padded-slice(UNITS), with K 1 to 64; on a CPU row-split; nonzero-split or merge-path on both';

/** More buckets than this pay more passes than they can ever save. */
const MAX_BUCKETS = 64;

/** Units of one fetch: more leave the end of a launch to a few slots. */
const MAX_FETCHED_UNITS = 4096;

/** Largest window, units: one that no device sorts in one pass. */
const MAX_WINDOW_UNITS = 2 ** 31;

/**
 * Reads a balancing from its text form, as in `none` or `window-sort(4096)`; spaces around names and numbers are allowed.
 *
 * @returns the balancing, or `bad-input` with a message that has the text and the accepted forms
 */
export function parseBalancing(text: string): Result<Balancing> {
  const match = /^\s*([a-z-]+)\s*(?:\(\s*([^()]*?)\s*\))?\s*$/.exec(text);
  if (!match) return fail('bad-input', `balancing "${text}" is not valid. Use ${FORMS}`);
  const [, kind, argument] = match as unknown as [string, string, string | undefined];
  switch (kind) {
    case 'none':
    case 'shuffle':
    case 'full-sort':
    case 'padded':
    case 'row-split':
    case 'nonzero-split':
    case 'merge-path':
      if (argument !== undefined) return fail('bad-input', `balancing "${text}"; ${kind} takes no argument`);
      return ok({ kind });
    case 'dynamic-fetch': {
      if (argument === undefined) return ok({ kind });
      if (argument === 'group') return ok({ kind, fetch: argument });
      const units = wholeNumber(argument, 1, MAX_FETCHED_UNITS);
      if (units === null) {
        return fail(
          'bad-input',
          `balancing "${text}" is not valid. Use dynamic-fetch(UNITS) with a whole number of units from 1 to ${MAX_FETCHED_UNITS}, or dynamic-fetch(group)`,
        );
      }
      return ok(units === 1 ? { kind } : { kind, fetch: units });
    }
    case 'quantile-buckets':
    case 'best-buckets': {
      const k = wholeNumber(argument, 1, MAX_BUCKETS);
      if (k === null) {
        return fail(
          'bad-input',
          `balancing "${text}" is not valid. Use ${kind}(K) with a whole K from 1 to ${MAX_BUCKETS}`,
        );
      }
      return ok({ kind, k });
    }
    case 'window-sort':
    case 'padded-slice': {
      const units = wholeNumber(argument, 1, MAX_WINDOW_UNITS);
      if (units === null) {
        return fail(
          'bad-input',
          `balancing "${text}" is not valid. Use ${kind}(UNITS) with a whole number of units from 1 to ${MAX_WINDOW_UNITS}`,
        );
      }
      return ok({ kind, units });
    }
    default:
      return fail('bad-input', `balancing "${text}" is not valid. Use ${FORMS}`);
  }
}

/** The text form that `parseBalancing` reads. */
export function formatBalancing(balancing: Balancing): string {
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
    case 'full-sort':
    case 'padded':
    case 'row-split':
    case 'nonzero-split':
    case 'merge-path':
      return balancing.kind;
    case 'dynamic-fetch':
      return balancing.fetch === undefined ? balancing.kind : `${balancing.kind}(${balancing.fetch})`;
    case 'quantile-buckets':
    case 'best-buckets':
      return `${balancing.kind}(${balancing.k})`;
    case 'window-sort':
    case 'padded-slice':
      return `${balancing.kind}(${balancing.units})`;
  }
}

function wholeNumber(text: string | undefined, smallest: number, largest: number): number | null {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return null;
  const value = Number(text);
  return value >= smallest && value <= largest ? value : null;
}
