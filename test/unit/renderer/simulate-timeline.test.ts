import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { moved, zoomed, type Zoom } from '../../../src-renderer/charts/zoom.ts';
import type { SimulationTimeline } from '../../../src-main/contract/api.ts';
import {
  alternation,
  barAt,
  partShown,
  relativeDurations,
  rowGeometry,
  rowStarts,
  timelineTable,
} from '../../../src-renderer/views/ranking/timeline.ts';
import { term } from '../../../src-workers/domain/terms.ts';
import { forAll } from '../../for-all.ts';

/**
 * The sample shows two of four multiprocessors. The first multiprocessor uses two slots, and one of them has two bars.
 */
const timeline: SimulationTimeline = {
  designIndex: 7,
  replication: 0,
  kernelMs: 4,
  multiprocessors: 4,
  residentBlocks: 2,
  groupsPerBlock: 2,
  gridBlocks: 10,
  launchStartMs: Float64Array.of(0),
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
  test('have two tones, which separate consecutive blocks of a slot', () =>
    expect([...alternation(timeline)]).toEqual([0, 0, 1, 0]));
  test('are coloured by the mean duration of a block in them', () => {
    // The mean durations of a block are 1, 2, 3/3 and 3 ms.
    const { relative, shortestMs, longestMs } = relativeDurations(timeline);
    expect([...relative]).toEqual([0, 0.5, 0, 1]);
    expect([shortestMs, longestMs]).toEqual([1, 3]);
  });
  test('state what is left out', () => {
    const text = partShown(timeline, (key, form) => term(key, 'cuda', form));
    expect(text).toContain('2 of 4 streaming multiprocessors, evenly spaced');
    expect(text).toContain('up to 3 blocks in a row');
    const all = { ...timeline, multiprocessors: 2, blockCount: Float64Array.of(1, 1, 1, 1) };
    expect(partShown(all, (key, form) => term(key, 'cuda', form))).toMatch(/^All 2 .*a bar is one block;/);
    const mixed = { ...all, launchStartMs: Float64Array.of(0, 2, 3) };
    expect(partShown(mixed, (key, form) => term(key, 'cuda', form))).toContain('10 blocks launched in 3 launches');
  });
  test('are a table with the multiprocessors’ own numbers', () =>
    expect(timelineTable(timeline)[4]).toEqual([2, 0, 2, 1, 0, 3]));
});

test('rows fill the available height, and scroll if they would be too flat', () => {
  expect(rowGeometry(2, 2, 56).totalPx).toBe(56);
  const crowded = rowGeometry(128, 16, 400);
  expect(crowded).toMatchObject({ lanePx: 2, totalPx: 128 * crowded.rowPx });
});

describe('the window', () => {
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  const closest = 1 / 2000;
  test('stays within the launch after every step', () => {
    forAll(place, place, fc.double({ min: 0.01, max: 100, noNaN: true }), place, (a, b, by, at) => {
      const from = Math.min(a, b) * (1 - closest);
      const view: Zoom = [from, Math.max(from + closest, Math.max(a, b))];
      for (const next of [zoomed(view, by, at, closest), moved(view, by), moved(view, -by)]) {
        expect(next[0]).toBeGreaterThanOrEqual(0);
        // The tolerance covers two roundings of numbers up to 1.
        expect(next[1]).toBeLessThanOrEqual(1 + 4 * Number.EPSILON);
        expect(next[1] - next[0]).toBeGreaterThan(closest * (1 - 1e-9));
      }
    });
  });
  test('keeps the place under the pointer', () => {
    const next = zoomed([0.25, 0.75], 0.5, 0.25, closest);
    expect(next).toEqual([0.3125, 0.5625]);
    expect(next[0] + 0.25 * 0.25).toBe(0.375);
  });
  test('reaches the ends', () => {
    expect(moved([0.25, 0.5], Infinity)).toEqual([0.75, 1]);
    expect(moved([0.25, 0.5], -Infinity)).toEqual([0, 0.25]);
    expect(zoomed([0.25, 0.5], 1000, 0.5, closest)).toEqual([0, 1]);
    expect(zoomed([0.25, 0.5], 0, 0, closest)).toEqual([0.25, 0.25 + closest]);
  });
});
