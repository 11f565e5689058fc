import { createSizedCache } from '../../numeric/budget.ts';
import { LAUNCH_BYTES } from '../constants.ts';
import { threadBudget } from '../memory.ts';
import type { PlainLaunch } from './given.ts';

const PLAIN_LAUNCH_MS = 0.5;

/** The size of a launch includes its starts, which are added later: there are as many of them as depths. */
export function createRecentLaunches<Launch extends Pick<PlainLaunch, 'blocks' | 'weights' | 'depths'>>(): (
  key: string,
  make: () => Launch,
) => Launch {
  return createSizedCache(
    threadBudget,
    PLAIN_LAUNCH_MS,
    ({ blocks, weights, depths }) =>
      LAUNCH_BYTES + blocks.byteLength + (weights?.byteLength ?? 0) + 2 * depths.byteLength,
  );
}

export function createRecentStarts(): (key: string, make: () => Float64Array) => Float64Array {
  return createSizedCache(threadBudget, PLAIN_LAUNCH_MS, ({ byteLength }) => LAUNCH_BYTES + byteLength);
}
