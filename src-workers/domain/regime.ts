/** How a predicted time was computed, for people: one entry per regime of `predict/time/regimes.ts`. */
export type RegimeId =
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
  /** Random designs that these are measured on: `npm run bench -- prediction`. */
  readonly designs: number;
}

export interface RegimeInfo {
  readonly id: RegimeId;
  readonly label: string;
  /** What is computed, in one sentence. */
  readonly method: string;
  /** `null` where nothing independent to compare with exists. */
  readonly accuracy: Accuracy | null;
}

const INFO: Readonly<Record<RegimeId, Omit<RegimeInfo, 'id'>>> = {
  'known-blocks': {
    label: 'Known blocks',
    method: 'Sorted units in one wave: the time of every multiprocessor, group by group.',
    accuracy: null,
  },
  'uneven-fetch': {
    label: 'Uneven fetching',
    method: 'Multiprocessors with fewer blocks fetch more units; all run out at the same time.',
    accuracy: null,
  },
  'uneven-grid': {
    label: 'Uneven grid',
    method:
      'The grid does not divide the units: between the launch with one unit per slot more and the one with fewer.',
    accuracy: null,
  },
  'equal-blocks': {
    label: 'Equal blocks',
    method: 'All groups are equally long: whole waves in step, exactly.',
    accuracy: null,
  },
  'one-wave': {
    label: 'One wave',
    method: 'All blocks start at once; the slowest multiprocessor decides.',
    accuracy: null,
  },
  'few-waves': {
    label: 'A few waves',
    method: 'Blocks start as the renewal equation says; then the device drains.',
    accuracy: null,
  },
  'many-waves': {
    label: 'Many waves',
    method: 'The mean rate of a device that has been busy for long; then it drains.',
    accuracy: null,
  },
  'longest-unit': {
    label: 'Longest unit',
    method: 'The longest unit alone takes longer than the launch otherwise would.',
    accuracy: null,
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
