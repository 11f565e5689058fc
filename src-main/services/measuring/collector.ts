import type { BenchCase, CaseResult } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import {
  addRecord,
  caseResult,
  gatheredCase,
  type CaseRecord,
  type GatheredCase,
} from '../../../src-workers/parse/case-records.ts';

interface Gathered extends GatheredCase {
  readonly case: BenchCase;
}

export function collectCases(cases: readonly BenchCase[], repeats: number) {
  const waiting = new Map<string, Gathered>(cases.map((one) => [one.id, { case: one, ...gatheredCase() }]));
  const known = new Set(waiting.keys());
  let last: string | null = null;

  const isFull = (found: Gathered): boolean =>
    found.timesMs.length >= repeats || (found.timesMs.length === 0 && Object.keys(found.values).length > 0);
  const close = (found: Gathered): CaseResult => {
    waiting.delete(found.case.id);
    return caseResult(found.case, found);
  };
  const closeFull = (but: string | null): CaseResult[] =>
    [...waiting.values()].filter((found) => found.case.id !== but && isFull(found)).map(close);

  return {
    /**
     * Takes a record, and returns the cases that are now complete. A failed case is complete at once. Any other case
     * needs all its timed launches (or its values, if it has no launches), and then a record of another case, because
     * its check may come after the launches. Fails if a case is unexpected.
     */
    take(record: CaseRecord): Result<readonly CaseResult[]> {
      if (!known.has(record.case))
        return badInput(`a record of the case "${record.case.slice(0, 80)}", which is not in the plan`);
      const found = waiting.get(record.case);
      // A closed case is already saved, and a late check must not change it.
      if (!found) return ok([]);
      addRecord(found, record);
      if (record.type === 'compiled') return ok([]);
      const complete = record.case === last ? [] : closeFull(record.case);
      last = record.case;
      return ok(found.failure === null ? complete : [...complete, close(found)]);
    },
    settle: () => closeFull(null),
    /** Finishes the remaining cases after the record `done`. A case without times and values has failed. */
    finish: () =>
      [...waiting.values()].map((found) => {
        const empty = found.timesMs.length === 0 && Object.keys(found.values).length === 0;
        if (empty) found.failure = 'the measuring program reported nothing for this case';
        return close(found);
      }),
    underWay(): BenchCase | null {
      if (last !== null && waiting.has(last)) return waiting.get(last)!.case;
      const next = waiting.values().next();
      return next.done ? null : next.value.case;
    },
  };
}
