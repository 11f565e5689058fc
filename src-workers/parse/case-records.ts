import type { BenchCase, BenchRecord, CaseResult } from '../domain/benchmark.ts';
import { median } from '../numeric/statistics.ts';

/** Putting the records of one case together: the same for a measurement that runs and for a file of one. */

export type CaseRecord = Extract<BenchRecord, { readonly case: string }>;

/** What the records of a case have said so far. */
export interface GatheredCase {
  readonly timesMs: number[];
  readonly warmUpMs: number[];
  readonly clocksMhz: number[];
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
    clocksMhz: [],
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
      if (!record.warmUp && record.clockMhz !== null) found.clocksMhz.push(record.clockMhz);
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
  const { timesMs, warmUpMs, clocksMhz, compiled, correct, checkMessage, digest, failure, values } = found;
  return {
    case: one,
    // A failed case has no time: what it measured before it failed is of an unfinished one.
    timesMs: failure === null ? timesMs : [],
    warmUpMs,
    clockMhz: clocksMhz.length === 0 ? null : median(Float64Array.from(clocksMhz)),
    compiled,
    correct,
    checkMessage,
    ...(digest !== undefined && { digest }),
    failure,
    values,
  };
}
