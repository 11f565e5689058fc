import type { DeviceAgreement, ImplementationKind, TimeInterval } from '../domain/evidence.ts';

/** A band as it is kept in `db/evidence/tie-bands.json`. */
export interface KeptBand {
  /** One device, or two that are compared. */
  readonly devices: readonly string[];
  /** Kinds that are compared, ascending; none if two shapes or devices of one kind are. */
  readonly kinds: readonly ImplementationKind[];
  readonly fraction: number;
  readonly count: number;
  readonly dataset: string;
}

/** How predictions for a device of the catalogue agree with measurements. */
export interface KeptAgreement extends DeviceAgreement {
  readonly device: string;
}

/** What identifies the chip of a measured device, whatever its board. */
export interface MeasuredChip {
  readonly id: string;
  readonly name: string;
  readonly architecture: string;
  readonly multiprocessors: number;
  /** The only figure here in which boards of one chip differ. */
  readonly memoryBandwidthGbS: number;
}

export interface KeptBands {
  /** Share of the pairs whose error is within the band. */
  readonly quantile: number;
  readonly bands: readonly KeptBand[];
  readonly chips: readonly MeasuredChip[];
  readonly devices: readonly KeptAgreement[];
  /** The interval for three out of four GPUs of the SpMV times, each predicted as if its bandwidth was not measured. */
  readonly unmeasured: TimeInterval;
}
