export type GpuVendor = 'nvidia' | 'amd' | 'intel' | 'apple' | 'software' | 'other';

export type OccupancyRules =
  | { readonly family: 'nvidia'; readonly computeCapability: string }
  | { readonly family: 'amd'; readonly isa: string; readonly waveSize: 32 | 64 }
  | { readonly family: 'intel'; readonly architecture: string; readonly simdWidth: 8 | 16 | 32 }
  | { readonly family: 'apple'; readonly gpuFamily: number }
  | { readonly family: 'generic' };

export interface DeviceLimits {
  readonly maxThreadsPerBlock: number;
  readonly maxGridBlocks: number;
  readonly maxBlocksPerMultiprocessor: number;
  readonly maxThreadGroupsPerMultiprocessor: number;
  readonly registersPerMultiprocessor: number;
  readonly maxRegistersPerBlock: number;
  readonly maxRegistersPerThread: number;
  readonly sharedMemoryBytesPerMultiprocessor: number;
  /** Includes the part that needs an opt-in. */
  readonly maxSharedMemoryBytesPerBlock: number;
}

/**
 * Latency of a load from a known page (its translation is cached) divided by the device's latency, which includes the
 * translation: 296 of 496 cycles on Turing (Jia et al., 2019, arXiv:1903.07486; sources of the catalogue). Assumed for
 * every device.
 */
export const NEAR_PAGE_LATENCY = 0.6;

/**
 * Achieved bandwidth divided by the bandwidth of the data sheet, for a device without a measured value. Assumed: the
 * median of 41 fits to the SpMV times of `db/evidence`.
 */
export const ACHIEVED_BANDWIDTH = 0.64;

/** `sources`: field → citation or URL; `*` for all other fields. */
export interface GpuDevice {
  readonly kind: 'gpu';
  readonly id: string;
  readonly name: string;
  readonly vendor: GpuVendor;
  readonly architecture: string;
  readonly occupancy: OccupancyRules;
  readonly year: number;
  /** Streaming multiprocessors, compute units, or workgroup processors: the parts that hold resident blocks. */
  readonly multiprocessors: number;
  /** Boost clock. */
  readonly clockMhz: number;
  /** ω: lanes that run in lockstep. */
  readonly threadGroupWidth: number;
  readonly schedulersPerMultiprocessor: number;
  /** An instruction of a thread group occupies the lanes of one multiprocessor for width/lanes cycles. */
  readonly fp32LanesPerMultiprocessor: number;
  /** Cycles before a dependent arithmetic instruction of the same thread group can issue. */
  readonly dependentIssueLatencyCycles: number;
  /** Latency of a load from device memory at a random address in 1 GB on an idle device; cycles of `clockMhz`. */
  readonly memoryLatencyCycles: number;
  /** Peak device-memory bandwidth, GB/s (10⁹ bytes). */
  readonly memoryBandwidthGbS: number;
  readonly memoryGib: number;
  readonly l2Bytes: number;
  /** Achieved bandwidth of memory-bound kernels divided by the peak, 0…1; assumed if nobody measured it. */
  readonly achievedBandwidthFraction?: number | undefined;
  /** Time of an empty launch, µs, measured around the launch; omitted if nobody measured it. */
  readonly launchMicroseconds?: number | undefined;
  /** Time by which the start of a launch grows as its blocks reach all multiprocessors, µs; assumed if not measured. */
  readonly fillMicroseconds?: number | undefined;
  /** Time from one block start to the next on the whole device, ns; assumed if nobody measured it. */
  readonly blockStartNanoseconds?: number | undefined;
  /** Bandwidth for sectors at random addresses of device memory; assumed if nobody measured it. */
  readonly randomSectorsGbS?: number | undefined;
  readonly cachedSectorsGbS?: number | undefined;
  readonly limits: DeviceLimits;
  readonly sources: Readonly<Record<string, string>>;
}

export interface CpuDevice {
  readonly kind: 'cpu';
  readonly id: string;
  readonly name: string;
  readonly vendor: string;
  readonly cores: number;
  /** β: bandwidth of one core alone, GB/s. */
  readonly singleCoreBandwidthGbS: number;
  /** ρ: bandwidth of all cores, GB/s. */
  readonly fullBandwidthGbS: number;
  /** K as the source prints it: the number of cores that saturate the bandwidth. */
  readonly kneeCores: number;
  readonly sources: Readonly<Record<string, string>>;
}

export type Device = GpuDevice | CpuDevice;

export function isEstimate({ sources }: Device, field: string): boolean {
  return !IDENTITY.has(field) && /^estimate\b/.test(sources[field] ?? sources['*'] ?? '');
}

export function listEstimates<Kind extends Device>(device: Kind, value: (device: Kind) => unknown): string[] {
  const read = new Set<string>();
  value(
    new Proxy(device, {
      get(target, field) {
        read.add(String(field));
        return Reflect.get(target, field);
      },
    }),
  );
  return [...read].filter((field) => isEstimate(device, field));
}

/** These fields never count as estimates. The catalogue adds `own`: whether the user added the device. */
const IDENTITY: ReadonlySet<string> = new Set(['kind', 'id', 'name', 'vendor', 'architecture', 'sources', 'own']);
