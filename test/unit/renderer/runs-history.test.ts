import { expect, it } from 'vitest';
import type { RunSummary } from '../../../src-main/contract/api.ts';
import * as filter from '../../../src-renderer/views/runs/filter.ts';

const run = (id: number, change: Partial<RunSummary> = {}) =>
  ({
    id,
    kind: 'sweep',
    state: 'complete',
    studyId: 1,
    sourceRunId: null,
    bestTimeMs: 10 / id,
    name: `Run ${id}`,
    note: '',
    tags: [],
    bestDesign: '',
    ...change,
  }) as RunSummary;

it('the run that a run is compared with is the previous prediction of the same study, or else the next one', () => {
  const runs = [run(5), run(4, { kind: 'bench' }), run(3, { state: 'failed' }), run(2), run(1, { studyId: 2 })];

  expect(filter.comparedRun(runs[0], runs)?.id).toBe(2);
  expect(filter.comparedRun(runs[3], runs)?.id).toBe(5);
  expect(filter.comparedRun(runs[4], runs)).toBeNull();
  expect(filter.comparedRun(runs[1], runs)).toBeNull();
});

it('the best time of each run is listed separately for predictions and measurements, oldest first', () => {
  const runs = [run(4), run(3, { kind: 'bench', sourceRunId: 1 }), run(2, { bestTimeMs: null }), run(1)];
  const curves = filter.bestOverTime(runs[0], runs, new Map([1, 2, 4].map((id) => [id, 1])));
  expect(curves.map(({ name, points }) => [name, points])).toEqual([
      ['predicted', [[1, 10], [4, 2.5]]],
      ['measured', [[3, 10 / 3]]],
    ]); // prettier-ignore
});

it('the best time of each run is joined only with runs of the same kernel and work', () => {
  const runs = [run(5), run(4, { kind: 'simulate', sourceRunId: 2 }), run(3), run(2), run(1)];
  const problems = new Map([[1, 1], [2, 2], [3, 1], [5, 1]]); // prettier-ignore
  const ids = (at: number) =>
    filter.bestOverTime(runs[at], runs, problems).map(({ name, points }) => [name, points.map(([id]) => id)]);
  expect(ids(0)).toEqual([['predicted', [1, 3, 5]]]);
  expect(ids(1)).toEqual([['predicted', [2]], ['simulated', [4]]]); // prettier-ignore
});

it('the history is filtered by words, state and tag together', () => {
  const runs = [
    run(1, { tags: ['keep'], note: 'first look' }),
    run(2, { state: 'failed' }),
    run(3, { tags: ['keep'] }),
  ];
  const any = { find: '', state: 'any', tag: '' } as const;
  expect(filter.filterRuns(runs, { ...any, find: 'LOOK first' }).map(({ id }) => id)).toEqual([1]);
  expect(filter.filterRuns(runs, { ...any, find: 'failed' }).map(({ id }) => id)).toEqual([2]);
  expect(filter.filterRuns(runs, { ...any, find: '#2' }).map(({ id }) => id)).toEqual([2]);
  expect(filter.filterRuns(runs, { ...any, tag: 'keep' }).map(({ id }) => id)).toEqual([1, 3]);
  expect(filter.filterRuns(runs, { find: 'run', state: 'complete', tag: 'keep' })).toHaveLength(2);
});
it('the history has counted tags, and reads typed ones', () => {
  expect(filter.tagsInUse([run(1, { tags: ['b', 'a'] }), run(2, { tags: ['a'] })])).toEqual([
    { tag: 'a', count: 2 },
    { tag: 'b', count: 1 },
  ]);
  expect(filter.parseTags(' a, b ,,a')).toEqual(['a', 'b']);
});
it('the history says when a run was', () => {
  const now = new Date('2026-03-04T12:00:00');
  expect(filter.when('2026-03-04T10:05:00', now)).toBe('10:05');
  expect(filter.when('2026-03-03T23:05:00', now)).toBe('yesterday 23:05');
  expect(filter.when('2026-02-01T09:00:00', now)).toBe('1 Feb 09:00');
  expect(filter.when('2025-02-01T09:00:00', now)).toBe('1 Feb 2025');
});
