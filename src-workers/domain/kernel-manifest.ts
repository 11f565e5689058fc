import type { LoopForm } from './kernel.ts';

/**
 * A kernel of the person's own without a host program: what is needed to launch it for a design, check its result and
 * time it. The file format is `contract/kernel-manifest.ts`; its fields are described there.
 */

/** Elements of arrays, and scalars; in files lowest byte first. */
export const ELEMENT_TYPES = ['u32', 'i32', 'f32', 'f64'] as const;
export type ElementType = (typeof ELEMENT_TYPES)[number];
export type ElementArray = Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>; // prettier-ignore

/**
 * What `{name}` stands for where a manifest has a number. A mixed design has a launch for each class, any other has
 * one.
 */
export const LAUNCH_VALUES = {
  units: 'units of the study',
  unitsPerThread: 'units of each slot, one after another',
  blockThreads: 'threads of a block',
  threadsPerUnit: 'threads that share a unit of the launch',
  gridBlocks: 'blocks of the launch',
  firstUnit: 'place in the order of the first unit of the launch; 0 where there is one launch',
  launchUnits: 'units of the launch; all where there is one launch',
} as const;
export type LaunchValue = keyof typeof LAUNCH_VALUES;

/** A number, or the name of a launch value in braces. */
export type ManifestNumber = number | `{${LaunchValue}}`;

/** Contents that the measurement makes, in place of a file's path. */
export const LENGTHS_FILE_NAME = '{lengthsFile}';
export const ORDER_FILE_NAME = '{orderFile}';

/** One of `file` (an input), `value` (a scalar) and `output`. */
export interface KernelArgument {
  readonly name: string;
  readonly type: ElementType;
  readonly file?: string | undefined;
  readonly value?: ManifestNumber | undefined;
  readonly output?: KernelOutput | undefined;
}

export interface KernelOutput {
  readonly count: number | '{units}';
  /** What it holds before each launch; zeros where left out. */
  readonly file?: string | undefined;
  readonly reference?: string | undefined;
  /** An element is right where it differs from the reference by at most `absolute` + `relative` · |reference|. */
  readonly absolute: number;
  readonly relative: number;
}

/** A function of the sources, and the designs that it implements. */
export interface KernelEntry {
  readonly entry: string;
  readonly implementation?: string | undefined;
  readonly constants: Readonly<Record<string, ManifestNumber>>;
  readonly axes: {
    readonly threadsPerUnit: readonly number[];
    readonly loop: readonly LoopForm[];
    /** Texts of balancings; `mixed(*)` stands for all mixed ones. */
    readonly balancing: readonly string[];
    readonly blockThreads?: readonly number[] | undefined;
  };
}

export interface KernelManifest {
  readonly lockstepKernel: 1;
  readonly name: string;
  readonly description: string;
  readonly sources: readonly string[];
  readonly arguments: readonly KernelArgument[];
  readonly entries: readonly KernelEntry[];
}

/** A manifest for one measurement. */
export interface KernelTask {
  readonly manifest: KernelManifest;
  /** Absolute path of the manifest, beside which its files are. */
  readonly file: string;
  /** Digest of the manifest, its sources and the files of its arguments: only the same ones resume a measurement. */
  readonly digest: string;
  /** Units of the study. */
  readonly units: number;
  /** Lanes of a thread group of the predicted device: orders by bucket depend on it. */
  readonly threadGroupWidth: number;
  /** Number of the CUDA device; null of WebGPU. */
  readonly device: number | null;
}
