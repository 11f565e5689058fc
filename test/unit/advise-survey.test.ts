import { expect, it } from 'vitest';
import { coarseAxes, coarseDesigns } from '../../src-workers/advise/coarse.ts';
import { createMemory } from '../../src-workers/advise/earlier.ts';
import { bestMaps, mapShape } from '../../src-workers/advise/maps.ts';
import { surveyDesigns, surveyFastest, predictTimes, type DesignPart } from '../../src-workers/advise/survey.ts';
import { AXIS, decodeInto, spaceSize } from '../../src-workers/domain/space.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { AGREEMENT_FRACTION, tieTable } from '../../src-workers/sweep/ties.ts';
import { oneDesign, planOf } from './sweep-plans.ts';

/** Some of the designs are invalid: large blocks with over 64 registers per thread, and grids that exceed the units. */
const AXES: StudyFile['axes'] = {
  threadsPerUnit: [1, 4, 32],
  registerCap: [null, 40],
  unitsPerThread: [1, 4],
  blocksPerMultiprocessor: { from: 1, to: 43, step: 2 },
  blockThreads: { from: 32, to: 1280, step: 32 },
};

async function example(axes: StudyFile['axes'] = AXES) {
  const kernel = { name: 'k', registersPerThread: 80, instructionsPerIteration: 40, serialFraction: 0.05 };
  const plan = await planOf(oneDesign({ axes, kernel }));
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  const ties = tieTable(plan.axes, () => AGREEMENT_FRACTION);
  const parts = (list: readonly DesignPart[]) => list.map((part) => surveyDesigns(predictor, part, ties).cells);
  const designs = Uint32Array.from({ length: size }, (_, design) => design);
  return { plan, predictor, size, parts, designs };
}

/** Computes the cells by decoding every design. */
function brute(counts: readonly number[], times: Float64Array) {
  const { maps, rows, columns } = mapShape(counts);
  const cells = Array.from({ length: maps }, () => Array.from({ length: rows * columns }, (): number[] => []));
  const at = new Int32Array(counts.length);
  times.forEach((time, design) => {
    decodeInto(at, counts, design);
    const row = Math.floor((at[AXIS.launch] * rows) / counts[AXIS.launch]);
    const column = Math.floor((at[AXIS.blockThreads] * columns) / counts[AXIS.blockThreads]);
    cells[at[AXIS.threadsPerUnit]][row * columns + column].push(time);
  });
  return cells.map((map) => map.map((all) => Math.min(...all.filter((time) => !Number.isNaN(time)))));
}

it('small maps of the landscape contain the best design of each cell, however the space is cut into parts', async () => {
  const { predictor, size, parts, designs } = await example();
  const { counts } = predictor;
  const times = predictTimes(predictor, designs);
  const expected = brute(counts, times);
  expect(mapShape(counts)).toEqual({ maps: 3, rows: 24, columns: 32 });
  for (const step of [size, 333]) {
    const ranges = Array.from({ length: Math.ceil(size / step) }, (_, at) => {
      return { first: at * step, count: Math.min(step, size - at * step) };
    });
    const { maps } = bestMaps(counts, parts(ranges).reverse(), null);
    maps.forEach(({ timeMs, best, bestMs }, map) => {
      const seen = Array.from(timeMs, (time) => (Number.isNaN(time) ? Infinity : time));
      expect(seen).toEqual(expected[map].map(Math.fround));
      expect(bestMs).toBe(Math.min(...expected[map]));
      expect(times[best]).toBe(bestMs);
    });
    expect(maps.some(({ timeMs }) => timeMs.some(Number.isNaN))).toBe(true);
    expect(maps.some(({ timeMs }) => !timeMs.every(Number.isNaN))).toBe(true);
  }
});

it('small maps of the landscape give each cell the time of the nearest predicted cell if the prediction is coarse', async () => {
  const { plan, predictor, parts } = await example();
  const { counts } = predictor;
  const { rows, columns } = mapShape(counts);
  const designs = coarseDesigns(plan.axes);
  const { maps } = bestMaps(counts, parts([designs]), coarseAxes(plan.axes));
  const at = new Int32Array(counts.length);
  const known = new Map<number, number>();
  predictTimes(predictor, designs).forEach((time, entry) => {
    decodeInto(at, counts, designs[entry]);
    if (at[AXIS.threadsPerUnit] !== 1) return;
    const cell =
      Math.floor((at[AXIS.launch] * rows) / counts[AXIS.launch]) * columns +
      Math.floor((at[AXIS.blockThreads] * columns) / counts[AXIS.blockThreads]);
    const before = known.get(cell) ?? NaN;
    known.set(cell, Number.isNaN(time) || before <= time ? before : time);
  });
  expect(known.size).toBeLessThan((rows * columns) / 10);
  maps[1].timeMs.forEach((time, cell) => {
    const distance = (other: number) => [
      Math.abs(Math.floor(other / columns) - Math.floor(cell / columns)),
      Math.abs((other % columns) - (cell % columns)),
    ];
    const near = [...known.keys()].map((other) => ({ other, by: distance(other) }));
    const rowsAway = Math.min(...near.map(({ by }) => by[0]));
    const columnsAway = Math.min(...near.map(({ by }) => by[1]));
    const times = near
      .filter(({ by }) => by[0] === rowsAway && by[1] === columnsAway)
      .map(({ other }) => Math.fround(known.get(other)!));
    expect(times).toContainEqual(time);
  });
});

it('small maps of the landscape have no times for an axis without a valid design', async () => {
  const { predictor, size, parts } = await example({ ...AXES, blockThreads: [2048], threadsPerUnit: [1, 2] });
  const { maps, columns } = bestMaps(predictor.counts, parts([{ first: 0, count: size }]), null);
  expect(columns).toBe(1);
  for (const { timeMs, best, bestMs } of maps) {
    expect(timeMs.every(Number.isNaN)).toBe(true);
    expect([best, bestMs]).toEqual([-1, NaN]);
  }
});

/** Tells the survey that its time is over once a valid design is found. */
const isOver = (isFound: boolean): boolean => isFound;

it('a glance ends with the first valid design if its time has passed, and is exact if it has enough time', async () => {
  const { predictor, designs } = await example({
    threadsPerUnit: [1, 4, 32],
    balancing: ['none', 'dynamic-fetch'],
    unitsPerThread: [1, 4],
    blockThreads: { from: 32, to: 1280, step: 32 },
  });
  const timeMs = predictTimes(predictor, designs);
  const byTime = [...designs].filter((design) => timeMs[design] > 0).sort((a, b) => timeMs[a] - timeMs[b]);
  const invalid = [...designs].filter((design) => Number.isNaN(timeMs[design]));
  const glance = (first: readonly number[], options: { leading: number; isOver?: typeof isOver }) =>
    surveyFastest(predictor, Uint32Array.from(new Set([...first, ...designs])), { isOver, ...options });

  const leading = [...invalid.slice(0, 2), byTime[7], byTime[0]];
  const known = glance(leading, { leading: leading.length });
  expect([...known.designs]).toEqual([byTime[7]]);
  expect(known.columns.timeMs[0]).toBe(timeMs[byTime[7]]);
  expect([known.predicted, known.invalid]).toEqual([3, 2]);
  // If no valid design was known before, the glance finds one among the others.
  const unknown = glance(invalid, { leading: 0 });
  expect(unknown.designs).toHaveLength(1);
  expect(unknown.columns.timeMs[0]).toBe(timeMs[unknown.designs[0]]);
  expect(unknown.predicted).toBeLessThan(designs.length);

  const exact = surveyFastest(predictor, designs);
  const found = glance(byTime.slice(5, 20), { leading: 15, isOver: () => false });
  expect([found.predicted, found.invalid]).toEqual([designs.length, invalid.length]);
  expect([...found.designs].sort((a, b) => a - b)).toEqual([...exact.designs]);
});

it('after an edit, only designs that can be the fastest by their earlier times are predicted again', async () => {
  const { plan, predictor, size, designs } = await example();
  const memory = createMemory(size, null);
  surveyFastest(predictor, designs, { memory });
  const counted = (times: Float32Array) => times.reduce((count, ms) => count + Number(ms > 0), 0);
  const edited = createPredictor({ ...plan, kernel: { ...plan.kernel, instructionsPerIteration: 50 } });
  const exact = surveyFastest(edited, designs);
  const after = createMemory(size, memory.own);
  expect(surveyFastest(edited, designs, { memory: after })).toEqual(exact);
  expect(counted(after.own.timeMs)).toBeLessThan(counted(memory.own.timeMs) / 2);
  // Times that were too long exclude too many designs, until the first prediction shows it.
  memory.own.timeMs.forEach((ms, design, all) => (all[design] = 1.5 * ms));
  const corrected = createMemory(size, memory.own);
  expect(surveyFastest(edited, designs, { memory: corrected })).toEqual(exact);
  expect(corrected.lowest[0]).toBeLessThan(0.8);
});
