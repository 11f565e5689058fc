import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compareContention, contentionFromStream, disturbances } from '../../src-workers/bench/cpu/analysis.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';

/** The expected figures are rounded: bandwidths to three decimals, errors in percent to one decimal. */
const FILES = [
  {
    file: 'cpu-xeon-2-cores.jsonl',
    bandwidthsGbS: [15.749, 29.686],
    saturatingCores: 2,
    warnings: [],
    launches: [15, 2],
    errorsPercent: {
      'triangular-2': [-39.5, -14.5, -9.3, -12.8, -12.8, -12.8],
      'imbalanced-stream-2': [-30.9, -2.4, 3.6, -0.4, -0.4, -0.4],
    },
  },
  {
    // The machine was busy during this recording. The figures test the analysis, and do not describe a processor.
    file: 'cpu-xeon-2-cores-busy.jsonl',
    launches: [9, 1],
    bandwidthsGbS: [5.052, 3.762],
    saturatingCores: 1,
    warnings: ['stream-1', 'stream-2', 'triangular-2', 'imbalanced-stream-2'],
    errorsPercent: {
      'triangular-2': [-81.8, -86.4, -72.8, -81.8, -81.8, -78.7],
      'imbalanced-stream-2': [-14.7, -36.1, 27.9, -14.7, -14.7, -0.1],
    },
  },
];
/** Models in the order of the errors above. */
const MODELS = ['no-imbalance', 'no-contention', 'full-contention', 'two-phase-tabulated', 'two-phase', 'staircase'];

async function measured(file: string) {
  const bytes = readFileSync(new URL(`../data/measured/${file}`, import.meta.url));
  return unwrap(await parseBenchResults(bytes, file));
}

test.each(FILES)('reads $file correctly and without a warning', async ({ file, launches }) => {
  const { device, cases, warnings, done } = await measured(file);
  expect([device?.backend, device?.multiprocessors, warnings, done]).toEqual(['cpu', 2, [], true]);
  const wanted = ['stream-1', 'stream-2', 'triangular-2', 'imbalanced-stream-2'].map((id) => [id, true, ...launches]);
  expect(cases.map((each) => [each.case.id, each.correct, each.timesMs.length, each.warmUpMs.length])).toEqual(wanted);
});

test.each(FILES)('finds β, ρ, K, the errors of the models and the warnings of $file', async (expected) => {
  const { cases } = await measured(expected.file);
  const found = unwrap(contentionFromStream(cases));
  const rounded = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;
  const bandwidths = found.bandwidth.map(({ value }) => value);
  expect(bandwidths.map((value) => rounded(value, 3))).toEqual(expected.bandwidthsGbS);
  expect(found.memory.singleCoreBandwidthGbS).toBe(bandwidths[0]);
  expect(found.memory.fullBandwidthGbS).toBe(Math.max(...bandwidths));
  expect(found.saturatingCores).toBe(expected.saturatingCores);
  const errors = compareContention(found, cases).map(({ workload, cores, models }) => {
    expect(models.map(({ model }) => model)).toEqual(MODELS);
    const id = `${workload === 'amdahl' ? 'imbalanced-stream' : workload}-${cores}`;
    return [id, models.map(({ error }) => rounded(100 * error, 1))];
  });
  expect(Object.fromEntries(errors)).toEqual(expected.errorsPercent);
  expect(disturbances(cases).map((warning) => warning.split(':')[0])).toEqual(expected.warnings);
});
