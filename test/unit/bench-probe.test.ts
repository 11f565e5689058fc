import { reducedText, startOf } from '../../src-main/contract/probe.ts';
import { takePart } from '../../src-workers/predict/ordered.ts';
import { describe, expect, it } from 'vitest';
import {
  fittingMeasurement,
  isProbeEnough,
  nextProbeUnits,
  probeTimes,
  type AskedMeasurement,
  type ProbeTimes,
  type TimedRecord,
} from '../../src-workers/bench/probe.ts';
import type { BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { forAll, real, whole } from '../for-all.ts';

const DEVICE = { type: 'device' } as BenchRecord;
const sample = (id: string, launch: number, timeMs: number): BenchRecord => ({
  type: 'sample',
  case: id,
  repeat: Math.max(0, launch - 1),
  warmUp: launch === 0,
  timeNs: timeMs * 1e6,
  clockMhz: null,
});
const check = (id: string): BenchRecord => ({ type: 'check', case: id, correct: true, message: '' });
const at = (atMs: number, record: BenchRecord): TimedRecord => ({ atMs, record });

describe('times of a round', () => {
  const records = [
    at(400, DEVICE),
    // All designs share 300 ms. This design takes 50 ms before its first launch of 10 ms, then 2 ms for its check.
    at(760, sample('a', 0, 9)),
    at(770, sample('a', 1, 9)),
    at(780, sample('a', 2, 9)),
    at(782, check('a')),
    at(852, sample('b', 0, 18)),
    at(872, sample('b', 1, 18)),
    at(892, sample('b', 2, 18)),
    at(894, check('b')),
  ];

  it('are the times between the records, including waiting', () => {
    const times = { startMs: 400, onceMs: 300, prepareMs: 52, launchMs: 15, slowestLaunchMs: 20 };
    expect(probeTimes(1000, records)).toEqual({ units: 1000, ...times });
    // If all records come at once, the times are those that the device reports. If no design ran, there are none.
    const together = records.map(({ record }) => at(900, record));
    expect(probeTimes(1000, together)).toMatchObject({ launchMs: 13.5, slowestLaunchMs: 18 });
    expect(probeTimes(1000, [at(1, DEVICE), at(2, { type: 'failed', case: 'a', message: 'too large' })])).toBeNull();
  });

  it('suffice after five seconds with one counted launch', () => {
    const slow = [at(100, DEVICE), at(4000, sample('a', 0, 3900)), at(8000, sample('a', 1, 3900))];
    expect(isProbeEnough(slow)).toBe(true);
    expect(isProbeEnough([at(100, DEVICE), at(8000, sample('a', 0, 7900))])).toBe(false);
    expect(isProbeEnough(records)).toBe(false);
  });
});

const round = (units: number, launchMs: number, more: Partial<ProbeTimes> = {}): ProbeTimes => {
  return { units, startMs: 0, onceMs: 0, prepareMs: 0, launchMs, slowestLaunchMs: launchMs, ...more };
};

it('units of the next round are few at first and grow until a launch is long, at most to all units', () => {
  expect([300, 1_000_000].map((units) => nextProbeUnits([], units, true))).toEqual([300, 1024]);
  expect(nextProbeUnits([], 1_000_000, false)).toBe(1_000_000);
  expect(nextProbeUnits([round(1024, 1)], 1_000_000, true)).toBe(153_600);
  expect(nextProbeUnits([round(1024, 1)], 200_000, true)).toBe(200_000);
  for (const last of [round(1024, 60), round(1_000_000, 1)]) expect(nextProbeUnits([last], 1_000_000, true)).toBeNull();
});

describe('a measurement that fits the time', () => {
  const asked: AskedMeasurement = {
    units: 100_000,
    designs: 20,
    repeats: 15,
    warmUps: 3,
    timeLimitMs: 120_000,
    caseTimeLimitMs: 60_000,
    parts: true,
    buildsAtOnce: null,
  };

  const fitting = (rounds: readonly ProbeTimes[], change: Partial<AskedMeasurement> = {}): readonly number[] => {
    const { units, designs, repeats } = fittingMeasurement(rounds, { ...asked, ...change });
    return [units, designs, repeats];
  };

  it('is complete if that is quick, and first has fewer repeats, because these change only the interval', () => {
    const rounds = [round(100_000, 10, { startMs: 500, onceMs: 100, prepareMs: 30 })];
    // The expected time is 500 + 100 + 20 · (30 + 18 · 10) = 4800 ms.
    const wanted = { units: 100_000, designs: 20, repeats: 15, estimateMs: 4800, fullMs: 4800 };
    expect(fittingMeasurement(rounds, asked)).toEqual(wanted);
    // With 15 repeats, 20 designs have 18 launches of 400 ms and take 144 s. With 12 repeats, 15 launches take 120 s.
    const expected = { units: 100_000, designs: 20, repeats: 12, estimateMs: 120_000, fullMs: 144_000 };
    expect(fittingMeasurement([round(100_000, 400)], asked)).toEqual(expected);
  });

  it('has fewer units if seven repeats are too many', () => {
    // A launch takes 3.3 s, like the Acts example on a software adapter. All launches would take 20 minutes.
    const found = fittingMeasurement([round(1000, 33), round(100_000, 3300)], asked);
    // In 120 s, each of 20 · 10 launches has 600 ms. The number of units is rounded down to two digits.
    expect(found).toMatchObject({ repeats: 7, designs: 20, units: 18_000, fullMs: 20 * 18 * 3300 });
    expect(found.estimateMs).toBeCloseTo(118_800, 6);
  });

  it('keeps the slowest design within half of its own limit, and all units of a CPU, with fewer designs', () => {
    const rounds = [round(1000, 1, { slowestLaunchMs: 60 }), round(100_000, 100, { slowestLaunchMs: 6000 })];
    expect(fitting(rounds, { timeLimitMs: 3_600_000 })).toEqual([50_000, 20, 7]);
    // Three designs of 10 launches of 3.3 s take 99 s, but the six designs of the probe are measured anyway.
    expect(fitting([round(100_000, 3300)], { parts: false })).toEqual([100_000, 6, 7]);
    expect(fitting([round(100_000, 1000)], { parts: false })).toEqual([100_000, 12, 7]);
  });

  it('keeps all units of a fast device, where preparing a design takes the time', () => {
    // On an H100, each of 200 designs of the geometric tail takes 70 ms, and 9 launches of 0.7 ms. The limit is 7.6 s.
    const rounds = [round(1024, 0.02, { prepareMs: 37 }), round(1_048_576, 0.7, { prepareMs: 70 })];
    const study = { ...asked, units: 1_048_576, designs: 200, repeats: 7, warmUps: 2, timeLimitMs: 7600 };
    const found = fittingMeasurement(rounds, study);
    // The number of designs is 7600 / (70 + 9 · 0.7).
    expect(found).toMatchObject({ units: 1_048_576, designs: 99, repeats: 7 });
    expect(found.estimateMs).toBeLessThanOrEqual(7600);
    expect(found.fullMs).toBeCloseTo(200 * 76.3, 6);
  });

  it('reduces units only as long as a launch stays long, and then designs', () => {
    // 200 designs of 10 launches take 400 s at 200 ms each, and 120 s at 60 ms. 120 designs at 50 ms take 60 s.
    const rounds = [round(1000, 2), round(100_000, 200)];
    expect(fitting(rounds, { designs: 200 })).toEqual([30_000, 200, 7]);
    expect(fitting(rounds, { designs: 200, timeLimitMs: 60_000 })).toEqual([25_000, 120, 7]);
    // A launch without units takes 20 ms. A launch must take several times as long to show the work, so all units stay.
    const slowStart = [round(1000, 21.8), round(100_000, 200)];
    expect(fitting(slowStart, { designs: 200, timeLimitMs: 60_000 })).toEqual([100_000, 30, 7]);
  });

  it('counts the builds of all designs, several at a time, and time that does not grow with the units', () => {
    // The probe built 6 designs at once in 5 s. On 16 cores, 200 designs need 13 such builds, and 100 designs need 7.
    const rounds = [round(100_000, 10, { startMs: 5000 })];
    const built = { ...asked, designs: 200, repeats: 7, parts: false, buildsAtOnce: 16 };
    expect(fittingMeasurement(rounds, built).fullMs).toBe(13 * 5000 + 200 * 100);
    expect(fitting(rounds, { ...built, timeLimitMs: 45_000 })).toEqual([100_000, 100, 7]);
    // A launch takes 40 ms with 10,000 units and 44 ms with 20,000, so with 100,000 it takes 76 ms, not 220 ms.
    const slow = [round(10_000, 40), round(20_000, 44)];
    expect(fittingMeasurement(slow, asked).fullMs).toBeCloseTo(20 * 18 * 76, 6);
  });

  it('fits the time, or is the smallest possible measurement', () => {
    const time = real(0.001, 10_000);
    forAll(time, time, whole(1, 1000), whole(1, 60), (launch, prepare, designs, repeats) => {
      const rounds = [round(1000, launch, { prepareMs: prepare })];
      const found = fittingMeasurement(rounds, { ...asked, designs, repeats });
      expect(found.repeats).toBeWithin(Math.min(repeats, 7), repeats);
      expect(found.estimateMs).toBeLessThanOrEqual(found.fullMs);
      if (found.designs > Math.min(designs, 6)) expect(found.estimateMs).toBeLessThanOrEqual(asked.timeLimitMs);
      expect(found.units).toBeGreaterThanOrEqual(1000);
      // A launch of fewer units still takes 50 ms, unless more units would exceed the limit of a design.
      const each = (units: number): number => (prepare * units) / 1000 + ((found.repeats + 3) * launch * units) / 1000;
      if (found.units < asked.units && each(found.units * 1.2) < 30_000)
        expect((launch * found.units) / 1000).toBeGreaterThanOrEqual(49.9);
    });
  });
});

describe('the words for what is left out', () => {
  const proposal = { units: 1000, ofUnits: 1000, designs: 99, ofDesigns: 200, repeats: 7, ofRepeats: 15, estimateMs: 7600, fullMs: 20_000 }; // prettier-ignore

  it('name designs, units and repeats, and are empty if nothing is', () => {
    const said = (words: string) => `A full measurement would take about 20 s. Measuring ${words}, in about 8 s.`;
    const few = said('99 of the 200 chosen designs (spread evenly over them) and 7 of 15 repeats');
    expect(reducedText(proposal)).toBe(few);
    const all = { ...proposal, designs: 200, repeats: 15 };
    expect([reducedText(all), reducedText({ ...all, units: 500 })]).toEqual(['', said('500 of 1,000 units')]);
  });

  it('become a request that measures what is left', () => {
    const { ofDesigns, ofRepeats, estimateMs, fullMs } = proposal;
    const probe = { ofDesigns, ofRepeats, estimateMs, fullMs };
    expect(startOf(proposal)).toEqual({ spreadDesigns: 99, repeats: 7, probe });
    expect(startOf({ ...proposal, designs: 200, units: 10 })).toEqual({ units: 10, repeats: 7, probe });
  });
});

it('a part of the units has the requested number, in stretches from the first unit to the last', () => {
  const lengths = Uint32Array.from({ length: 10_000 }, (_, unit) => unit);
  for (const part of [1, 255, 256, 257, 1000, 9999]) {
    const found = takePart(lengths, part);
    expect(found).toHaveLength(part);
    expect(new Set(found).size).toBe(part);
    expect(found[0]).toBe(0);
    if (part > 256) expect(found.at(-1)).toBe(9999);
  }
  expect([...takePart(lengths, 512).subarray(254, 258)]).toEqual([254, 255, 9744, 9745]);
  expect(takePart(lengths, 10_000)).toBe(lengths);
});
