import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import * as balancingCost from '../../../src-workers/predict/cost/balancing-cost.ts';
import { formatBalancing, parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { evenNonZeros, evenRows, loadImbalance, mergePath } from '../../../src-workers/models/partition/partition.ts';
import { lockstep } from './oracle.ts';
import { forAll, whole } from '../../for-all.ts';

const TEXTS = `none shuffle window-sort(4096) quantile-buckets(8) best-buckets(4) full-sort padded padded-slice(32)
  dynamic-fetch(group) dynamic-fetch(64) nonzero-split merge-path row-split
  mixed(3) mixed(1:8,block) mixed(1:8,group:256,block) mixed(4:0,32)`.split(/\s+/);

it.each([
  [' window-sort( 4096 ) ', { kind: 'window-sort', units: 4096 }],
  ['best-buckets(4)', { kind: 'best-buckets', k: 4 }],
  [' merge-path ', { kind: 'merge-path' }],
  ['dynamic-fetch', { kind: 'dynamic-fetch' }],
  ['dynamic-fetch(group)', { kind: 'dynamic-fetch', fetch: 'group' }],
  ['dynamic-fetch(64)', { kind: 'dynamic-fetch', fetch: 64 }],
  ['dynamic-fetch(1)', { kind: 'dynamic-fetch' }],
])('text form reads %j', (text, value) => expect(parseBalancing(text)).toEqual({ ok: true, value }));

it.each(TEXTS)('text form %s is read and written', (text) =>
  expect(formatBalancing(unwrap(parseBalancing(text)))).toBe(text),
);

const MIXED = ['', '(1)', '(9)', '(1:8)', '(1,group)', '(3:8,group)', '(1:8,2:8,group)', '(1:8,2:4,group)'];
it.each([
  ['Use none', 'sorted', 'none; drop'],
  ['takes no argument', 'none(3)', 'row-split(4)', 'padded(3)'],
  ['whole number of units', 'padded-slice', 'padded-slice(0)', 'window-sort(-1)', 'window-sort(99999999999)'],
  ['Use best-buckets(K)', 'best-buckets'],
  ['from 1 to 64', 'best-buckets(0)', 'quantile-buckets(2.5)'],
  ['from 1 to 4096, or dynamic-fetch(group)', 'dynamic-fetch(0)', 'dynamic-fetch(lane)'],
  ['mixed(1:8,group:256,block)', ...MIXED.map((classes) => `mixed${classes}`)],
])('text form refuses with %j', (message, ...texts) => {
  for (const text of texts)
    for (const part of [message, `"${text}"`]) {
      const error = { code: 'bad-input', message: expect.stringContaining(part) as string };
      expect(parseBalancing(text)).toMatchObject({ ok: false, error });
    }
});

describe('cost', () => {
  const { computeBalancingCost, computeBalancingMilliseconds } = balancingCost;
  const device = { multiprocessors: 100, clockMhz: 1000, memoryBandwidthGbS: 1000 } as GpuDevice;
  const cost = (text: string, units = 1e6, bytesPerUnit = 16) =>
    computeBalancingCost(lockstep(text), units, { bytesPerUnit });

  it('is 0 if nothing is balanced, and otherwise the sum of traffic and starts of passes', () => {
    for (const text of ['none', 'best-buckets(1)', 'dynamic-fetch', 'dynamic-fetch(group)'])
      expect(computeBalancingMilliseconds(device, cost(text))).toBe(0);
    expect(computeBalancingMilliseconds(device, { bytes: 1e9, passes: 2 })).toBeCloseTo(1 + 0.006, 12);
  });

  it('grows from windows over buckets to a full sort, and with whole sectors of a payload', () => {
    const bytes = ['window-sort(4096)', 'quantile-buckets(4)', 'full-sort'].map((text) => cost(text).bytes);
    expect(bytes).toEqual([...new Set(bytes)].sort((a, b) => a - b));
    // A window that does not fit in shared memory is sorted like a full sort.
    expect(cost('window-sort(65536)')).toEqual(cost('full-sort'));
    expect(cost('window-sort(4096)', 1, 0)).toEqual({ bytes: 8, passes: 1 });
    expect(cost('window-sort(4096)', 1, 16)).toEqual({ bytes: 8 + 32 + 16, passes: 2 });
  });
});

it('partitions of sparse rows divide rows, entries, or both', () => {
  const rows = Float64Array.of(8, 0, 0, 0, 1, 1, 1, 1);
  const parts = (rows: number[], nonZeros: number[]) => {
    return { rows: Float64Array.from(rows), nonZeros: Float64Array.from(nonZeros) };
  };
  expect(evenRows(rows, 2)).toEqual(parts([4, 4], [8, 4]));
  // There are more workers than rows, so the first worker gets none.
  expect(evenRows(Float64Array.of(3, 5), 3)).toEqual(parts([0, 1, 1], [0, 3, 5]));
  expect(evenNonZeros(rows, 2)).toEqual(parts([0, 8], [6, 6]));
  expect(mergePath(rows, 2)).toEqual(parts([2, 6], [8, 4]));
  // The imbalance compares the slowest worker with the mean.
  expect(loadImbalance(Float64Array.of(3, 1))).toBe(1.5);
  expect(loadImbalance(new Float64Array(4))).toBe(1);
});

it('partitions of sparse rows lose no row and no entry, and the merge path is even within one item', () => {
  const lengths = fc.array(whole(0, 50), { maxLength: 60 }).map((rows) => Float64Array.from(rows));
  forAll(lengths, whole(1, 16), (rows, workers) => {
    const entries = rows.reduce((sum, length) => sum + length, 0);
    for (const cut of [evenRows, evenNonZeros, mergePath]) {
      const parts = cut(rows, workers);
      expect(parts.rows.reduce((sum, value) => sum + value, 0)).toBe(rows.length);
      expect(parts.nonZeros.reduce((sum, value) => sum + value, 0)).toBe(entries);
      expect(Math.min(...parts.rows, ...parts.nonZeros)).toBeGreaterThanOrEqual(0);
    }
    const merged = mergePath(rows, workers);
    const most = Math.ceil((rows.length + entries) / workers);
    merged.rows.forEach((ended, w) => expect(ended + merged.nonZeros[w]).toBeLessThanOrEqual(most));
  });
});
