const NBSP = '\u00a0';

export interface TimeUnit {
  readonly name: 's' | 'ms' | 'µs' | 'ns';
  readonly perMs: number;
}
const UNITS: readonly TimeUnit[] = [
  { name: 's', perMs: 1e-3 },
  { name: 'ms', perMs: 1 },
  { name: 'µs', perMs: 1e3 },
  { name: 'ns', perMs: 1e6 },
];

/** Returns the largest unit in which a time, ms, is at least 1, or ns; ms for zero. */
export function timeUnit(timeMs: number): TimeUnit {
  if (!Number.isFinite(timeMs) || timeMs === 0) return UNITS[1];
  // A time that would round to 1,000 in one unit gets the next larger unit.
  return UNITS.find(({ perMs }) => Math.abs(timeMs) * perMs >= 0.99995) ?? UNITS[3];
}

/** Writes a time, ms, in a unit: `4.118`, `0.03120`, `1,204`. */
export function timeIn(unit: TimeUnit, timeMs: number): string {
  if (!Number.isFinite(timeMs)) return '–';
  const value = timeMs * unit.perMs;
  // A double has about 16 meaningful digits, so a larger number is written with an exponent.
  if (Math.abs(value) >= 1e16) return value.toExponential(2).replace('e+', 'e').replace('-', '\u2212');
  const size = Math.log10(Number(Math.abs(value).toPrecision(4)));
  const decimals = value === 0 ? 0 : Math.max(0, Math.min(7, 3 - Math.floor(size)));
  const text = Math.abs(value).toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return value < 0 ? `\u2212${text}` : text;
}

export function commonUnit(timesMs: Iterable<number>): TimeUnit {
  let least = Infinity;
  for (const ms of timesMs) if (ms > 0 && ms < least) least = ms;
  return timeUnit(least);
}

export function numericTimes(timesMs: Iterable<number>): {
  readonly unit: TimeUnit['name'];
  readonly of: (timeMs: number) => number;
} {
  const { name, perMs } = commonUnit(timesMs);
  // Digits beyond the fifteenth are rounding errors.
  return { unit: name, of: (ms) => Number((ms * perMs).toPrecision(15)) };
}

export interface TimeColumn {
  readonly unit: TimeUnit;
  readonly decimals: number;
}

/** Returns the unit and decimals of a list, such that the best time, ms, has four digits. */
export function timeColumn(bestMs: number): TimeColumn {
  const unit = timeUnit(bestMs);
  const size = bestMs > 0 && Number.isFinite(bestMs) ? Math.floor(Math.log10(bestMs * unit.perMs)) : 0;
  return { unit, decimals: Math.max(0, 3 - size) };
}

export function timeText(timeMs: number): string {
  const unit = timeUnit(timeMs);
  return Number.isFinite(timeMs) ? `${timeIn(unit, timeMs)}${NBSP}${unit.name}` : '–';
}

export function timeRange(lowMs: number, highMs: number): string {
  const unit = timeUnit(lowMs);
  return `${unit === timeUnit(highMs) ? timeIn(unit, lowMs) : timeText(lowMs)} to ${timeText(highMs)}`;
}

/** @param excess the time of the recommended design divided by the time of the fastest, minus 1 */
export function simplerSentence(excess: number, fastest: string): string {
  const longer = excess < 0.0005 ? 'as long as' : `${(100 * excess).toFixed(1)}${NBSP}% longer than`;
  return `It takes ${longer} ${fastest}. The model cannot tell the two apart, and this one is simpler.`;
}
