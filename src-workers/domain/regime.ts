/** The absolute difference from the event simulation, as a fraction of the time. */
export interface Accuracy {
  readonly median: number;
  readonly p95: number;
  /** Number of random designs that were compared (`npm run bench -- composite balancing`). */
  readonly designs: number;
}

interface RegimeText {
  readonly label: string;
  readonly method: string;
  readonly accuracy: Accuracy | null;
}

export type RegimeId = keyof typeof INFO;
export interface RegimeInfo extends RegimeText {
  readonly id: RegimeId;
}

const INFO = {
  'given-order': {
    label: 'Given order',
    method: 'The units run in their order. Blocks start one after another, and the slowest scheduler decides the time.',
    accuracy: { median: 0.0001, p95: 0.019, designs: 67 },
  },
  'known-blocks': {
    label: 'Known blocks',
    method: 'Sorted units run in one wave. The slowest schedulers are followed group by group.',
    accuracy: { median: 0.004, p95: 0.052, designs: 512 },
  },
  'uneven-fetch': {
    label: 'Uneven fetching',
    method: 'Multiprocessors with fewer blocks fetch more units, so all of them finish at the same time.',
    accuracy: { median: 0.0047, p95: 0.018, designs: 26 },
  },
  'uneven-grid': {
    label: 'Uneven grid',
    method:
      'The units cannot be divided evenly. The time lies between the times of two launches: in one, every slot has the larger number of units; in the other, one unit less.',
    accuracy: { median: 0.0098, p95: 0.07, designs: 97 },
  },
  'equal-blocks': {
    label: 'Equal blocks',
    method: 'All groups take equally long, so blocks run in whole waves.',
    accuracy: { median: 0, p95: 0.0058, designs: 55 },
  },
  'one-wave': {
    label: 'One wave',
    method: 'All blocks start at once, and the slowest scheduler decides the time.',
    accuracy: { median: 0.0055, p95: 0.044, designs: 130 },
  },
  'few-waves': {
    label: 'A few waves',
    method: 'Blocks start as the renewal equation predicts, until none is left.',
    accuracy: { median: 0.0044, p95: 0.058, designs: 235 },
  },
  'many-waves': {
    label: 'Many waves',
    method: 'The device stays busy and works at its mean rate, until no block is left to start.',
    accuracy: { median: 0.0025, p95: 0.03, designs: 165 },
  },
  'longest-unit': {
    label: 'Longest unit',
    method: 'The longest unit alone takes longer than the launch otherwise would.',
    accuracy: { median: 0.0069, p95: 0.09, designs: 41 },
  },
  'block-starts': {
    label: 'Block starts',
    method:
      'Starting the blocks takes longer than running them. How fast blocks start was measured on an H100, and is assumed for other NVIDIA devices.',
    accuracy: null,
  },
  'memory-contention': {
    label: 'Shared bandwidth',
    method: 'Cores share a bandwidth that grows with them to a maximum (Langguth’s staircase model).',
    accuracy: null,
  },
} satisfies Readonly<Record<string, RegimeText>>;

export function regimeInfo(id: RegimeId): RegimeInfo {
  return { id, ...INFO[id] };
}

export const REGIME_INFO: readonly RegimeInfo[] = (Object.keys(INFO) as RegimeId[]).map(regimeInfo);
