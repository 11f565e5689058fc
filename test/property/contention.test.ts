import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxRateCurve, saturatingCores } from '../../src-workers/models/contention/bandwidth.ts';
import { amdahlLoads } from '../../src-workers/models/contention/loads.ts';
import { contentionMs, staircaseSteps, twoPhases } from '../../src-workers/models/contention/time.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

const loads = fc.array(whole(0, 1_000_000), { minLength: 1, maxLength: 80 }).map((values) => Float64Array.from(values));
const memory = fc
  .tuple(real(0.5, 50), real(1, 40))
  .map(([beta, ratio]) => ({ singleCoreBandwidthGbS: beta, fullBandwidthGbS: beta * ratio }));

/** Allows for a few rounding errors per load. Sums have at most 80 loads. */
const ROUNDING = 200 * Number.EPSILON;

function closeTo(a: number, b: number): boolean {
  return Math.abs(a - b) <= ROUNDING * Math.max(a, b);
}

describe('laws of memory contention', () => {
  it('two phases with K = ⌈ρ/β⌉ equal the staircase on the max-rate curve, for any loads, and lie between the simple models', () => {
    forAllOf(1000)(memory, loads, whole(1, 50), (machine, bytes, knee) => {
      const { timeMs } = twoPhases(machine, bytes, 'derived');
      const steps = staircaseSteps(maxRateCurve(machine, bytes.length), bytes);
      expect(closeTo(steps.at(-1)?.toMs ?? 0, timeMs)).toBe(true);
      let movedBytes = 0;
      steps.forEach((step, i) => {
        expect(step.fromMs).toBe(i === 0 ? 0 : steps[i - 1].toMs);
        if (i > 0) expect(step.activeCores).toBeLessThan(steps[i - 1].activeCores);
        movedBytes += (step.toMs - step.fromMs) * step.bandwidthGbS * 1e6;
      });
      const total = bytes.reduce((sum, load) => sum + load, 0);
      // A difference of times loses accuracy in the ratio of the total time to a single step.
      expect(Math.abs(movedBytes - total)).toBeLessThanOrEqual(1e-9 * Math.max(1, total));
      // The tabulated form is never faster, whatever K.
      const derivedMs = twoPhases(machine, bytes, 'derived', knee).timeMs;
      expect(twoPhases(machine, bytes, 'tabulated', knee).timeMs).toBeGreaterThanOrEqual(derivedMs * (1 - ROUNDING));
      if (saturatingCores(machine) > bytes.length) return;
      for (const id of ['no-imbalance', 'no-contention'] as const)
        expect(contentionMs(id, machine, bytes)).toBeLessThanOrEqual(timeMs * (1 + ROUNDING));
      expect(timeMs).toBeLessThanOrEqual(contentionMs('full-contention', machine, bytes) * (1 + ROUNDING));
    });
  });

  it('both forms agree on Amdahl’s loads, whatever K ≥ 2 up to the cores', () => {
    forAll(memory, whole(2, 80), fc.nat(), (machine, cores, pick) => {
      const bytes = amdahlLoads(1e9, cores);
      const knee = 2 + (pick % (cores - 1));
      const derived = twoPhases(machine, bytes, 'derived', knee).timeMs;
      return closeTo(derived, twoPhases(machine, bytes, 'tabulated', knee).timeMs);
    });
  });
});
