import data from '../../../db/evidence/tie-bands.json' with { type: 'json' };
import type { Device } from '../../../src-workers/domain/device.ts';
import { kindsText, type ImplementationKind, type TimeInterval } from '../../../src-workers/domain/evidence.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { LAUNCH_FLOOR_MS } from '../../../src-workers/predict/constants.ts';
import { deviceEvidence } from './tie-band.ts';

export function floorSentence(timeMs: number): string | null {
  return timeMs === LAUNCH_FLOOR_MS
    ? `${timeText(timeMs)} is the assumed time of the shortest launch. The work itself takes less, so the model cannot distinguish such designs.`
    : null;
}

/** The range of ln(measured / predicted): below (at most 0) and above (at least 0). */
export type TimeError = readonly [below: number, above: number];

export interface ExpectedTimes {
  readonly error: TimeError;
  /** The start of a launch, ms, if the predicted time does not include it; otherwise 0. */
  readonly startMs: number;
  /** One or two sentences, without the last full stop. */
  readonly text: string;
}

/**
 * Returns the interval of measured / predicted time that contains nine of ten launches of a kind, as measured on the
 * chip of a device. The widest interval of several data sets counts. A kind without measurements gets the interval of
 * all kinds. A device without measurements gets the interval that holds for three of four measured GPUs, each predicted
 * as if it had no measurements.
 */
export function expectedTimes(device: Device, kind: ImplementationKind): ExpectedTimes {
  const evidence = deviceEvidence(device);
  const own = (evidence?.agreement ?? []).flatMap(({ dataset, intervals }) =>
    intervals.map((interval) => ({ ...interval, dataset })),
  );
  const ofKind = own.filter((interval) => interval.kind === kind);
  const known = ofKind.length > 0 ? ofKind : own.filter((interval) => interval.kind === null);
  const width = ({ low, high }: Pick<TimeInterval, 'low' | 'high'>): number => high / low;
  const [widest] = known.toSorted((one, other) => width(other) - width(one));
  const { low, high, count, startMicroseconds } = widest ?? data.unmeasured;
  const rounded = (value: number): number => Number(value.toPrecision(2));
  const took = `90 % of the launches took ${rounded(low)} to ${rounded(high)} times the sum of the predicted time and ${rounded(startMicroseconds)} µs for the start`;
  const some = `${count.toLocaleString('en')} measured`;
  const what = `${ofKind.length > 0 ? '' : 'none with '}${kindsText([kind])}`;
  const none = !evidence
    ? 'No public measurements of this device are known'
    : evidence.agreement.every(({ caveat }) => caveat !== undefined)
      ? `Only our own launches on ${evidence.device} are known, and they were not held out`
      : `The times measured on ${evidence.device} were predicted, but not from its data sheet`;
  const isStarted = device.kind === 'cpu' || device.launchMicroseconds !== undefined;
  return {
    error: [Math.min(0, Math.log(low)), Math.max(0, Math.log(high))],
    startMs: isStarted ? 0 : startMicroseconds * 1e-3,
    text: widest
      ? `On ${evidence!.device}, ${took} (${widest.dataset}, ${some}, ${what})`
      : `${none}. On three of four measured GPUs, each predicted without its own measurements, ${took} (${some})`,
  };
}

/** Returns the range of a time, ms; `highMs` includes the start. Errors are independent, so squared logarithms add up. */
export function timeRange(
  timeMs: number,
  startMs: number,
  errors: readonly TimeError[],
): { readonly lowMs: number; readonly highMs: number } {
  const below = Math.hypot(...errors.map(([low]) => Math.min(0, low)));
  const above = Math.hypot(...errors.map(([, high]) => Math.max(0, high)));
  // The range goes below `LAUNCH_FLOOR_MS` only if the prediction does.
  const lowMs = Math.max(timeMs * Math.exp(-below), Math.min(timeMs, LAUNCH_FLOOR_MS));
  return { lowMs, highMs: (timeMs + startMs) * Math.exp(above) };
}
