/** How a predicted time was computed, for people: one entry per regime of `predict/time/regimes.ts`. */
export type RegimeId =
  | 'given-order'
  | 'known-blocks'
  | 'uneven-fetch'
  | 'uneven-grid'
  | 'equal-blocks'
  | 'one-wave'
  | 'few-waves'
  | 'many-waves'
  | 'longest-unit'
  | 'memory-contention';

/** Difference from the event simulation, as fractions of the time: median and 95th percentile of its absolute value. */
export interface Accuracy {
  readonly median: number;
  readonly p95: number;
  /**
   * Random designs, unsorted, sorted, bucketed and fetched, that these were measured on: `npm run bench -- composite
   * balancing`.
   */
  readonly designs: number;
}

export interface RegimeInfo {
  readonly id: RegimeId;
  readonly label: string;
  /** What is computed, in one sentence. */
  readonly method: string;
  /** `null` if there is no simulation to compare with. */
  readonly accuracy: Accuracy | null;
}

const INFO: Readonly<Record<RegimeId, Omit<RegimeInfo, 'id'>>> = {
  'given-order': {
    label: 'Given order',
    method: 'Units in their order: blocks are started one after another, then the slowest multiprocessor decides.',
    accuracy: { median: 0.0001, p95: 0.023, designs: 333 },
  },
  'known-blocks': {
    label: 'Known blocks',
    method: 'Sorted units in one wave: the slowest multiprocessors, group by group.',
    accuracy: { median: 0.004, p95: 0.052, designs: 512 },
  },
  'uneven-fetch': {
    label: 'Uneven fetching',
    method: 'Multiprocessors with fewer blocks fetch more units; all run out at the same time.',
    accuracy: { median: 0.0047, p95: 0.018, designs: 26 },
  },
  'uneven-grid': {
    label: 'Uneven grid',
    method:
      'The grid does not divide the units: between the launch with one unit per slot more and the one with fewer.',
    accuracy: { median: 0.0098, p95: 0.07, designs: 97 },
  },
  'equal-blocks': {
    label: 'Equal blocks',
    method: 'All groups are equally long: whole waves in step, exactly.',
    accuracy: { median: 0, p95: 0, designs: 206 },
  },
  'one-wave': {
    label: 'One wave',
    method: 'All blocks start at once; the slowest multiprocessor decides.',
    accuracy: { median: 0.0058, p95: 0.041, designs: 879 },
  },
  'few-waves': {
    label: 'A few waves',
    method: 'Blocks start as the renewal equation says; then the device drains.',
    accuracy: { median: 0.006, p95: 0.067, designs: 995 },
  },
  'many-waves': {
    label: 'Many waves',
    method: 'The mean rate of a device that has been busy for long; then it drains.',
    accuracy: { median: 0.0022, p95: 0.026, designs: 569 },
  },
  'longest-unit': {
    label: 'Longest unit',
    method: 'The longest unit alone takes longer than the launch otherwise would.',
    accuracy: { median: 0.0069, p95: 0.09, designs: 41 },
  },
  'memory-contention': {
    label: 'Shared bandwidth',
    method: 'Cores share the memory bandwidth: the staircase on the max-rate curve (Langguth).',
    accuracy: null,
  },
};

/** What a regime computes and how well it agrees with the event simulation. */
export function regimeInfo(id: RegimeId): RegimeInfo {
  return { id, ...INFO[id] };
}

/** Every regime, in the order in which a launch is asked for them. */
export const REGIME_INFO: readonly RegimeInfo[] = (Object.keys(INFO) as RegimeId[]).map(regimeInfo);
