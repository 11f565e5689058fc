import { logTicks as ticks } from '../../../src-workers/numeric/ticks.ts';

export { spreadLabels } from '../../../src-workers/numeric/ticks.ts';
export const logTicks = (low: number, high: number, most: number) => ticks(low, high, { most });
