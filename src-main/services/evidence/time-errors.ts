import type { Device } from '../../../src-workers/domain/device.ts';
import type { RegimeInfo } from '../../../src-workers/domain/regime.ts';
import { deviceEvidence, TAKEN_P90_ERROR } from './tie-band.ts';

/** How far a time may be from its prediction, as logarithms of their ratio: below, at most 0, and above, at least 0. */
export type TimeError = readonly [below: number, above: number];

/** What is known of the errors of a prediction on a device. */
export interface TimeErrors {
  readonly errors: readonly TimeError[];
  /** The data set that the device meets worst, and its error: 0.3 where 90 % are within 30 %; null without measurements. */
  readonly worst: { readonly dataset: string; readonly p90Error: number } | null;
  /** That error, or the usual one of other devices. */
  readonly deviceError: number;
}

/**
 * The 95th percentile of the model's difference from the event simulation, and the 90th of its difference from measured
 * times on the device: of the data set that it meets worst; without any, as on three of four measured devices.
 */
export function timeErrors(device: Device, { accuracy }: Pick<RegimeInfo, 'accuracy'>): TimeErrors {
  const known = deviceEvidence(device)?.agreement ?? [];
  const worst = known.length === 0 ? null : known.reduce((a, b) => (b.p90Error > a.p90Error ? b : a));
  const deviceError = worst?.p90Error ?? TAKEN_P90_ERROR;
  const errors: TimeError[] = [];
  if (accuracy) errors.push([Math.log1p(-accuracy.p95), Math.log1p(accuracy.p95)]);
  // |predicted / measured − 1| ≤ e.
  if (deviceError < 1) errors.push([-Math.log1p(deviceError), -Math.log1p(-deviceError)]);
  return { errors, worst, deviceError };
}

/** The range of a time by errors that are taken as independent: the root of the sum of the squared logarithms. */
export function timeRange(
  timeMs: number,
  errors: readonly TimeError[],
): { readonly lowMs: number; readonly highMs: number } {
  const below = Math.hypot(...errors.map(([low]) => Math.min(0, low)));
  const above = Math.hypot(...errors.map(([, high]) => Math.max(0, high)));
  return { lowMs: timeMs * Math.exp(-below), highMs: timeMs * Math.exp(above) };
}
