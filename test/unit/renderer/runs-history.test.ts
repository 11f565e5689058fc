import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../../src-main/contract/api.ts';
import { bestOverTime, comparedRun } from '../../../src-renderer/views/runs/filter.ts';

const run = (id: number, change: Partial<RunSummary> = {}) =>
  ({ id, kind: 'sweep', state: 'complete', studyId: 1, bestTimeMs: 10 / id, ...change }) as RunSummary;

describe('the run that a run is compared with', () => {
  const runs = [run(5), run(4, { kind: 'bench' }), run(3, { state: 'failed' }), run(2), run(1, { studyId: 2 })];
  it('is the prediction before it, else the one after it, of the same study', () => {
    expect(comparedRun(runs[0], runs)?.id).toBe(2);
    expect(comparedRun(runs[3], runs)?.id).toBe(5);
    expect(comparedRun(runs[4], runs)).toBeNull();
    expect(comparedRun(runs[1], runs)).toBeNull();
  });
});

describe('the best time of each run', () => {
  it('keeps what was predicted apart from what was measured, oldest first', () => {
    const curves = bestOverTime([run(4), run(3, { kind: 'bench' }), run(2, { bestTimeMs: null }), run(1)]);
    expect(curves.map(({ name, points }) => [name, points])).toEqual([
      ['predicted', [[1, 10], [4, 2.5]]],
      ['measured', [[3, 10 / 3]]],
    ]); // prettier-ignore
  });
});
