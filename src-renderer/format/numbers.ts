/** The format of numbers: a true minus, digits grouped by commas, and a no-break space before units. */

import type { TimeColumn } from '../../src-workers/domain/times.ts';

export * from '../../src-workers/domain/times.ts';

const MINUS = '\u2212';
export const NBSP = '\u00a0';

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function withTrueMinus(text: string): string {
  return text.startsWith('-') ? MINUS + text.slice(1) : text;
}

/** Formats a whole number: `1,290,240`; an en dash if not finite. */
export function count(value: number): string {
  if (isHuge(value)) return power(value);
  // Adding 0 removes the sign of a negative zero.
  return Number.isFinite(value) ? withTrueMinus(GROUPED.format(Math.round(value) + 0)) : '–';
}

/** Whether a number is too large for its digits to be useful. It is then written as `1.00e308`. */
function isHuge(value: number): boolean {
  return Number.isFinite(value) && Math.abs(value) >= 1e16;
}
function power(value: number): string {
  return withTrueMinus(value.toExponential(2).replace('e+', 'e'));
}

export function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return '–';
  if (isHuge(value)) return power(value);
  const text = Math.abs(value).toFixed(decimals);
  const [whole, fraction] = text.split('.');
  const grouped = GROUPED.format(Number(whole));
  const negative = value < 0 && Number(text) !== 0;
  return `${negative ? MINUS : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`;
}

/** Formats a value: `12,345`, `0.05123`, `1.2e−5`. With decimals, it has at most `significant` digits. */
export function plain(value: number, significant = 4): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10 ** significant) return count(value);
  if (size < 1e-4) return withTrueMinus(value.toExponential(1).replace('e-', `e${MINUS}`));
  const rounded = Number(value.toPrecision(significant));
  const decimals = (String(Math.abs(rounded)).split('.')[1] ?? '').length;
  return fixed(rounded, decimals);
}

/** Formats the signed change in percent: `−29.7`, `+11.4`, `±0.0`; from 1,000 % without decimals: `+1,250`. */
export function change(value: number, reference: number, decimals = 1): string {
  const percent = (value / reference - 1) * 100;
  return signed(percent, Math.abs(percent) < 999.95 ? decimals : 0);
}

/** Formats a number with its sign: `+1.2`, `−3.4`, `±0.0`; an en dash if not finite. */
export function signed(value: number, decimals = 1): string {
  if (!Number.isFinite(value)) return '–';
  const text = fixed(Math.abs(value), decimals);
  if (Number(Math.abs(value).toFixed(decimals)) === 0) return `±${text}`;
  return `${value < 0 ? MINUS : '+'}${text}`;
}

export function percent(fraction: number, decimals = 1): string {
  return Number.isFinite(fraction) ? `${fixed(fraction * 100, decimals)}${NBSP}%` : '–';
}

/** Formats a time for a column, without its unit. `more` is added to the decimals of the column. */
export function inColumn(timeMs: number, { unit, decimals }: TimeColumn, more = 0): string {
  return fixed(timeMs * unit.perMs, Math.max(0, decimals + more));
}

export function factor(ratio: number): string {
  return `${fixed(ratio, ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0)}${NBSP}×`;
}

/** Formats a wall-clock duration: `80 ms`, `0.12 s`, `3.4 s`, `2 min 05 s`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 10) return `${fixed(ms, 1)}${NBSP}ms`;
  if (ms < 100) return `${fixed(ms, 0)}${NBSP}ms`;
  if (ms < 1000) return `${fixed(ms / 1000, 2)}${NBSP}s`;
  if (ms < 60_000) return `${fixed(ms / 1000, 1)}${NBSP}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) {
    const rest = seconds % 60 === 0 ? '' : ` ${String(seconds % 60).padStart(2, '0')}${NBSP}s`;
    return `${Math.floor(seconds / 60)}${NBSP}min${rest}`;
  }
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}${NBSP}h ${String(minutes % 60).padStart(2, '0')}${NBSP}min`;
}

/** Formats a number of bytes in decimal units: `64 B`, `41.8 MB`. */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let step = 0;
  let size = value;
  while (size >= 1000 && step < units.length - 1) {
    size /= 1000;
    step += 1;
  }
  return `${fixed(size, step === 0 || size >= 100 ? 0 : 1)}${NBSP}${units[step]}`;
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Parses a typed number: `1,024`, `1 024`, `0.05`, `1/21`, `2^20`, `1e-6`, `−3`. Returns `null` if it is not a number. */
export function parseNumber(text: string): number | null {
  const tidy = text
    .trim()
    .replaceAll(MINUS, '-')
    .replaceAll(/(?<=\d)[,\s](?=\d{3}(\D|$))/g, '')
    .replaceAll(/\s*([-+*/^])\s*/g, '$1');
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  if (number.test(tidy)) return Number(tidy);
  const pair = /^(.+)([/^*])([^/^*]+)$/.exec(tidy);
  if (!pair || !number.test(pair[1]) || !number.test(pair[3])) return null;
  const [left, right] = [Number(pair[1]), Number(pair[3])];
  const value = pair[2] === '/' ? left / right : pair[2] === '*' ? left * right : left ** right;
  return Number.isFinite(value) ? value : null;
}

const SIZE_UNITS = ['', 'K', 'M', 'G', 'T'];

/** Formats the exact size of a memory in the unit with the fewest digits: `50 MiB`, `99 KiB`, `3.2 MB`, `1,023 B`. */
export function memorySize(value: number): string {
  const inUnit = (base: number, step: number, suffix: string): string[] => {
    const power = SIZE_UNITS.findLastIndex(
      (_, at) => at > 0 && value >= base ** at && isStep(value, base ** at * step),
    );
    return power < 1 ? [] : [`${plain(value / base ** power, 15)}${NBSP}${SIZE_UNITS[power]}${suffix}`];
  };
  const written = [...inUnit(1024, 0.25, 'iB'), ...inUnit(1000, 0.01, 'B'), `${count(value)}${NBSP}B`];
  const digits = (text: string) => text.replace(/\D/g, '').length;
  return written.reduce((one, other) => (digits(other) < digits(one) ? other : one)).replace('KB', 'kB');
}
const isStep = (value: number, step: number): boolean => Number.isInteger(value / step);

/** Parses a memory size in whole bytes: a KiB is 1,024 bytes, a kB 1,000 bytes. */
export function parseMemorySize(text: string): number | null {
  const [, size, prefix = '', binary] = /^(.*?)(?:([kmgt])(?:(i)?b)?|b|bytes?)?$/is.exec(text.trim())!;
  const value = parseNumber(size);
  if (value === null || prefix === '') return value;
  return Math.round(value * scaleOf(prefix, binary));
}
const scaleOf = (prefix: string, binary?: string): number =>
  (binary ? 1024 : 1000) ** SIZE_UNITS.indexOf(prefix.toUpperCase());

/** Parses a number in `unit`, which may be typed with a unit of another prefix: in MHz, `2.61 GHz` is 2,610. */
export function parseInUnit(text: string, unit: string): number | null {
  const [typed, own] = [text, unit].map((each) => /^(.*?)([kmgt]?)(i)?(hz|b\/s|b)$/i.exec(each.trim()));
  if (!typed || !own || typed[4].toLowerCase() !== own[4].toLowerCase()) return parseNumber(text);
  const value = parseNumber(typed[1]);
  const scaled = value && (value * scaleOf(typed[2], typed[3])) / scaleOf(own[2], own[3]);
  return scaled && Number(scaled.toPrecision(12));
}

/** Returns the width of a number in a table (12 px Inter, tabular digits) where digits start at whole pixels, px. */
export function widthPx(text: string): number {
  const points = text.replace(/[^.,]/g, '').length;
  return 8 * (text.length - points) + 4 * points;
}
