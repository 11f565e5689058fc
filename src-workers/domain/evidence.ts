import { parseBalancing } from './balancing.ts';
import type { Device } from './device.ts';
import { unwrap } from './result.ts';
import { listText } from './text.ts';

const KIND_TEXT = {
  'thread-per-unit': 'a thread per unit',
  'group-per-unit': 'a group of threads per unit',
  'block-per-unit': 'several thread groups per unit',
  padded: 'padded units',
  'even-share': 'even shares',
  'dynamic-fetch': 'dynamic fetch',
  reordered: 'reordered units',
  mixed: 'classes of units',
} as const;

export type ImplementationKind = keyof typeof KIND_TEXT;

/** The balancing decides the kind. Without any, the threads per unit decide. */
export function implementationKind(device: Device, threadsPerUnit: number, balancing: string): ImplementationKind {
  switch (unwrap(parseBalancing(balancing)).kind) {
    case 'none':
    case 'row-split':
      if (threadsPerUnit === 1) return 'thread-per-unit';
      return device.kind === 'gpu' && threadsPerUnit > device.threadGroupWidth ? 'block-per-unit' : 'group-per-unit';
    case 'padded':
    case 'padded-slice':
      return 'padded';
    case 'merge-path':
    case 'nonzero-split':
      return 'even-share';
    case 'dynamic-fetch':
      return 'dynamic-fetch';
    case 'shuffle':
    case 'quantile-buckets':
    case 'best-buckets':
    case 'window-sort':
    case 'full-sort':
      return 'reordered';
    case 'mixed':
      return 'mixed';
  }
}

export function kindsText(kinds: readonly ImplementationKind[]): string {
  return listText(kinds.map((kind) => KIND_TEXT[kind]));
}

/** The minimum difference between two predicted times at which measurements confirm their order. */
export interface TieBand {
  /** The slower time divided by the faster time, minus 1. */
  readonly fraction: number;
  /** The measured times that the fraction comes from, in words; `null` without public times of this device and kind. */
  readonly source: string | null;
  readonly takenFrom: string | null;
  readonly count: number;
}

export interface DeviceAgreement {
  readonly dataset: string;
  readonly kinds: readonly ImplementationKind[];
  readonly count: number;
  /** |predicted / measured − 1|, for predictions as in a sweep. */
  readonly medianError: number;
  readonly p90Error: number;
  /** Empty if predictions are scaled to measured times, use measured cycles, or were not made for held-out times. */
  readonly intervals: readonly TimeInterval[];
  /** A reason to trust the figures less, as part of a sentence. */
  readonly caveat?: string;
}

/** The interval of measured times around a predicted time, for 90 % of the launches of a kind. */
export interface TimeInterval {
  readonly kind: ImplementationKind | null;
  readonly count: number;
  /** The 5th and 95th percentiles of measured time divided by predicted time. */
  readonly low: number;
  readonly high: number;
  /** Time to start a launch, µs, which the predicted times of `low` and `high` include. */
  readonly startMicroseconds: number;
}

export interface DeviceEvidence {
  /** The device that was measured: the same chip, perhaps on another board. */
  readonly device: string;
  readonly agreement: readonly DeviceAgreement[];
}

export function isMeasured(evidence: DeviceEvidence | null, kind: ImplementationKind): boolean {
  return evidence !== null && evidence.agreement.some(({ kinds }) => kinds.includes(kind));
}

const percent = (fraction: number): string => `${Number((100 * fraction).toPrecision(2))} %`;

const FROM_OTHERS = 'The possible errors of its times are taken from other devices';

export function evidenceText(evidence: DeviceEvidence | null, kinds: readonly ImplementationKind[] = []): string {
  if (!evidence) return `No public measurements of this device are known. ${FROM_OTHERS}.`;
  const sets = evidence.agreement.map(
    ({ dataset, count, medianError }) =>
      `${dataset} (${count.toLocaleString('en')} times, half within ${percent(medianError)})`,
  );
  const caveats = [...Map.groupBy(evidence.agreement, ({ caveat }) => caveat)].flatMap(([caveat, own]) =>
    caveat === undefined ? [] : [` ${listText(own.map(({ dataset }) => dataset))}: ${caveat}.`],
  );
  const others = evidence.agreement.every(({ caveat }) => caveat !== undefined) ? ` ${FROM_OTHERS}.` : '';
  const measured = `Measured on ${evidence.device}: ${sets.join(', ')}.${caveats.join('')}${others}`;
  const missing = kinds.filter((kind) => !isMeasured(evidence, kind));
  return missing.length === 0 ? measured : `${measured} Not measured there: ${kindsText(missing)}.`;
}

export interface TimedDevice {
  readonly id: string;
  readonly name: string;
  readonly evidence: DeviceEvidence | null;
  readonly kinds: readonly ImplementationKind[];
}

/** Returns the mark above predicted times and its explanation; null if all devices and kinds were measured. */
export function evidenceGaps(
  devices: readonly Omit<TimedDevice, 'id'>[],
): { readonly mark: string; readonly text: string } | null {
  const unknown = devices.filter(({ evidence }) => evidence === null);
  const partly = devices.flatMap(({ name, evidence, kinds }) => {
    const missing = kinds.filter((kind) => evidence && !isMeasured(evidence, kind));
    return missing.length === 0 ? [] : [{ name, missing }];
  });
  if (unknown.length === 0 && partly.length === 0) return null;
  const whole = unknown.length === 0 ? [] : [listText(unknown.map(({ name }) => name))];
  const parts = partly.map(({ name, missing }) => `designs with ${kindsText(missing)} on ${name}`);
  const text = `No public measurements are known of ${[...whole, ...parts].join(', or of ')}. The possible errors of these times are taken from other devices.`;
  const kinds = new Set(partly.flatMap(({ missing }) => missing));
  const shown = new Set(devices.flatMap((device) => device.kinds));
  const few = kinds.size === 1 ? kindsText([...kinds]) : `${kinds.size} of ${shown.size} mappings`;
  if (unknown.length === 0) return { mark: `no evidence: ${few}`, text };
  const all = unknown.length === devices.length;
  return { mark: all ? 'no evidence' : `no evidence: ${unknown.length} of ${devices.length} devices`, text };
}

export function tieBandText({ fraction, source, takenFrom }: TieBand): string {
  return source === null
    ? `within ${percent(fraction)} (${takenFrom}, because no public times of such designs on this device are known)`
    : `within ${percent(fraction)}, from ${source}`;
}

interface TimeErrors {
  readonly count: number;
  readonly medianError: number;
  readonly p90Error: number;
  readonly spearman: number;
}

/** A shipped matrix is predicted with parameters that were fitted without it. */
export interface ImplementationEvidence extends TimeErrors {
  readonly name: string;
  readonly implementation: string;
  readonly takes: string;
  /** Errors for matrices with at least 10⁶ non-zeros, where starting a launch is a small part of the time. */
  readonly large: TimeErrors | null;
  /** Errors of a model with four fitted times (`FourNumbers`); `null` if there are no matrices. */
  readonly fourNumbers: { readonly medianError: number; readonly spearman: number } | null;
  /** Errors of a guess by the mean measured time of similar matrices. Only for matrices of the shipped data. */
  readonly nearest: { readonly medianError: number; readonly spearman: number } | null;
  readonly parameters: readonly EvidenceParameter[];
}

export interface EvidenceParameter {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly meaning: string;
  readonly value: number;
  /** `null` if it would be at least the value itself. */
  readonly standardError: number | null;
  readonly lower: number;
  readonly upper: number;
}

/** How good choices by prediction are. Regret: time of the chosen implementation divided by the shortest, ≥ 1. */
export interface ChoiceEvidence {
  readonly count: number;
  /** Geometric mean over the matrices. */
  readonly regret: number;
  readonly regretP95: number;
  readonly hitRate: number;
  /** The implementation or design with the least regret if it is always chosen. Null if there is none. */
  readonly bestFixed: { readonly name: string; readonly regret: number } | null;
  readonly fourNumbersRegret: number | null;
  /**
   * Regret of a random choice among the designs predicted within e of the shortest time. e is the 80 % quantile of the
   * errors of predicted time ratios.
   */
  readonly randomRegret?: number;
}

export interface GpuEvidence {
  readonly device: string;
  readonly column: string;
  readonly implementations: readonly ImplementationEvidence[];
  readonly choice: ChoiceEvidence | null;
  readonly choiceLarge: ChoiceEvidence | null;
}

/** A GPU whose own measurements were left out. Its parameters come from other GPUs, scaled by the data sheets. */
export interface UnseenEvidence {
  readonly device: string;
  readonly count: number;
  readonly medianError: number;
  readonly regret: number;
  /** For matrices with at least 10⁶ non-zeros. */
  readonly medianErrorLarge: number | null;
  readonly regretLarge: number | null;
}

export interface GpuDetail {
  readonly gpu: GpuEvidence;
  readonly unseen: UnseenEvidence | null;
  readonly points: EvidencePoints;
}

export interface Dataset {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly licence: string;
  readonly notes: readonly string[];
}

export interface DatasetEvidence extends Dataset {
  readonly gpus: readonly GpuEvidence[];
  readonly unseen: readonly UnseenEvidence[];
}

export type EvidenceAxis = 'nonzeros' | 'skewness' | 'blocks';

export interface EvidencePoints {
  readonly names: readonly string[];
  /** `µs` or `ms`; empty if losses are compared. */
  readonly unit: string;
  readonly over: Readonly<Partial<Record<EvidenceAxis, Float64Array>>>;
  readonly measured: Float64Array;
  readonly predicted: Float64Array;
}
