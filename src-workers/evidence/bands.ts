import type { DeviceAgreement, ImplementationKind, TimeInterval } from '../domain/evidence.ts';

export interface KeptBand {
  readonly devices: readonly string[];
  /** The compared kinds, in ascending order; empty if block sizes, grids or devices are compared within one kind. */
  readonly kinds: readonly ImplementationKind[];
  readonly fraction: number;
  readonly count: number;
  readonly dataset: string;
}

export interface KeptAgreement extends DeviceAgreement {
  readonly device: string;
}

export interface MeasuredChip {
  readonly id: string;
  readonly name: string;
  readonly architecture: string;
  readonly multiprocessors: number;
  /** May differ between boards of a chip, unlike its architecture and multiprocessors. */
  readonly memoryBandwidthGbS: number;
}

export interface KeptBands {
  readonly quantile: number;
  readonly bands: readonly KeptBand[];
  readonly chips: readonly MeasuredChip[];
  readonly devices: readonly KeptAgreement[];
  /** Lower quartile of `low` and upper quartile of `high` over the GPUs of the SpMV data, predicted as if unmeasured. */
  readonly unmeasured: TimeInterval;
}
