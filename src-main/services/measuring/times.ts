import type { MeasurementRecord } from '../../../db/records.ts';
import { summariseRepeats, type RepeatWarning } from '../../../src-workers/models/calibration/repeats.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import type { MeasuredTime } from '../../contract/measuring.ts';
import type { MeasuredCaseDetail } from './records.ts';

const NS_PER_MS = 1e6;

interface Repeats {
  readonly time: MeasuredTime;
  readonly warnings: readonly RepeatWarning[];
}

type Times = Pick<MeasurementRecord, 'timesMs' | 'detail'>;

/** A cache, because a summary of many repeats takes long, and every display of a run needs summaries of all cases. */
const summaries = new Map<string, { readonly of: readonly number[]; readonly found: Repeats | null }>();
/** Maximum number of values in `summaries`, over all cases. With the times themselves, they take about 64 MB. */
const MAX_REMEMBERED = 2 ** 22;
/** Besides its times, a case in `summaries` takes the space of this many numbers. */
const NUMBERS_PER_CASE = 64;
let remembered = 0;

export function repeatsOf(record: Times): Repeats | null {
  const { warmUpMs = [], clockMhz = null } = (record.detail ?? {}) as Partial<MeasuredCaseDetail>;
  // Cases with equal times and clocks have equal statistics, so these are computed once.
  const of = [record.timesMs.length, clockMhz ?? NaN, ...record.timesMs, ...warmUpMs];
  const key = `${of.length} ${of[0]} ${of[2]} ${of.at(-1)}`;
  const known = summaries.get(key);
  if (known && known.of.length === of.length && known.of.every((value, at) => Object.is(value, of[at])))
    return known.found;
  const found = summarised(record);
  forget(key);
  summaries.set(key, { of, found });
  remembered += of.length + NUMBERS_PER_CASE;
  for (const oldest of summaries.keys()) {
    if (remembered <= MAX_REMEMBERED) break;
    forget(oldest);
  }
  return found;
}

function forget(key: string): void {
  const known = summaries.get(key);
  if (!known) return;
  summaries.delete(key);
  remembered -= known.of.length + NUMBERS_PER_CASE;
}

export async function summariseAll(records: readonly Times[]): Promise<void> {
  const slice = new Slice();
  for (const record of records) {
    repeatsOf(record);
    if (slice.isOver) await slice.next();
  }
}

function summarised({ timesMs, detail }: Times): Repeats | null {
  if (timesMs.length === 0) return null;
  const { warmUpMs = [], clockMhz = null } = (detail ?? {}) as Partial<MeasuredCaseDetail>;
  const all = [...warmUpMs, ...timesMs];
  const summary = summariseRepeats(
    all.map((time) => time * NS_PER_MS),
    all.map((_, at) => at < warmUpMs.length),
  );
  if (!summary.ok) return null;
  const { medianNs, interval, minNs, maxNs, repeats, outliers, drift, warnings } = summary.value;
  const time: MeasuredTime = {
    medianMs: medianNs / NS_PER_MS,
    lowMs: interval && interval.lowNs / NS_PER_MS,
    highMs: interval && interval.highNs / NS_PER_MS,
    minMs: minNs / NS_PER_MS,
    maxMs: maxNs / NS_PER_MS,
    repeats,
    timesMs,
    warmUpMs,
    outliers: outliers.length,
    driftFraction: drift?.significant ? drift.relativeChange : null,
    clockMhz,
  };
  return { time, warnings };
}

export function measuredTime(record: Times): MeasuredTime | null {
  return repeatsOf(record)?.time ?? null;
}
