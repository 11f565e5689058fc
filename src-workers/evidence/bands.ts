import type { DeviceAgreement, ImplementationKind, TimeInterval } from '../domain/evidence.ts';

/** A band as stored in `db/evidence/tie-bands.json`. */
export interface KeptBand {
  /** One device, or the two compared devices. */
  readonly devices: readonly string[];
  /** The compared kinds, ascending; empty if shapes or devices of one kind are compared. */
  readonly kinds: readonly ImplementationKind[];
  readonly fraction: number;
  readonly count: number;
  readonly dataset: string;
}

/** The agreement of predictions for a device of the catalogue with measurements. */
export interface KeptAgreement extends DeviceAgreement {
  readonly device: string;
}

/** The properties that identify the chip of a measured device on any board. */
export interface MeasuredChip {
  readonly id: string;
  readonly name: string;
  readonly architecture: string;
  readonly multiprocessors: number;
  /** The only value here that differs between boards of one chip. */
  readonly memoryBandwidthGbS: number;
}

export interface KeptBands {
  /** The share of the pairs whose error lies within the band. */
  readonly quantile: number;
  readonly bands: readonly KeptBand[];
  readonly chips: readonly MeasuredChip[];
  readonly devices: readonly KeptAgreement[];
  /** The interval for three of four GPUs of the SpMV times, each predicted as if its bandwidth was not measured. */
  readonly unmeasured: TimeInterval;
}
