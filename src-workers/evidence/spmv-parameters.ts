/** What a data sheet does not tell about a kernel on a device. Each is fitted within its range. */
export type SpmvParameter =
  | 'startMicroseconds'
  | 'bandwidthFraction'
  | 'latencyRatio'
  | 'missFraction'
  | 'contendedAtomicNs';

export interface ParameterRule {
  readonly label: string;
  readonly meaning: string;
  readonly unit: string;
  /** What it may be; the fit does not leave it. */
  readonly lower: number;
  readonly upper: number;
  /** Where the fit starts, and what stands if nothing is fitted. */
  readonly initial: number;
}

export const SPMV_PARAMETERS: Readonly<Record<SpmvParameter, ParameterRule>> = {
  startMicroseconds: {
    label: 'Start of a launch',
    meaning: 'start of the launches and their end, as timed',
    unit: 'µs',
    lower: 0.3,
    upper: 80,
    initial: 8,
  },
  bandwidthFraction: {
    label: 'Achieved bandwidth',
    meaning: 'achieved over peak bandwidth',
    unit: '1',
    lower: 0.1,
    upper: 1,
    initial: 0.7,
  },
  latencyRatio: {
    label: 'Latency of memory',
    meaning: 'latency of device memory over that of the catalogue',
    unit: '1',
    lower: 0.1,
    upper: 5,
    initial: 1,
  },
  missFraction: {
    label: 'Gathers that miss',
    meaning: 'gathers that need a sector of their own from device memory, beyond what fits the caches',
    unit: '1',
    lower: 0.001,
    upper: 1,
    initial: 0.1,
  },
  contendedAtomicNs: {
    label: 'Atomic addition, contended',
    meaning: 'one of several atomic additions to the same place',
    unit: 'ns',
    lower: 1,
    upper: 3000,
    initial: 100,
  },
};

export type SpmvParameters = Readonly<Partial<Record<SpmvParameter, number>>>;
