import type { LoopForm } from './kernel.ts';

/** `contract/kernel-manifest.ts` describes the file format. */

/** Files are little-endian. Values are compared in the C++ type. */
export const VALUE_TYPES = {
  i8: { bytes: 1, cpp: 'int8_t' },
  u8: { bytes: 1, cpp: 'uint8_t' },
  i16: { bytes: 2, cpp: 'int16_t' },
  u16: { bytes: 2, cpp: 'uint16_t' },
  i32: { bytes: 4, cpp: 'int32_t' },
  u32: { bytes: 4, cpp: 'uint32_t' },
  i64: { bytes: 8, cpp: 'int64_t' },
  u64: { bytes: 8, cpp: 'uint64_t' },
  f16: { bytes: 2, cpp: 'lockstep::Float16' },
  bf16: { bytes: 2, cpp: 'lockstep::BFloat16' },
  f32: { bytes: 4, cpp: 'float' },
  f64: { bytes: 8, cpp: 'double' },
} as const;
export type ValueType = keyof typeof VALUE_TYPES;

/** `long` has 8 bytes, as on Linux. */
const C_NAMES: Readonly<Record<string, ValueType>> = {
  ...Object.fromEntries(
    [8, 16, 32, 64].flatMap((bits) => [
      [`int${bits}_t`, `i${bits}`],
      [`uint${bits}_t`, `u${bits}`],
    ]),
  ),
  bool: 'u8',
  char: 'i8',
  'signed char': 'i8',
  'unsigned char': 'u8',
  short: 'i16',
  'unsigned short': 'u16',
  int: 'i32',
  unsigned: 'u32',
  'unsigned int': 'u32',
  long: 'i64',
  'unsigned long': 'u64',
  'long long': 'i64',
  'unsigned long long': 'u64',
  size_t: 'u64',
  half: 'f16',
  __half: 'f16',
  nv_bfloat16: 'bf16',
  __nv_bfloat16: 'bf16',
  hip_bfloat16: 'bf16',
  float: 'f32',
  double: 'f64',
};
export const TYPE_FORM =
  'i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, or its name in C (int, unsigned char, half); TYPE[n] for a struct or vector of n values, such as f32[4] for float4, and u8[24] for a struct of 24 bytes';

export interface ElementType {
  readonly value: ValueType;
  readonly count: number;
  readonly isStruct: boolean;
  readonly bytes: number;
}

export function elementType(text: string): ElementType | null {
  const [, name, count] = /^(.*?)(?:\[([1-9]\d{0,5})\])?$/.exec(text.trim()) ?? [];
  if (name === undefined) return null;
  const plain = name.trim().replaceAll(/\s+/g, ' ');
  const value = Object.hasOwn(VALUE_TYPES, plain) ? (plain as ValueType) : Object.hasOwn(C_NAMES, plain) ? C_NAMES[plain] : null; // prettier-ignore
  if (value === null) return null;
  const values = Number(count ?? 1);
  return { value, count: values, isStruct: count !== undefined, bytes: values * VALUE_TYPES[value].bytes };
}

/** What `{name}` means in a manifest. Values are per launch: a mixed design has a launch for each class. */
export const LAUNCH_VALUES = {
  units: 'units of the study',
  unitsPerThread: 'units of each slot, one after another',
  blockThreads: 'threads of a block',
  threadsPerUnit: 'threads that share a unit of the launch',
  gridBlocks: 'blocks of the launch',
  firstUnit: 'position of the first unit of the launch in the order; 0 if there is one launch',
  launchUnits: 'units of the launch; all units if there is one launch',
} as const;
export type LaunchValue = keyof typeof LAUNCH_VALUES;

export type ManifestNumber = number | string;
export const LAUNCH_NAMES = Object.keys(LAUNCH_VALUES) as readonly LaunchValue[];

/** Names that stand for paths of files that the measurement itself writes. */
export const LENGTHS_FILE_NAME = '{lengthsFile}';
export const ORDER_FILE_NAME = '{orderFile}';

/** An argument has one of `file` (an input), `value` (a scalar) and `output`. */
export interface KernelArgument {
  readonly name: string;
  readonly type: string;
  readonly file?: string | undefined;
  readonly value?: ManifestNumber | { readonly file: string } | undefined;
  readonly output?: KernelOutput | undefined;
}

export interface KernelOutput {
  /** A number, or arithmetic with `units`. */
  readonly count: ManifestNumber;
  /** Contents before each launch; zeros if omitted. */
  readonly file?: string | undefined;
  readonly reference?: string | undefined;
  /** An element is correct if it differs from the reference by at most `absolute` + `relative` · |reference|. */
  readonly absolute: number;
  readonly relative: number;
}

export interface KernelEntry {
  readonly entry: string;
  readonly implementation?: string | undefined;
  readonly constants: Readonly<Record<string, ManifestNumber>>;
  readonly sharedBytes?: ManifestNumber | undefined;
  readonly axes: {
    readonly threadsPerUnit: readonly number[];
    readonly loop: readonly LoopForm[];
    /** `mixed(*)` means all mixed balancings. */
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

export interface KernelTask {
  readonly manifest: KernelManifest;
  /** Absolute path of the manifest. The paths in it are relative to its folder. */
  readonly file: string;
  /** Digest of the manifest, its sources and argument files. Only a measurement with the same digest is resumed. */
  readonly digest: string;
  readonly units: number;
  readonly threadGroupWidth: number;
  readonly device: number | null;
  /** Omitted for CUDA and WGSL. */
  readonly platform?: 'hip' | 'emulation' | 'opencl';
}
