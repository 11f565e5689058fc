/// <reference types="@webgpu/types" />
import type { MeasuringDevice } from '../../domain/benchmark.ts';

/** Features that make times finer or kernels faster, asked for where an adapter has them. */
const WANTED_FEATURES: readonly GPUFeatureName[] = ['timestamp-query', 'subgroups'];
/** Limits raised to what the adapter allows: large blocks, and lengths and results of large workloads. */
const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeWorkgroupSizeX',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
  'maxStorageBuffersPerShaderStage',
] as const;
/** Limits that say something of a compute launch. */
const REPORTED_LIMITS = [...WANTED_LIMITS, 'maxComputeWorkgroupsPerDimension'] as const;

/** What `measureWebGpu` is best given: a device with all that this adapter has to offer it. */
export function measuringDeviceDescriptor(adapter: GPUAdapter): GPUDeviceDescriptor {
  return {
    requiredFeatures: WANTED_FEATURES.filter((feature) => adapter.features.has(feature)),
    requiredLimits: Object.fromEntries(WANTED_LIMITS.map((limit) => [limit, adapter.limits[limit]])),
  };
}

/** Whose WebGPU it is. */
export interface WebGpuHost {
  /** Browser, or Node and Dawn: name → version. */
  readonly versions: Readonly<Record<string, string>>;
  /** The machine's processor, where it is known: what a software adapter is as fast as. */
  readonly processor: string | null;
}

/** Whether the CPU of the machine does the work: such an adapter runs anywhere, and says little of a GPU. */
export function isSoftwareAdapter({
  isFallbackAdapter,
  architecture,
}: Pick<GPUAdapterInfo, 'isFallbackAdapter' | 'architecture'>): boolean {
  return isFallbackAdapter || architecture === 'swiftshader';
}

/** A device as its records are held against. Subgroup width is reported only where all subgroups have the same. */
export function describeWebGpu(adapter: GPUAdapter, device: GPUDevice, host: WebGpuHost): MeasuringDevice {
  const { vendor, architecture, device: model, description, subgroupMinSize, subgroupMaxSize } = adapter.info;
  const subgroups = device.features.has('subgroups');
  const name =
    [vendor, architecture].filter((part) => part !== '').join(' ') || description || 'unnamed WebGPU adapter';
  const software = isSoftwareAdapter(adapter.info);
  const versions = Object.entries(host.versions).map(([part, version]) => `${part} ${version}`);
  return {
    type: 'device',
    backend: 'webgpu',
    name: description && !name.includes(description) ? `${name} (${description})` : name,
    fingerprint: [vendor, architecture, model, description, software ? (host.processor ?? '') : '', ...versions]
      .filter((part) => part !== '')
      .join(' | '),
    driver: description,
    versions: host.versions,
    threadGroupWidth: subgroups && subgroupMinSize === subgroupMaxSize ? (subgroupMinSize ?? null) : null,
    multiprocessors: null,
    clockMhz: null,
    timer: device.features.has('timestamp-query') ? 'device' : 'host',
    properties: {
      ...Object.fromEntries(REPORTED_LIMITS.map((limit) => [limit, device.limits[limit]])),
      ...(subgroups && subgroupMinSize && subgroupMaxSize ? { subgroupMinSize, subgroupMaxSize } : {}),
      ...(host.processor !== null ? { processor: host.processor } : {}),
      subgroups: subgroups ? 1 : 0,
      software: software ? 1 : 0,
    },
  };
}
