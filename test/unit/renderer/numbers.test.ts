import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bytes,
  change,
  count,
  duration,
  factor,
  fixed,
  memorySize,
  parseMemorySize,
  parseNumber,
  percent,
  plain,
  signed,
  timeIn,
  timeRange,
  timeText,
  timeUnit,
} from '../../../src-renderer/format/numbers.ts';
import { forAll } from '../../for-all.ts';

describe('numbers in the form in which the program shows them', () => {
  it('groups digits and uses a true minus', () => {
    expect(count(1_290_240)).toBe('1,290,240');
    expect(count(-921_600)).toBe('−921,600');
    expect(fixed(-5900.25, 1)).toBe('−5,900.3');
    expect(count(NaN)).toBe('–');
  });

  it('writes a number with hundreds of digits in a few', () => {
    for (const write of [count, (value: number) => fixed(value, 3), plain, (value: number) => percent(value)])
      for (const value of [1e308, -1e308, 1e22, Number.MAX_VALUE]) expect(write(value).length).toBeLessThan(12);
    expect([count(1e308), plain(-2.5e20), parseNumber(count(1e308))]).toEqual(['1.00e308', '−2.50e20', 1e308]);
    expect(count(2 ** 53)).toBe('9,007,199,254,740,992');
  });

  it('never writes a minus before a zero', () => {
    expect(fixed(-0.0004, 3)).toBe('0.000');
    expect(signed(-0.04)).toBe('±0.0');
    expect(count(-0)).toBe('0');
  });

  it('writes differences with a sign, and says if nothing can be compared', () => {
    expect(change(4.134, 5.88)).toBe('−29.7');
    expect(change(2, 1)).toBe('+100.0');
    expect(change(1, 0)).toBe('–');
  });

  it('drops digits without meaning', () => {
    expect(plain(0.05)).toBe('0.05');
    expect(plain(1 / 21, 3)).toBe('0.0476');
    expect(plain(6.5)).toBe('6.5');
    expect(plain(1_048_576, 6)).toBe('1,048,576');
    expect(plain(2e-7)).toBe('2.0e−7');
  });

  it('writes times with four digits, in the unit that suits their size', () => {
    const cases = [
      [4.1184, '4.118 ms'], [0.031234, '31.23 µs'], [1204.4, '1.204 s'], [0.00152, '1.520 µs'], [1e-5, '10.00 ns'],
      [0.99999, '1.000 ms'], [-0.25, '−250.0 µs'], [3_600_000, '3,600 s'], [NaN, '–'], [0, '0 ms'],
    ] as const; // prettier-ignore
    for (const [timeMs, text] of cases) expect(timeText(timeMs)).toBe(text.replace(' ', '\u00a0'));
    expect(timeRange(0.6, 0.9)).toBe('600.0 to 900.0\u00a0µs');
    expect(timeRange(0.6, 4)).toBe('600.0\u00a0µs to 4.000\u00a0ms');
    // All times of a table have the same unit.
    expect(timeIn(timeUnit(0.9), 1.25)).toBe('1,250');
  });

  it('writes how many times as fast with two to three digits', () =>
    expect([1.256, 12.44, 130.2].map(factor)).toEqual(['1.26\u00a0×', '12.4\u00a0×', '130\u00a0×']));

  it('writes durations and sizes in the usual unit', () => {
    expect(duration(3.21)).toBe('3.2\u00a0ms');
    expect(duration(120)).toBe('0.12\u00a0s');
    expect(duration(125_000)).toBe('2\u00a0min 05\u00a0s');
    expect(duration(1_200_000)).toBe('20\u00a0min');
    expect(bytes(41_800_000)).toBe('41.8\u00a0MB');
    expect(percent(0.131)).toBe('13.1\u00a0%');
  });
});

it('numbers are read as they are typed: grouped digits, fractions, products and powers', () => {
  expect(parseNumber('1,048,576')).toBe(1_048_576);
  expect(parseNumber(' 1/21 ')).toBe(1 / 21);
  expect(parseNumber('2^20')).toBe(1_048_576);
  expect(parseNumber('32*4')).toBe(128);
  expect(parseNumber('−3')).toBe(-3);
  expect(parseNumber('1e-6')).toBe(1e-6);
});

it('text that is not a number is refused', () => {
  for (const text of ['', 'abc', '1/0', '1,2,3', '0x10', '1/2/3', 'Infinity', '--1'])
    expect(parseNumber(text), text).toBeNull();
});

it('numbers are read back as they were written, if they are whole', () =>
  forAll(fc.integer(), (value) => {
    expect(parseNumber(count(value))).toBe(value);
  }));

describe('sizes of memories', () => {
  it('are read as data sheets write them, or as bytes', () => {
    for (const [text, value] of [
      ['64 KiB', 65_536],
      ['50 MB', 52_428_800],
      ['1.5 MiB', 1_572_864],
      ['64k', 65_536],
      ['96\u00a0kB', 98_304],
      ['2*32 KB', 65_536],
      ['2 GB', 2_147_483_648],
      ['1TiB', 2 ** 40],
      ['65,536', 65_536],
      ['1,000 B', 1000],
      ['100 bytes', 100],
      ['0', 0],
    ] as const)
      expect(parseMemorySize(text), text).toBe(value);
  });
  it('refuse text that is not a size', () => {
    for (const text of ['', 'KiB', 'B', '64 Kbit', '64 KiBs', '64 XB', '64 KiB 2', 'many', '64 B B', '64\nKiB 1'])
      expect(parseMemorySize(text), text).toBeNull();
  });
  it('are written in the largest unit in which they are whole quarters', () =>
    expect([0, 1000, 1024, 101_376, 1_572_864, 52_428_800, 2 ** 40].map(memorySize)).toEqual(
      ['0 B', '1,000 B', '1 KiB', '99 KiB', '1.5 MiB', '50 MiB', '1 TiB'].map((text) => text.replace(' ', '\u00a0')),
    ));
  it('are read back to the byte', () =>
    forAll(
      fc.oneof(
        fc.nat(),
        fc.integer({ min: 0, max: 2 ** 40 }),
        fc.integer({ min: 2 ** 31, max: 2 ** 32 }).map((n) => n * 256),
      ),
      (value) => {
        expect(parseMemorySize(memorySize(value))).toBe(value);
      },
    ));
});
