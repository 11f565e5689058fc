import type { CpuDevice } from '../../domain/device.ts';
import type { DeviceMetric } from '../occupancy/device-metrics.ts';
import { saturatingCores } from './bandwidth.ts';

/** What the contention models know of a CPU, side by side; as `DEVICE_METRICS` of GPUs. */
export const CPU_METRICS: readonly DeviceMetric<CpuDevice>[] = [
  { id: 'cores', label: 'Cores', unit: '', better: 'higher', value: (d) => d.cores },
  {
    id: 'singleCoreBandwidthGbS',
    label: 'Bandwidth of one core, β',
    unit: 'GB/s',
    better: 'higher',
    value: (d) => d.singleCoreBandwidthGbS,
  },
  {
    id: 'fullBandwidthGbS',
    label: 'Bandwidth of all cores, ρ',
    unit: 'GB/s',
    better: 'higher',
    value: (d) => d.fullBandwidthGbS,
  },
  {
    id: 'saturatingCores',
    label: 'Cores that use all bandwidth, ⌈ρ/β⌉',
    unit: '',
    better: 'none',
    value: saturatingCores,
  },
  { id: 'kneeCores', label: 'Cores at the knee as listed, K', unit: '', better: 'none', value: (d) => d.kneeCores },
  {
    id: 'bandwidthPerCore',
    label: 'Bandwidth per core with all in use',
    unit: 'GB/s',
    better: 'higher',
    value: (d) => d.fullBandwidthGbS / d.cores,
  },
];
