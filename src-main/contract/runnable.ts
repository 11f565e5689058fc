import { coresText } from '../../src-workers/domain/terms.ts';

/** A property of designs that a target does not support, or supports only up to a limit. */
export interface TargetLimit {
  readonly quantity:
    | 'cores'
    | 'threadsPerUnit'
    | 'blockThreads'
    | 'registerCap'
    | 'bestBuckets'
    | 'wholeUnits'
    | 'tiles';
  /** Null if the target does not support the property at all. */
  readonly atMost: number | null;
}

export interface RunnableDesigns {
  /** Valid designs of the predicted device. */
  readonly designs: number;
  readonly runnable: number;
  readonly limits: readonly TargetLimit[];
}

/** `up to 4 threads per unit`, in the words of a programming model. */
export function limitText(
  { quantity, atMost }: TargetLimit,
  terms: { readonly thread: string; readonly threads: string; readonly block: string },
): string {
  switch (quantity) {
    case 'cores':
      return `up to ${coresText(atMost!)}`;
    case 'threadsPerUnit':
      return atMost === 1 ? `one ${terms.thread} per unit` : `up to ${atMost} ${terms.threads} per unit`;
    case 'blockThreads':
      return `${terms.block}s of up to ${atMost}`;
    case 'registerCap':
      return 'no register cap';
    case 'bestBuckets':
      return 'no best buckets';
    case 'wholeUnits':
      return 'no padding and no even shares';
    case 'tiles':
      return `${terms.block}s of one row`;
  }
}

function needText({ quantity, atMost }: TargetLimit): string {
  switch (quantity) {
    case 'cores':
      return `more than ${coresText(atMost!)}`;
    case 'threadsPerUnit':
      return `more than ${atMost === 1 ? 'one thread' : `${atMost} threads`} per unit`;
    case 'blockThreads':
      return `blocks of more than ${atMost} threads`;
    case 'registerCap':
      return 'a register cap';
    case 'bestBuckets':
      return 'the width of a thread group for best buckets, which the device does not report';
    case 'wholeUnits':
      return 'padding or even shares, which the stand-in loop does not have';
    case 'tiles':
      return 'blocks that are tiles, which the stand-in loop does not have';
  }
}

/** `420 of 840 designs are left out, because they need more than 2 cores`. */
export function leftOutText({ designs, runnable, limits }: RunnableDesigns): string {
  if (runnable === designs) return '';
  const needs = limits.map(needText);
  const last = needs.pop()!;
  const what = needs.length === 0 ? last : `${needs.join(', ')} or ${last}`;
  const out = designs - runnable;
  return `${out.toLocaleString('en')} of ${designs.toLocaleString('en')} designs ${out === 1 ? 'is left out, because it needs' : 'are left out, because they need'} ${what}`;
}
