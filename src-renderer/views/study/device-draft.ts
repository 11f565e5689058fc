import {
  isEstimate,
  type CpuDevice,
  type Device,
  type GpuDevice,
  type OccupancyRules,
} from '../../../src-workers/domain/device.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { AMD_ISAS } from '../../../src-workers/models/occupancy/amd.ts';
import { APPLE_GPU_FAMILIES } from '../../../src-workers/models/occupancy/apple.ts';
import { INTEL_ARCHITECTURES } from '../../../src-workers/models/occupancy/intel.ts';
import { NVIDIA_COMPUTE_CAPABILITIES } from '../../../src-workers/models/occupancy/nvidia.ts';
import { limitsByRules } from '../../../src-workers/models/occupancy/resident.ts';
import type { CatalogueDevice } from '../../state/library.svelte.ts';

/** A device that the user describes. The engine checks it as a whole when it is saved. */

export interface DeviceNumber {
  /** The path of the field, as in the engine's messages. */
  readonly field: string;
  readonly label: string;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
  readonly memory?: boolean;
}

const whole = (field: string, label: string, max = 65536, min = 1): DeviceNumber => {
  return { field, label, unit: '', min, max, integer: true };
};
const positive = (field: string, label: string, unit: string, max: number): DeviceNumber => {
  return { field, label, unit, min: Number.MIN_VALUE, max, integer: false };
};
const LARGEST = 2 ** 40;
const memory = (field: string, label: string): DeviceNumber => ({ ...whole(field, label, LARGEST, 0), memory: true });

/** Returns the fields of a GPU. Those in `ruled` are hidden if occupancy rules of the device set them. */
export function gpuNumbers(say: Term) {
  const multiprocessor = say('multiprocessor', 'short');
  return {
    main: [
      whole('multiprocessors', `${multiprocessor}s`),
      positive('clockMhz', 'Boost clock', 'MHz', 20_000),
      whole('schedulersPerMultiprocessor', `Schedulers per ${multiprocessor}`, 64),
      whole('fp32LanesPerMultiprocessor', `FP32 lanes per ${multiprocessor}`, 4096),
      positive('dependentIssueLatencyCycles', 'Arithmetic latency', 'cycles', 1000),
      positive('memoryLatencyCycles', 'Memory latency', 'cycles', 100_000),
      positive('memoryBandwidthGbS', 'Memory bandwidth', 'GB/s', 1e6),
      positive('memoryGib', 'Memory', 'GiB', 1e5),
      memory('l2Bytes', 'Last-level cache'),
    ],
    ruled: [
      whole('threadGroupWidth', `Width of a ${say('threadGroup')}`, 1024),
      whole('limits.maxThreadsPerBlock', sentenceCase(`${say('thread', 'many')} per ${say('block')}`)),
      whole('limits.maxGridBlocks', sentenceCase(`${say('block', 'many')} per launch`), LARGEST),
      whole('limits.maxBlocksPerMultiprocessor', `Resident ${say('block', 'many')}`),
      whole('limits.maxThreadGroupsPerMultiprocessor', `Resident ${say('threadGroup', 'many')}`),
      whole('limits.registersPerMultiprocessor', `Registers per ${multiprocessor}`, LARGEST),
      whole('limits.maxRegistersPerBlock', `Registers per ${say('block')}`, LARGEST),
      whole('limits.maxRegistersPerThread', `Registers per ${say('thread')}`),
      memory('limits.sharedMemoryBytesPerMultiprocessor', sentenceCase(`${say('sharedMemory')} per ${multiprocessor}`)),
      memory('limits.maxSharedMemoryBytesPerBlock', sentenceCase(`${say('sharedMemory')} per ${say('block')}`)),
    ],
  }; // prettier-ignore
}

export const CPU_NUMBERS: readonly DeviceNumber[] = [
  whole('cores', 'Cores'),
  whole('kneeCores', 'Cores that saturate memory'),
  positive('singleCoreBandwidthGbS', 'Bandwidth of one core', 'GB/s', 1e6),
  positive('fullBandwidthGbS', 'Bandwidth of all cores', 'GB/s', 1e6),
];

/** @param field for example `limits.maxThreadsPerBlock` */
export function readNumber(device: Device, field: string): number {
  return field.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], device) as number;
}

/** Also removes the source of the former number. */
export function withNumber<D extends Device>(device: D, field: string, value: number): D {
  const [head, key] = field.split('.') as [string, string?];
  const { [head]: _former, ...sources } = device.sources;
  if (key === undefined) return { ...device, [head]: value, sources };
  return { ...device, [head]: { ...(device as unknown as Record<string, object>)[head], [key]: value }, sources };
}

/** States the source of the numbers. A number that is marked as an estimate stays one until it is entered. */
export function withSource<D extends Device>(device: D, source: string): D {
  return { ...device, sources: { ...device.sources, '*': source.trim() || 'entered by hand' } };
}

export function withRules(device: GpuDevice, rules: OccupancyRules): GpuDevice {
  const found = limitsByRules(rules);
  const fixed = found.ok && found.value ? { limits: found.value.limits, threadGroupWidth: found.value.width } : {};
  return { ...device, occupancy: rules, ...fixed };
}

const choice = (label: string, rules: OccupancyRules) => ({ value: choiceOfRules(rules), label, rules });

export const OCCUPANCY_CHOICES = [
  ...NVIDIA_COMPUTE_CAPABILITIES.toReversed().map((computeCapability) =>
    choice(`NVIDIA ${computeCapability}`, { family: 'nvidia', computeCapability }),
  ),
  ...AMD_ISAS.flatMap((isa) =>
    ([32, 64] as const).map((waveSize) => choice(`${isa}, wave${waveSize}`, { family: 'amd', isa, waveSize })),
  ),
  ...INTEL_ARCHITECTURES.flatMap((architecture) =>
    ([8, 16, 32] as const).map((simdWidth) =>
      choice(`${architecture}, SIMD${simdWidth}`, { family: 'intel', architecture, simdWidth }),
    ),
  ),
  ...APPLE_GPU_FAMILIES.map((gpuFamily) => choice(`Apple GPU family ${gpuFamily}`, { family: 'apple', gpuFamily })),
  choice('none', { family: 'generic' }),
].filter(({ rules }) => limitsByRules(rules).ok);

export function choiceOfRules({ family, ...rules }: OccupancyRules): string {
  const values = Object.entries(rules)
    .sort()
    .map(([, value]) => value);
  return [family, ...values].join(' ');
}

/** Makes a copy whose sources say only from which device it was copied, and which values are estimates. */
export function copyOf(device: CatalogueDevice, taken: readonly string[]): Device {
  const { own: _own, ...rest } = device;
  const name = `${device.name} copy`;
  const estimates = Object.entries(device.sources).filter(([field]) => field !== '*' && isEstimate(device, field));
  const sources = { ...Object.fromEntries(estimates), '*': `copied from ${device.name}, then changed` };
  return { ...rest, id: freeId(name, taken), name, sources };
}

export const PLAIN_CPU: CpuDevice = {
  kind: 'cpu',
  id: 'own-cpu',
  name: 'Own CPU',
  vendor: 'other',
  cores: 8,
  singleCoreBandwidthGbS: 20,
  fullBandwidthGbS: 60,
  kneeCores: 3,
  sources: { '*': 'entered by hand' },
};

export function freeId(name: string, taken: readonly string[]): string {
  const slug = name.toLowerCase().normalize('NFKD').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 70) || 'device'; // prettier-ignore
  if (!taken.includes(slug)) return slug;
  let next = 2;
  while (taken.includes(`${slug}-${next}`)) next += 1;
  return `${slug}-${next}`;
}
