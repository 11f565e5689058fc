import { beforeAll, describe, expect, it } from 'vitest';
import type { DeviceBest, SimulatedTime } from '../../src-main/contract/api.ts';
import type { ProcedureOutput } from '../../src-main/contract/procedures.ts';
import type { Study } from '../../src-main/contract/study.ts';
import { comparisonReasons, contradictions } from '../../src-main/services/ranking/compare.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { term } from '../../src-workers/domain/terms.ts';
import { cellNames, headNames, shortDeviceName, shortNames, withNames } from '../../src-renderer/format/devices.ts';
import { compareRows, isEqualRow, kneeThreadGroups } from '../../src-renderer/views/compare/rows.ts';
import { spreadLabels } from '../../src-workers/numeric/ticks.ts';
import { seriesOf } from '../../src-renderer/views/compare/series.ts';
import { ended } from './engine-calls.ts';
import { smallStudy } from './export-runs.ts';
import { useBench } from '../workplace.ts';

const bench = useBench();
const { call } = bench;
let runId: number;
const devices = ['nvidia-v100-sxm2-16gb', 'nvidia-a100-sxm4-40gb', 'amd-mi250x-gcd'];
let study: Study;
let result: ProcedureOutput<'compare.devices'>;
let bests: readonly DeviceBest[];
beforeAll(async () => {
  runId = await bench.run(smallStudy({ devices }));
  study = (await call('runs.get', { id: runId })).study!;
  result = await call('compare.devices', { runId });
  bests = result.devices;
});

describe('a comparison', () => {
  it('has the best design of each device in the order of the run, with its time on the diagonal', () => {
    const { devices: compared, cross } = result;
    expect(compared.map(({ device }) => device.id)).toEqual(devices);
    for (const [i, { best, byThreadsPerUnit, ties }] of compared.entries()) {
      expect(cross[i][i]).toBe(best!.timeMs);
      const times = byThreadsPerUnit.map(({ timeMs }) => timeMs).filter((time) => !Number.isNaN(time));
      expect(Math.min(...times)).toBe(best!.timeMs);
      expect(ties).toBeGreaterThanOrEqual(1);
      // No design of another device is better than the best design of the device.
      for (const row of cross) expect(Number.isNaN(row[i]) || row[i] >= cross[i][i]).toBe(true);
    }
  });

  it('gives times the same ranges as a recommendation', async () => {
    const designs = bests.map(({ best }) => best!.designIndex);
    const ranges = await call('compare.ranges', { runId, designs });
    for (const [at, design] of designs.entries()) {
      const { lowMs, highMs } = (await call('advice.recommend', { runId, deviceId: devices[at], design })).time;
      expect(ranges).toContainEqual({ designIndex: design, lowMs, highMs });
      expect(bests[at].best!.timeMs).toBeBetween(lowMs, highMs);
    }
  });

  it('compares all devices at one requested design, with the times of the matrix', async () => {
    const { cross } = result;
    const same = await call('compare.devices', { runId, designIndex: bests[1].best!.designIndex });
    same.devices.forEach(({ best }, j) => {
      expect(best?.timeMs ?? NaN).toBe(cross[1][j]);
      if (!best) return;
      const { threadsPerUnit, blockThreads } = bests[1].best!.design;
      expect(best.design).toMatchObject({ threadsPerUnit, blockThreads });
      expect(best.rank).toBeGreaterThanOrEqual(1);
    });
    const unknown = await bench.engine.call('compare.devices', { runId, designIndex: 10_000_000 });
    expect(unknown).toFail('not-found');
  });

  it('says which device is fastest, and by how much, in whole sentences, or that the model cannot distinguish devices', async () => {
    const { reasons } = result;
    const times = bests.map(({ best }) => best!.timeMs);
    const fastest = bests[times.indexOf(Math.min(...times))].device.name;
    const factor = (Math.max(...times) / Math.min(...times)).toFixed(2);
    expect(reasons[0]).toContain(`${fastest} is the fastest: ${factor} ×`);
    for (const sentence of reasons) expect(sentence).toMatch(/^[A-Z].*\.$/);
    // Both devices were measured and have their own parameters. This difference is too small to be confirmed.
    expect(reasons[1]).toMatch(/^A predicted difference below \d+ % is uncertain\. This limit comes from /);
    const far = { ...bests[0], best: { ...bests[0].best!, timeMs: 3 * Math.max(...times) } };
    expect(comparisonReasons([bests[1], far]).join(' ')).not.toContain('cannot confirm');
    const twin: DeviceBest = { ...bests[0], best: { ...bests[0].best!, timeMs: bests[0].best!.timeMs * 1.005 } };
    expect(comparisonReasons([bests[0], twin])).toEqual([expect.stringContaining('less than the model')]);
    expect(comparisonReasons([bests[0]])).toEqual([]);
  });

  it('explains a difference by parts that differ more than the times', async () => {
    const { best, breakdown } = bests[0];
    type Parts = NonNullable<DeviceBest['breakdown']>['parts'];
    const none = Object.fromEntries(Object.keys(breakdown!.parts).map((part) => [part, 0])) as Parts;
    const at = (timeMs: number, parts: Partial<Parts>, limit: 'issue' | 'bandwidth' = 'issue'): DeviceBest => {
      const achieved = { issueFraction: 0.22, bandwidthGbS: 1, bandwidthFraction: 0.82, limit };
      const changed = { ...breakdown!, timeMs, parts: { ...none, ...parts }, achieved };
      return { ...bests[0], best: { ...best!, timeMs }, breakdown: changed };
    };
    const reasons = comparisonReasons([at(10, { idealWork: 9, latency: 1 }), at(11, { idealWork: 3, latency: 8 })]);
    expect(reasons[2]).toMatch(/^.+ spends 7\.000\sms less on .*: 7.0 × the difference\.$/);
    expect(reasons[3]).toMatch(/^.+ spends 6\.000\sms more on .*, which cancels 6.0 × the difference\.$/);
    // A negative part is not a time that a device spends.
    const negative = [at(10, { idealWork: 12, lastWave: -2 }), at(20, { idealWork: 25, lastWave: -5 })];
    const [, issued, ...others] = comparisonReasons(negative);
    expect(issued).toMatch(/^.+ spends 10\.00\sms less on issuing the work itself: 100 % of the/);
    expect([issued, ...others].join(' ')).not.toContain('without blocks');
    // The peaks are those of what limits the launches.
    const peaks = (...[one, next]: Parameters<typeof at>[2][]) =>
      comparisonReasons([at(10, { idealWork: 10 }, one), at(20, { idealWork: 20 }, next)]).join(' ');
    expect(peaks('bandwidth', 'bandwidth')).toMatch(/less on the work(?!.*instruction rate).* the launches .* 82 % of/);
    expect(peaks('issue', 'issue')).not.toContain('memory bandwidth');
    expect(peaks('issue', 'bandwidth')).toMatch(/limits the launch on .* memory bandwidth .* instruction rate .* 22 %/);
  });
});

describe('the table of a comparison', () => {
  const cuda = (key: Parameters<typeof term>[0], form?: Parameters<typeof term>[2]) => term(key, 'cuda', form);
  it('has result, why and limits in this order, and only limits for a device outside the run', async () => {
    const compared = [
      ...result.devices.map((entry) => ({ device: entry.device, entry })),
      { device: { ...result.devices[0].device, id: 'other' }, entry: null },
    ];
    const rows = compareRows(compared, study, false, cuda);
    expect([...new Set(rows.map(({ group }) => group))]).toEqual(['result', 'why', 'limits']);
    for (const row of rows) {
      expect(row.texts).toHaveLength(4);
      expect(row.texts[3] === '').toBe(row.group !== 'limits');
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    const row = (id: string) => rows.find((each) => each.id === id)!;
    expect(row('time').values.slice(0, 3)).toEqual(bests.map(({ best }) => best!.timeMs));
    const regimes = bests.map(({ breakdown }) => breakdown!.regime.label.toLowerCase());
    expect(row('regime').texts.slice(0, 3)).toEqual(regimes);
  });

  it('marks only the values that follow from estimates, with their sources', async () => {
    const [{ device: first }, { device: second }] = result.devices;
    const sources = { ...first.sources, memoryLatencyCycles: 'estimate: as the generation before' };
    const known = { device: { ...second, sources: { '*': 'data sheet' } }, entry: null };
    const compared = [{ device: { ...first, sources }, entry: null }, known];
    const rows = compareRows(compared, study, false, cuda);
    const marked = rows.filter(({ estimates }) => estimates.some((text) => text !== ''));
    expect(marked.map(({ id }) => id)).toEqual(['memoryLatencyNs', 'kibInFlight']);
    for (const { estimates } of marked) expect(estimates).toEqual(['Estimate: as the generation before', '']);
  });

  it('explains a prediction that its simulation contradicts, and no other', async () => {
    const simulated = (entry: DeviceBest, factor: number): DeviceBest => {
      const meanMs = entry.best!.predictedMs * factor;
      const time = { meanMs, lowMs: meanMs * 0.99, highMs: meanMs * 1.01 } as SimulatedTime;
      return { ...entry, best: { ...entry.best!, simulated: time } };
    };
    const [a, b, c] = result.devices;
    const devices = [simulated(a, 14.4), simulated(b, 1.1), simulated(c, 0.7)];
    const compared = devices.map((entry) => ({ device: entry.device, entry }));
    const { texts } = compareRows(compared, study, false, cuda).find(({ id }) => id === 'simulated')!;
    expect(texts[0]).toMatch(/^[\d.,]+\s[µm]s, 14\.4 times as long as predicted$/);
    expect(texts[1]).toMatch(/^[\d.,]+\s[µm]s$/);
    expect(texts[2]).toMatch(/^[\d.,]+\s[µm]s, 30 % shorter than predicted$/);
    expect(contradictions(devices)).toEqual([
      `On ${a.device.name}, the simulated time is 14.4 times as long as predicted. Trust the simulation more, or measure.`,
      expect.stringContaining(`On ${c.device.name}, the simulated time is 30 % shorter than predicted.`),
    ]);
  });

  it('finds the rows that are the same for all devices', () => {
    const isEqual = (...texts: string[]) => isEqualRow({ texts } as unknown as Parameters<typeof isEqualRow>[0]);
    expect([isEqual('1', '', '1'), isEqual('1', '2'), isEqual('', '')]).toEqual([true, false, false]);
  });

  it('uses measured pipeline parameters for the knee if there are any', () => {
    const gpu = bests[0].device as GpuDevice;
    const measured = { ...study, pipeline: { [gpu.id]: { latencyCycles: 100, issueCycles: 7, kneeSoftness: 6 } } };
    expect(kneeThreadGroups(gpu, measured, { registerCap: null })).toBe(15);
  });
});

const oneLaunch = { threadsPerUnit: [2], blockThreads: [128], blocksPerMultiprocessor: [4] };
const ONE_DESIGN = smallStudy({ devices: devices.slice(0, 1), axes: oneLaunch });

it('two runs differ in the changed fields, and are equal to themselves', async () => {
  const base = smallStudy({ devices });
  const other = await bench.run({ ...base, kernel: { ...base.kernel, serialFraction: 0.2 } });
  const diff = await call('runs.diff', { leftId: runId, rightId: other });
  expect(diff.fields).toEqual([{ field: 'kernel.serialFraction', left: '0.05', right: '0.2' }]);
  expect(diff.best.map(({ leftMs, rightMs }) => rightMs! >= leftMs!)).toEqual([true, true, true]);
  expect(diff.spearman).toBeLessThan(1);
  const same = { fields: [], spearman: 1, compared: diff.left.valid };
  expect(await call('runs.diff', { leftId: runId, rightId: runId })).toMatchObject(same);
  // A single design has no rank correlation (NaN). Runs with different spaces are not compared (null).
  const one = await bench.run(ONE_DESIGN);
  expect((await call('runs.diff', { leftId: one, rightId: one })).spearman).toBeNaN();
  expect((await call('runs.diff', { leftId: one, rightId: runId })).spearman).toBeNull();
});

it('two runs name their changes if they follow one another, and say whether kernel and work are the same', async () => {
  const { id } = await call('studies.save', { study: ONE_DESIGN });
  const run = async (change: Partial<typeof ONE_DESIGN>) => {
    await call('studies.save', { id, study: { ...ONE_DESIGN, ...change } });
    return (await ended(bench.engine, 'runs.start', { studyId: id })).id;
  };
  const other = { ...ONE_DESIGN.kernel, serialFraction: 0.2 };
  const wider = { ...ONE_DESIGN.axes, blockThreads: [128, 256] };
  const changed = [{}, { name: 'Renamed' }, { kernel: other }, { axes: wider }];
  const runs: number[] = [];
  for (const change of changed) runs.push(await run(change));
  const changes = await call('runs.changes', { studyId: id });
  const serial = { field: 'kernel.serialFraction', was: '0.05', is: '0.2' };
  const back = { ...serial, was: '0.2', is: '0.05' };
  const blocks = { field: 'axes.blockThreads', was: '[128]', is: '[128,256]' };
  expect(changes).toEqual([
    { id: runs[0], since: null, fields: [], problem: runs[0] },
    { id: runs[1], since: runs[0], fields: [], problem: runs[0] },
    { id: runs[2], since: runs[1], fields: [serial], problem: runs[2] },
    { id: runs[3], since: runs[2], fields: [back, blocks], problem: runs[0] },
  ]);
  // A sweep of a file that is no saved study has no predecessor.
  const all = await call('runs.changes', {});
  expect(all.find((change) => change.id === runId)).toMatchObject({ since: null, fields: [] });
});

describe('names and marks', () => {
  it('are short and distinct, and keep a form factor in a table head, and a memory or family only if it is needed', () => {
    const expected = ['A100', 'RTX 4090', 'MI250X'];
    expect(shortNames(['A100 SXM4 40 GB', 'GeForce RTX 4090', 'Instinct MI250X, one GCD'])).toEqual(expected);
    expect(shortNames(['A100 SXM4 40 GB', 'A100 PCIe 40 GB'])).toEqual(['A100 SXM4 40 GB', 'A100 PCIe 40 GB']);
    expect(headNames(['A100 SXM4 40 GB', 'GeForce RTX 4090'])).toEqual(['A100 SXM4', 'RTX 4090']);
    expect(headNames(['A100 SXM4 40 GB', 'A100 SXM4 80 GB'])).toEqual(['A100 SXM4 40 GB', 'A100 SXM4 80 GB']);
    const amd = ['Radeon RX 580', 'Radeon R9 Fury X', 'Radeon VII', 'Radeon Pro V520', 'Radeon Instinct MI25'];
    expect(amd.map(shortDeviceName)).toEqual(['RX 580', 'R9 Fury X', 'Radeon VII', 'Radeon Pro V520', 'MI25']);
    expect(shortDeviceName('Quadro P4000')).toBe('P4000');
    for (const names of [shortNames, headNames])
      expect(names(['Radeon VII', 'Radeon Instinct MI50 16 GB'])).toEqual(['Radeon VII', 'MI50']);
  });
  it('are model numbers in the cells of a matrix if these differ', () => {
    const expected = ['Xeon 8360Y', 'Epyc 7302P', 'Grace GH200'];
    expect(shortNames(['Xeon Platinum 8360Y', 'Epyc 7302P (Rome)', 'Grace GH200'])).toEqual(expected);
    const wanted = ['8360Y', '7302P', '4090', '7900 XTX', 'A100'];
    expect(cellNames(['Xeon 8360Y', 'Epyc 7302P', 'RTX 4090', 'RX 7900 XTX', 'A100'])).toEqual(wanted);
    expect(cellNames(['Grace GH200', 'GH200'])).toEqual(['Grace GH200', 'GH200']);
  });
  it('are the same in sentences as in tables, even if one name begins with another', () => {
    const full = ['GeForce RTX 3080', 'GeForce RTX 3080 12 GB', 'A100 SXM4 40 GB'];
    expect(headNames(full)).toEqual(['RTX 3080', 'RTX 3080 12 GB', 'A100 SXM4']);
    const text = `${full[2]} is 2 × as fast as ${full[1]}, 3 as ${full[0]}.`;
    expect(withNames(text, full, headNames(full))).toBe('A100 SXM4 is 2 × as fast as RTX 3080 12 GB, 3 as RTX 3080.');
    // In a replacement pattern, `$&` has a meaning, but here it must stay as it is.
    expect(withNames('Tesla $& is slow.', ['Tesla $&'], headNames(['Tesla $&']))).toBe('$& is slow.');
  });
  it('give 25 devices different pairs of colour and shape', () => {
    const pairs = Array.from({ length: 25 }, (_, at) => JSON.stringify(seriesOf(at)));
    expect(new Set(pairs).size).toBe(25);
  });
  it('push labels apart without changing their order', () => {
    const out = spreadLabels([10, 12, NaN, 11, 80], 13);
    expect(out[2]).toBeNaN();
    expect([out[0], out[3], out[1], out[4]]).toEqual([out[0], out[3], out[1], out[4]].sort((a, b) => a - b));
    expect(out[3] - out[0]).toBeGreaterThanOrEqual(13 - 1e-3);
  });
});
