import { expect, it } from 'vitest';
import type { RunSummary } from '../../../src-main/contract/api.ts';
import * as filter from '../../../src-renderer/views/runs/filter.ts';

const RUN = { kind: 'sweep', state: 'complete', studyId: 1, sourceRunId: null, note: '', tags: [], bestDesign: '' };
const run = (id: number, change: Partial<RunSummary> = {}) =>
  ({ ...RUN, id, bestTimeMs: 10 / id, name: `Run ${id}`, ...change }) as RunSummary;

it('the run that a run is compared with is the previous prediction of the same study, or else the next one', () => {
  const runs = [run(5), run(4, { kind: 'bench' }), run(3, { state: 'failed' }), run(2), run(1, { studyId: 2 })];
  const compared = [0, 3, 4, 1].map((at) => filter.comparedRun(runs[at], runs)?.id);
  expect(compared).toEqual([2, 5, undefined, undefined]);
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

it.each([
  [{ find: 'LOOK first' }, [1]],
  [{ find: 'failed' }, [2]],
  [{ find: '#2' }, [2]],
  [{ tag: 'keep' }, [1, 3]],
  [{ find: 'run', state: 'complete', tag: 'keep' } as const, [1, 3]],
])('the history is filtered by words, state and tag together: %j', (wanted, ids) => {
  const noted = run(1, { tags: ['keep'], note: 'first look' });
  const runs = [noted, run(2, { state: 'failed' }), run(3, { tags: ['keep'] })];
  expect(filter.filterRuns(runs, { find: '', state: 'any', tag: '', ...wanted }).map(({ id }) => id)).toEqual(ids);
});

it('the history has counted tags, reads typed ones, and says when a run was', () => {
  const tags = filter.tagsInUse([run(1, { tags: ['b', 'a'] }), run(2, { tags: ['a'] })]);
  expect(tags.map(({ tag, count }) => `${tag} ${count}`)).toEqual(['a 2', 'b 1']);
  expect(filter.parseTags(' a, b ,,a')).toEqual(['a', 'b']);
  const times = ['2026-03-04T10:05:00', '2026-03-03T23:05:00', '2026-02-01T09:00:00', '2025-02-01T09:00:00'];
  const said = times.map((time) => filter.when(time, new Date('2026-03-04T12:00:00')));
  expect(said).toEqual(['10:05', 'yesterday 23:05', '1 Feb 09:00', '1 Feb 2025']);
});
