import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { DeviceComparisonResult, RankPage, RunSummary } from '../../src-main/contract/api.ts';
import { NOT_SAVED } from '../../src-workers/domain/columns.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { ended, refusal } from './engine-calls.ts';
import type { ProcedureName } from '../../src-main/contract/procedures.ts';
import { smallStudy } from './export-runs.ts';
import { useBench } from '../workplace.ts';

/** One sweep keeps its best `BEST` designs. Another sweep of the same study keeps all designs. */
const BEST = 60;
const STUDY = smallStudy({
  axes: {
    threadsPerUnit: [1, 2, 4, 8],
    loop: ['nested', 'flattened'],
    balancing: ['none', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    unitsPerThread: [1, 2, 4, 8],
    registerCap: [null, 24],
  },
});
const bench = useBench();
let all: RunSummary;
let best: RunSummary;
const { call } = bench;
const bothOf = <Name extends ProcedureName>(name: Name, input: object = {}) =>
  Promise.all([call(name, { runId: all.id, ...input }), call(name, { runId: best.id, ...input })]);
const refusalOf = (name: ProcedureName, input: object) => refusal(bench.engine, name, input);

beforeAll(async () => {
  all = await ended(bench.engine, 'runs.start', { study: STUDY });
  best = await ended(bench.engine, 'runs.start', { study: STUDY, best: BEST });
});

describe('a sweep of the best designs', () => {
  it('has exactly the first designs of the whole ranking, and states how many were predicted', async () => {
    const { enumerated, bestTimeMs, bestDesign } = all;
    expect(best).toMatchObject({ state: 'complete', enumerated, valid: BEST, invalid: 0, bestTimeMs, bestDesign });
    expect(best.kept?.wanted).toBe(BEST);
    expect(best.kept?.predicted).toBeBetween(BEST - 1, all.valid / 2);
    const [whole, some] = await bothOf('ranking.page', { limit: BEST, detail: true });
    const withoutNeighbours = ({ rows }: RankPage) => rows.map((row) => ({ ...row, alongBlock: null }));
    expect(withoutNeighbours(some)).toEqual(withoutNeighbours(whole));
    expect([some.matching, some.total]).toEqual([BEST, BEST]);
    const [grouped, groupedSome] = await bothOf('ranking.page', { groups: true, limit: 5 });
    expect(groupedSome.rows.map((row) => row.designIndex)).toEqual(grouped.rows.map((row) => row.designIndex));
  });

  it('is sorted and filtered like any other', async () => {
    const [{ rows }] = await bothOf('ranking.page', { limit: BEST });
    const wide = rows.filter(({ design }) => design.blockThreads >= 128 && design.loop === 'nested');
    expect(wide.length).toBeGreaterThan(0);
    const filter = { blockThreads: { from: 128, to: 1024 }, loop: ['nested'] };
    const sort = { column: 'blockThreads', descending: false };
    const some = await call('ranking.page', { runId: best.id, filter, sort, limit: BEST });
    const expected = wide.toSorted((a, b) => a.design.blockThreads - b.design.blockThreads || a.rank - b.rank);
    expect(some.rows).toEqual(expected);
  });

  it('recommends the same design as a complete sweep and the advice, even if it keeps fewer than are tied', async () => {
    const [whole, some] = await bothOf('ranking.best');
    expect(some.recommended?.row).toEqual({ ...whole.recommended?.row, rank: expect.any(Number) as number });
    const few = await ended(bench.engine, 'runs.start', { study: STUDY, best: 2 });
    const { recommended } = await call('ranking.best', { runId: few.id });
    const { designIndex, timeMs } = whole.recommended!.row;
    expect(recommended?.row).toMatchObject({ designIndex, timeMs });
    expect((await call('advice.recommend', { runId: few.id })).designIndex).toBe(recommended?.row.designIndex);
  });

  it('has maps that mark the cells that were not computed', async () => {
    const [whole, some] = await bothOf('landscape.grid', { x: 'blockThreads', y: 'launch' });
    const { rows } = await call('ranking.page', { runId: best.id, limit: BEST });
    const kept = new Set(rows.map((row) => row.designIndex));
    expect([some.best, some.bestDesign]).toEqual([whole.best, whole.bestDesign]);
    some.timeMs.forEach((time, at) => {
      const isKept = kept.has(whole.designIndex[at]);
      expect(time).toBe(isKept ? whole.timeMs[at] : NaN);
      if (!isKept) expect(some.invalidReason[at]).toBe(NOT_SAVED);
    });
    expect(some.timeMs.some(Number.isNaN)).toBe(true);
    const axes = { x: 'blockThreads', y: 'launch', facet: 'threadsPerUnit' };
    const { facets } = await call('landscape.facets', { runId: best.id, ...axes });
    expect(Math.min(...facets.map((one) => one.best).filter((time) => !Number.isNaN(time)))).toBe(whole.best);
  });

  it('predicts a requested design that was not kept, but neither simulates nor measures it', async () => {
    const { rows } = await call('ranking.page', { runId: all.id, offset: BEST, limit: 1 });
    const [{ designIndex, timeMs, design, waves }] = rows;
    const row = await call('ranking.design', { runId: best.id, designIndex });
    expect(row).toMatchObject({ rank: 0, timeMs, design, waves });
    const message = `Design ${designIndex} is not among the ${BEST} best designs`;
    expect(await refusalOf('simulations.start', { runId: best.id, designs: [designIndex] })).toMatch(message);
    const beyond = { runId: best.id, designIndex: best.enumerated };
    expect(await refusalOf('ranking.design', beyond)).toMatch('has no design');
  });

  it('is compared, exported and simulated', async () => {
    const [whole, some] = await bothOf('compare.devices');
    const fastest = ({ devices }: DeviceComparisonResult) =>
      Math.min(...devices.map((one) => one.best?.timeMs ?? Infinity));
    expect(fastest(some)).toBe(fastest(whole));
    const { text } = await call('export.render', { runId: best.id, format: 'csv' });
    expect(text.trim().split('\n').length).toBe(1 + BEST);
    expect((await call('runs.diff', { leftId: best.id, rightId: all.id })).spearman).toBeCloseTo(1, 12);
    const simulated = await ended(bench.engine, 'simulations.start', { runId: best.id, top: 2, maxReplications: 8 });
    expect(simulated).toMatchObject({ state: 'complete', valid: 2 });
  });

  it('is refused with advice if it is not possible', async () => {
    expect(await refusalOf('runs.start', { study: STUDY, best: 0 })).toMatch('best');
    const registerCap = Array.from({ length: 40 }, (_, i) => 24 + i);
    const axes = { blockThreads: { from: 1, to: 1024 }, unitsPerThread: { from: 1, to: 4000 }, registerCap };
    expect(await refusalOf('runs.start', { study: smallStudy({ axes }) })).toMatch(/327,680,000 designs.*--best/);
    expect(await refusalOf('advice.robust', { runIds: [best.id] })).toMatch(`has only its ${BEST} best designs`);
  });

  it('saves nothing if it is cancelled, and finds the same when it is resumed', async () => {
    const { runId } = await call('runs.start', { study: STUDY, best: BEST });
    await call('runs.cancel', { id: runId });
    const [cancelled] = (await call('runs.list', {})).filter(({ id }) => id === runId);
    expect(cancelled).toMatchObject({ state: 'cancelled', valid: 0, kept: { wanted: BEST, predicted: null } });
    await ended(bench.engine, 'runs.resume', { id: runId });
    const { store } = bench.engine.context;
    const columns = unwrap(await store.loadRunColumns(runId));
    expect(columns).toEqual(unwrap(await store.loadRunColumns(best.id)));
    expect(columns.designs?.length).toBe(BEST);
  });

  it('fails with the reason if an exception occurs', async () => {
    const { pool } = bench.engine.context;
    const run = pool.run.bind(pool);
    const broken = vi.spyOn(pool, 'run').mockImplementation((name, input, options) =>
      // This task returns a result of the wrong kind.
      name === 'searchBest' ? run('classify', input as never, options) : run(name, input, options),
    );
    const failed = await ended(bench.engine, 'runs.start', { study: STUDY, best: BEST });
    broken.mockRestore();
    expect(failed).toMatchObject({ state: 'failed', valid: 0, error: expect.stringMatching(/undefined/) as string });
  });
});
