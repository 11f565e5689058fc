import { coresText } from '../../src-workers/domain/terms.ts';

interface Words {
  readonly thread: string;
  readonly threads: string;
  readonly block: string;
}

/** For each quantity: the limit in the words of a programming model, and what the excluded designs need. */
const LIMITS = {
  cores: [(most) => `up to ${coresText(most)}`, (most) => `more than ${coresText(most)}`],
  threadsPerUnit: [
    (most, { thread, threads }) => (most === 1 ? `one ${thread} per unit` : `up to ${most} ${threads} per unit`),
    (most) => `more than ${most === 1 ? 'one thread' : `${most} threads`} per unit`,
  ],
  blockThreads: [(most, { block }) => `${block}s of up to ${most}`, (most) => `blocks of more than ${most} threads`],
  registerCap: [() => 'no register cap', () => 'a register cap'],
  bestBuckets: [
    () => 'no best buckets',
    () => 'the width of a thread group for best buckets, which the device does not report',
  ],
  wholeUnits: [
    () => 'no padding and no even shares',
    () => 'padding or even shares, which the stand-in loop does not have',
  ],
  tiles: [
    (_, { block }) => `${block}s of one row`,
    () => 'blocks that are tiles, which the stand-in loop does not have',
  ],
} satisfies Record<string, readonly [limit: (most: number, words: Words) => string, need: (most: number) => string]>;

export interface TargetLimit {
  readonly quantity: keyof typeof LIMITS;
  /** Null if the target does not support the quantity at all. */
  readonly atMost: number | null;
}

export interface RunnableDesigns {
  readonly designs: number;
  readonly runnable: number;
  readonly limits: readonly TargetLimit[];
}

export const limitText = ({ quantity, atMost }: TargetLimit, words: Words): string =>
  LIMITS[quantity][0](atMost!, words);

export function leftOutText({ designs, runnable, limits }: RunnableDesigns): string {
  if (runnable === designs) return '';
  const needs = limits.map(({ quantity, atMost }) => LIMITS[quantity][1](atMost!));
  const last = needs.pop()!;
  const what = needs.length === 0 ? last : `${needs.join(', ')} or ${last}`;
  const out = designs - runnable;
  return `${out.toLocaleString('en')} of ${designs.toLocaleString('en')} designs ${out === 1 ? 'is left out, because it needs' : 'are left out, because they need'} ${what}`;
}
