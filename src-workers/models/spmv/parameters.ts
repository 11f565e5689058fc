/** What a data sheet does not tell of an implementation on a device. At most six per implementation; each is fitted within its range. */
export type SpmvParameter =
  | 'startMicroseconds'
  | 'multiprocessorStartNs'
  | 'bandwidthFraction'
  | 'gatherMissFraction'
  | 'latencyNs'
  | 'missLatencyRatio'
  | 'concurrencyFraction'
  | 'atomicNs'
  | 'contendedAtomicNs'
  | 'rowWalkNs'
  | 'searchStepNs'
  | 'neighbourDeviations';

export interface ParameterRule {
  readonly label: string;
  readonly meaning: string;
  readonly unit: string;
  /** What it may be; the fit does not leave it. */
  readonly lower: number;
  readonly upper: number;
  /** Where the fit starts, and what stands where an implementation does not fit it. */
  readonly initial: number;
  /** What its value goes with from one device to another: the start of `unseen` devices. */
  readonly scale: 'memoryLatency' | 'none';
}

export const SPMV_PARAMETERS: Readonly<Record<SpmvParameter, ParameterRule>> = {
  startMicroseconds: {
    label: 'Start of a launch',
    meaning: 'start of the launches and their end, as timed',
    unit: 'µs',
    lower: 0.3,
    upper: 80,
    initial: 8,
    scale: 'none',
  },
  multiprocessorStartNs: {
    label: 'Start of a multiprocessor',
    meaning: 'first block of one more multiprocessor: instructions, address translation, dispatch',
    unit: 'ns',
    lower: 0.1,
    upper: 300,
    initial: 20,
    scale: 'none',
  },
  bandwidthFraction: {
    label: 'Achieved bandwidth',
    meaning: 'achieved over peak bandwidth',
    unit: '1',
    lower: 0.1,
    upper: 1,
    initial: 0.7,
    scale: 'none',
  },
  gatherMissFraction: {
    label: 'Gathers that miss',
    meaning: 'gathers that fetch a sector of their own where the vector does not fit the level-2 cache',
    unit: '1',
    lower: 0.001,
    upper: 2,
    initial: 0.1,
    scale: 'none',
  },
  latencyNs: {
    label: 'Latency of an iteration',
    meaning: 'one dependent iteration with its data in the level-2 cache',
    unit: 'ns',
    lower: 20,
    upper: 5000,
    initial: 500,
    scale: 'memoryLatency',
  },
  missLatencyRatio: {
    label: 'Latency from memory',
    meaning: 'an iteration from device memory over one from the level-2 cache',
    unit: '1',
    lower: 1,
    upper: 4,
    initial: 2,
    scale: 'none',
  },
  concurrencyFraction: {
    label: 'Loads in flight',
    meaning: 'resident thread groups that have a load in flight',
    unit: '1',
    lower: 0.02,
    upper: 3,
    initial: 0.5,
    scale: 'none',
  },
  atomicNs: {
    label: 'Atomic addition',
    meaning: 'one atomic addition, all of the device adding to different places',
    unit: 'ns',
    lower: 1e-5,
    upper: 30,
    initial: 0.05,
    scale: 'none',
  },
  contendedAtomicNs: {
    label: 'Atomic addition, contended',
    meaning: 'one of several atomic additions to the same place',
    unit: 'ns',
    lower: 1,
    upper: 3000,
    initial: 100,
    scale: 'none',
  },
  rowWalkNs: {
    label: 'Reading a row end',
    meaning: 'reading one row end while looking for the row of an element',
    unit: 'ns',
    lower: 0.5,
    upper: 2000,
    initial: 100,
    scale: 'memoryLatency',
  },
  searchStepNs: {
    label: 'Step of a search',
    meaning: 'one step of the search for the first row of a part',
    unit: 'ns',
    lower: 1,
    upper: 3000,
    initial: 100,
    scale: 'memoryLatency',
  },
  neighbourDeviations: {
    label: 'Rows beside the longest',
    meaning: 'standard deviations by which rows beside the longest exceed the mean, over four',
    unit: '1',
    lower: 0.001,
    upper: 1,
    initial: 0.3,
    scale: 'none',
  },
};

export type SpmvParameters = Readonly<Partial<Record<SpmvParameter, number>>>;
