import type { CpuDevice } from '../../domain/device.ts';
import { metric, type DeviceMetric } from '../occupancy/device-metrics.ts';
import { saturatingCores } from './bandwidth.ts';

// prettier-ignore
export const CPU_METRICS: readonly DeviceMetric<CpuDevice>[] = [
  metric<CpuDevice>('cores', 'Cores', '', 'higher', (d) => d.cores),
  metric<CpuDevice>('singleCoreBandwidthGbS', 'Bandwidth of one core, β', 'GB/s', 'higher', (d) => d.singleCoreBandwidthGbS),
  metric<CpuDevice>('fullBandwidthGbS', 'Bandwidth of all cores, ρ', 'GB/s', 'higher', (d) => d.fullBandwidthGbS),
  metric<CpuDevice>('saturatingCores', 'Cores that saturate the bandwidth, ⌈ρ/β⌉', '', 'none', saturatingCores),
  metric<CpuDevice>('kneeCores', 'Cores at the knee, as published, K', '', 'none', (d) => d.kneeCores),
  metric<CpuDevice>('bandwidthPerCore', 'Bandwidth per core, all cores in use', 'GB/s', 'higher', (d) => d.fullBandwidthGbS / d.cores),
];
