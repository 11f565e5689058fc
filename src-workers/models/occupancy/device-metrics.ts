import type { GpuDevice } from '../../domain/device.ts';

/** One line of a side-by-side comparison, declared as data: the UI, the command line and reports all read this. */
export interface DeviceMetric<Kind = GpuDevice> {
  readonly id: string;
  readonly label: string;
  /** Unit of the values; `''` for a count or ratio. */
  readonly unit: string;
  /** Which end is the strong one; `none` where neither is (a width, a year). */
  readonly better: 'higher' | 'lower' | 'none';
  readonly value: (device: Kind) => number;
}

/** Peak FP32 arithmetic, 10⁹ thread instructions per second: every lane issues one each cycle, dual issue not counted. */
export function peakInstructionsGigaPerSecond(device: GpuDevice): number {
  return (device.multiprocessors * device.fp32LanesPerMultiprocessor * device.clockMhz) / 1000;
}

/**
 * Thread groups per multiprocessor that must be in flight to hide the latency of dependent arithmetic (Little's law):
 * latency × lanes / width.
 */
function groupsToHideArithmetic(device: GpuDevice): number {
  return (device.dependentIssueLatencyCycles * device.fp32LanesPerMultiprocessor) / device.threadGroupWidth;
}

/** Bytes that must be in flight on the whole device to keep the memory busy (Little's law), KiB. */
function kibInFlight(device: GpuDevice): number {
  const latencySeconds = device.memoryLatencyCycles / (device.clockMhz * 1e6);
  return (latencySeconds * device.memoryBandwidthGbS * 1e9) / 1024;
}

export const DEVICE_METRICS: readonly DeviceMetric[] = [
  { id: 'year', label: 'Year', unit: '', better: 'none', value: (d) => d.year },
  { id: 'multiprocessors', label: 'Multiprocessors', unit: '', better: 'higher', value: (d) => d.multiprocessors },
  { id: 'clockMhz', label: 'Boost clock', unit: 'MHz', better: 'higher', value: (d) => d.clockMhz },
  {
    id: 'threadGroupWidth',
    label: 'Thread-group width',
    unit: 'lanes',
    better: 'none',
    value: (d) => d.threadGroupWidth,
  },
  {
    id: 'schedulersPerMultiprocessor',
    label: 'Schedulers per multiprocessor',
    unit: '',
    better: 'higher',
    value: (d) => d.schedulersPerMultiprocessor,
  },
  {
    id: 'fp32LanesPerMultiprocessor',
    label: 'FP32 lanes per multiprocessor',
    unit: '',
    better: 'higher',
    value: (d) => d.fp32LanesPerMultiprocessor,
  },
  {
    id: 'peakInstructions',
    label: 'Peak FP32 thread instructions',
    unit: '10⁹/s',
    better: 'higher',
    value: peakInstructionsGigaPerSecond,
  },
  {
    id: 'peakThreadGroupInstructions',
    label: 'Peak thread-group instructions',
    unit: '10⁹/s',
    better: 'higher',
    value: (d) => peakInstructionsGigaPerSecond(d) / d.threadGroupWidth,
  },
  {
    id: 'memoryBandwidthGbS',
    label: 'Memory bandwidth',
    unit: 'GB/s',
    better: 'higher',
    value: (d) => d.memoryBandwidthGbS,
  },
  {
    id: 'instructionsPerByte',
    label: 'FP32 instructions per byte at balance',
    unit: '1/B',
    better: 'none',
    value: (d) => peakInstructionsGigaPerSecond(d) / d.memoryBandwidthGbS,
  },
  { id: 'memoryGib', label: 'Memory', unit: 'GiB', better: 'higher', value: (d) => d.memoryGib },
  { id: 'l2Mib', label: 'L2 cache', unit: 'MiB', better: 'higher', value: (d) => d.l2Bytes / 2 ** 20 },
  {
    id: 'dependentIssueLatencyCycles',
    label: 'Dependent arithmetic latency',
    unit: 'cycles',
    better: 'lower',
    value: (d) => d.dependentIssueLatencyCycles,
  },
  {
    id: 'memoryLatencyNs',
    label: 'Memory latency',
    unit: 'ns',
    better: 'lower',
    value: (d) => (d.memoryLatencyCycles / d.clockMhz) * 1000,
  },
  {
    id: 'groupsToHideArithmetic',
    label: 'Thread groups that hide arithmetic latency',
    unit: 'per multiprocessor',
    better: 'lower',
    value: groupsToHideArithmetic,
  },
  {
    id: 'kibInFlight',
    label: 'Memory traffic in flight at full bandwidth',
    unit: 'KiB',
    better: 'lower',
    value: kibInFlight,
  },
  {
    id: 'residentThreads',
    label: 'Resident threads',
    unit: '',
    better: 'higher',
    value: (d) => d.multiprocessors * d.limits.maxThreadGroupsPerMultiprocessor * d.threadGroupWidth,
  },
  {
    id: 'maxThreadGroupsPerMultiprocessor',
    label: 'Thread-group slots per multiprocessor',
    unit: '',
    better: 'higher',
    value: (d) => d.limits.maxThreadGroupsPerMultiprocessor,
  },
  {
    id: 'maxBlocksPerMultiprocessor',
    label: 'Block slots per multiprocessor',
    unit: '',
    better: 'higher',
    value: (d) => d.limits.maxBlocksPerMultiprocessor,
  },
  {
    id: 'registersPerResidentThread',
    label: 'Registers per thread at full occupancy',
    unit: '',
    better: 'higher',
    value: (d) =>
      d.limits.registersPerMultiprocessor / (d.limits.maxThreadGroupsPerMultiprocessor * d.threadGroupWidth),
  },
  {
    id: 'maxRegistersPerThread',
    label: 'Registers per thread, at most',
    unit: '',
    better: 'higher',
    value: (d) => d.limits.maxRegistersPerThread,
  },
  {
    id: 'sharedMemoryKibPerMultiprocessor',
    label: 'Shared memory per multiprocessor',
    unit: 'KiB',
    better: 'higher',
    value: (d) => d.limits.sharedMemoryBytesPerMultiprocessor / 1024,
  },
  {
    id: 'maxSharedMemoryKibPerBlock',
    label: 'Shared memory per block, at most',
    unit: 'KiB',
    better: 'higher',
    value: (d) => d.limits.maxSharedMemoryBytesPerBlock / 1024,
  },
  {
    id: 'maxThreadsPerBlock',
    label: 'Threads per block, at most',
    unit: '',
    better: 'higher',
    value: (d) => d.limits.maxThreadsPerBlock,
  },
];

export interface DeviceComparisonRow {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  readonly better: DeviceMetric['better'];
  /** One value per device, in the order given. */
  readonly values: readonly number[];
  /** Indices of the devices with the best value; empty where no end is better, or all are equal. */
  readonly best: readonly number[];
}

/** Some metrics of some devices of one kind side by side. */
export function deviceComparison<Kind>(
  metrics: readonly DeviceMetric<Kind>[],
  devices: readonly Kind[],
): DeviceComparisonRow[] {
  return metrics.map(({ id, label, unit, better, value }) => {
    const values = devices.map(value);
    const target = better === 'lower' ? Math.min(...values) : Math.max(...values);
    const best = better === 'none' ? [] : values.flatMap((v, index) => (v === target ? [index] : []));
    return { id, label, unit, better, values, best: best.length === values.length ? [] : best };
  });
}
