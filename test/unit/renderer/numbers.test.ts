import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as numbers from '../../../src-renderer/format/numbers.ts';
import { forAll, whole } from '../../for-all.ts';

const { bytes, change, count, duration, factor, fixed, memorySize, parseMemorySize, parseNumber, percent, plain } =
  numbers;
const plainSpaces = (text: string) => text.replaceAll('\u00a0', ' ');

it.each<[written: string, text: string]>([
  // Digits are grouped, with a true minus, and never with a minus before a zero.
  [count(1_290_240), '1,290,240'],
  [count(-921_600), '−921,600'],
  [fixed(-5900.25, 1), '−5,900.3'],
  [count(NaN), '–'],
  [count(2 ** 53), '9,007,199,254,740,992'],
  [fixed(-0.0004, 3), '0.000'],
  [numbers.signed(-0.04), '±0.0'],
  [count(-0), '0'],
  // Differences have a sign, or say that nothing can be compared.
  [change(4.134, 5.88), '−29.7'],
  [change(2, 1), '+100.0'],
  [change(1, 0), '–'],
  // Digits without meaning are dropped.
  [plain(0.05), '0.05'],
  [plain(1 / 21, 3), '0.0476'],
  [plain(6.5), '6.5'],
  [plain(1_048_576, 6), '1,048,576'],
  [plain(2e-7), '2.0e−7'],
  [factor(1.256), '1.26 ×'],
  [factor(12.44), '12.4 ×'],
  [factor(130.2), '130 ×'],
  // Durations and sizes have the usual unit.
  [duration(3.21), '3.2 ms'],
  [duration(120), '0.12 s'],
  [duration(125_000), '2 min 05 s'],
  [duration(1_200_000), '20 min'],
  [bytes(41_800_000), '41.8 MB'],
  [percent(0.131), '13.1 %'],
  [numbers.timeRange(0.6, 0.9), '600.0 to 900.0 µs'],
  [numbers.timeRange(0.6, 4), '600.0 µs to 4.000 ms'],
  // All times of a table have the same unit.
  [numbers.timeIn(numbers.timeUnit(0.9), 1.25), '1,250'],
])('a number is written %s', (written, text) => expect(plainSpaces(written)).toBe(text));

it('times are written with four digits, in the unit that suits their size', () => {
  const cases = [
    [4.1184, '4.118 ms'], [0.031234, '31.23 µs'], [1204.4, '1.204 s'], [0.00152, '1.520 µs'], [1e-5, '10.00 ns'],
    [0.99999, '1.000 ms'], [-0.25, '−250.0 µs'], [3_600_000, '3,600 s'], [NaN, '–'], [0, '0 ms'],
  ] as const; // prettier-ignore
  for (const [timeMs, text] of cases) expect(numbers.timeText(timeMs)).toBe(text.replace(' ', '\u00a0'));
});

it('a number with hundreds of digits is written in a few', () => {
  for (const write of [count, (value: number) => fixed(value, 3), plain, (value: number) => percent(value)])
    for (const value of [1e308, -1e308, 1e22, Number.MAX_VALUE]) expect(write(value).length).toBeLessThan(12);
  expect([count(1e308), plain(-2.5e20), parseNumber(count(1e308))]).toEqual(['1.00e308', '−2.50e20', 1e308]);
});

it('numbers are read as they are typed: grouped digits, fractions, products and powers', () => {
  const typed = ['1,048,576', '1 048\u00a0576', ' 1 / 21 ', '2^20', '32*4', '− 3', '1e-6'];
  expect(typed.map(parseNumber)).toEqual([1_048_576, 1_048_576, 1 / 21, 1_048_576, 128, -3, 1e-6]);
  const several = ['1 2', '45 46', '45\n46', '1 5.5', '1 2345', '0 .5', '4 - 2', '3 / 1 2', '1 e6'];
  for (const text of [...several, '', 'abc', '1/0', '1,2,3', '0x10', '1/2/3', 'Infinity', '--1'])
    expect(parseNumber(text), text).toBeNull();
  // Whole numbers are read back as they were written.
  forAll(fc.integer(), (value) => {
    expect(parseNumber(count(value))).toBe(value);
  });
});

describe('sizes of memories', () => {
  const REFUSED = ['', 'KiB', 'B', '64 Kbit', '64 KiBs', '64 XB', '64 KiB 2', 'many', '64 B B', '64\nKiB 1'];
  it.each<[text: string, size: number | null]>([
    ['2*32 KiB', 65_536],
    ['3.2 MB', 3_200_000],
    ['1.5 MiB', 1_572_864],
    ['3.2 MiB', 3_355_443],
    ['64k', 64_000],
    ['96\u00a0kB', 96_000],
    ['1TiB', 2 ** 40],
    ['65,536', 65_536],
    ['1,000 B', 1000],
    ['100 bytes', 100],
    ['0', 0],
    ...REFUSED.map((text): [string, null] => [text, null]),
  ])('are read to the byte, in binary and decimal units: %j is %s', (text, size) =>
    expect(parseMemorySize(text)).toBe(size),
  );
  it('and rates are read in the unit of a field', () => {
    const typed = '2.61 GHz in MHz, 1 TB/s in GB/s, 12 GB in GiB, 2500 in MHz, 2 GB in MHz, x GHz in MHz'.split(', ');
    const read = [2610, 1000, 11.1758708954, 2500, null, null];
    expect(typed.map((words) => numbers.parseInUnit(...(words.split(' in ') as [string, string])))).toEqual(read);
  });
  it('are written in the unit that needs the fewest digits, and read back to the byte', () => {
    const sizes = [0, 1001, 1024, 101_376, 1_572_864, 3_200_000, 52_428_800, 2 ** 40].map(memorySize);
    const written = ['0 B', '1,001 B', '1 KiB', '99 KiB', '1.5 MiB', '3.2 MB', '50 MiB', '1 TiB'];
    expect(sizes.map(plainSpaces)).toEqual(written);
    const large = whole(2 ** 31, 2 ** 32).map((n) => n * 256);
    forAll(fc.oneof(fc.nat(), whole(0, 2 ** 40), large), (value) => {
      expect(parseMemorySize(memorySize(value))).toBe(value);
    });
  });
});
