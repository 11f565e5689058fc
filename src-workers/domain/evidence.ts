import { parseBalancing } from './balancing.ts';
import type { Device } from './device.ts';
import { unwrap } from './result.ts';

/** Predictions compared with measurements of real GPUs: public ones and our own. */

/** The kinds of implementations, in words. The errors of predictions differ by kind. */
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

/**
 * Returns the kind of a design. Work before the launch (sorting) decides first, then how slots get units, then how
 * threads share a unit.
 */
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

const listed = new Intl.ListFormat('en');

/** Returns a list of kinds, such as `padded units and even shares`. */
export function kindsText(kinds: readonly ImplementationKind[]): string {
  return listed.format(kinds.map((kind) => KIND_TEXT[kind]));
}

/** The minimum difference between two predicted times at which measurements confirm their order. */
export interface TieBand {
  /** The slower time over the faster time, minus 1. */
  readonly fraction: number;
  /** The measured times that the fraction comes from, in words; `null` if this device and kind were not measured. */
  readonly source: string | null;
  /** The other devices that the fraction comes from, in words, if `source` is null; otherwise `null`. */
  readonly takenFrom: string | null;
  /** Pairs of measured times that the fraction comes from; 0 if it comes from other devices. */
  readonly count: number;
}

/** Errors of predictions on a device that was left out of the fits, in one data set. */
export interface DeviceAgreement {
  readonly dataset: string;
  readonly kinds: readonly ImplementationKind[];
  /** Number of measured times. */
  readonly count: number;
  /** |predicted / measured − 1|, for predictions as in a sweep. */
  readonly medianError: number;
  readonly p90Error: number;
  /**
   * The intervals of all launches and of each kind. Empty if the predictions have an unknown factor, use measured
   * cycles, or were not held out.
   */
  readonly intervals: readonly TimeInterval[];
  /** A reason to trust the figures less, as part of a sentence. */
  readonly caveat?: string;
}

/** The interval of measured times around a predicted time, for 90 % of the launches of a kind. */
export interface TimeInterval {
  readonly kind: ImplementationKind | null;
  readonly count: number;
  /** The 5th and 95th percentiles of measured over predicted time. */
  readonly low: number;
  readonly high: number;
  /** Measured time of an empty launch, µs. Predicted times include it. */
  readonly startMicroseconds: number;
}

/** How well the predictions for a device agree with measurements. */
export interface DeviceEvidence {
  /** Name of the device that was measured. It has the same chip as the device in question, perhaps on another board. */
  readonly device: string;
  readonly agreement: readonly DeviceAgreement[];
}

export function isMeasured(evidence: DeviceEvidence | null, kind: ImplementationKind): boolean {
  return evidence !== null && evidence.agreement.some(({ kinds }) => kinds.includes(kind));
}

const percent = (fraction: number): string => `${Number((100 * fraction).toPrecision(2))} %`;

const FROM_OTHERS = 'The possible errors of its times are taken from other devices';

/**
 * Says in a sentence how well predicted times of a device agree with measurements, for every place that shows a time.
 * @param kinds the kinds of the designs whose times are shown
 */
export function evidenceText(evidence: DeviceEvidence | null, kinds: readonly ImplementationKind[] = []): string {
  if (!evidence) return `No public measurements of this device are known. ${FROM_OTHERS}.`;
  const sets = evidence.agreement.map(
    ({ dataset, count, medianError }) =>
      `${dataset} (${count.toLocaleString('en')} times, half within ${percent(medianError)})`,
  );
  const caveats = [...Map.groupBy(evidence.agreement, ({ caveat }) => caveat)].flatMap(([caveat, own]) =>
    caveat === undefined ? [] : [` ${listed.format(own.map(({ dataset }) => dataset))}: ${caveat}.`],
  );
  const others = evidence.agreement.every(({ caveat }) => caveat !== undefined) ? ` ${FROM_OTHERS}.` : '';
  const measured = `Measured on ${evidence.device}: ${sets.join(', ')}.${caveats.join('')}${others}`;
  const missing = kinds.filter((kind) => !isMeasured(evidence, kind));
  return missing.length === 0 ? measured : `${measured} Not measured there: ${kindsText(missing)}.`;
}

/** A device in a list of times, and the kinds of its implementations in the list. */
export interface TimedDevice {
  readonly id: string;
  readonly name: string;
  readonly evidence: DeviceEvidence | null;
  readonly kinds: readonly ImplementationKind[];
}

/**
 * Returns the mark above predicted times, and sentences that explain it. Null if all devices and kinds were measured.
 */
export function evidenceGaps(
  devices: readonly Omit<TimedDevice, 'id'>[],
): { readonly mark: string; readonly text: string } | null {
  const unknown = devices.filter(({ evidence }) => evidence === null);
  const partly = devices.flatMap(({ name, evidence, kinds }) => {
    const missing = kinds.filter((kind) => evidence && !isMeasured(evidence, kind));
    return missing.length === 0 ? [] : [{ name, missing }];
  });
  if (unknown.length === 0 && partly.length === 0) return null;
  const whole = unknown.map(({ name }) => name);
  const parts = partly.map(({ name, missing }) => `${kindsText(missing)} on ${name}`);
  const text = `No public measurements of ${listed.format([...whole, ...parts])} are known. The possible errors of these times are taken from other devices.`;
  const kinds = new Set(partly.flatMap(({ missing }) => missing));
  const shown = new Set(devices.flatMap((device) => device.kinds));
  const few = kinds.size === 1 ? kindsText([...kinds]) : `${kinds.size} of ${shown.size} mappings`;
  if (unknown.length === 0) return { mark: `no evidence: ${few}`, text };
  const all = unknown.length === devices.length;
  return { mark: all ? 'no evidence' : `no evidence: ${unknown.length} of ${devices.length} devices`, text };
}

/** Returns the largest difference of tied times and its source, such as `within 18 %, from shapes of a kernel on …`. */
export function tieBandText({ fraction, source, takenFrom }: TieBand): string {
  return source === null
    ? `within ${percent(fraction)}, ${takenFrom}, since no such public times of this device are known`
    : `within ${percent(fraction)}, from ${source}`;
}

/** Errors of the predictions for several matrices. */
interface TimeErrors {
  /** Matrices with a measured time. */
  readonly count: number;
  /** |predicted / measured − 1|. */
  readonly medianError: number;
  readonly p90Error: number;
  /** Rank correlation of predicted and measured times, −1…1. */
  readonly spearman: number;
}

/** Errors for an implementation on a GPU. Each matrix is predicted with parameters that were fitted without it. */
export interface ImplementationEvidence extends TimeErrors {
  /** The name in the source of the data. */
  readonly name: string;
  /** Name of the implementation in `evidence/spmv-designs.ts`. */
  readonly implementation: string;
  readonly takes: string;
  /** The same errors for matrices with at least 10⁶ non-zeros, whose launch takes little of the time; null if none. */
  readonly large: TimeErrors | null;
  /**
   * Errors of a simpler model for comparison. It has four fitted numbers (start, per byte, per element of the longest
   * row, per row). `null` if the work is not a matrix.
   */
  readonly fourNumbers: { readonly medianError: number; readonly spearman: number } | null;
  /**
   * Errors of a guess, for comparison: the mean measured time of similar matrices, without a model. A model that knows
   * only the features of a matrix can hardly do better. `null` if the work is not a matrix, or comes from another file.
   */
  readonly nearest: { readonly medianError: number; readonly spearman: number } | null;
  readonly parameters: readonly EvidenceParameter[];
}

export interface EvidenceParameter {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly meaning: string;
  readonly value: number;
  /** Standard error; `null` if only a bound is known or the data do not determine the parameter. */
  readonly standardError: number | null;
  /** The bounds within which the value was fitted. */
  readonly lower: number;
  readonly upper: number;
}

/** How good the choice by prediction is. Regret: time of the chosen implementation over the shortest time, ≥ 1. */
export interface ChoiceEvidence {
  /** Matrices with at least two measured implementations. */
  readonly count: number;
  /** Regret over the matrices: geometric mean, and 95th percentile. */
  readonly regret: number;
  readonly regretP95: number;
  /** Share of matrices for which the fastest was chosen, 0…1. */
  readonly hitRate: number;
  /** Among the implementations measured for every matrix, the best one to choose always; `null` if there is none. */
  readonly bestFixed: { readonly name: string; readonly regret: number } | null;
  /** Regret of the choice by the four-number model; `null` if there is none. */
  readonly fourNumbersRegret: number | null;
  /**
   * Regret of a random choice among the designs whose predicted times are too close to the shortest to be told apart:
   * the band covers the errors of 80 % of pairs. Omitted if it was not computed.
   */
  readonly randomRegret?: number;
}

export interface GpuEvidence {
  readonly device: string;
  /** The name in the source of the data. */
  readonly column: string;
  readonly implementations: readonly ImplementationEvidence[];
  /** `null` if no matrix has two measured implementations. */
  readonly choice: ChoiceEvidence | null;
  /** The same figures for matrices with at least 10⁶ non-zeros; `null` if there are none. */
  readonly choiceLarge: ChoiceEvidence | null;
}

/**
 * A GPU that was treated as unseen: its own measurements were left out. Its parameters come from other GPUs, scaled by
 * the data sheets.
 */
export interface UnseenEvidence {
  readonly device: string;
  readonly count: number;
  readonly medianError: number;
  readonly regret: number;
  /** The same error for matrices with at least 10⁶ non-zeros, whose launch takes little of the time. */
  readonly medianErrorLarge: number | null;
  readonly regretLarge: number | null;
}

/** A GPU, with the times of one of its implementations. */
export interface GpuDetail {
  readonly gpu: GpuEvidence;
  /** `null` if no other GPU of the data set can give parameters. */
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

/** The property of a matrix or a launch on the horizontal axis of the plots of errors. */
export type EvidenceAxis = 'nonzeros' | 'skewness' | 'blocks';

/** The times of one implementation, point by point, for plots. */
export interface EvidencePoints {
  readonly names: readonly string[];
  /** Unit of the times, `µs` or `ms`; empty if losses are compared. */
  readonly unit: string;
  readonly over: Readonly<Partial<Record<EvidenceAxis, Float64Array>>>;
  readonly measured: Float64Array;
  readonly predicted: Float64Array;
}
