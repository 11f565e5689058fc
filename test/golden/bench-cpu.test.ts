import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { contentionAnalysis } from '../../src-workers/bench/cpu/analysis.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';

const FILE = 'cpu-xeon-2-cores-busy.jsonl';

/** Of a busy machine, see the README beside the file: the figures hold the analysis, they describe no processor. */
const BANDWIDTHS_GBS = [5.052, 3.762];
const ERRORS_PERCENT = {
  'triangular-2': {
    'no-imbalance': -81.8,
    'no-contention': -86.4,
    'full-contention': -72.8,
    'two-phase-tabulated': -81.8,
    'two-phase': -81.8,
    staircase: -78.7,
  },
  'imbalanced-stream-2': {
    'no-imbalance': -14.7,
    'no-contention': -36.1,
    'full-contention': 27.9,
    'two-phase-tabulated': -14.7,
    'two-phase': -14.7,
    staircase: -0.1,
  },
};

async function measured() {
  const bytes = readFileSync(new URL(`../data/measured/${FILE}`, import.meta.url));
  return unwrap(await parseBenchResults(bytes, FILE));
}

test('a file that the program wrote is read without a warning, and every result in it is correct', async () => {
  const { device, cases, warnings, done } = await measured();
  expect([device?.backend, device?.multiprocessors, warnings, done]).toEqual(['cpu', 2, [], true]);
  expect(cases.map((each) => [each.case.id, each.correct, each.timesMs.length, each.warmUpMs.length])).toEqual(
    ['stream-1', 'stream-2', 'triangular-2', 'imbalanced-stream-2'].map((id) => [id, true, 9, 1]),
  );
});

test('its β, ρ, K and the errors of the models', async () => {
  const found = unwrap(contentionAnalysis((await measured()).cases));
  // The figures above are rounded to three and one decimals.
  found.bandwidthGbS.forEach((value, i) => expect(Math.abs(value - BANDWIDTHS_GBS[i])).toBeLessThanOrEqual(0.0005));
  expect([found.singleCoreGbS, found.fullGbS, found.kneeCores]).toEqual([
    found.bandwidthGbS[0],
    found.bandwidthGbS[0],
    1,
  ]);
  const errors = found.workloads.map(({ id, models }) => [
    id,
    Object.fromEntries(models.map(({ model, error }) => [model, Math.round(error * 1000) / 10])),
  ]);
  expect(Object.fromEntries(errors)).toEqual(ERRORS_PERCENT);
});

test('it is told that the machine was busy', async () => {
  const { warnings } = unwrap(contentionAnalysis((await measured()).cases));
  expect(warnings).toHaveLength(4);
  expect(warnings[0]).toBe('stream-1: its threads were on a core for 32 % of the time; other programs had the rest.');
});
