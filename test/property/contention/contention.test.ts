import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxRateCurve, saturatingCores } from '../../../src-workers/models/contention/bandwidth.ts';
import { amdahlLoads } from '../../../src-workers/models/contention/loads.ts';
import { contentionMs, staircaseMs, staircaseSteps, twoPhases } from '../../../src-workers/models/contention/time.ts';
import { forAll, forAllOf } from '../../for-all.ts';

const loads = fc
  .array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 80 })
  .map((values) => Float64Array.from(values));
const memory = fc
  .tuple(fc.double({ min: 0.5, max: 50, noNaN: true }), fc.double({ min: 1, max: 40, noNaN: true }))
  .map(([beta, ratio]) => ({ singleCoreBandwidthGbS: beta, fullBandwidthGbS: beta * ratio }));

/** Allows for a few rounding errors per load. Sums have at most 80 loads. */
const ROUNDING = 200 * Number.EPSILON;

function closeTo(a: number, b: number): boolean {
  return Math.abs(a - b) <= ROUNDING * Math.max(a, b);
}

describe('laws of memory contention', () => {
  it('two phases with K = ⌈ρ/β⌉ equal the staircase on the max-rate curve, for any loads', () => {
    forAllOf(1000)(memory, loads, (machine, bytes) => {
      const staircase = staircaseMs(maxRateCurve(machine, bytes.length), bytes);
      return closeTo(staircase, twoPhases(machine, bytes, 'derived').timeMs);
    });
  });

  it('both forms agree on Amdahl’s loads, whatever K ≥ 2 up to the cores', () => {
    forAll(memory, fc.integer({ min: 2, max: 80 }), fc.nat(), (machine, cores, pick) => {
      const bytes = amdahlLoads(1e9, cores);
      const knee = 2 + (pick % (cores - 1));
      const derived = twoPhases(machine, bytes, 'derived', knee).timeMs;
      return closeTo(derived, twoPhases(machine, bytes, 'tabulated', knee).timeMs);
    });
  });

  it('the tabulated form is never faster', () => {
    forAllOf(1000)(memory, loads, fc.integer({ min: 1, max: 50 }), (machine, bytes, knee) => {
      const derived = twoPhases(machine, bytes, 'derived', knee).timeMs;
      expect(twoPhases(machine, bytes, 'tabulated', knee).timeMs).toBeGreaterThanOrEqual(derived * (1 - ROUNDING));
    });
  });

  it('the time is between those of no imbalance and full contention, and above that of no contention, if β ≤ ρ ≤ P·β', () => {
    forAllOf(1000)(memory, loads, (machine, bytes) => {
      fc.pre(saturatingCores(machine) <= bytes.length);
      const { timeMs } = twoPhases(machine, bytes, 'derived');
      expect(contentionMs('no-imbalance', machine, bytes)).toBeLessThanOrEqual(timeMs * (1 + ROUNDING));
      expect(contentionMs('no-contention', machine, bytes)).toBeLessThanOrEqual(timeMs * (1 + ROUNDING));
      expect(timeMs).toBeLessThanOrEqual(contentionMs('full-contention', machine, bytes) * (1 + ROUNDING));
    });
  });

  it('more bandwidth is never slower, at any number of active cores', () => {
    forAll(
      loads,
      fc.array(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 0, max: 500 })), {
        minLength: 80,
        maxLength: 80,
      }),
      (bytes, points) => {
        const curve = Float64Array.of(0, ...points.map(([base]) => base));
        const faster = Float64Array.of(0, ...points.map(([base, more]) => base + more));
        expect(staircaseMs(faster, bytes)).toBeLessThanOrEqual(staircaseMs(curve, bytes) * (1 + ROUNDING));
      },
    );
  });

  it('the time does not depend on which core has which load', () => {
    forAll(
      memory,
      loads.chain((bytes) =>
        fc.tuple(fc.constant(bytes), fc.shuffledSubarray([...bytes], { minLength: bytes.length })),
      ),
      (machine, [bytes, shuffled]) => {
        const curve = maxRateCurve(machine, bytes.length);
        expect(staircaseMs(curve, Float64Array.from(shuffled))).toBe(staircaseMs(curve, bytes));
        expect(twoPhases(machine, Float64Array.from(shuffled), 'tabulated').timeMs).toBe(
          twoPhases(machine, bytes, 'tabulated').timeMs,
        );
      },
    );
  });

  it('the steps follow each other, and move all bytes', () => {
    forAll(memory, loads, (machine, bytes) => {
      const steps = staircaseSteps(maxRateCurve(machine, bytes.length), bytes);
      let movedBytes = 0;
      steps.forEach((step, i) => {
        expect(step.fromMs).toBe(i === 0 ? 0 : steps[i - 1].toMs);
        if (i > 0) expect(step.activeCores).toBeLessThan(steps[i - 1].activeCores);
        movedBytes += (step.toMs - step.fromMs) * step.bandwidthGbS * 1e6;
      });
      const total = bytes.reduce((sum, load) => sum + load, 0);
      // A difference of times loses accuracy in the ratio of the total time to a single step.
      expect(Math.abs(movedBytes - total)).toBeLessThanOrEqual(1e-9 * Math.max(1, total));
    });
  });
});
