import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickDesign, simplerFirst } from '../../src-workers/advise/pick.ts';
import { stretchedLaw } from '../../src-workers/advise/change.ts';
import type { SpaceAxes } from '../../src-workers/domain/space.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { decodeInto, axisCounts } from '../../src-workers/space/axes.ts';

const axes: SpaceAxes = {
  devices: [{ kind: 'gpu' } as Device],
  threadsPerUnit: [1, 2, 4],
  loop: ['nested', 'flattened'],
  balancing: ['full-sort', 'none', 'dynamic-fetch'],
  launch: [1, 2, 3].map((value) => ({ kind: 'grid', value })),
  registerCap: [64, null, 48],
  blockThreads: [64, 128],
};
const counts = axisCounts(axes);
const size = counts.reduce((product, count) => product * count, 1);

/** What the rule says, written out: smaller is simpler. */
function order(design: number, blocks: number, timeMs: number): number[] {
  const [, unit, loop, balancing, , cap] = positionsOf(design);
  return [[1, 0, 2][cap], [2, 0, 1][balancing], loop, axes.threadsPerUnit[unit], blocks, timeMs];
}
function positionsOf(design: number): number[] {
  const positions = new Int32Array(counts.length);
  decodeInto(positions, counts, design);
  return [...positions];
}
const precedes = (a: number[], b: number[]): boolean => {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value < b[at];
  return false;
};

describe('the pick', () => {
  it('is one of the tied designs, and no tied design comes before it by the rule', () => {
    const entry = fc.record({
      design: fc.integer({ min: 0, max: size - 1 }),
      blocks: fc.integer({ min: 1, max: 4 }),
      timeMs: fc.integer({ min: 100, max: 101 }),
    });
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: ({ design }) => design, minLength: 1, maxLength: 40 }), (tied) => {
        const of = new Map(tied.map((one) => [one.design, one]));
        const figures = {
          timeMs: (design: number) => of.get(design)!.timeMs,
          gridBlocks: (design: number) => of.get(design)!.blocks,
        };
        const picked = of.get(
          pickDesign(
            axes,
            figures,
            tied.map(({ design }) => design),
          )!,
        )!;
        const place = order(picked.design, picked.blocks, picked.timeMs);
        for (const { design, blocks, timeMs } of tied)
          expect(precedes(order(design, blocks, timeMs), place)).toBe(false);
        const compare = simplerFirst(axes, figures);
        for (const { design } of tied)
          if (design !== picked.design) expect(compare(picked.design, design)).toBeLessThan(0);
      }),
    );
  });

  it('is none of no designs', () => {
    expect(pickDesign(axes, { timeMs: () => 1, gridBlocks: () => 1 }, [])).toBeUndefined();
  });
});

describe('a stretched law', () => {
  const law = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { minLength: 2, maxLength: 20 }).chain((lengths) =>
    fc
      .array(fc.integer({ min: 1, max: 50 }), { minLength: lengths.length, maxLength: lengths.length })
      .map((weights) => {
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        return {
          label: 'law',
          support: Float64Array.from(lengths).sort(),
          probability: Float64Array.from(weights, (weight) => weight / total),
          truncatedMass: 0,
        };
      }),
  );

  it('keeps the mean and its whole lengths, and its mass', () => {
    fc.assert(
      fc.property(law, fc.double({ min: 0.25, max: 3, noNaN: true }), (one, factor) => {
        const { mean } = moments(one);
        const out = stretchedLaw(one, factor, mean);
        expect(Math.abs(moments(out).mean / mean - 1)).toBeLessThan(1e-9);
        expect(Math.abs(out.probability.reduce((sum, mass) => sum + mass, 0) - 1)).toBeLessThan(1e-9);
        for (const [at, length] of out.support.entries()) {
          expect(Number.isInteger(length) && length >= 0).toBe(true);
          if (at > 0) expect(length).toBeGreaterThan(out.support[at - 1]);
        }
      }),
    );
  });

  it('spreads as far as it is stretched, where no length becomes negative', () => {
    fc.assert(
      fc.property(law, (one) => {
        const before = moments(one);
        const factor = 0.5;
        const after = moments(stretchedLaw(one, factor, before.mean));
        // Lengths between two whole ones are split over both, which adds at most 1/4 to the variance.
        const variance = (factor * before.standardDeviation) ** 2;
        expect(after.standardDeviation ** 2).toBeGreaterThanOrEqual(variance - 1e-6);
        expect(after.standardDeviation ** 2).toBeLessThanOrEqual(variance + 0.25 + 1e-6);
      }),
    );
  });
});
