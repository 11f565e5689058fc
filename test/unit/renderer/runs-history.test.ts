import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../../src-main/contract/api.ts';
import { bestOverTime, comparedRun } from '../../../src-renderer/views/runs/filter.ts';

const run = (id: number, change: Partial<RunSummary> = {}) =>
  ({
    id,
    kind: 'sweep',
    state: 'complete',
    studyId: 1,
    sourceRunId: null,
    bestTimeMs: 10 / id,
    ...change,
  }) as RunSummary;

describe('the run that a run is compared with', () => {
  const runs = [run(5), run(4, { kind: 'bench' }), run(3, { state: 'failed' }), run(2), run(1, { studyId: 2 })];
  it('is the previous prediction of the same study, or else the next one', () => {
    expect(comparedRun(runs[0], runs)?.id).toBe(2);
    expect(comparedRun(runs[3], runs)?.id).toBe(5);
    expect(comparedRun(runs[4], runs)).toBeNull();
    expect(comparedRun(runs[1], runs)).toBeNull();
  });
});

describe('the best time of each run', () => {
  it('is listed separately for predictions and measurements, oldest first', () => {
    const runs = [run(4), run(3, { kind: 'bench', sourceRunId: 1 }), run(2, { bestTimeMs: null }), run(1)];
    const curves = bestOverTime(runs[0], runs, new Map([1, 2, 4].map((id) => [id, 1])));
    expect(curves.map(({ name, points }) => [name, points])).toEqual([
      ['predicted', [[1, 10], [4, 2.5]]],
      ['measured', [[3, 10 / 3]]],
    ]); // prettier-ignore
  });

  it('is joined only with those of the same kernel and work', () => {
    const runs = [run(5), run(4, { kind: 'simulate', sourceRunId: 2 }), run(3), run(2), run(1)];
    const problems = new Map([[1, 1], [2, 2], [3, 1], [5, 1]]); // prettier-ignore
    const ids = (at: number) =>
      bestOverTime(runs[at], runs, problems).map(({ name, points }) => [name, points.map(([id]) => id)]);
    expect(ids(0)).toEqual([['predicted', [1, 3, 5]]]);
    expect(ids(1)).toEqual([['predicted', [2]], ['simulated', [4]]]); // prettier-ignore
  });
});
