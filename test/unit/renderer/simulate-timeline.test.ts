import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SimulationTimeline } from '../../../src-main/contract/api.ts';
import {
  alternation,
  barAt,
  moved,
  partShown,
  relativeDurations,
  rowGeometry,
  rowStarts,
  timelineTable,
  zoomed,
} from '../../../src-renderer/views/ranking/timeline.ts';
import { term } from '../../../src-workers/domain/terms.ts';

/** Two of four multiprocessors; the first has two slots in use, one of them with two blocks. */
const timeline: SimulationTimeline = {
  designIndex: 7,
  replication: 0,
  kernelMs: 4,
  multiprocessors: 4,
  residentBlocks: 2,
  groupsPerBlock: 2,
  gridBlocks: 10,
  shownMultiprocessors: Float64Array.of(0, 2),
  blockIndex: Float64Array.of(0, 1, 4, 2),
  blockCount: Float64Array.of(1, 1, 3, 1),
  blockRow: Float64Array.of(0, 0, 0, 1),
  blockLane: Float64Array.of(0, 1, 0, 0),
  blockStartMs: Float64Array.of(0, 0, 1, 0),
  blockEndMs: Float64Array.of(1, 2, 4, 3),
  binMs: 1,
  activeMean: Float64Array.of(4, 3, 2, 1),
  activeMin: Float64Array.of(4, 2, 1, 0),
  activeMax: Float64Array.of(4, 4, 3, 2),
  activePerRow: new Float64Array(8),
};

describe('the bars', () => {
  const starts = rowStarts(timeline.blockRow, 2);
  test('are listed by multiprocessor', () => {
    expect([...starts]).toEqual([0, 3, 4]);
    expect([...rowStarts([], 3)]).toEqual([0, 0, 0, 0]);
  });
  test('are found by slot and time', () => {
    expect(barAt(timeline, starts, 0, 0, 0.5)).toBe(0);
    expect(barAt(timeline, starts, 0, 0, 2)).toBe(2);
    expect(barAt(timeline, starts, 0, 1, 3)).toBe(-1);
    expect(barAt(timeline, starts, 1, 0, 2.9)).toBe(3);
    expect(barAt(timeline, starts, 5, 0, 1)).toBe(-1);
  });
  test('have two tones, so that those that follow each other in a slot are told apart', () => {
    expect([...alternation(timeline)]).toEqual([0, 0, 1, 0]);
  });
  test('are coloured by the mean duration of a block in them', () => {
    // Durations 1, 2, 3 over three blocks, and 3.
    const { relative, shortestMs, longestMs } = relativeDurations(timeline);
    expect([...relative]).toEqual([0, 0.5, 0, 1]);
    expect([shortestMs, longestMs]).toEqual([1, 3]);
  });
  test('say what is left out', () => {
    const text = partShown(timeline, (key, form) => term(key, 'cuda', form));
    expect(text).toContain('2 of 4 streaming multiprocessors, evenly spaced');
    expect(text).toContain('up to 3 blocks in a row');
    const all = { ...timeline, multiprocessors: 2, blockCount: Float64Array.of(1, 1, 1, 1) };
    expect(partShown(all, (key, form) => term(key, 'cuda', form))).toMatch(/^All 2 .*a bar is one block;/);
  });
  test('are a table with the multiprocessors’ own numbers', () => {
    expect(timelineTable(timeline)[4]).toEqual([2, 0, 2, 1, 0, 3]);
  });
});

describe('rows', () => {
  test('fill the room where they can, and scroll where they would be too flat', () => {
    expect(rowGeometry(2, 2, 56).totalPx).toBe(56);
    const crowded = rowGeometry(128, 16, 400);
    expect(crowded.lanePx).toBe(2);
    expect(crowded.totalPx).toBe(128 * crowded.rowPx);
  });
});

describe('the window', () => {
  const time = fc.double({ min: 0, max: 1, noNaN: true });
  test('stays within the launch, whatever is done', () => {
    fc.assert(
      fc.property(time, time, fc.double({ min: 0.01, max: 100, noNaN: true }), time, (a, b, by, at) => {
        const view = { fromMs: Math.min(a, b) * 8, toMs: Math.max(a, b) * 8 + 1e-3 };
        for (const next of [zoomed(view, by, at, 9), moved(view, by, 9), moved(view, -by, 9)]) {
          expect(next.fromMs).toBeGreaterThanOrEqual(0);
          // Two roundings of numbers up to 9.
          expect(next.toMs).toBeLessThanOrEqual(9 * (1 + 4 * Number.EPSILON));
          expect(next.toMs).toBeGreaterThan(next.fromMs);
        }
      }),
    );
  });
  test('keeps what is under the pointer where it is', () => {
    const next = zoomed({ fromMs: 2, toMs: 6 }, 0.5, 0.25, 10);
    expect(next).toEqual({ fromMs: 2.5, toMs: 4.5 });
    expect(next.fromMs + 0.25 * 2).toBe(3);
  });
  test('reaches the ends', () => {
    expect(moved({ fromMs: 2, toMs: 4 }, Infinity, 10)).toEqual({ fromMs: 8, toMs: 10 });
    expect(moved({ fromMs: 2, toMs: 4 }, -Infinity, 10)).toEqual({ fromMs: 0, toMs: 2 });
    expect(zoomed({ fromMs: 2, toMs: 4 }, 1000, 0.5, 10)).toEqual({ fromMs: 0, toMs: 10 });
  });
});
