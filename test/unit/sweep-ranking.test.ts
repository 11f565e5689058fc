import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocateChunk, type PredictionColumns } from '../../src-workers/domain/columns.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { AXIS, type AxisName, type SpaceAxes } from '../../src-workers/domain/space.ts';
import { bestCell, bestOfCells, NO_DESIGN, type CellAxis } from '../../src-workers/sweep/cells.ts';
import { firstEquals, groupedDesigns } from '../../src-workers/sweep/equal.ts';
import { axisPosition, createRanking, rankedDesigns, tieCount } from '../../src-workers/sweep/ranking.ts';
import type { Ranking, RankingFilter, SortColumn } from '../../src-workers/sweep/ranking.ts';
import { sortByKey, sortByValue } from '../../src-workers/sweep/sort.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

const device = (id: string, name: string, multiprocessors: number) =>
  ({ kind: 'gpu', id, name, multiprocessors }) as unknown as GpuDevice;

const PER_THREAD = { kind: 'units-per-thread', value: 1 } as const;
const AXES: SpaceAxes = {
  devices: [device('b', 'Beta', 4), device('a', 'Alpha', 8)],
  threadsPerUnit: [1, 2, 4],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'dynamic-fetch'],
  launch: [PER_THREAD, { kind: 'per-multiprocessor', value: 2 }],
  registerCap: [null, 64, 32],
  blockThreads: [32, 64, 128, 256],
};
const SIZE = 2 * 3 * 2 * 2 * 2 * 3 * 4;
const EVERYTHING: RankingFilter = { positions: {}, ranges: [], validity: 'valid' };

interface Row {
  readonly time: number;
  readonly loss: number;
  readonly occupancy: number;
  readonly resident: number;
  readonly grid: number;
}
const columnsOf = (size: number, row: fc.Arbitrary<Row>): fc.Arbitrary<PredictionColumns> =>
  fc.array(row, { minLength: size, maxLength: size }).map((rows) => ({
    ...allocateChunk(0, size),
    timeMs: Float64Array.from(rows, ({ time }) => time),
    meanLoss: Float32Array.from(rows, ({ loss }) => 1 + loss / 7),
    aggregateLoss: Float32Array.from(rows, ({ loss }) => 1 + loss / 3),
    occupancyFraction: Float32Array.from(rows, ({ occupancy }) => occupancy / 8),
    residentBlocks: Uint16Array.from(rows, ({ resident }) => resident),
    invalidReason: Uint8Array.from(rows, ({ time, loss }) => (Number.isNaN(time) ? 1 + (loss % 3) : 0)),
    unitsPerThread: Float64Array.from(rows, ({ grid }) => grid % 7),
    gridBlocks: Float64Array.from(rows, ({ grid }) => grid),
  }));
/** There are few distinct values, so equal ones are common. */
const anyColumns = columnsOf(
  SIZE,
  fc.record({
    time: fc.oneof(fc.constant(NaN), whole(1, 20), real(0.1, 50)),
    loss: whole(1, 6),
    occupancy: whole(0, 8),
    resident: whole(0, 32),
    grid: whole(1, 50),
  }),
);

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
    forAllOf(60)(anyColumns, filters, fc.constantFrom(...SORTS), fc.boolean(), (columns, filter, sort, descending) => {
      const ranking = createRanking(AXES, columns);
      const list = Array.from(rankedDesigns(ranking, filter, sort, descending));
      const wanted = Array.from({ length: SIZE }, (_, design) => design).filter((design) => {
        const valid = columns.invalidReason[design] === 0;
        if (filter.validity !== 'all' && valid !== (filter.validity === 'valid')) return false;
        for (const [axis, set] of Object.entries(filter.positions))
          if (!(set ?? new Set()).has(axisPosition(ranking, Number(axis), design))) return false;
        const isWithin = (value: number, from: number, to: number) => value >= from && value <= to;
        return filter.ranges.every(({ column, from, to }) => isWithin(columns[column][design], from, to));
      });
      expect([...list].sort((a, b) => a - b)).toEqual(wanted);
      const areInvalid = list.map((design) => Number(columns.invalidReason[design] !== 0));
      expect(areInvalid).toEqual(areInvalid.toSorted());
    }));

  it('sorts valid designs by the column in both directions, then by time, then by number', () =>
    forAllOf(60)(anyColumns, fc.constantFrom(...SORTS), fc.boolean(), (columns, sort, descending) => {
      const ranking = createRanking(AXES, columns);
      const list = rankedDesigns(ranking, EVERYTHING, sort, descending);
      const key = (design: number): number | string => {
        if (sort === 'waves') return ranking.waves[design];
        if (!(sort in AXIS)) return columns[sort as 'timeMs'][design];
        const values = { ...AXES, device: AXES.devices.map(({ name }) => name) }[sort as 'device' | 'registerCap'];
        return values[axisPosition(ranking, AXIS[sort as AxisName], design)] ?? Infinity;
      };
      for (let i = 1; i < list.length; i += 1) {
        const [a, b] = [list[i - 1], list[i]];
        const [ka, kb] = [key(a), key(b)];
        expect(descending ? ka >= kb : ka <= kb).toBe(true);
        if (ka === kb) {
          expect(columns.timeMs[a] <= columns.timeMs[b]).toBe(true);
          if (columns.timeMs[a] === columns.timeMs[b]) expect(a).toBeLessThan(b);
        }
      }
    }));

  it('lists the designs with one reason of invalidity on request, by number', () =>
    forAllOf(30)(anyColumns, (columns) => {
      const list = rankedDesigns(createRanking(AXES, columns), { ...EVERYTHING, invalidReason: 2 }, 'timeMs');
      const wanted = [...columns.invalidReason.keys()].filter((design) => columns.invalidReason[design] === 2);
      expect(Array.from(list)).toEqual(wanted);
    }));

  it('keeps answers apart for filters that differ in one number', () => {
    const [columns] = fc.sample(anyColumns, { numRuns: 1, seed: 7 });
    const ranking = createRanking(AXES, columns);
    for (let to = 1; to <= 50; to += 1) {
      const ranges = [{ column: 'gridBlocks' as const, from: 1, to }];
      const list = rankedDesigns(ranking, { ...EVERYTHING, ranges, validity: 'all' }, 'timeMs');
      expect(list.length).toBe(columns.gridBlocks.filter((grid) => grid <= to).length);
    }
  });
});

it('tieCount counts the leading designs within the band of the first', () =>
  forAllOf(60)(anyColumns, real(0, 0.5), (columns, fraction) => {
    const ranking = createRanking(AXES, columns);
    const list = rankedDesigns(ranking, EVERYTHING, 'timeMs');
    const limit = list.length ? columns.timeMs[list[0]] * (1 + fraction) : 0;
    const tied = list.filter((design) => columns.timeMs[design] <= limit);
    expect(tieCount(ranking, list, fraction)).toBe(tied.length);
  }));

const MULTIPROCESSORS = 2;
const REGISTERS = 40;
const FEW: SpaceAxes = {
  ...AXES,
  devices: [device('a', 'a', MULTIPROCESSORS), device('b', 'b', MULTIPROCESSORS)],
  threadsPerUnit: [1, 2],
  launch: [...AXES.launch, { kind: 'grid', value: 8 }],
  blockThreads: [32, 64],
};
const fewColumns = columnsOf(
  2 * 2 * 2 * 2 * 3 * 3 * 2,
  fc.record({
    // Some times differ only by rounding.
    time: fc.constantFrom(NaN, 1, 1 + 1e-12, 1 + 1e-7, 2),
    loss: fc.constant(1),
    occupancy: fc.constant(8),
    grid: fc.constantFrom(4, 8),
    resident: fc.constantFrom(1, 2, 16),
  }),
);

/** Compares two designs by the definition of equality, field by field. */
function areEqual(ranking: Ranking, a: number, b: number): boolean {
  const { columns } = ranking;
  const at = (axis: number, design: number) => axisPosition(ranking, axis, design);
  const cap = (design: number) => Math.min(FEW.registerCap[at(AXIS.registerCap, design)] ?? Infinity, REGISTERS);
  // A launch that fetches has work only for the blocks that are resident at first.
  const blocks = (design: number) =>
    FEW.balancing[at(AXIS.balancing, design)] === 'dynamic-fetch'
      ? Math.min(columns.gridBlocks[design], MULTIPROCESSORS * columns.residentBlocks[design])
      : columns.gridBlocks[design];
  const same = [AXIS.device, AXIS.threadsPerUnit, AXIS.balancing, AXIS.blockThreads];
  return (
    same.every((axis) => at(axis, a) === at(axis, b)) &&
    blocks(a) === blocks(b) &&
    cap(a) === cap(b) &&
    Math.abs(columns.timeMs[a] / columns.timeMs[b] - 1) <= 1e-9
  );
}

it('designs that differ only in irrelevant values are represented by the first of them, which has their row and their number', () =>
  forAllOf(40)(fewColumns, (columns) => {
    const ranking = createRanking(FEW, columns);
    const first = firstEquals(ranking, REGISTERS);
    const standing: number[] = [];
    const wrong: number[] = [];
    first.forEach((other, design) => {
      if (other === design) standing.push(design);
      else if (other > design || first[other] !== other || !areEqual(ranking, design, other)) wrong.push(design);
    });
    expect(wrong).toEqual([]);
    const valid = standing.filter((design) => columns.invalidReason[design] === 0);
    expect(valid.some((a) => valid.some((b) => a < b && areEqual(ranking, a, b)))).toBe(false);
    const designs = rankedDesigns(ranking, EVERYTHING, 'blockThreads');
    const { list, counts } = groupedDesigns(designs, (design) => first[design], first.length, new Set());
    const seen = new Set<number>();
    const wanted = [...designs].filter((design) => !seen.has(first[design]) && seen.add(first[design]));
    expect([...list]).toEqual(wanted);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(designs.length);
  }));

it('designs that differ only in irrelevant values are all listed after their row when it is opened', () => {
  const first = Uint32Array.of(0, 0, 2, 0, 2);
  const designs = Uint32Array.of(2, 0, 1, 4, 3);
  const opened = groupedDesigns(designs, (design) => first[design], first.length, new Set([0]));
  expect([...opened.list]).toEqual([2, 0, 1, 3]);
  expect([...opened.counts]).toEqual([2, 3, 0, 0]);
});

/** Generates axes in the order of their strides. An axis is either shown with a number of cells, or minimised over. */
const space = fc
  .array(fc.record({ count: whole(1, 4), drawn: whole(0, 4) }), { minLength: 1, maxLength: 4 })
  .chain((axes) => {
    const size = axes.reduce((product, { count }) => product * count, 1);
    // Generates few distinct times, so that many are equal.
    const time = fc.constantFrom(NaN, 1, 2, 3);
    return fc.record({
      axes: fc.constant(axes),
      first: whole(0, 3),
      timeMs: fc.array(time, { minLength: size + 3, maxLength: size + 3 }).map((times) => Float64Array.from(times)),
      turn: whole(0, 3),
    });
  });

it('the best designs of cells are the first of the fastest designs in each cell, in any order of the axes', () => {
  forAll(space, ({ axes, first, timeMs, turn }) => {
    let cells = 1;
    const cellAxes = axes.map(({ count, drawn }, at): CellAxis => {
      const stride = axes.slice(at + 1).reduce((product, axis) => product * axis.count, 1);
      if (drawn === 0) return { stride, count, cells: null };
      const size = cells;
      cells *= drawn;
      return { stride, count, cells: Array.from({ length: count }, (_, i) => Math.floor((i * drawn) / count) * size) };
    });
    const expected = Array.from({ length: cells }, () => ({ time: NaN, design: NO_DESIGN }));
    const size = axes.reduce((product, { count }) => product * count, 1);
    for (let design = 0; design < size; design += 1) {
      const parts = cellAxes.map(({ stride, count, cells }) => cells?.[Math.floor(design / stride) % count] ?? 0);
      const cell = parts.reduce((sum, part) => sum + part, 0);
      const time = timeMs[first + design];
      if (time < (Number.isNaN(expected[cell].time) ? Infinity : expected[cell].time))
        expected[cell] = { time, design: first + design };
    }
    const listed = [...cellAxes.slice(turn), ...cellAxes.slice(0, turn)];
    const found = bestOfCells(timeMs, null, first, listed, cells);
    expect([...found.timeMs]).toEqual(expected.map(({ time }) => time));
    expect([...found.designIndex]).toEqual(expected.map(({ design }) => design));

    // If only some designs are given, they are identified by their indices.
    const some = Uint32Array.from(timeMs.keys()).filter((design) => !Number.isNaN(timeMs[design]));
    const times = timeMs.filter((time) => !Number.isNaN(time));
    expect(bestOfCells(times, some, first, listed, cells)).toEqual(found);

    const valid = expected.filter(({ design }) => design !== NO_DESIGN);
    const [best] = valid.sort((a, b) => a.time - b.time || a.design - b.design);
    expect(bestCell(found)).toEqual({ best: best?.time ?? NaN, bestDesign: best?.design ?? -1 });
  });
});

/** Sorts stably as a reference for the radix sort. Minus zero equals zero, and Infinity − Infinity would be NaN. */
function reference(items: Uint32Array, values: ArrayLike<number>): number[] {
  return Array.from(items).sort((a, b) => Number(values[a] > values[b]) - Number(values[a] < values[b]));
}

/** Generates neighbours that a float32 cannot separate, negative numbers, both zeros, infinities, and repeats. */
const troublesome = fc.oneof(
  fc.double({ noNaN: true }),
  whole(0, 40).map((step) => 1 + step * Number.EPSILON),
  fc.constantFrom(0, -0, 1, -1, Infinity, -Infinity, 2 ** 24 + 1, 2 ** 24),
  fc.constantFrom(Number.MIN_VALUE, -Number.MIN_VALUE, Number.MAX_VALUE),
  whole(-5, 5),
);

const fewOrMany = fc.oneof(whole(0, 12), whole(0, 65_535));

describe('sortByValue', () => {
  it('equals Array.sort over float64 values, and is stable for equal ones', () => {
    forAllOf(400)(fc.array(troublesome, { maxLength: 300 }), fc.infiniteStream(fc.nat()), (list, picks) => {
      const values = Float64Array.from(list);
      // The items are in random order, and some are left out.
      const items = Uint32Array.from(
        list.map((_, i) => i).sort((a, b) => ((a * 7919) % 311) - ((b * 7919) % 311) || a - b),
      ).filter(() => picks.next().value % 8 !== 0);
      const given = items.slice();
      expect(Array.from(sortByValue(items, values))).toEqual(reference(items, values));
      expect(items).toEqual(given);
    });
  });

  it('equals Array.sort over float32 and 16-bit columns, as sortByKey does', () =>
    forAll(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true })), fc.array(fewOrMany), (floats, words) => {
      for (const values of [Float32Array.from(floats), Uint16Array.from(words)]) {
        const items = Uint32Array.from(values, (_, i) => values.length - 1 - i);
        expect(Array.from(sortByValue(items, values))).toEqual(reference(items, values));
        if (values instanceof Uint16Array)
          expect(Array.from(sortByKey(items, values, 65_536))).toEqual(reference(items, values));
      }
    }));
});
