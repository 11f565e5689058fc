import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LandscapeAxis, LandscapeGrid, ParallelSample } from '../../src-main/contract/api.ts';
import { fitTexts, freePlace, isLabelled, labelled, labelStride } from '../../src-renderer/charts/labels.ts';
import { timeColumn } from '../../src-renderer/format/numbers.ts';
import * as colour from '../../src-renderer/views/landscape/colour.ts';
import { hasStarvedRegion, lineLevels, marginals, oneWaveBoundary } from '../../src-renderer/views/landscape/grid.ts';
import * as zoom from '../../src-renderer/views/landscape/map-zoom.ts';
import { axisNarrowing, movedEnd, parallelAxes } from '../../src-renderer/views/landscape/parallel.ts';
import { axisLabels, prepareSlices } from '../../src-renderer/views/landscape/slices.ts';
import { chooseRoles, designAt, movedAlong, positionsOf } from '../../src-renderer/views/landscape/space.ts';
import { forAll, real, whole } from '../for-all.ts';

describe('OKLab scales', () => {
  const { changeStep, fittedClip, oklab, ramp, timeStep } = colour;
  const channels = (css: string) => (css.match(/\d+/g) ?? []).map(Number) as [number, number, number];
  const [WHITE, BLACK] = ['rgb(255, 255, 255)', 'rgb(0, 0, 0)'];

  it('are converted to OKLab and back', () =>
    forAll(whole(0, 255), whole(0, 255), whole(0, 255), (r, g, b) => {
      expect(colour.srgb(oklab([r, g, b]))).toEqual([r, g, b]);
    }));

  it('start and end at their first and last stops, and darken evenly between black and white', () => {
    const { css, packed } = ramp([WHITE, BLACK]);
    expect([css[0], css[255], packed[0]]).toEqual([WHITE, BLACK, 0xffffffff]);
    // Channels are whole numbers. The darkest grey above black has lightness 0.067, so smaller steps cannot occur.
    css.forEach((text, i) => expect(Math.abs(oklab(channels(text))[0] - (1 - i / 255))).toBeLessThan(0.067));
  });

  it('give the best the first colour, the baseline the middle one, and twice the best or slower the last one', () => {
    expect([4, 4 * Math.SQRT2, 8, 80].map((time) => timeStep(time, 4))).toEqual([0, 128, 255, 255]);
    expect([2, 4, 8].map((time) => changeStep(time, 4))).toEqual([0, 128, 255]);
    expect([timeStep(40, 4, 10), changeStep(40, 4, 10)]).toEqual([255, 255]);
  });

  it('cover most cells and the best of every map, so that no map has only the last colour', () => {
    const times = fc.array(fc.oneof(fc.constant(NaN), real(1, 60)), { maxLength: 30 });
    forAll(fc.array(times, { minLength: 1, maxLength: 5 }), (maps) => {
      const clip = fittedClip(1, maps);
      for (const map of maps) {
        const best = Math.min(...map.filter((time) => !Number.isNaN(time)));
        if (Number.isFinite(best)) expect(timeStep(best, 1, clip)).toBeLessThan(255);
      }
      const all = maps.flat().filter((time) => !Number.isNaN(time));
      expect(all.filter((time) => time <= clip).length).toBeGreaterThanOrEqual(Math.floor(0.75 * all.length));
    });
    expect(fittedClip(2, [[2, 2.4, 2.1], [3.4]])).toBe(2);
    expect(fittedClip(2, [[2, 2.1, 2.05]])).toBe(1.1);
    expect(fittedClip(1, [[1, 2], [30]])).toBe(50);
    expect(fittedClip(1, [[NaN]])).toBe(2);
  });

  it('keep their lightness in grey, and fade into the background', () => {
    const scale = ramp(['rgb(25, 33, 89)', 'rgb(30, 128, 156)', 'rgb(242, 241, 227)']);
    colour.greyed(scale).css.forEach((text, i) => {
      const grey = channels(text);
      expect(new Set(grey).size).toBe(1);
      // The limit is half a step of a channel where its curve is steepest.
      expect(Math.abs(oklab(grey)[0] - oklab(channels(scale.css[i]))[0])).toBeLessThan(0.005);
    });
    expect(colour.faded(ramp([BLACK, WHITE]), WHITE).css[0]).toBe('rgb(204, 204, 204)');
  });
});

describe('the visible part of a map', () => {
  const { movedMap, WHOLE_MAP, zoomedMap } = zoom;
  const cells = { nx: 32, ny: 20 };

  it('keeps the cell under the pointer, never has less than four cells, and can become the whole map again', () => {
    const at = { x: 0.25, y: 0.75 };
    const near = zoomedMap(WHOLE_MAP, 0.5, cells, at);
    // The pointer is at the same place of the map as before.
    expect(near).toEqual({ x: [0.125, 0.625], y: [0.375, 0.875] });
    expect(zoom.magnification(zoomedMap(WHOLE_MAP, 1e-6, cells))).toBeCloseTo(8, 9);
    expect(zoomedMap(near, 4, cells)).toBe(WHOLE_MAP);
    for (const by of [1.5, 1.1, 3]) expect(zoomedMap(zoomedMap(WHOLE_MAP, 1 / by, cells), by, cells)).toBe(WHOLE_MAP);
  });

  it('moves to the ends and no further, and to a cell that is not visible', () => {
    const near = zoomedMap(WHOLE_MAP, 0.5, cells);
    expect(movedMap(near, 9, -9)).toEqual({ x: [0.5, 1], y: [0, 0.5] });
    expect(movedMap(WHOLE_MAP, 1, 1)).toBe(WHOLE_MAP);
    for (const cell of [0, 31, 320, 639]) {
      const { x, y } = zoom.showingCell(near, cell, cells);
      expect(((cell % 32) + 0.5) / 32).toBeBetween(...x);
      expect((Math.floor(cell / 32) + 0.5) / 20).toBeBetween(...y);
    }
  });
});

it('a rectangle on the map becomes a part of the filter for each axis except the device', () => {
  expect(axisNarrowing('blockThreads', ['32', '64', '128'], [0, 1])).toEqual({ blockThreads: { from: 32, to: 64 } });
  expect(axisNarrowing('launch', ['1 per SM', 'grid 64'], [1])).toEqual({ launch: ['grid 64'] });
  expect(axisNarrowing('registerCap', ['none', '64', '32'], [0, 1])).toEqual({ registerCap: [null, 64] });
  expect(axisNarrowing('balancing', ['none', 'full-sort'], [0, 1])).toBeNull();
  expect(axisNarrowing('device', ['A', 'B'], [0])).toBeNull();
});

describe('the values of a grid', () => {
  /** Makes a grid from functions of the place. NaN is the time of an invalid design. */
  type At = (i: number, j: number) => number;
  function grid(nx: number, ny: number, time: At, waves: (j: number) => number = () => 1) {
    const cells = Array.from({ length: nx * ny }, (_, at) => [at % nx, Math.floor(at / nx)] as const);
    const timeMs = Float64Array.from(cells, ([i, j]) => time(i, j));
    return {
      xValues: Array.from({ length: nx }, (_, i) => String(32 * (i + 1))),
      yValues: Array.from({ length: ny }, (_, j) => `${j + 1} per SM`),
      timeMs,
      waves: Float32Array.from(cells, ([, j]) => waves(j)),
      best: Math.min(...timeMs.filter((value) => !Number.isNaN(value))),
    } as unknown as LandscapeGrid;
  }

  it('have lines of marginals from the best to the slowest time, up to twice the best', () => {
    expect([...lineLevels(Float64Array.of(4, 5, NaN, 6), 4)]).toEqual([0, 0.5, 1, 1]);
    expect([...lineLevels(Float64Array.of(4, 6, 80, 8), 4)]).toEqual([0, 0.5, 1, 1]);
    expect([...lineLevels(Float64Array.of(4, 4), 4)]).toEqual([0, 0]);
    expect([...lineLevels(Float64Array.of(NaN, NaN), NaN)]).toEqual([1, 1]);
  });

  it('have marginals with the least time of each line', () => {
    const times = fc.array(fc.oneof(fc.constant(NaN), real(1, 10)), { minLength: 12, maxLength: 12 });
    forAll(times, (values) => {
      const { x, y } = marginals(grid(4, 3, (i, j) => values[j * 4 + i]));
      const least = (list: number[]) => {
        const valid = list.filter((v) => !Number.isNaN(v));
        return valid.length > 0 ? Math.min(...valid) : NaN;
      };
      expect([...x]).toEqual([0, 1, 2, 3].map((i) => least([0, 1, 2].map((j) => values[j * 4 + i]))));
      expect([...y]).toEqual([0, 1, 2].map((j) => least([0, 1, 2, 3].map((i) => values[j * 4 + i]))));
    });
  });

  it('have a boundary at one wave, but not along invalid cells', () => {
    // Two rows have up to one wave, and the others have more. One column is invalid.
    const time = (i: number) => (i === 2 ? NaN : 1);
    const cells = grid(3, 4, time, (j) => (j + 1) / 2);
    expect(oneWaveBoundary(cells)).toEqual([
      { x1: 0, y1: 2, x2: 1, y2: 2 },
      { x1: 1, y1: 2, x2: 2, y2: 2 },
    ]);
  });

  it('have a starved region only if slow cells take less than a wave', () => {
    const time = (_: number, j: number) => (j < 2 ? 3 : 1);
    const starved = [0.3, 2].map((waves) => hasStarvedRegion(grid(6, 6, time, (j) => (j < 2 ? waves : 2))));
    expect(starved).toEqual([true, false]);
  });
});

describe('the space', () => {
  const axis = (id: string, label: string, ...values: readonly string[]) => ({ id, label, values, texts: values });
  const AXES: readonly LandscapeAxis[] = [
    axis('device', 'Device', 'a', 'b'),
    axis('threadsPerUnit', 'Threads per unit', '1', '2', '4'),
    axis('loop', 'Loop', 'nested'),
    axis('launch', 'Launch', '1 per SM', '2 per SM'),
    axis('blockThreads', 'Block size', '32', '64', '96', '128'),
  ];
  const ANY = { x: null, y: null, facet: null };

  it('splits design numbers into positions and joins them again', () => {
    for (let design = 0; design < 48; design += 1) expect(designAt(AXES, positionsOf(AXES, design))).toBe(design);
    expect(positionsOf(AXES, 47)).toEqual([1, 2, 0, 1, 3]);
    expect(positionsOf(AXES, movedAlong(AXES, 47, 'threadsPerUnit', 0))).toEqual([1, 0, 0, 1, 3]);
  });

  it.each([
    ['more than one value', ANY, ['blockThreads', 'launch', 'threadsPerUnit']],
    ['one value left', { x: 'loop', y: 'blockThreads', facet: '-' }, ['blockThreads', 'launch', null]],
    ['request', { x: 'device', y: 'threadsPerUnit', facet: 'device' }, ['device', 'threadsPerUnit', 'blockThreads']],
  ])('chooses axes by %s, each once', (_, asked, [x, y, facet]) =>
    expect(chooseRoles(AXES, asked)).toEqual({ x, y, facet }),
  );
  it('prefers the balancing for a CPU', () => {
    const roles = chooseRoles([...AXES, { ...AXES[0], id: 'balancing' }], ANY, true);
    expect(roles).toEqual({ x: 'balancing', y: 'launch', facet: null });
  });
});

describe('parallel coordinates', () => {
  const sample: ParallelSample = {
    axes: [
      { id: 'device', label: 'Device', categories: ['A', 'B'] },
      { id: 'registerCap', label: 'Register cap', categories: ['none', '64', '48'] },
      { id: 'blockThreads', label: 'Block size', categories: ['32', '64', '96', '128'] },
      { id: 'timeMs', label: 'Predicted, ms', categories: null },
    ],
    columns: [Float64Array.of(0), Float64Array.of(1), Float64Array.of(2), Float64Array.of(4)],
    designIndex: Float64Array.of(7),
    sampledFrom: 100,
  };
  const [cap, block, time] = parallelAxes(sample, 4, timeColumn(4)).map(({ axis }) => axis);

  it('put no cap above every cap, and the fastest on top', () => {
    expect([2, 1, 0].map((category) => cap.place(category))).toEqual([0, 0.5, 1]);
    expect([4, 8, 99].map((ms) => time.place(ms))).toEqual([1, 0, 0]);
  });

  it('turn a selection into a filter, and show the filter as the same selection', () => {
    const filter = { blockThreads: { from: 64, to: 96 } };
    expect(block.narrow(0.3, 0.7)).toEqual(filter);
    const shown = block.brushed(filter)!;
    expect(block.narrow(shown.low, shown.high)).toEqual(filter);
    expect(cap.narrow(0.6, 1)).toEqual({ registerCap: [null, 64] });
    expect(cap.brushed({ registerCap: [null] })).toEqual({ low: 1, high: 1 });
    expect([block.narrow(0, 1), time.brushed({})]).toEqual([null, null]);
  });

  it('become narrower value by value when an end moves, never cross the other end, and are cleared if everything is selected', () => {
    const up = movedEnd(block, null, 'low', 1)!;
    expect(block.narrow(up.low, up.high)).toEqual({ blockThreads: { from: 64, to: 128 } });
    expect(block.text(up.low)).toBe('64');
    expect(movedEnd(block, up, 'low', -1)).toBeNull();
    expect(movedEnd(block, up, 'high', -9)).toEqual({ low: up.low, high: up.low });
    expect(cap.text(movedEnd(cap, null, 'low', 2)!.low)).toBe('none');
    const move = fc.tuple(fc.constantFrom('low' as const, 'high' as const), whole(-60, 60));
    forAll(fc.array(move, { maxLength: 12 }), fc.constantFrom(cap, block, time), (moves, axis) => {
      let filter = {};
      for (const [end, by] of moves) {
        const span = movedEnd(axis, axis.brushed(filter), end, by);
        if (span) expect(span.low).toBeLessThanOrEqual(span.high);
        filter = (span && axis.narrow(span.low, span.high)) ?? {};
      }
    });
  });
});

it('slices are ascending if their values are numbers, and keep the design marked', () => {
  const [timeMs, designIndex] = [Float64Array.of(1, 2, 3), Float64Array.of(5, 6, 7)];
  const slice = { axis: 'registerCap', values: ['none', '64', '48'], timeMs, designIndex, at: 1 };
  expect(prepareSlices([slice], ['registerCap'], (axis) => axis)[0]).toEqual({
    ...slice,
    title: 'registerCap',
    values: ['48', '64', 'none'],
    timeMs: Float64Array.of(3, 2, 1),
    designIndex: Float64Array.of(7, 6, 5),
  });
});

describe('axes of slices', () => {
  it('have labels at the ends, at the chosen value, and at round values that leave room', () => {
    const kept = Array.from({ length: 32 }, (_, i) => i).filter((i) => isLabelled(i, 32, labelStride(32, 340, 46)));
    expect(kept.map((i) => (i + 1) * 32)).toEqual([32, 256, 512, 768, 1024]);
    expect(labelled(9, 2, null, 2)).toEqual([0, 3, 5, 8]);
    expect(labelled(9, 2, 4, 2)).toEqual([0, 4, 8]);
    expect(labelled(9, 2, 4, 1)).toEqual([0, 3, 4, 5, 8]);
  });

  // Launches that count different things keep their units, so that no two labels are equal.
  const MIXED = ['4 per slot', '4 per SM', 'grid 3584', '1 core', '4 cores'];
  it.each([
    ['launch', ['grid 3584', 'grid 16'], ['3,584', '16']],
    ['launch', ['16 per SM', '4 per SM'], ['16', '4']],
    ['launch', ['1 core', '1024 cores'], ['1', '1,024']],
    ['launch', MIXED, ['4/slot', '4/SM', '3,584', '1 core', '4 cores']],
    ['registerCap', ['none', '1024'], ['none', '1,024']],
    ['balancing', ['none', 'window-sort(64)'], ['none', 'window(64)']],
    ['device', ['A100 SXM4 40 GB', 'GeForce RTX 4090'], ['A100', 'RTX 4090']],
  ])('show values of %s without the words that its title already has', (axis, texts, labels) =>
    expect(axisLabels(axis, texts)).toEqual(labels),
  );

  it('are cut only as much as their band requires', () => {
    expect(fitTexts(['V100', 'quantile-buckets(4)'], 68)).toEqual(['V100', 'quantile…']);
    expect(fitTexts(['V100', 'quantile-buckets(4)'], 200)).toEqual(['V100', 'quantile-buckets(4)']);
  });

  it('have the label of a line where the curve leaves room', () => {
    const frame = { left: 30, right: 330, top: 4, widthPx: 90 };
    // The curve is slightly above the line on the right, and slightly below it on the left.
    const curve = [30, 130, 200, 330].map((x) => [x, x < 200 ? 66 : 52] as const);
    expect(freePlace(curve, 60, frame)).toEqual({ x: 240, above: false });
    // A line at the top has no room above it.
    expect(freePlace([], 10, frame).above).toBe(false);
    expect(freePlace([], 60, frame)).toEqual({ x: 240, above: true });
  });
});
