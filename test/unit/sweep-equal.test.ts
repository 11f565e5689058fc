import fc from 'fast-check';
import { expect, it } from 'vitest';
import { allocateChunk, type PredictionColumns } from '../../src-workers/domain/columns.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { AXIS, type SpaceAxes } from '../../src-workers/domain/space.ts';
import { firstEquals, groupedDesigns } from '../../src-workers/sweep/equal.ts';
import { axisPosition, createRanking, rankedDesigns, type Ranking } from '../../src-workers/sweep/ranking.ts';
import { forAllOf } from '../for-all.ts';

const MULTIPROCESSORS = 2;
const device = (id: string) =>
  ({ kind: 'gpu', id, name: id, multiprocessors: MULTIPROCESSORS }) as unknown as GpuDevice;
const AXES: SpaceAxes = {
  devices: [device('a'), device('b')],
  threadsPerUnit: [1, 2],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'dynamic-fetch'],
  launch: [
    { kind: 'units-per-thread', value: 1 },
    { kind: 'per-multiprocessor', value: 2 },
    { kind: 'grid', value: 8 },
  ],
  registerCap: [null, 64, 32],
  blockThreads: [32, 64],
};
const SIZE = 2 * 2 * 2 * 2 * 3 * 3 * 2;
const REGISTERS = 40;

const columnsOf = fc
  .array(
    fc.record({
      // There are few distinct values. Some times differ only by rounding.
      time: fc.constantFrom(NaN, 1, 1 + 1e-12, 1 + 1e-7, 2),
      grid: fc.constantFrom(4, 8),
      resident: fc.constantFrom(1, 2, 16),
    }),
    { minLength: SIZE, maxLength: SIZE },
  )
  .map((rows): PredictionColumns => ({
    ...allocateChunk(0, SIZE),
    timeMs: Float64Array.from(rows, ({ time }) => time),
    residentBlocks: Uint16Array.from(rows, ({ resident }) => resident),
    invalidReason: Uint8Array.from(rows, ({ time }) => (Number.isNaN(time) ? 1 : 0)),
    gridBlocks: Float64Array.from(rows, ({ grid }) => grid),
  }));

/** Compares two designs by the definition of equality, field by field. */
function areEqual(ranking: Ranking, a: number, b: number): boolean {
  const { columns } = ranking;
  const at = (axis: number, design: number) => axisPosition(ranking, axis, design);
  const cap = (design: number) => Math.min(AXES.registerCap[at(AXIS.registerCap, design)] ?? Infinity, REGISTERS);
  // A launch that fetches has work only for the blocks that are resident at first.
  const blocks = (design: number) =>
    AXES.balancing[at(AXIS.balancing, design)] === 'dynamic-fetch'
      ? Math.min(columns.gridBlocks[design], MULTIPROCESSORS * columns.residentBlocks[design])
      : columns.gridBlocks[design];
  return (
    [AXIS.device, AXIS.threadsPerUnit, AXIS.balancing, AXIS.blockThreads].every(
      (axis) => at(axis, a) === at(axis, b),
    ) &&
    blocks(a) === blocks(b) &&
    cap(a) === cap(b) &&
    Math.abs(columns.timeMs[a] / columns.timeMs[b] - 1) <= 1e-9
  );
}

it('designs that differ only in irrelevant values are represented by the first design that equals them, and no two representatives are equal', () =>
  forAllOf(40)(columnsOf, (columns) => {
    const ranking = createRanking(AXES, columns);
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
  }));

it('designs that differ only in irrelevant values are one row at the place of the first one, and the counts of rows add up to all designs', () =>
  forAllOf(40)(columnsOf, fc.boolean(), (columns, fromEnd) => {
    const ranking = createRanking(AXES, columns);
    const first = firstEquals(ranking, REGISTERS);
    const designs = rankedDesigns(ranking, { positions: {}, ranges: [], validity: 'valid' }, 'blockThreads');
    const { list, counts } = groupedDesigns(designs, (design) => first[design], first.length, fromEnd, new Set());
    const read = (all: Uint32Array) => (fromEnd ? all.toReversed() : all);
    const seen = new Set<number>();
    const wanted = [...read(designs)].filter((design) => !seen.has(first[design]) && seen.add(first[design]));
    expect([...read(list)]).toEqual(wanted);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(designs.length);
  }));

it('designs that differ only in irrelevant values are all listed after their row when it is opened', () => {
  const first = Uint32Array.of(0, 0, 2, 0, 2);
  const designs = Uint32Array.of(2, 0, 1, 4, 3);
  const opened = groupedDesigns(designs, (design) => first[design], first.length, false, new Set([0]));
  expect([...opened.list]).toEqual([2, 0, 1, 3]);
  expect([...opened.counts]).toEqual([2, 3, 0, 0]);
  const fromEnd = groupedDesigns(designs, (design) => first[design], first.length, true, new Set([0]));
  expect([...fromEnd.list].reverse()).toEqual([3, 0, 1, 4]);
  expect([...fromEnd.counts].reverse()).toEqual([3, 0, 0, 2]);
});
