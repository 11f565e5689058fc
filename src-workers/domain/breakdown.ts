/** Where the predicted time of a design goes, ms; the parts add up to `timeMs`. Fixed order, as drawn. */
export const BREAKDOWN_PARTS = [
  { id: 'idealWork', label: 'Ideal work', hint: 'issue time of all iterations, perfectly spread, no lockstep' },
  { id: 'cooperation', label: 'Cooperation', hint: 'serial part and steps of threads that share a unit' },
  { id: 'imbalance', label: 'Imbalance', hint: 'lanes that wait for the longest unit of their group' },
  { id: 'registerCap', label: 'Register cap', hint: 'spills forced by a register cap' },
  { id: 'latency', label: 'Latency', hint: 'too few active thread groups to hide latency' },
  { id: 'blockTail', label: 'Block tail', hint: 'slots held until the last thread group of their block ends' },
  { id: 'lastWave', label: 'Last wave', hint: 'multiprocessors that run out of blocks at the end' },
  { id: 'divergence', label: 'Divergence', hint: 'the reconvergence stack, on devices that have one' },
  { id: 'balancing', label: 'Balancing', hint: 'sorting, bucketing or fetching units' },
] as const;
export type BreakdownPart = (typeof BREAKDOWN_PARTS)[number]['id'];
export interface Breakdown {
  readonly timeMs: number;
  readonly parts: Readonly<Record<BreakdownPart, number>>;
}
