import type { BenchCase, BenchRecord, CaseResult, Conditions } from '../domain/benchmark.ts';
import { median } from '../numeric/statistics.ts';

/** Putting the records of one case together: the same for a measurement that runs and for a file of one. */

export type CaseRecord = Extract<BenchRecord, { readonly case: string }>;

type Sample = Extract<BenchRecord, { readonly type: 'sample' }>;

/** What the records of a case have said so far. */
export interface GatheredCase {
  readonly timesMs: number[];
  readonly warmUpMs: number[];
  /** Of the launches that count. */
  readonly samples: Sample[];
  compiled: CaseResult['compiled'];
  correct: boolean | null;
  checkMessage: string;
  digest?: string;
  failure: string | null;
  values: CaseResult['values'];
}

const NS_PER_MS = 1e6;

export function gatheredCase(): GatheredCase {
  return {
    timesMs: [],
    warmUpMs: [],
    samples: [],
    compiled: null,
    correct: null,
    checkMessage: '',
    failure: null,
    values: {},
  };
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
      if (!record.warmUp) found.samples.push(record);
      return;
    case 'check':
      // Wrong once is wrong, however many results are checked.
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
  const { timesMs, warmUpMs, samples, compiled, correct, checkMessage, digest, failure, values } = found;
  return {
    case: one,
    // A failed case has no time: what it measured before it failed is of an unfinished one.
    timesMs: failure === null ? timesMs : [],
    warmUpMs,
    clockMhz: medianOf(samples.flatMap(({ clockMhz }) => clockMhz ?? [])) ?? null,
    ...conditionsOf(samples),
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

/** What was read beside the launches, in short. */
function conditionsOf(samples: readonly Sample[]): Pick<CaseResult, 'conditions'> {
  const read = (name: 'clockMhz' | 'memoryClockMhz' | 'powerW' | 'temperatureC' | 'throttleReasons'): number[] =>
    samples.flatMap((sample) => sample[name] ?? []);
  const [clocks, memoryClock, power, temperatures, reasons] = [
    read('clockMhz'),
    medianOf(read('memoryClockMhz')),
    medianOf(read('powerW')),
    read('temperatureC'),
    read('throttleReasons'),
  ];
  const conditions: Conditions = {
    ...(clocks.length > 0 && { minClockMhz: Math.min(...clocks), maxClockMhz: Math.max(...clocks) }),
    ...(memoryClock !== undefined && { memoryClockMhz: memoryClock }),
    ...(power !== undefined && { powerW: power }),
    ...(temperatures.length > 0 && { temperatureC: Math.max(...temperatures) }),
    // As numbers, since the reasons have 64 bits of which the lower 32 are in use.
    ...(reasons.length > 0 && { throttleReasons: reasons.reduce((all, one) => (all | one) >>> 0, 0) }),
  };
  return Object.keys(conditions).length > 0 ? { conditions } : {};
}
