import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { makeGroupDepthLaw } from '../../src-workers/predict/depth/group-depth.ts';
import { createArena } from '../../src-workers/predict/time/arena.ts';
import { makeBlockLaw, prepareBlockLaw } from '../../src-workers/predict/time/block-law.ts';
import { findMostCompeting, ONE_SCHEDULER } from '../../src-workers/predict/time/cycles.ts';
import { getDepthTable } from '../../src-workers/predict/depth/depth-table.ts';
import { computeLaunchCycles, makePlainLaunch } from '../../src-workers/predict/time/regimes.ts';
import { makeResidency, type Residency } from '../../src-workers/predict/time/residency.ts';
import {
  binomialLaw,
  categoricalLaw,
  constantLaw,
  geometricLaw,
  lognormalLaw,
  negativeBinomialLaw,
  poissonLaw,
  uniformLaw,
  zipfLaw,
} from '../../src-workers/models/workload/laws.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { independentGroups } from '../../src-workers/simulate/samplers.ts';
import { kneeRate, predictCycles, randomDesign, unsortedDepth, type RandomDesign } from '../bench/composite-designs.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

/** Generates designs of the benchmark's space, each from a seed. */
const anyDesign = whole(0, 2 ** 31).map((seed) => randomDesign(seededRandom(seed), 1e9));
const predict = (design: RandomDesign, change: Partial<RandomDesign> = {}): number =>
  predictCycles({ ...design, ...change });

describe('the composite prediction', () => {
  it('is the mean of the longest block if each group has a multiprocessor of its own', () => {
    const laws = [
      geometricLaw(0.05),
      geometricLaw(0.003),
      poissonLaw(100),
      negativeBinomialLaw(0.8, 0.05),
      lognormalLaw(3, 0.5),
      uniformLaw(1, 300),
      zipfLaw(1.6, 2000),
    ].map(unwrap);
    for (const law of laws)
      for (const units of [1, 32])
        for (const multiprocessors of [8, 100, 1000]) {
          const depth = unsortedDepth(law, units);
          const { values } = depth;
          const above = new Float64Array(values.length);
          depth.survivalInto(above, multiprocessors);
          let longest = values[0];
          for (let i = 0; i + 1 < values.length; i++) longest += (values[i + 1] - values[i]) * above[i];
          const cycles = predictCycles({
            depth,
            groupsPerBlock: 1,
            residentBlocks: 1,
            multiprocessors,
            gridBlocks: multiprocessors,
            cyclesPerIteration: Float64Array.of(0, 1),
          });
          // In the law's tail, lengths within a factor of e² become their mean, so the largest are not exact.
          const { label } = law;
          expect(cycles, `${multiprocessors} groups of ${units} of ${label}`).toBeNear(longest, 0.03);
        }
  });

  it('equals the waves in step exactly if there is no imbalance, and so does the simulation', () => {
    forAll(
      whole(1, 500),
      whole(1, 8),
      whole(1, 8),
      whole(1, 20),
      whole(1, 400),
      (length, groupsPerBlock, residentBlocks, multiprocessors, gridBlocks) => {
        // Whole numbers prevent differences by rounding.
        const cyclesPerIteration = kneeRate(40, 3, 2, 2, residentBlocks * groupsPerBlock).map(Math.round);
        const depth = unsortedDepth(unwrap(constantLaw(length)), 4);
        const perMultiprocessor = Math.ceil(gridBlocks / multiprocessors);
        const rest = perMultiprocessor % residentBlocks;
        const expected =
          Math.floor(perMultiprocessor / residentBlocks) *
            length *
            cyclesPerIteration[residentBlocks * groupsPerBlock] +
          (rest > 0 ? length * cyclesPerIteration[rest * groupsPerBlock] : 0);
        const launch = { multiprocessors, residentBlocks, groupsPerBlock, gridBlocks };
        const device = prepareDevice({ ...launch, cyclesPerIteration }, independentGroups(depth));
        expect(device.run(seededRandom(1))).toBe(expected);
        expect(predict({ label: '', depth, cyclesPerIteration, schedulers: ONE_SCHEDULER, ...launch })).toBe(expected);
      },
    );
  });

  it('is the mean depth for a single group, and scales with the rate', () => {
    forAll(anyDesign, real(0.01, 1), (design, factor) => {
      const alone = predict(design, { groupsPerBlock: 1, residentBlocks: 1, gridBlocks: 1 });
      // The prediction sums means over cells of the law, in another order than `meanDepth`.
      expect(alone).toBeNear(design.depth.meanDepth * design.cyclesPerIteration[1], 1e-9);
      const scaled = predict(design, { cyclesPerIteration: design.cyclesPerIteration.map((t) => t * factor) });
      expect(scaled).toBeNear(factor * predict(design), 1e-9);
    });
  });

  it('grows with the grid', () => {
    forAllOf(300)(anyDesign, real(1.02, 3), (design, factor) => {
      const more = Math.ceil(design.gridBlocks * factor);
      // The formulas for one wave, a few and many waves agree within about 2 % where one follows another.
      expect(predict(design, { gridBlocks: more })).toBeGreaterThan(0.97 * predict(design));
    });
  });

  it('is never faster than the device with all slots always full, nor than a launch that it contains', () => {
    forAllOf(300)(anyDesign, real(0, 3), (design, waves) => {
      const { groupsPerBlock: W, residentBlocks: R, multiprocessors: M, depth, cyclesPerIteration } = design;
      let perGroup = Infinity;
      for (let w = 1; w <= R * W; w++) perGroup = Math.min(perGroup, cyclesPerIteration[w] / w);
      const least = ((design.gridBlocks * W) / M) * depth.meanDepth * perGroup;
      // The prediction interpolates between whole numbers of groups, so a time may be up to 2 % below this bound.
      expect(predict(design)).toBeBetween(0.98 * least, Infinity);
      const gridBlocks = Math.max(1, Math.round(waves * R * M));
      const cycles = predict(design, { gridBlocks });
      // The launch contains one with equally many blocks on every multiprocessor, at most one wave.
      const contained = Math.min(R, Math.floor(gridBlocks / M)) * M;
      expect(cycles).toBeGreaterThanOrEqual(predict(design, { gridBlocks: contained }) * (1 - 1e-12));
      if (gridBlocks > R * M) return;
      const fullest = Math.ceil(gridBlocks / M);
      expect(cycles).toBeLessThanOrEqual(predict(design, { gridBlocks: fullest * M }) * (1 + 1e-12));
      const most = findMostCompeting(fullest * W, design.schedulers, cyclesPerIteration);
      const longest = depth.values[depth.values.length - 1];
      // The last row of a law contains its whole tail beyond a probability of one in ten million.
      expect(cycles).toBeLessThan(1.05 * longest * cyclesPerIteration[most]);
    });
  });

  it('takes at most the work of a slot and the longest block at a constant rate, like any schedule without idle slots', () => {
    const kinds = [{ kind: 'none' }, { kind: 'best-buckets', k: 2 }] as const;
    forAllOf(500)(
      fc.constantFrom(...kinds),
      whole(1, 60),
      real(0.05, 0.95),
      whole(1, 12),
      whole(1, 12),
      real(1, 30),
      (balancing, short, share, groupsPerBlock, residentBlocks, waves) => {
        const points = [
          { length: short, probability: share },
          { length: 100, probability: 1 - share },
        ];
        const depth = makeGroupDepthLaw(unwrap(categoricalLaw(points)), 1, balancing, 'nested', 1, {
          setupIterations: 0,
        });
        const block = prepareBlockLaw(depth, groupsPerBlock);
        const cyclesPerIteration = new Float64Array(residentBlocks * groupsPerBlock + 1).fill(1);
        const gridBlocks = Math.ceil(waves * 50 * residentBlocks);
        const cycles = computeLaunchCycles(
          makePlainLaunch(makeResidency(block, residentBlocks, cyclesPerIteration), gridBlocks, 50),
        );
        const work = (gridBlocks / (50 * residentBlocks)) * block.meanBlock;
        expect(cycles).toBeLessThanOrEqual((work + block.longest) * 1.01);
      },
    );
  });

  it('lies between the times of fewer and of more units if only some blocks have more units', () => {
    forAll(anyDesign, real(1e-3, 2), (design, part) => {
      const { groupsPerBlock, residentBlocks, multiprocessors, gridBlocks, cyclesPerIteration } = design;
      if (part >= 1 && gridBlocks < 2) return;
      // Either a part of the first block has one more unit, or a whole number of blocks has.
      const fuller = part < 1 ? part : 1 + Math.floor((part - 1) * (gridBlocks - 2));
      const residency = (length: number): Residency =>
        makeResidency(
          prepareBlockLaw(unsortedDepth(unwrap(constantLaw(length)), 1), groupsPerBlock),
          residentBlocks,
          cyclesPerIteration,
        );
      const [more, fewer] = [residency(20), residency(10)];
      const at = (kind: Residency, blocks: number): number =>
        computeLaunchCycles(makePlainLaunch(kind, blocks, multiprocessors));
      const launch = makePlainLaunch(more, gridBlocks, multiprocessors);
      const cycles = computeLaunchCycles({ ...launch, shorter: fewer, fullerBlocks: fuller });
      // The time counts whole short and whole long blocks, with up to one more of each on every multiprocessor.
      expect(cycles).toBeWithin(at(fewer, gridBlocks) * (1 - 1e-12), at(more, gridBlocks + 2 * multiprocessors));
    });
  });
});

it('the law of blocks whose last group is partly empty has the moments of independent lanes', () => {
  forAll(
    whole(2, 12),
    fc.constantFrom(4, 8, 32, 64),
    real(0.1, 0.9),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    (groupsPerBlock, lanes, probability, part) => {
      const law = unwrap(binomialLaw(24, probability));
      // A group with fewer lanes has its own law, because the law of a full group has rounded short depths to zero.
      const filled = Math.floor((lanes / 4) * (1 + 3 * part));
      const longest = (count: number): number => {
        let below = 0;
        let mean = 0;
        law.support.forEach((length, i) => {
          const before = below;
          below = Math.min(1, below + law.probability[i]);
          mean += length * (Math.pow(below, count) - Math.pow(before, count));
        });
        return mean;
      };
      const table = getDepthTable(unsortedDepth(law, lanes));
      const block = makeBlockLaw(table, groupsPerBlock, createArena(4096), filled / lanes);
      // If a block has no power of two groups, the table is accurate to a few parts in 100,000 (`notAll`).
      const close = (got: number, expected: number): void =>
        expect(Math.abs(got - expected)).toBeLessThan(1e-4 * expected + 1e-6);
      close(block.meanBlock, longest(lanes * (groupsPerBlock - 1) + filled));
      close(block.meanGroup, ((groupsPerBlock - 1) * longest(lanes) + longest(filled)) / groupsPerBlock);
      // E[shorter of two] = sum of the two means − E[longer of two].
      const twoFull = 2 * longest(lanes) - longest(2 * lanes);
      const withLast = longest(lanes) + longest(filled) - longest(lanes + filled);
      close(block.meanPair, ((groupsPerBlock - 2) * twoFull + 2 * withLast) / groupsPerBlock);
    },
  );
});
