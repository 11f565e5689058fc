/// <reference types="@webgpu/types" />
import type { MeasuringDevice } from '../../domain/benchmark.ts';

const WANTED_FEATURES: readonly GPUFeatureName[] = ['timestamp-query', 'subgroups'];
/** Limits that are raised to the adapter's maximum, for larger blocks, lengths and results. */
const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeWorkgroupSizeX',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
  'maxStorageBuffersPerShaderStage',
] as const;
const REPORTED_LIMITS = [...WANTED_LIMITS, 'maxComputeWorkgroupsPerDimension'] as const;

export function measuringDeviceDescriptor(adapter: GPUAdapter): GPUDeviceDescriptor {
  return {
    requiredFeatures: WANTED_FEATURES.filter((feature) => adapter.features.has(feature)),
    requiredLimits: Object.fromEntries(WANTED_LIMITS.map((limit) => [limit, adapter.limits[limit]])),
  };
}

export interface WebGpuHost {
  readonly versions: Readonly<Record<string, string>>;
  /** Null if unknown. The speed of a software adapter depends on the processor. */
  readonly processor: string | null;
}

export function isSoftwareAdapter({
  isFallbackAdapter,
  architecture,
}: Pick<GPUAdapterInfo, 'isFallbackAdapter' | 'architecture'>): boolean {
  return isFallbackAdapter || architecture === 'swiftshader';
}

/** The subgroup width is reported only if all subgroups have the same width. */
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
