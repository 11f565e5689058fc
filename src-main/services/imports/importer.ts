import type { CaseResult, MeasuringDevice, PlanLine } from '../../../src-workers/domain/benchmark.ts';
import type { FixedParameters, NamedParameters } from '../../../src-workers/domain/design-names.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { FileSweep } from '../../../src-workers/parse/kernel-tuner.ts';
import type { ImportedFile } from '../../contract/measuring.ts';

/** A format of measurements is a file in `formats/` with a value of this type, and an entry in `formats.ts`. */
export interface Importer {
  readonly id: string;
  readonly text: string;
  readonly help: readonly [name: string, holds: string];
  matches(file: FileContent): boolean;
  read(file: ImportInput): Promise<Result<Imported>>;
  readonly needsUnit?: boolean;
  readonly studies?: (file: ImportInput) => Promise<Result<readonly string[]>>;
}

export interface FileContent {
  readonly bytes: Uint8Array;
  /** The start of the file as text, without leading spaces. */
  readonly head: string;
  readonly columns: readonly string[];
  /** The columns that the user maps to fields of a design. */
  readonly mapped: readonly string[];
  /** The value of a file that begins as a JSON object. Absent if the file is cut off or long. */
  readonly json?: unknown;
}

export interface Imported {
  readonly kind: ImportedFile['kind'];
  readonly cases: readonly CaseResult[];
  readonly devices: readonly string[] | null;
  readonly device: MeasuringDevice | null;
  /** The device that the user or the file names. `deviceGuess` is the device that the name of the file suggests. */
  readonly deviceName: string | null;
  readonly deviceGuess: string | null;
  readonly plan: PlanLine | null;
  readonly sweep: FileSweep | null;
  readonly predicted: boolean;
  readonly head: unknown;
  readonly warnings: readonly string[];
}

export interface ImportInput {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  readonly deviceName?: string | undefined;
  readonly runId?: number | undefined;
  readonly openRunId?: number | undefined;
  readonly parameters?: NamedParameters | undefined;
  readonly fixed?: FixedParameters | undefined;
  readonly timeUnit?: TimeUnit | undefined;
  readonly studyName?: string | undefined;
}

export type TimeUnit = 's' | 'ms' | 'us' | 'ns';

export const NOTHING_SAID = {
  devices: null,
  device: null,
  deviceName: null,
  deviceGuess: null,
  plan: null,
  sweep: null,
  predicted: false,
  head: null,
  warnings: [],
} as const;

export const namedDevice = ({ deviceName }: ImportInput): string | null => deviceName?.trim() || null;

/** The names of published files name a kernel and then a device: `convolution-A100_T4.json.gz`. */
export function nameParts(fileName: string): Readonly<Record<'stem' | 'kernel' | 'device', string>> {
  const stem = fileName
    .replace(/(\.(json|csv|gz|cache|txt))+$/i, '')
    .replace(/[-_. ](T4|cache|results)$/i, '')
    .trim();
  const at = stem.search(/[-_][^-_]*$/);
  const [kernel, device] = at > 0 ? [stem.slice(0, at), stem.slice(at + 1)] : [stem, stem];
  return { stem, kernel, device: device || fileName };
}

export const hasMembers = (value: unknown, ...names: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && names.every((name) => Object.hasOwn(value, name));

export const hasColumns = ({ columns }: FileContent, ...names: readonly string[]): boolean =>
  names.every((name) => columns.includes(name));

export async function readCases(
  kind: Imported['kind'],
  input: ImportInput,
  cases: Promise<Result<readonly CaseResult[]>>,
): Promise<Result<Imported>> {
  const read = await cases;
  return read.ok ? ok({ ...NOTHING_SAID, kind, cases: read.value, deviceName: namedDevice(input) }) : read;
}
