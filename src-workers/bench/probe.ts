import type { BenchRecord } from '../domain/benchmark.ts';
import { firstIndex } from '../numeric/search.ts';
import { mean } from '../numeric/statistics.ts';

/**
 * A probe runs a few designs on a few units, and in further rounds on more units, until a launch is long enough to
 * extrapolate from. The last two rounds determine a time that is linear in the units.
 */

/** Times of a round, by the clock of the process that reads the records. */
export interface ProbeTimes {
  readonly units: number;
  readonly startMs: number;
  readonly onceMs: number;
  readonly prepareMs: number;
  readonly launchMs: number;
  readonly slowestLaunchMs: number;
}

export interface TimedRecord {
  readonly atMs: number;
  readonly record: BenchRecord;
}

/** A probe launches this many of the chosen designs, spread over all of them. */
export const PROBE_DESIGNS = 6;
export const PROBE_WARM_UPS = 1;
export const PROBE_REPEATS = 2;

const FIRST_UNITS = 1024;
const LONG_LAUNCH_MS = 50;
const WANTED_LAUNCH_MS = 150;
const MAX_ROUNDS = 4;

/** A round with a timed launch ends after this time, ms. So long a round shows that the device is slow. */
const ROUND_MS = 5000;

export function isProbeEnough(records: readonly TimedRecord[]): boolean {
  const started = records.find(({ record }) => record.type === 'device');
  const last = records.at(-1);
  if (!started || !last || last.atMs - started.atMs < ROUND_MS) return false;
  return records.some(({ record }) => record.type === 'sample' && !record.warmUp);
}

/** Returns null if no design of the round was timed. `atMs` counts from the start of the program. */
export function probeTimes(units: number, records: readonly TimedRecord[]): ProbeTimes | null {
  let startMs = 0;
  let lastMs = 0;
  let begunMs = 0;
  let about: string | null = null;
  const samples: { readonly atMs: number; readonly timeMs: number }[] = [];
  const cases: { readonly launchMs: number; readonly prepareMs: number }[] = [];
  const close = (): void => {
    if (samples.length > 0) {
      const [first, ...others] = samples;
      const timed = others.length > 0 ? others : [first];
      const timeMs = timed.reduce((sum, one) => sum + one.timeMs, 0) / timed.length;
      // If a program writes all its records at once, only the device's own times are useful.
      const gapMs = others.length > 0 ? (others.at(-1)!.atMs - first.atMs) / others.length : 0;
      const launchMs = Math.max(timeMs, gapMs);
      cases.push({ launchMs, prepareMs: Math.max(0, lastMs - begunMs - samples.length * launchMs) });
    }
    samples.length = 0;
    begunMs = lastMs;
  };
  for (const { atMs, record } of records) {
    if (record.type === 'device') {
      startMs = atMs;
      begunMs = atMs;
    }
    if (!('case' in record)) continue;
    if (about !== null && record.case !== about) close();
    about = record.case;
    lastMs = atMs;
    if (record.type === 'sample') samples.push({ atMs, timeMs: record.timeNs / 1e6 });
  }
  close();
  if (cases.length === 0) return null;
  const launches = cases.map(({ launchMs }) => launchMs);
  // The time of the first design includes the work that is done once for all designs, so it does not count here.
  const prepareMs = mean((cases.length > 1 ? cases.slice(1) : cases).map((one) => one.prepareMs));
  return {
    units,
    startMs,
    onceMs: Math.max(0, cases[0].prepareMs - prepareMs),
    prepareMs,
    launchMs: mean(launches),
    slowestLaunchMs: Math.max(...launches),
  };
}

/** Returns the units of the next round; null if the rounds are enough. Without `parts`, each round has all units. */
export function nextProbeUnits(rounds: readonly ProbeTimes[], allUnits: number, parts: boolean): number | null {
  const last = rounds.at(-1);
  if (!last) return parts ? Math.min(FIRST_UNITS, allUnits) : allUnits;
  if (last.units >= allUnits || last.slowestLaunchMs >= LONG_LAUNCH_MS || rounds.length >= MAX_ROUNDS) return null;
  // A small launch leaves a part of the device idle, so its time grows at most in proportion to its units.
  const wanted = Math.ceil((last.units * WANTED_LAUNCH_MS) / last.slowestLaunchMs);
  return wanted > allUnits / 2 ? allUnits : wanted;
}

function collectTimes(rounds: readonly ProbeTimes[], units: number): ProbeTimes {
  const last = rounds.at(-1)!;
  const before = rounds.at(-2);
  const at = (name: Exclude<keyof ProbeTimes, 'units'>): number => {
    const mostSlope = last[name] / last.units;
    const slope = before ? (last[name] - before[name]) / (last.units - before.units) : mostSlope;
    return last[name] + Math.min(mostSlope, Math.max(0, slope)) * (units - last.units);
  };
  return {
    units,
    startMs: at('startMs'),
    onceMs: at('onceMs'),
    prepareMs: at('prepareMs'),
    launchMs: at('launchMs'),
    slowestLaunchMs: at('slowestLaunchMs'),
  };
}

export interface AskedMeasurement {
  readonly units: number;
  readonly designs: number;
  readonly repeats: number;
  readonly warmUps: number;
  readonly timeLimitMs: number;
  readonly caseTimeLimitMs: number;
  readonly parts: boolean;
  /** Number of programs that are built in parallel before the first launch; null if designs share a program. */
  readonly buildsAtOnce: number | null;
}

export interface FittingMeasurement {
  readonly units: number;
  readonly designs: number;
  readonly repeats: number;
  readonly estimateMs: number;
  readonly fullMs: number;
}

/** A 95 % interval of the median needs 6 repeats, and one more allows for an outlier. */
const FEWEST_REPEATS = 7;
/** The fraction of a design's time limit that the slowest probed design may take. An even slower design may exist. */
const CASE_SHARE = 0.5;
/** Minimum time of a launch with fewer units, as a multiple of the time of a launch without units. */
const FLOORS = 10;

/**
 * Reduces a measurement until it fits in its time limit: first the repeats, which only affect how certain a median is,
 * then the units, down to a shortest launch, then the designs. Units also shrink if a design would exceed its limit.
 */
export function fittingMeasurement(rounds: readonly ProbeTimes[], asked: AskedMeasurement): FittingMeasurement {
  const { warmUps, timeLimitMs, caseTimeLimitMs, parts, buildsAtOnce } = asked;
  const builds = (designs: number): number => (buildsAtOnce === null ? 1 : Math.ceil(designs / buildsAtOnce));
  const probedBuilds = builds(Math.min(asked.designs, PROBE_DESIGNS));
  const estimate = (units: number, designs: number, repeats: number): number => {
    const { startMs, onceMs, prepareMs, launchMs } = collectTimes(rounds, units);
    const startAllMs = (startMs * builds(designs)) / probedBuilds;
    return startAllMs + onceMs + designs * (prepareMs + (repeats + warmUps) * launchMs);
  };
  const isInTime = (units: number, designs: number, repeats: number): boolean =>
    estimate(units, designs, repeats) <= timeLimitMs;
  const isEachInTime = (units: number, repeats: number): boolean => {
    const { prepareMs, slowestLaunchMs } = collectTimes(rounds, units);
    return prepareMs + (repeats + warmUps) * slowestLaunchMs <= CASE_SHARE * caseTimeLimitMs;
  };

  const fewest = Math.min(asked.repeats, FEWEST_REPEATS);
  let { units, designs, repeats } = asked;
  while (repeats > fewest && !(isInTime(units, designs, repeats) && isEachInTime(units, repeats))) repeats -= 1;
  if (parts) {
    // With fewer units than in the first round, a design might not have enough blocks to fill the device.
    const least = Math.min(units, rounds[0].units);
    const most = mostUnits(least, units, (some) => isEachInTime(some, repeats));
    const longMs = Math.max(LONG_LAUNCH_MS, FLOORS * collectTimes(rounds, 0).launchMs);
    const isShort = (some: number): boolean => collectTimes(rounds, some).launchMs < longMs;
    const leastLong = isShort(least) ? Math.min(most, mostUnits(least, most, isShort) + 1) : least;
    units = mostUnits(leastLong, most, (some) => isInTime(some, designs, repeats));
    if (units < asked.units) units = Math.max(leastLong, twoDigits(units));
  }
  const fewestDesigns = Math.min(designs, PROBE_DESIGNS);
  while (designs > fewestDesigns && !isInTime(units, designs, repeats)) designs -= 1;
  return {
    units,
    designs,
    repeats,
    estimateMs: estimate(units, designs, repeats),
    fullMs: estimate(asked.units, asked.designs, asked.repeats),
  };
}

function mostUnits(least: number, most: number, fits: (units: number) => boolean): number {
  return fits(most) ? most : firstIndex(least + 1, most, (units) => !fits(units)) - 1;
}

function twoDigits(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.floor(value / unit) * unit;
}
