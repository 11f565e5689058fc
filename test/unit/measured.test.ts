import { expect, it } from 'vitest';
import { measuredTime } from '../../src-main/services/measuring/times.ts';

const record = (timesMs: readonly number[], warmUpMs: readonly number[] = [], clockMhz: number | null = null) => {
  return { timesMs, detail: { warmUpMs, clockMhz } };
};
const TIMES = [5, 6, 4, 7, 5.5, 6.5, 5.2];

it('summarises a case once, even if it is read often', () => {
  const first = measuredTime(record(TIMES, [9]));
  expect(first).toMatchObject({ medianMs: 5.5, repeats: 7, warmUpMs: [9], clockMhz: null });
  expect(measuredTime(record([...TIMES], [9]))).toBe(first);
});

it('distinguishes cases that are nearly alike', () => {
  const first = measuredTime(record(TIMES, [9]))!;
  for (const [other, expected] of [
    [record(TIMES.with(1, 6.01), [9]), { medianMs: 5.5, timesMs: TIMES.with(1, 6.01) }],
    [record(TIMES, [9], 1500), { clockMhz: 1500 }],
    [record([...TIMES, 9], []), { repeats: 8, warmUpMs: [] }],
    [record(TIMES, [8, 9]), { warmUpMs: [8, 9] }],
    [record([]), null],
  ] as const) {
    const found = measuredTime(other);
    expect(found).not.toBe(first);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  }
});
