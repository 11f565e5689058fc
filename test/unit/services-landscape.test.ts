import { beforeAll, describe, expect, it } from 'vitest';
import type { RankRow } from '../../src-main/contract/api.ts';
import { smallStudy } from './export-runs.ts';
import type { ProcedureName } from '../../src-main/contract/procedures.ts';
import { useBench } from '../workplace.ts';

const bench = useBench();
let runId = 0;
const call = <Name extends ProcedureName>(name: Name, input: object) => bench.call(name, { runId, ...input });

beforeAll(async () => {
  // The widest blocks do not fit on the device, so some cells are empty.
  const axes = { threadsPerUnit: [1, 4], blockThreads: [32, 64, 128, 256, 1024], unitsPerThread: [1, 2, 5, 9] };
  const kernel = { name: 'wide', registersPerThread: 128, instructionsPerIteration: 30 };
  runId = await bench.run(smallStudy({ axes, kernel }));
});

const SPACE = { x: 'blockThreads', y: 'launch' } as const;
const facetsOf = (more: object) => call('landscape.facets', { ...SPACE, facet: 'device', ...more });
const gridOf = (device: number) => call('landscape.grid', { ...SPACE, hold: { device } });

it('small maps show the same as the map of their value, and need an axis that it does not use', async () => {
  const refused = await bench.engine.call('landscape.facets', { runId, ...SPACE, facet: 'launch' });
  expect(refused).toFail('bad-input', /^facet must be .*"launch"/);
  const { columns, rows, facets } = await facetsOf({});
  expect([columns, rows]).toEqual([5, 4]);
  expect(facets.length).toBeGreaterThan(1);
  for (const [device, { timeMs, best, bestDesign }] of facets.entries()) {
    const grid = await gridOf(device);
    expect(timeMs).toEqual(Float32Array.from(grid.timeMs));
    expect([best, bestDesign]).toEqual([grid.best, grid.bestDesign]);
    expect(timeMs.some(Number.isNaN)).toBe(true);
  }
});

it('small maps show the best cell in each pixel if there are fewer pixels than cells', async () => {
  const { columns, rows, facets } = await facetsOf({ columns: 3, rows: 3 });
  expect([columns, rows]).toEqual([3, 3]);
  for (const [device, { timeMs, best }] of facets.entries()) {
    const grid = await gridOf(device);
    expect(best).toBe(grid.best);
    const pixelOf = (at: number) => 3 * [0, 0, 1, 2][Math.floor(at / 5)] + [0, 0, 1, 1, 2][at % 5];
    timeMs.forEach((time, pixel) => {
      const cells = [...grid.timeMs].filter((cell, at) => !Number.isNaN(cell) && pixelOf(at) === pixel);
      expect(time).toBe(cells.length > 0 ? Math.fround(Math.min(...cells)) : NaN);
    });
  }
});

describe('a roofline', () => {
  const DEVICE = { deviceId: 'nvidia-rtx-4090' };

  it('shows the designs of one device below its two limits, the fastest first', async () => {
    const kernel = { name: 'streaming', registersPerThread: 32, instructionsPerIteration: 30, bytesPerIteration: 64 };
    const found = await call('landscape.roofline', { ...DEVICE, runId: await bench.run(smallStudy({ kernel })) });
    expect(found.designIndex.length).toBe(found.sampledFrom);
    expect(found.timeMs[0]).toBe(Math.min(...found.timeMs));
    expect(Math.max(...found.issueGips)).toBeLessThanOrEqual(found.peakIssueGips);
    expect(Math.max(...found.bandwidthGbS)).toBeLessThanOrEqual(found.peakBandwidthGbS);
    // All designs move the same number of bytes, so a shorter time means a higher rate.
    const [first, last] = [0, found.timeMs.length - 1];
    expect(found.bandwidthGbS[first] / found.bandwidthGbS[last]).toBeCloseTo(found.timeMs[last] / found.timeMs[first]);
  });

  it('is empty if the bytes that the kernel moves are not known', async () => {
    const kernel = { name: 'still', registersPerThread: 32, instructionsPerIteration: 30, bytesPerIteration: 0 };
    const phases = { unit: { instructions: 0 }, prologue: { instructions: 0 } };
    const still = await bench.run(smallStudy({ kernel: { ...kernel, ...phases } }));
    const { designIndex, sampledFrom } = await call('landscape.roofline', { ...DEVICE, runId: still });
    expect(designIndex).toHaveLength(0);
    expect(sampledFrom).toBeGreaterThan(0);
  });
});

describe('a filter', () => {
  const whole = { deviceId: 'nvidia-rtx-4090' };
  const filter = { ...whole, threadsPerUnit: [4], blockThreads: { from: 64, to: 128 } };
  const pageOf = (more: object) => call('ranking.page', { limit: 1000, ...more });

  it('shortens a list without changing ranks and ties, which count all designs of the device', async () => {
    const [all, some] = [await pageOf({ filter: whole }), await pageOf({ filter })];
    expect(some.matching).toBeLessThan(all.matching);
    expect(some.ties).toBe(all.ties);
    for (const row of some.rows)
      expect(row).toEqual(all.rows.find(({ designIndex }) => designIndex === row.designIndex));
    const last = some.rows.at(-1)!;
    const one = await call('ranking.design', { designIndex: last.designIndex, filter });
    expect([one.rank, one.tied]).toEqual([last.rank, last.tied]);
  });

  it('marks the cells of a map that have a passing design, and does not change their times', async () => {
    const free = await call('landscape.grid', SPACE);
    expect(free.passing).toBeNull();
    const grid = await call('landscape.grid', { ...SPACE, filter });
    expect(grid.timeMs).toEqual(free.timeMs);
    const { rows } = await pageOf({ filter });
    const cellOf = ({ design }: RankRow) =>
      `${design.blockThreads} ${grid.yValues.findIndex((text) => text === `${design.unitsPerThread} per slot`)}`;
    const listed = new Set(rows.map(cellOf));
    grid.passing!.forEach((passes, at) => {
      const cell = `${grid.xValues[at % 5]} ${Math.floor(at / 5)}`;
      expect(passes === 1, cell).toBe(listed.has(cell));
    });
  });

  it('has, in each bin of the distribution, its own count beside that of all designs of the device', async () => {
    const all = await call('ranking.histogram', { filter: whole, bins: 12 });
    const some = await call('ranking.histogram', { filter, bins: 12 });
    expect(some).toMatchObject({ edgesMs: all.edgesMs, counts: all.counts });
    expect(all.passing).toEqual(all.counts);
    expect(some.passing.every((n, bin) => n <= some.counts[bin])).toBe(true);
    const { rows } = await pageOf({ filter });
    const inside = rows.filter(({ predictedMs }) => predictedMs <= some.edgesMs[12]).length;
    expect(some.passing.reduce((sum, n) => sum + n, 0)).toBe(inside);
  });
});

it('equal designs are one row of a list, which can be opened, and searching for one of them finds the row', async () => {
  // A register cap above the number that the compiler uses has no effect.
  const axes = { threadsPerUnit: [1, 4], blockThreads: [64, 128], unitsPerThread: [1, 2], registerCap: [null, 64, 32] };
  const kernel = { name: 'small', registersPerThread: 40, instructionsPerIteration: 30 };
  const own = { runId: await bench.run(smallStudy({ axes, kernel })) };
  const all = await call('ranking.page', { ...own, limit: 1000 });
  const page = await call('ranking.page', { ...own, limit: 1000, groups: true });
  expect(page).toMatchObject({ matching: all.matching, listed: page.rows.length });
  expect(page.equal.reduce((sum, n) => sum + n, 0)).toBe(all.matching);
  const at = page.equal.indexOf(2);
  const row = page.rows[at];
  const opened = await call('ranking.page', { ...own, limit: 1000, groups: true, opened: [row.designIndex] });
  expect(opened.listed).toBe(page.listed + 1);
  expect(opened.equal.slice(at, at + 2)).toEqual([2, 0]);
  const other = opened.rows[at + 1];
  expect(other.predictedMs).toBe(row.predictedMs);
  expect([row, other].map(({ design }) => design.registerCap).toSorted()).toEqual([64, null]);
  expect((await call('ranking.page', { ...own, limit: 1, groups: true, find: other.designIndex })).foundAt).toBe(at);
});
