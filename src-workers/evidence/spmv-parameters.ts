/** Properties of a kernel on a device that no data sheet states. Each is fitted within its range. */
export type SpmvParameter =
  | 'startMicroseconds'
  | 'fillMicroseconds'
  | 'bandwidthFraction'
  | 'latencyRatio'
  | 'missFraction'
  | 'contendedAtomicNs';

export interface ParameterRule {
  readonly label: string;
  readonly meaning: string;
  readonly unit: string;
  readonly lower: number;
  readonly upper: number;
  readonly initial: number;
}

export const SPMV_PARAMETERS: Readonly<Record<SpmvParameter, ParameterRule>> = {
  startMicroseconds: {
    label: 'Start of a launch',
    meaning: 'part of the measured time that starting and ending the launches takes',
    unit: 'µs',
    lower: 0.3,
    upper: 80,
    initial: 8,
  },
  fillMicroseconds: {
    label: 'Filling the device',
    meaning: 'time by which the start grows until every multiprocessor has a block, once for launches in a row',
    unit: 'µs',
    lower: 0.01,
    upper: 30,
    initial: 1,
  },
  bandwidthFraction: {
    label: 'Achieved bandwidth',
    meaning: 'achieved bandwidth divided by peak bandwidth',
    unit: '1',
    lower: 0.1,
    upper: 1,
    initial: 0.7,
  },
  latencyRatio: {
    label: 'Latency of memory',
    meaning: 'latency of device memory divided by the catalogue’s value',
    unit: '1',
    lower: 0.1,
    upper: 5,
    initial: 1,
  },
  missFraction: {
    label: 'Gathers that miss',
    meaning: 'fraction that need a sector of their own, of the gathers for which no cache has room',
    unit: '1',
    lower: 0.001,
    upper: 1,
    initial: 0.1,
  },
  contendedAtomicNs: {
    label: 'Atomic addition, contended',
    meaning: 'time of each of several atomic additions to the same place',
    unit: 'ns',
    lower: 1,
    upper: 3000,
    initial: 100,
  },
};

export type SpmvParameters = Readonly<Partial<Record<SpmvParameter, number>>>;
