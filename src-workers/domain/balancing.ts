import type { Balancing, LengthClass } from './design.ts';
import { ok, type Result, badInput } from './result.ts';

const MAX_BUCKETS = 64;

/** Each class of lengths (`MixedBalancing`) needs a launch of its own. */
export const MAX_CLASSES = 8;

const FORMS =
  `none, shuffle, quantile-buckets(K) or best-buckets(K) with K 1 to ${MAX_BUCKETS}, window-sort(UNITS), full-sort, dynamic-fetch, dynamic-fetch(UNITS), ` +
  `dynamic-fetch(group), padded, padded-slice(UNITS), mixed(K) with K 2 to ${MAX_CLASSES}, mixed(THREADS:LENGTH,…,THREADS); on a CPU row-split; on CPUs and GPUs nonzero-split or merge-path`;

/** With more units per fetch, few slots have work at the end of a launch. */
const MAX_FETCHED_UNITS = 4096;

const MAX_WINDOW_UNITS = 2 ** 31;

/** Parses the text form, such as `window-sort(4096)`. The error is `bad-input` with the accepted forms. */
export function parseBalancing(text: string): Result<Balancing> {
  const invalid = (advice: string): Result<never> => badInput(`balancing "${text}" is not valid${advice}`);
  const match = /^\s*([a-z-]+)\s*(?:\(\s*([^()]*?)\s*\))?\s*$/.exec(text);
  if (!match) return invalid(`. Use ${FORMS}`);
  const [, kind, argument] = match as unknown as [string, string, string | undefined];
  switch (kind) {
    case 'none':
    case 'shuffle':
    case 'full-sort':
    case 'padded':
    case 'row-split':
    case 'nonzero-split':
    case 'merge-path':
      return argument === undefined ? ok({ kind }) : invalid(`: ${kind} takes no argument`);
    case 'dynamic-fetch': {
      if (argument === undefined) return ok({ kind });
      if (argument === 'group') return ok({ kind, fetch: argument });
      const units = wholeNumber(argument, 1, MAX_FETCHED_UNITS);
      if (units === null)
        return invalid(
          `. Use dynamic-fetch(UNITS) with a whole number of units from 1 to ${MAX_FETCHED_UNITS}, or dynamic-fetch(group)`,
        );
      return ok(units === 1 ? { kind } : { kind, fetch: units });
    }
    case 'quantile-buckets':
    case 'best-buckets': {
      const k = wholeNumber(argument, 1, MAX_BUCKETS);
      return k === null ? invalid(`. Use ${kind}(K) with a whole K from 1 to ${MAX_BUCKETS}`) : ok({ kind, k });
    }
    case 'mixed': {
      const classes = parseClasses(argument ?? '');
      return classes === null ? invalid(`. ${MIXED_FORMS}`) : ok({ kind, classes });
    }
    case 'window-sort':
    case 'padded-slice': {
      const units = wholeNumber(argument, 1, MAX_WINDOW_UNITS);
      return units === null
        ? invalid(`. Use ${kind}(UNITS) with a whole number of units from 1 to ${MAX_WINDOW_UNITS}`)
        : ok({ kind, units });
    }
    default:
      return invalid(`. Use ${FORMS}`);
  }
}

export function formatBalancing(balancing: Balancing): string {
  const { kind } = balancing;
  switch (kind) {
    case 'dynamic-fetch':
      return balancing.fetch === undefined ? kind : `${kind}(${balancing.fetch})`;
    case 'quantile-buckets':
    case 'best-buckets':
      return `${kind}(${balancing.k})`;
    case 'mixed': {
      const { classes } = balancing;
      if (typeof classes === 'number') return `mixed(${classes})`;
      return `mixed(${classes.map(({ threads, upTo }) => (upTo === undefined ? threads : `${threads}:${upTo}`)).join(',')})`;
    }
    case 'window-sort':
    case 'padded-slice':
      return `${kind}(${balancing.units})`;
    default:
      return kind;
  }
}

const MIXED_FORMS =
  `Use mixed(K) with 2 to ${MAX_CLASSES} classes, or list the classes as mixed(THREADS:LENGTH,…,THREADS), the shortest first. THREADS is a power of two up to 1024, group or block. ` +
  'In mixed(1:8,group:256,block), for example, one thread runs a unit of at most 8 iterations, a thread group a unit of at most 256, and a block every longer unit';

function parseClasses(text: string): number | LengthClass[] | null {
  const count = wholeNumber(text, 2, MAX_CLASSES);
  if (count !== null) return count;
  const parts = text.split(',');
  if (parts.length < 2 || parts.length > MAX_CLASSES) return null;
  const classes: LengthClass[] = [];
  for (const [at, part] of parts.entries()) {
    const match = /^\s*(\d+|group|block)\s*(?::\s*(\d+)\s*)?$/.exec(part);
    if (!match) return null;
    const isLast = at === parts.length - 1;
    const threads = match[1] === 'group' || match[1] === 'block' ? match[1] : wholeNumber(match[1], 1, 1024);
    const upTo = wholeNumber(match[2], 0, 2 ** 31);
    if (threads === null || (typeof threads === 'number' && !Number.isInteger(Math.log2(threads)))) return null;
    if (isLast !== (match[2] === undefined) || (!isLast && upTo === null)) return null;
    if (upTo !== null && at > 0 && upTo <= classes[at - 1].upTo!) return null;
    classes.push(upTo === null ? { threads } : { threads, upTo });
  }
  return classes;
}

function wholeNumber(text: string | undefined, smallest: number, largest: number): number | null {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return null;
  const value = Number(text);
  return value >= smallest && value <= largest ? value : null;
}
