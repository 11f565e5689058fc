import type { RegimeInfo } from './regime.ts';
import { timeText } from './times.ts';

/** The parts add up to `timeMs`, and are shown in this order. */
export const BREAKDOWN_PARTS = [
  {
    id: 'idealWork',
    label: 'Ideal work',
    hint: 'issue time of all iterations, evenly spread and without lockstep; or the time of their memory traffic, if that is longer',
  },
  {
    id: 'cooperation',
    label: 'Cooperation',
    hint: 'threads that share a unit: the serial part of iterations, steps that combine results, block reductions',
  },
  { id: 'imbalance', label: 'Imbalance', hint: 'lanes that wait for the longest unit of their group, or run padding' },
  { id: 'registerCap', label: 'Register cap', hint: 'spills forced by a register cap' },
  { id: 'latency', label: 'Latency', hint: 'too few active thread groups to hide latency' },
  {
    id: 'blockTail',
    label: 'Blocks',
    hint: 'places of finished thread groups, which stay empty until their block ends and the next one starts',
  },
  { id: 'lastWave', label: 'Last wave', hint: 'multiprocessors that run out of blocks at the end' },
  { id: 'divergence', label: 'Divergence', hint: 'handling the reconvergence stack, on devices that have one' },
  {
    id: 'balancing',
    label: 'Balancing',
    hint: 'sorting, bucketing, padding or fetching units; search and carry of even shares; the start of the launch',
  },
] as const;
export type BreakdownPart = (typeof BREAKDOWN_PARTS)[number]['id'];
export interface Breakdown {
  readonly timeMs: number;
  readonly regime: RegimeInfo;
  readonly parts: Readonly<Record<BreakdownPart, number>>;
  readonly order?: UnitsOrder;
  readonly achieved: Achieved;
  readonly longestUnit?: LongestUnit;
}

/**
 * Returns the parts to show: none is negative, and they add up to `timeMs`. The last wave is what the other parts leave
 * of the time. A negative part is shown as 0, and the other parts are scaled to the time.
 */
export function shownParts({ timeMs, parts }: Pick<Breakdown, 'timeMs' | 'parts'>): Breakdown['parts'] {
  const values = Object.values(parts);
  if (values.every((ms) => ms >= 0)) return parts;
  const scale = timeMs / values.reduce((sum, ms) => sum + Math.max(0, ms), 0);
  return Object.fromEntries(
    BREAKDOWN_PARTS.map(({ id }) => [id, Math.max(0, parts[id]) * scale]),
  ) as Breakdown['parts'];
}

/** `given`: the workload's own units, in the order that the balancing gives them. `independent`: draws from the law. */
export type UnitsOrder = 'given' | 'independent';

export function orderText({ order }: Pick<Breakdown, 'order'>): string {
  if (order === undefined) return '';
  return order === 'given'
    ? 'The units are those of the workload, in the order that the balancing gives them.'
    : 'The units are independent draws from the law of lengths.';
}

/** Means over the whole launch. Fractions are of the device's peaks. */
export interface Achieved {
  /** Issue slots of waiting lanes count as used. Null on a CPU. */
  readonly issueFraction: number | null;
  /** `bandwidthFraction` times the peak of device memory. Null without known traffic. */
  readonly bandwidthGbS: number | null;
  readonly bandwidthFraction: number | null;
  /** The busier resource, if it is busy for at least half of the time. */
  readonly limit: 'issue' | 'bandwidth' | null;
}

export function achievedText({ issueFraction, bandwidthGbS, bandwidthFraction, limit }: Achieved): string {
  const part = (fraction: number): string => `${(100 * fraction).toFixed(fraction < 0.0995 ? 1 : 0)}\u00a0%`;
  const limits = (which: Achieved['limit']): string => (limit === which ? ', which limits the launch' : '');
  const said: string[] = [];
  if (issueFraction !== null) said.push(`${part(issueFraction)} of peak instruction issue${limits('issue')}`);
  if (bandwidthGbS !== null && bandwidthFraction !== null) {
    const rate = bandwidthGbS.toLocaleString('en', { maximumSignificantDigits: 3 });
    said.push(`${rate}\u00a0GB/s, ${part(bandwidthFraction)} of peak bandwidth${limits('bandwidth')}`);
  }
  if (said.length === 2 && limit === null) said.push('neither limits the launch');
  return said.join('; ');
}

export interface LongestUnit {
  /** Iterations; if units are draws, about the expected longest length. */
  readonly length: number;
  readonly timeMs: number;
}

export function regimeText({ label, accuracy }: Pick<RegimeInfo, 'label' | 'accuracy'>): string {
  const name = `Predicted as: ${label}.`;
  if (!accuracy) return name;
  const [median, p95] = [accuracy.median, accuracy.p95].map(differenceText);
  const figures = median === p95 ? median : `${median} in the median, ${p95} at the 95th percentile`;
  return `${name} Such predictions differ from simulation by ${figures} (${accuracy.designs.toLocaleString('en')} designs).`;
}

function differenceText(fraction: number): string {
  return fraction < 0.0005 ? 'less than 0.1\u00a0%' : `${(100 * fraction).toFixed(1)}\u00a0%`;
}

export function longestUnitText({ longestUnit, timeMs }: Breakdown): string {
  if (!longestUnit) return '';
  const length = longestUnit.length.toLocaleString('en');
  const share =
    longestUnit.timeMs <= timeMs
      ? `${Math.round((100 * longestUnit.timeMs) / timeMs)} % of the time`
      : 'more than the predicted mean, because many draws have no unit of this length';
  return `The longest unit, ${length} iterations, takes ${timeText(longestUnit.timeMs)} even alone on its multiprocessor, ${share}. No block size or grid can make this unit faster.`;
}
