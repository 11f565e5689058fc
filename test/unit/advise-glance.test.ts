import { expect, it } from 'vitest';
import { surveyFastest, predictTimes } from '../../src-workers/advise/survey.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { oneDesign, planOf } from './sweep-plans.ts';

/** Says that the time is over, so the survey ends as soon as it has found a valid design. */
const isOver = (isFound: boolean): boolean => isFound;

async function example() {
  const plan = await planOf(
    oneDesign({
      axes: {
        threadsPerUnit: [1, 4, 32],
        balancing: ['none', 'dynamic-fetch'],
        unitsPerThread: [1, 4],
        blockThreads: { from: 32, to: 1280, step: 32 },
      },
    }),
  );
  const predictor = createPredictor(plan);
  const designs = Uint32Array.from({ length: spaceSize(plan.axes) }, (_, design) => design);
  const timeMs = predictTimes(predictor, designs);
  const byTime = [...designs].filter((design) => !Number.isNaN(timeMs[design])).sort((a, b) => timeMs[a] - timeMs[b]);
  const invalid = [...designs].filter((design) => Number.isNaN(timeMs[design]));
  return { predictor, designs, timeMs, byTime, invalid };
}

it('a glance ends with the first valid design if its time has passed', async () => {
  const { predictor, designs, timeMs, byTime, invalid } = await example();
  const known = byTime[7];
  const first = [...invalid.slice(0, 2), known, byTime[0]];
  const list = Uint32Array.from(new Set([...first, ...designs]));
  const found = surveyFastest(predictor, list, Infinity, { isOver, leading: first.length });
  expect([...found.designs]).toEqual([known]);
  expect(found.columns.timeMs[0]).toBe(timeMs[known]);
  expect([found.predicted, found.invalid]).toEqual([3, 2]);
});

it('a glance finds a valid design among others if none was known before', async () => {
  const { predictor, designs, timeMs, invalid } = await example();
  const list = Uint32Array.from(new Set([...invalid, ...designs]));
  const found = surveyFastest(predictor, list, Infinity, { isOver, leading: 0 });
  expect(found.designs).toHaveLength(1);
  expect(found.columns.timeMs[0]).toBe(timeMs[found.designs[0]]);
  expect(found.predicted).toBeLessThan(list.length);
});

it('a glance is exact if it has enough time', async () => {
  const { predictor, designs, byTime, invalid } = await example();
  const exact = surveyFastest(predictor, designs, Infinity);
  const list = Uint32Array.from(new Set([...byTime.slice(5, 20), ...designs]));
  const found = surveyFastest(predictor, list, Infinity, { isOver: () => false, leading: 15 });
  expect([found.predicted, found.invalid]).toEqual([designs.length, invalid.length]);
  expect([...found.designs].sort((a, b) => a - b)).toEqual([...exact.designs]);
});
