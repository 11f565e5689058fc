import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocateChunk, type PredictionColumns } from '../../src-workers/domain/columns.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { AXIS, type AxisName, type SpaceAxes } from '../../src-workers/domain/space.ts';
import {
  axisPosition,
  createRanking,
  rankedDesigns,
  tieCount,
  type RankingFilter,
  type SortColumn,
} from '../../src-workers/sweep/ranking.ts';
import { forAllOf } from '../for-all.ts';

/** Makes a device that has only the fields that a ranking reads. */
const device = (id: string, name: string, multiprocessors: number) =>
  ({ kind: 'gpu', id, name, multiprocessors }) as unknown as GpuDevice;

const AXES: SpaceAxes = {
  devices: [device('b', 'Beta', 4), device('a', 'Alpha', 8)],
  threadsPerUnit: [1, 2, 4],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'dynamic-fetch'],
  launch: [
    { kind: 'units-per-thread', value: 1 },
    { kind: 'per-multiprocessor', value: 2 },
  ],
  registerCap: [null, 64, 32],
  blockThreads: [32, 64, 128, 256],
};
const SIZE = 2 * 3 * 2 * 2 * 2 * 3 * 4;

const columnsOf = fc
  .array(
    fc.record({
      // There are few distinct values, so equal ones are common.
      time: fc.oneof(fc.constant(NaN), fc.integer({ min: 1, max: 20 }), fc.double({ min: 0.1, max: 50, noNaN: true })),
      loss: fc.integer({ min: 1, max: 6 }),
      occupancy: fc.integer({ min: 0, max: 8 }),
      resident: fc.integer({ min: 0, max: 32 }),
      grid: fc.integer({ min: 1, max: 50 }),
    }),
    { minLength: SIZE, maxLength: SIZE },
  )
  .map((rows): PredictionColumns => ({
    ...allocateChunk(0, SIZE),
    timeMs: Float64Array.from(rows, (row) => row.time),
    meanLoss: Float32Array.from(rows, (row) => 1 + row.loss / 7),
    aggregateLoss: Float32Array.from(rows, (row) => 1 + row.loss / 3),
    occupancyFraction: Float32Array.from(rows, (row) => row.occupancy / 8),
    residentBlocks: Uint16Array.from(rows, (row) => row.resident),
    invalidReason: Uint8Array.from(rows, (row) => (Number.isNaN(row.time) ? 1 + (row.loss % 3) : 0)),
    unitsPerThread: Float64Array.from(rows, (row) => row.grid % 7),
    gridBlocks: Float64Array.from(rows, (row) => row.grid),
  }));

const filters: fc.Arbitrary<RankingFilter> = fc.record({
  positions: fc.record(
    {
      0: fc.constantFrom(new Set([0]), new Set([1])),
      1: fc.constantFrom(new Set([0, 2]), new Set<number>()),
      5: fc.constant(new Set([1])),
      6: fc.constant(new Set([1, 2])),
    },
    { requiredKeys: [] },
  ),
  ranges: fc.subarray([
    { column: 'timeMs' as const, from: 2, to: 30 },
    { column: 'occupancyFraction' as const, from: 0.25, to: 0.75 },
    { column: 'gridBlocks' as const, from: 5, to: 40 },
  ]),
  validity: fc.constantFrom('valid' as const, 'invalid' as const, 'all' as const),
});

const SORTS: readonly SortColumn[] = [
  'timeMs', 'meanLoss', 'aggregateLoss', 'occupancyFraction', 'residentBlocks', 'waves', 'unitsPerThread', 'gridBlocks',
  'device', 'threadsPerUnit', 'loop', 'balancing', 'registerCap', 'blockThreads',
]; // prettier-ignore

describe('rankedDesigns', () => {
  it('keeps exactly the designs that pass, valid ones before invalid ones', () =>
    forAllOf(60)(columnsOf, filters, fc.constantFrom(...SORTS), (columns, filter, sort) => {
      const ranking = createRanking(AXES, columns);
      const list = Array.from(rankedDesigns(ranking, filter, sort));
      const wanted = Array.from({ length: SIZE }, (_, design) => design).filter((design) => {
        const valid = columns.invalidReason[design] === 0;
        if (filter.validity !== 'all' && valid !== (filter.validity === 'valid')) return false;
        for (const [axis, set] of Object.entries(filter.positions))
          if (!(set ?? new Set()).has(axisPosition(ranking, Number(axis), design))) return false;
        return filter.ranges.every(
          ({ column, from, to }) => columns[column][design] >= from && columns[column][design] <= to,
        );
      });
      expect([...list].sort((a, b) => a - b)).toEqual(wanted);
      const firstInvalid = list.findIndex((design) => columns.invalidReason[design] !== 0);
      if (firstInvalid >= 0)
        expect(list.slice(firstInvalid).every((design) => columns.invalidReason[design] !== 0)).toBe(true);
    }));

  it('sorts valid designs by the column, then by time, then by number', () =>
    forAllOf(60)(columnsOf, fc.constantFrom(...SORTS), (columns, sort) => {
      const ranking = createRanking(AXES, columns);
      const list = rankedDesigns(ranking, { positions: {}, ranges: [], validity: 'valid' }, sort);
      const key = (design: number): number | string => {
        if (sort === 'waves') return ranking.waves[design];
        if (!(sort in AXIS)) return columns[sort as 'timeMs'][design];
        const values = { ...AXES, device: AXES.devices.map(({ name }) => name) }[sort as 'device' | 'registerCap'];
        return values[axisPosition(ranking, AXIS[sort as AxisName], design)] ?? Infinity;
      };
      for (let i = 1; i < list.length; i += 1) {
        const [a, b] = [list[i - 1], list[i]];
        const [ka, kb] = [key(a), key(b)];
        expect(ka <= kb).toBe(true);
        if (ka === kb) {
          expect(columns.timeMs[a] <= columns.timeMs[b]).toBe(true);
          if (columns.timeMs[a] === columns.timeMs[b]) expect(a).toBeLessThan(b);
        }
      }
    }));

  it('lists the designs with one reason of invalidity on request, by number', () =>
    forAllOf(30)(columnsOf, (columns) => {
      const list = rankedDesigns(
        createRanking(AXES, columns),
        { positions: {}, ranges: [], validity: 'valid', invalidReason: 2 },
        'timeMs',
      );
      expect(Array.from(list)).toEqual(
        [...columns.invalidReason.keys()].filter((design) => columns.invalidReason[design] === 2),
      );
    }));

  it('keeps answers apart for filters that differ in one number', () => {
    const [columns] = fc.sample(columnsOf, { numRuns: 1, seed: 7 });
    const ranking = createRanking(AXES, columns);
    const at = (to: number) =>
      rankedDesigns(
        ranking,
        { positions: {}, ranges: [{ column: 'gridBlocks', from: 1, to }], validity: 'all' },
        'timeMs',
      ).length;
    const counts = Array.from({ length: 50 }, (_, i) => at(i + 1));
    expect(counts).toEqual(
      Array.from({ length: 50 }, (_, i) => columns.gridBlocks.filter((grid) => grid <= i + 1).length),
    );
  });
});

it('tieCount counts the leading designs within the band of the first', () =>
  forAllOf(60)(columnsOf, fc.double({ min: 0, max: 0.5, noNaN: true }), (columns, fraction) => {
    const ranking = createRanking(AXES, columns);
    const list = rankedDesigns(ranking, { positions: {}, ranges: [], validity: 'valid' }, 'timeMs');
    const limit = list.length ? columns.timeMs[list[0]] * (1 + fraction) : 0;
    expect(tieCount(ranking, list, fraction)).toBe(
      [...list].filter((design) => columns.timeMs[design] <= limit).length,
    );
  }));
