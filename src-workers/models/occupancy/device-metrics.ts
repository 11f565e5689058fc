import type { GpuDevice } from '../../domain/device.ts';

export interface DeviceMetric<Kind = GpuDevice> {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower' | 'none';
  readonly value: (device: Kind) => number;
}

/** Peak FP32 arithmetic, 10⁹ thread instructions per second: one per lane and cycle, without dual issue. */
export function peakInstructionsGigaPerSecond(device: GpuDevice): number {
  return (device.multiprocessors * device.fp32LanesPerMultiprocessor * device.clockMhz) / 1000;
}

/** Thread groups in flight that hide the latency of dependent arithmetic (Little's law): latency × lanes / width. */
function groupsToHideArithmetic(device: GpuDevice): number {
  return (device.dependentIssueLatencyCycles * device.fp32LanesPerMultiprocessor) / device.threadGroupWidth;
}

/** KiB in flight on the whole device that keep the memory busy (Little's law). */
function kibInFlight(device: GpuDevice): number {
  const latencySeconds = device.memoryLatencyCycles / (device.clockMhz * 1e6);
  return (latencySeconds * device.memoryBandwidthGbS * 1e9) / 1024;
}

export function metric<Kind = GpuDevice>(
  id: string,
  label: string,
  unit: string,
  better: DeviceMetric['better'],
  value: (device: Kind) => number,
): DeviceMetric<Kind> {
  return { id, label, unit, better, value };
}

// prettier-ignore
export const DEVICE_METRICS: readonly DeviceMetric[] = [
  metric('year', 'Year', '', 'none', (d) => d.year),
  metric('multiprocessors', 'Multiprocessors', '', 'higher', (d) => d.multiprocessors),
  metric('clockMhz', 'Boost clock', 'MHz', 'higher', (d) => d.clockMhz),
  metric('threadGroupWidth', 'Thread-group width', 'lanes', 'none', (d) => d.threadGroupWidth),
  metric('schedulersPerMultiprocessor', 'Schedulers per multiprocessor', '', 'higher', (d) => d.schedulersPerMultiprocessor),
  metric('fp32LanesPerMultiprocessor', 'FP32 lanes per multiprocessor', '', 'higher', (d) => d.fp32LanesPerMultiprocessor),
  metric('peakInstructions', 'Peak FP32 thread instructions', '10⁹/s', 'higher', peakInstructionsGigaPerSecond),
  metric('peakThreadGroupInstructions', 'Peak thread-group instructions', '10⁹/s', 'higher', (d) => peakInstructionsGigaPerSecond(d) / d.threadGroupWidth),
  metric('memoryBandwidthGbS', 'Memory bandwidth', 'GB/s', 'higher', (d) => d.memoryBandwidthGbS),
  metric('instructionsPerByte', 'Peak FP32 instructions per byte of bandwidth', '1/B', 'none', (d) => peakInstructionsGigaPerSecond(d) / d.memoryBandwidthGbS),
  metric('memoryGib', 'Memory', 'GiB', 'higher', (d) => d.memoryGib),
  metric('l2Mib', 'L2 cache', 'MiB', 'higher', (d) => d.l2Bytes / 2 ** 20),
  metric('dependentIssueLatencyCycles', 'Dependent arithmetic latency', 'cycles', 'lower', (d) => d.dependentIssueLatencyCycles),
  metric('memoryLatencyNs', 'Memory latency', 'ns', 'lower', (d) => (d.memoryLatencyCycles / d.clockMhz) * 1000),
  metric('groupsToHideArithmetic', 'Thread groups that hide arithmetic latency', 'per multiprocessor', 'lower', groupsToHideArithmetic),
  metric('kibInFlight', 'Memory traffic in flight at full bandwidth', 'KiB', 'lower', kibInFlight),
  metric('residentThreads', 'Resident threads', '', 'higher', (d) => d.multiprocessors * d.limits.maxThreadGroupsPerMultiprocessor * d.threadGroupWidth),
  metric('maxThreadGroupsPerMultiprocessor', 'Thread-group slots per multiprocessor', '', 'higher', (d) => d.limits.maxThreadGroupsPerMultiprocessor),
  metric('maxBlocksPerMultiprocessor', 'Block slots per multiprocessor', '', 'higher', (d) => d.limits.maxBlocksPerMultiprocessor),
  metric('registersPerResidentThread', 'Registers per thread at full occupancy', '', 'higher', (d) => d.limits.registersPerMultiprocessor / (d.limits.maxThreadGroupsPerMultiprocessor * d.threadGroupWidth)),
  metric('maxRegistersPerThread', 'Registers per thread, at most', '', 'higher', (d) => d.limits.maxRegistersPerThread),
  metric('sharedMemoryKibPerMultiprocessor', 'Shared memory per multiprocessor', 'KiB', 'higher', (d) => d.limits.sharedMemoryBytesPerMultiprocessor / 1024),
  metric('maxSharedMemoryKibPerBlock', 'Shared memory per block, at most', 'KiB', 'higher', (d) => d.limits.maxSharedMemoryBytesPerBlock / 1024),
  metric('maxThreadsPerBlock', 'Threads per block, at most', '', 'higher', (d) => d.limits.maxThreadsPerBlock),
];

export interface DeviceComparisonRow {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  readonly better: DeviceMetric['better'];
  readonly values: readonly number[];
  readonly best: readonly number[];
}

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
