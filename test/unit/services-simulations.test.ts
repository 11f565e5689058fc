import { describe, expect, it } from 'vitest';
import type { RankPage, RunSummary, SimulatedDesign } from '../../src-main/contract/api.ts';
import { predictionAgreement } from '../../src-main/services/simulations/simulations.ts';
import { reasonText } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { ended, progressed } from './engine-calls.ts';
import { smallStudy } from './export-runs.ts';
import { gpu } from '../catalogue.ts';
import { useBench } from '../workplace.ts';

const { engine, call, run: sweep } = useBench();
/** A simulation of so few units takes milliseconds. */
const STUDY = smallStudy({ workload: { lengths: 'geometric(0.05)', units: 10_000 } });
const simulate = (input: object): Promise<RunSummary> => ended(engine, 'simulations.start', input);
const list = (runId: number): Promise<readonly SimulatedDesign[]> => call('simulations.list', { runId });
const page = (input: object): Promise<RankPage> => call('ranking.page', input);

describe('simulating the best of a sweep', () => {
  it('marks each time as predicted or simulated, and ranks simulated designs first on request', async () => {
    const runId = await sweep(STUDY);
    const before = await page({ runId, limit: 8 });
    expect(before.simulated).toBe(0);
    for (const row of before.rows)
      expect(row).toMatchObject({ fidelity: 'predicted', simulated: null, predictedMs: row.timeMs });

    const run = await simulate({ runId, top: 5, maxReplications: 10 });
    expect(run).toMatchObject({ kind: 'simulate', state: 'complete', enumerated: 5 });
    const rows = await list(runId);
    expect(run.bestTimeMs).toBe(rows[0].simulated.meanMs);
    expect(await list(run.id)).toEqual(rows);
    const best = before.rows.slice(0, 5).map(({ designIndex }) => designIndex);
    expect(rows.map(({ designIndex }) => designIndex).sort()).toEqual(best.sort());
    for (const [at, { simulated, predictedMs, ...row }] of rows.entries()) {
      const { meanMs, lowMs, minMs, medianMs, timesMs, replications } = simulated;
      const [difference, tied] = [predictedMs / meanMs - 1, lowMs <= rows[0].simulated.highMs];
      expect(row).toMatchObject({ rank: at + 1, tied, difference });
      if (at > 0) expect(meanMs).toBeGreaterThanOrEqual(rows[at - 1].simulated.meanMs);
      expect([lowMs <= meanMs, minMs <= medianMs, timesMs.length]).toEqual([true, true, replications]);
    }

    // In the order of predictions, nothing changes, but simulated rows also show their simulated time.
    const after = await page({ runId, limit: 8 });
    expect(after.simulated).toBe(5);
    const wanted = before.rows.map(({ designIndex, rank, timeMs }) => [designIndex, rank, timeMs]);
    expect(after.rows.map(({ designIndex, rank, predictedMs }) => [designIndex, rank, predictedMs])).toEqual(wanted);
    for (const [at, { fidelity, timeMs, predictedMs, simulated }] of after.rows.entries())
      expect([fidelity, timeMs]).toEqual(at < 5 ? ['simulated', simulated!.meanMs] : ['predicted', predictedMs]);

    const all = (await page({ runId, limit: 1000 })).rows.map(({ designIndex }) => designIndex);
    const chosen = rows.map(({ designIndex }) => designIndex);
    const rest = all.filter((design) => !chosen.includes(design));
    const bySimulation = async (descending: boolean): Promise<number[]> => {
      const { rows } = await page({ runId, limit: 1000, sort: { column: 'simulatedMs', descending } });
      return rows.map(({ designIndex }) => designIndex);
    };
    expect(await bySimulation(false)).toEqual([...chosen, ...rest]);
    expect(await bySimulation(true)).toEqual([...chosen.toReversed(), ...rest.toReversed()]);

    const one = await call('ranking.design', { runId, designIndex: chosen[0] });
    expect(one).toMatchObject({ fidelity: 'simulated', tied: true, timeMs: rows[0].simulated.meanMs });
  });

  it('keeps the order of an open list, and says when it is outdated', async () => {
    const runId = await sweep(STUDY);
    const predicted = (await page({ runId, limit: 12 })).rows.map(({ designIndex }) => designIndex);
    await simulate({ runId, designs: predicted.slice(4, 8), maxReplications: 5 });
    const sort = { column: 'simulatedMs', descending: false };
    const ask = (more: object) => page({ runId, sort, limit: 6, ...more });
    const designs = ({ rows }: RankPage) => rows.map(({ designIndex }) => designIndex);
    const first = await ask({});
    const rest = await ask({ offset: 6, order: first.order });
    expect(first.outdated).toBe(false);

    await simulate({ runId, designs: predicted.slice(8, 12), maxReplications: 5 });
    const again = await ask({ order: first.order });
    expect(designs(again)).toEqual(designs(first));
    expect(designs(await ask({ offset: 6, order: first.order }))).toEqual(designs(rest));
    expect(again).toMatchObject({ order: first.order, outdated: true, simulated: 8 });
    // The rows show the newest results, although their order is old.
    expect((await ask({ offset: 6, order: first.order })).rows.some(({ simulated }) => simulated !== null)).toBe(true);
    // New results do not make other orders outdated.
    expect((await page({ runId, limit: 6, order: first.order })).outdated).toBe(false);
    const sorted = await ask({});
    expect(sorted.outdated).toBe(false);
    expect(sorted.rows.every(({ simulated }) => simulated !== null)).toBe(true);
    // If the order is unknown, the answer has the newest order, and names it.
    expect(await ask({ order: 12345 })).toMatchObject({ order: sorted.order, outdated: false });
  });

  it('shows the newest of two simulations of a design, and none of a deleted run', async () => {
    const runId = await sweep(STUDY);
    const first = await simulate({ runId, top: 2, maxReplications: 5 });
    const second = await simulate({ runId, top: 3, halfWidth: 0.5 });
    const shown = async () => (await list(runId)).map(({ simulated }) => simulated.runId);
    // Only the interval of the second one is as narrow as requested.
    expect([...(await list(first.id)), ...(await list(second.id))].map(({ simulated }) => simulated.precise)).toEqual([
      ...[false, false],
      ...[true, true, true],
    ]);
    expect(await shown()).toEqual([second.id, second.id, second.id]);
    await call('runs.delete', { id: second.id });
    expect(await shown()).toEqual([first.id, first.id]);
    await call('runs.restore', { id: second.id });
    expect(await shown()).toHaveLength(3);
  });

  it('keeps its saved designs if it is cancelled, and resumes with the missing ones', async () => {
    const runId = await sweep(smallStudy({ workload: { lengths: 'geometric(0.05)', units: 50_000 } }));
    const { runId: id } = await call('simulations.start', { runId, top: 12, maxReplications: 5 });
    await progressed(engine, 2);
    await call('runs.cancel', { id });
    expect((await call('runs.get', { id })).state).toBe('cancelled');
    const kept = await list(id);
    expect(kept.length).toBeBetween(1, 12);
    // Lists show which sweep was simulated, and the progress.
    const listed = (await call('runs.list', {})).find((run) => run.id === id);
    expect(listed).toMatchObject({ sourceRunId: runId, enumerated: 12, valid: kept.length });
    expect((await call('runs.get', { id: runId })).sourceRunId).toBeNull();
    const resumed = await ended(engine, 'runs.resume', { id });
    expect(resumed).toMatchObject({ state: 'complete', sourceRunId: runId, valid: 12 });
    const rows = await list(id);
    expect(rows).toHaveLength(12);
    for (const { designIndex, simulated } of kept)
      expect(rows.find((row) => row.designIndex === designIndex)?.simulated).toEqual(simulated);
    expect(unwrap(await engine.context.store.listSimulations(id))).toHaveLength(12);
  });

  it('refuses designs that cannot be simulated, with the reason', async () => {
    const runId = await sweep(smallStudy({ axes: { blockThreads: [64, 2048], balancing: ['none', 'full-sort'] } }));
    const start = (input: object) => engine.call('simulations.start', { runId, ...input });
    const { total, rows } = await page({ runId, filter: { validity: 'invalid' } });
    const beyond = new RegExp(`\\b${total}\\b.* 0 to ${total - 1}\\b`);
    expect(await start({ designs: [total] })).toFail('not-found', beyond);
    const { designIndex, invalid } = rows[0];
    const impossible = new RegExp(`^Design ${designIndex} cannot run: ${reasonText(invalid!)}`);
    expect(await start({ designs: [designIndex] })).toFail('conflict', impossible);
    expect(await start({ deviceId: 'nvidia-v100' })).toFail('not-found', /"nvidia-v100" is not in this run/);
    expect(await start({ runId: 99 })).toFail('not-found');
    for (const input of [{ top: 0 }, { halfWidth: 0 }, { maxReplications: 4 }, { designs: [] }])
      expect(await start(input)).toFail('bad-input');
    const simulation = await simulate({ runId, top: 1 });
    expect(await start({ runId: simulation.id })).toFail('unsupported', /^Run \d+ is a simulation/);
    expect(await engine.call('simulations.timeline', { runId, designIndex })).toFail('conflict');
  });
});

it('a timeline shows the replication that was saved, and every block once', async () => {
  const runId = await sweep(smallStudy({ workload: { lengths: 'geometric(0.05)', units: 30_000 } }));
  const best = async (balancing: string): Promise<number> =>
    (await page({ runId, filter: { balancing: [balancing] }, limit: 1 })).rows[0].designIndex;
  await simulate({ runId, designs: [await best('none'), await best('dynamic-fetch')], halfWidth: 0.5 });
  const rows = await list(runId);
  for (const balancing of ['none', 'dynamic-fetch']) {
    const row = rows.find(({ design }) => design.balancing === balancing)!;
    const timeline = await call('simulations.timeline', { runId, designIndex: row.designIndex, replication: 2 });
    const balancingMs = row.simulated.timesMs[2] - timeline.kernelMs;
    if (balancing === 'none') expect(balancingMs).toBe(0);
    expect(balancingMs).toBeGreaterThanOrEqual(0);
    expect(Math.max(...timeline.blockEndMs)).toBeCloseTo(timeline.kernelMs, 12);
    expect(timeline.multiprocessors).toBe(gpu(row.deviceId).multiprocessors);
    const shown = [...timeline.blockIndex].sort((a, b) => a - b);
    expect(shown).toEqual(Array.from({ length: shown.length }, (_, i) => i));
    // A block that starts after the last unit was fetched has no bar.
    if (balancing === 'none') expect(shown).toHaveLength(row.design.gridBlocks);
    else expect(shown.length).toBeLessThanOrEqual(row.design.gridBlocks);
    // All multiprocessors are shown, so the mean of the rows is the mean of the device.
    const { multiprocessors, activeMean, activeMin, activeMax, activePerRow } = timeline;
    activeMean.forEach((mean, bin) => {
      const ofRows = activePerRow.filter((_, at) => at % activeMean.length === bin);
      expect(Math.abs(ofRows.reduce((sum, active) => sum + active, 0) / multiprocessors - mean)).toBeLessThan(1e-9);
      expect(activeMin[bin]).toBeLessThanOrEqual(mean + 1e-9);
      expect(activeMax[bin]).toBeLessThanOrEqual(timeline.residentBlocks * timeline.groupsPerBlock + 1e-9);
    });
  }
});

it('a timeline ends when its page closes or requests a newer one, and is refused if it would take too long', async () => {
  const bestOf = async (units: number) => {
    const axes = { threadsPerUnit: [1], blockThreads: [64], balancing: ['dynamic-fetch'] };
    const runId = await sweep(smallStudy({ workload: { lengths: 'geometric(0.05)', units }, axes }));
    return { runId, designIndex: (await page({ runId, limit: 1 })).rows[0].designIndex };
  };
  const design = await bestOf(20_000_000);
  const gone = new AbortController();
  const play = (client: string) => engine.dispatch('simulations.timeline', { ...design, client }, gone.signal);
  const [older, newer] = [play('page'), play('page')];
  expect(await older).toFail('cancelled');
  gone.abort();
  expect(await newer).toFail('cancelled');
  // The worker is free again, so this sweep can end.
  const tooMany = await engine.call('simulations.timeline', await bestOf(10_000_000_000));
  expect(tooMany).toFail('unsupported', /10000000000 units; a timeline shows at most/);
});

it('has no rank correlation if there is no order', () => {
  const row = (predictedMs: number, meanMs: number) =>
    ({ predictedMs, difference: 0, simulated: { meanMs } }) as unknown as SimulatedDesign;
  const of = (...rows: readonly SimulatedDesign[]) => predictionAgreement(rows).spearman;
  expect([of(), of(row(1, 2)), of(row(1, 2), row(1 + 1e-12, 3))]).toEqual([null, null, null]);
  expect(of(row(1, 2), row(2, 3))).toBe(1);
});
