import { beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../src-workers/domain/benchmark.ts';
import { compareTimes } from '../../src-workers/models/calibration/verdict.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { lockstep, shareEngine } from '../command-line.ts';
import { encode } from '../data.ts';
import { useBench } from '../workplace.ts';

/** Returns nine repeats within 0.4 % of a time. */
const around = (timeMs: number): readonly number[] =>
  Array.from({ length: 9 }, (_, at) => timeMs * (1 + (at - 4) / 1000));

it.each<[string, readonly number[], readonly number[], Verdict]>([
  ['the same repeats', around(1), around(1), 'same'],
  ['a difference within the threshold', around(1), around(1.01), 'same'],
  ['slower by more than the threshold', around(1), around(1.05), 'slower'],
  ['faster by more than the threshold', around(1.05), around(1), 'faster'],
  ['about the threshold', around(1), around(1.02), 'cannot-tell'],
  ['noise beyond the threshold', [1, 1.2, 0.9, 1.1, 1.3, 0.8, 1, 1.1], around(1), 'cannot-tell'],
  ['too few repeats', around(1).slice(0, 6), around(2), 'cannot-tell'],
  ['times of a coarse clock', [2, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2], 'same'],
  ['no time at all', [0, 0, 0, 0, 0, 0, 0], around(1), 'cannot-tell'],
])('two measurements %s', (_what, before, after, verdict) =>
  expect(compareTimes(before, after, 0.02).verdict).toBe(verdict),
);

it('two measurements get the opposite verdict if the runs are exchanged', () => {
  const [one, other] = [compareTimes(around(1), around(1.05), 0.02), compareTimes(around(1.05), around(1), 0.02)];
  expect(one.ratio * other.ratio).toBeCloseTo(1, 12);
  expect(one.interval!.low * other.interval!.high).toBeCloseTo(1, 12);
});

it('two measurements have an interval that contains the ratio of medians in 95 % of cases, and rarely differ if there is no difference', () => {
  const uniform = mersenneTwister(7);
  // The times of kernels are skewed. They have a shortest time and an exponential tail, whose median is ln 2.
  const times = (n: number, scale: number) =>
    Array.from({ length: n }, () => scale * (1 - 0.1 * Math.log(1 - uniform())));
  const trials = 4000;
  let [covered, alarms] = [0, 0];
  for (let trial = 0; trial < trials; trial++) {
    const { interval } = compareTimes(times(15, 1), times(15, 1.1), 0);
    if (interval!.low <= 1.1 && 1.1 <= interval!.high) covered++;
    const { verdict } = compareTimes(times(15, 1), times(15, 1), 0);
    if (verdict !== 'cannot-tell') alarms++;
  }
  expect(covered / trials).toBeGreaterThan(0.95);
  expect(alarms / trials).toBeLessThan(0.01);
});

describe('measured runs', () => {
  const bench = useBench();
  const { call } = bench;
  shareEngine(() => bench.engine.context.databaseFile);
  /** Imports a cache of Kernel Tuner with the times of each block size. A size with null has failed. */
  const measured = async (device: string, times: Readonly<Record<number, readonly number[] | null>>) => {
    const entries = Object.entries(times).map(([size, list]) => {
      const result = list ? { time: list[4], times: list } : { time: 'RuntimeFailedConfig' };
      return { block_size_x: Number(size), ...result };
    });
    const head = { device_name: device, kernel_name: 'walk', tune_params_keys: ['block_size_x'] };
    const bytes = encode(JSON.stringify({ ...head, cache: Object.fromEntries(entries.entries()) }));
    return (await call('import.file', { fileName: `${device}.json`, bytes })).runId;
  };
  let [reference, slower, same, other, broken] = [0, 0, 0, 0, 0];
  beforeAll(async () => {
    reference = await measured('one', { 64: around(2), 128: around(1), 256: around(1.5) });
    slower = await measured('one', { 64: around(2), 128: around(1.2), 256: around(1.5) });
    same = await measured('one', { 128: around(1.005), 64: around(2), 512: around(9) });
    broken = await measured('one', { 64: around(2), 128: around(1), 256: null, 1024: null });
    other = await measured('other', { 64: around(1), 128: around(2), 256: around(1.2) });
  });

  it('have a verdict for each design, the fastest design of each run, and its cost in the others', async () => {
    const found = await call('bench.compareRuns', { ids: [reference, other, same] });
    const verdicts = found.designs.map(({ label, against }) => [label, against.map((one) => one?.verdict)]);
    expect(Object.fromEntries(verdicts)).toMatchObject({
      'walk block_size_x=64': [undefined, 'faster', 'same'],
      'walk block_size_x=128': [undefined, 'slower', 'same'],
      'walk block_size_x=512': [undefined, undefined, undefined],
    });
    const best = (size: number) => found.designs.findIndex(({ label }) => label === `walk block_size_x=${size}`);
    expect(found).toMatchObject({
      runs: [
        { device: 'one', best: best(128) },
        { device: 'other', best: best(64), againstFirst: { verdict: 'same' } },
        { device: 'one', best: best(128) },
      ],
      common: 2,
      // A block size of 64 takes twice the fastest time on the first device, and 128 does on the other device.
      oneForAll: { worst: 2 },
    });
    expect(found.cross).toEqual([[1, 2, 1.005], [2, 1, 2], [1, 2, 1.005]]); // prettier-ignore
    const { designs, oneForAll } = await call('bench.compareRuns', { ids: [reference, other] });
    expect([designs[oneForAll!.design].label, oneForAll!.worst]).toEqual(['walk block_size_x=256', 1.5]);
  });

  it('name runs with too few repeats, count designs that failed in the other run, and must differ', async () => {
    const ids = [reference, broken, reference];
    const twice = await bench.engine.call('bench.compareRuns', { ids, threshold: 0.02 });
    expect(twice).toFail(null, `Run ${reference} is named twice. Specify different runs.`);
    const few = await measured('one', { 64: around(2).slice(0, 6) });
    const { warnings } = await call('bench.compareRuns', { ids: [reference, few] });
    expect(warnings[0]).toMatch(`needs 7 repeats on both sides. These runs have designs with fewer: run ${few}.`);
    const found = await call('bench.compareRuns', { ids: [reference, broken] });
    expect(found.runs.map(({ lost }) => lost)).toEqual([0, 1]);
    const lost = `Designs of run ${reference} that failed or gave wrong results in run ${broken}: 1.`;
    expect(found.warnings).toContain(lost);
  });

  it('set the exit status for a build', async () => {
    for (const [status, ...args] of [
      [0, reference, same],
      [1, reference, slower],
      [0, reference, slower, '--threshold', '25%'],
      [0, slower, reference],
      [2, reference, 999],
      [2, reference],
      [2, reference, same, '--threshold', '2'],
      // The status is 1 if a design fails in the other run, unless it has already failed in the reference.
      [1, reference, broken],
      [0, reference, broken, '--best'],
      [0, broken, reference],
      // On the other device, one design is slower, but it is not the fastest design.
      [1, reference, other],
      [0, reference, other, '--best'],
    ]) {
      const run = await lockstep('compare', ...args.map(String), '--db', bench.engine.context.databaseFile);
      expect([...args, run.status]).toEqual([...args, status]);
      // The fastest design is counted only once.
      if (args[1] === slower && args.length === 2) expect(run.out).toMatch(/\nDesigns: 2 same, 0 faster, 1 slower, /);
    }
  });
});
