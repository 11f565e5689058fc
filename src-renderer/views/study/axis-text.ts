import { MAX_AXIS_VALUES, type CountAxis } from '../../../src-main/contract/study.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { count } from '../../format/numbers.ts';

/**
 * The text of an axis of counts: a list `1 2 4 8`, a range `32 … 1,024, step 32` (also `32..1024 step 32` or
 * `32-1024/32`), or powers `1 … 32 ×2`.
 */

const EXPECTED = 'Write values such as 64 128 256, or a range such as 32 … 1,024, step 32';
const LARGEST = 2 ** 31 - 1;
/** A number may contain commas but not end in one: `1,024, step 32`. */
const RANGE =
  /^(\d(?:[\d,]*\d)?)\s*(?:…|\.\.\.?|–|-|\bto\b)\s*(\d(?:[\d,]*\d)?)(?:\s*,?\s*(?:(?:step|\/)\s*(\d(?:[\d,]*\d)?)|[×x*]\s*(\d(?:[\d,]*\d)?)))?$/;
/** The parts of a range that are not numbers. A hyphen may also be a sign, so it is not one of them. */
const RANGE_SIGNS = /…|\.\.\.?|–|\bto\b|\bstep\b/g;
const SHOWN_AS_LIST = 6;

export function axisValues(axis: CountAxis): number[] {
  if (!('from' in axis)) return [...axis];
  const { from, step = 1 } = axis;
  return Array.from({ length: axisCount(axis) }, (_, i) => from + i * step);
}

export function axisCount(axis: CountAxis): number {
  return 'from' in axis ? Math.max(0, Math.floor((axis.to - axis.from) / (axis.step ?? 1)) + 1) : axis.length;
}

export function printAxis(axis: CountAxis): string {
  if ('from' in axis) {
    const { from, to, step = 1 } = axis;
    return `${count(from)} … ${count(to)}${step === 1 ? '' : `, step ${count(step)}`}`;
  }
  const step = axis[1] - axis[0];
  const even = axis.every((value, i) => i === 0 || value - axis[i - 1] === step);
  if (axis.length > SHOWN_AS_LIST && even) return printAxis({ from: axis[0], to: axis.at(-1)!, step });
  return axis.map(count).join(' ');
}

/** Values must be whole, ≥ 1. Lists are sorted, with each value once. */
export function parseAxis(text: string): Result<CountAxis> {
  const tidy = text.trim().replaceAll('\u00a0', ' ');
  const range = RANGE.exec(tidy);
  if (range) {
    const [from, to] = [whole(range[1]), whole(range[2])];
    if (from === null || to === null) return refused(tidy);
    if (to < from) return badInput(`${count(from)} … ${count(to)} runs backwards; write the smaller number first`);
    if (range[4] !== undefined) {
      const factor = whole(range[4]);
      if (factor === null || factor < 2) return badInput(`The factor must be 2 or more, not ${range[4]}`);
      const powers = [];
      for (let value = from; value <= to; value *= factor) powers.push(value);
      return ok(powers);
    }
    const step = range[3] === undefined ? 1 : whole(range[3]);
    if (step === null) return badInput(`The step must be 1 or more, not ${range[3]}`);
    const axis = step === 1 ? { from, to } : { from, to, step };
    if (axisCount(axis) > MAX_AXIS_VALUES)
      return badInput(`${count(axisCount(axis))} values; an axis may have at most ${count(MAX_AXIS_VALUES)}`);
    return ok(axis);
  }
  const values: number[] = [];
  for (const word of listWords(tidy)) {
    const value = whole(word);
    if (value === null) return refused(tidy);
    values.push(value);
  }
  if (values.length === 0) return badInput(EXPECTED);
  if (values.length > MAX_AXIS_VALUES)
    return badInput(`${count(values.length)} values; an axis may have at most ${count(MAX_AXIS_VALUES)}`);
  return ok([...new Set(values)].sort((a, b) => a - b));
}

/** Names the first part of a list or range that is not a number. */
function refused(text: string): Result<never> {
  const word = listWords(text.replaceAll(RANGE_SIGNS, ' ').trim()).find((each) => whole(each) === null);
  if (word === undefined) return badInput(`“${text}” is neither a list nor a range. ${EXPECTED}`);
  return badInput(
    word ? `“${word}” is not a whole number from 1 to ${count(LARGEST)} in digits. ${EXPECTED}` : EXPECTED,
  );
}

export const parseCaps = (text: string): Result<(number | null)[]> => parseWith(text, 'none', 'cap');

export const parseWidths = (text: string): Result<(number | null)[]> => parseWith(text, 'row', 'width');

function parseWith(text: string, word: string, what: string): Result<(number | null)[]> {
  const words = new RegExp(`\\b${word}\\b`, 'gi');
  const none = text.search(words) >= 0;
  const rest = text.replaceAll(words, ' ').replaceAll(/^[\s,]+|[\s,]+$/g, '');
  if (!rest) return none ? ok([null]) : badInput(`${EXPECTED}, or ${word}`);
  const axis = parseAxis(rest);
  if (!axis.ok) return axis;
  const values = axisValues(axis.value);
  if (values.some((value) => value > 1024))
    return badInput(`A ${what} of ${count(Math.max(...values))} exceeds the limit of 1,024`);
  return values.length > 64
    ? badInput(`${values.length} ${what}s exceed the limit of 64`)
    : ok(none ? [null, ...values] : values);
}

export function printCaps(caps: readonly (number | null)[], none = 'none'): string {
  const numbers = caps.filter((cap) => cap !== null);
  return [caps.includes(null) ? none : '', numbers.length > 0 ? printAxis(numbers) : ''].filter(Boolean).join(', ');
}

/**
 * Splits a list. In `1,024` and `32,128`, the comma separates thousands, so each is one number. Three or more ascending
 * numbers (`64,128,256`) are a list.
 */
function listWords(text: string): string[] {
  if (/\s/.test(text)) return text.split(/\s*,\s+|\s+|\s*;\s*/).filter(Boolean);
  const groups = text.split(',');
  const ascending = groups.every(
    (group, i) => /^[1-9]\d*$/.test(group) && (i === 0 || Number(group) > Number(groups[i - 1])),
  );
  const grouped = /^\d{1,3}(,\d{3})+$/.test(text);
  return grouped && !(ascending && groups.length > 2) ? [text] : groups;
}

function whole(text: string): number | null {
  if (!/^\d{1,3}(,\d{3})+$|^\d+$/.test(text)) return null;
  const value = Number(text.replaceAll(',', ''));
  return value >= 1 && value <= LARGEST ? value : null;
}
