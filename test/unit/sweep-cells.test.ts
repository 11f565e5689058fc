import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bestCell, bestOfCells, NO_DESIGN, type CellAxis } from '../../src-workers/sweep/cells.ts';
import { forAll } from '../for-all.ts';

/** Generates axes in the order of their strides. An axis is either shown with a number of cells, or minimised over. */
const space = fc
  .array(fc.record({ count: fc.integer({ min: 1, max: 4 }), drawn: fc.integer({ min: 0, max: 4 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((axes) => {
    const size = axes.reduce((product, { count }) => product * count, 1);
    // Generates few distinct times, so that many are equal.
    const time = fc.constantFrom(NaN, 1, 2, 3);
    return fc.record({
      axes: fc.constant(axes),
      first: fc.integer({ min: 0, max: 3 }),
      timeMs: fc.array(time, { minLength: size + 3, maxLength: size + 3 }).map((times) => Float64Array.from(times)),
      turn: fc.integer({ min: 0, max: 3 }),
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
      const cell = cellAxes.reduce(
        (sum, axis) => sum + (axis.cells?.[Math.floor(design / axis.stride) % axis.count] ?? 0),
        0,
      );
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
