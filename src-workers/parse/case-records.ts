import {
  NOTHING_MEASURED,
  type BenchCase,
  type BenchRecord,
  type CaseResult,
  type Conditions,
} from '../domain/benchmark.ts';
import { median } from '../numeric/statistics.ts';

export type CaseRecord = Extract<BenchRecord, { readonly case: string }>;

const READINGS = ['clockMhz', 'memoryClockMhz', 'powerW', 'temperatureC', 'throttleReasons'] as const;
type Readings = Readonly<Record<(typeof READINGS)[number], number[]>>;

export interface GatheredCase {
  readonly timesMs: number[];
  readonly warmUpMs: number[];
  readonly readings: Readings;
  compiled: CaseResult['compiled'];
  correct: boolean | null;
  checkMessage: string;
  digest?: string;
  failure: string | null;
  values: CaseResult['values'];
}

const NS_PER_MS = 1e6;

export function gatheredCase(): GatheredCase {
  const readings = { clockMhz: [], memoryClockMhz: [], powerW: [], temperatureC: [], throttleReasons: [] };
  return { ...NOTHING_MEASURED, timesMs: [], warmUpMs: [], readings };
}

export function addRecord(found: GatheredCase, record: CaseRecord): void {
  switch (record.type) {
    case 'turn':
      return;
    case 'compiled': {
      const { type: _type, case: _case, ...compiled } = record;
      found.compiled = compiled;
      return;
    }
    case 'sample':
      (record.warmUp ? found.warmUpMs : found.timesMs).push(record.timeNs / NS_PER_MS);
      if (!record.warmUp)
        for (const name of READINGS) {
          const read = record[name];
          if (typeof read === 'number') found.readings[name].push(read);
        }
      return;
    case 'check':
      found.correct = record.correct && found.correct !== false;
      if (!record.correct) found.checkMessage ||= record.message;
      if (record.digest !== undefined) found.digest ??= record.digest;
      return;
    case 'values':
      found.values = { ...found.values, ...record.values };
      return;
    case 'failed':
      found.failure = record.message || 'failed';
      return;
  }
}

export function caseResult(one: BenchCase, found: GatheredCase): CaseResult {
  const { timesMs, warmUpMs, readings, compiled, correct, checkMessage, digest, failure, values } = found;
  return {
    case: one,
    // A failed case gets no times, since its measurement is incomplete.
    timesMs: failure === null ? timesMs : [],
    warmUpMs,
    clockMhz: medianOf(readings.clockMhz) ?? null,
    ...readConditions(readings),
    compiled,
    correct,
    checkMessage,
    ...(digest !== undefined && { digest }),
    failure,
    values,
  };
}

const medianOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : median(Float64Array.from(values));

// A case may have more samples than Math.min(...) can take as arguments.
const least = (values: readonly number[]): number => values.reduce((one, other) => Math.min(one, other));
const most = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other));

function readConditions({
  clockMhz,
  memoryClockMhz,
  powerW,
  temperatureC,
  throttleReasons,
}: Readings): Pick<CaseResult, 'conditions'> {
  const [memoryClock, power] = [medianOf(memoryClockMhz), medianOf(powerW)];
  const conditions: Conditions = {
    ...(clockMhz.length > 0 && { minClockMhz: least(clockMhz), maxClockMhz: most(clockMhz) }),
    ...(memoryClock !== undefined && { memoryClockMhz: memoryClock }),
    ...(power !== undefined && { powerW: power }),
    ...(temperatureC.length > 0 && { temperatureC: most(temperatureC) }),
    // Throttle reasons have 64 bits, but only the lower 32 are used, so bitwise operators on numbers suffice.
    ...(throttleReasons.length > 0 && { throttleReasons: throttleReasons.reduce((all, one) => (all | one) >>> 0, 0) }),
  };
  return Object.keys(conditions).length > 0 ? { conditions } : {};
}
