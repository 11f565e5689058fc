import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { createArena } from '../../src-workers/models/composite/arena.ts';
import { prepareBlockLaw, sampledBlockLaw } from '../../src-workers/models/composite/block-law.ts';
import { drainCycles } from '../../src-workers/models/composite/drain.ts';
import { placedBlocks, placedCycles } from '../../src-workers/models/composite/placed.ts';
import { predictCycles, prepareResidency } from '../../src-workers/models/composite/predict.ts';
import { smoothRate } from '../../src-workers/models/composite/rate.ts';
import { blockSequence, sequenceCycles } from '../../src-workers/models/composite/sequence.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { arbitraryOrder } from '../../src-workers/numeric/random.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { kneeRate, unsortedDepth } from '../bench/composite-designs.ts';

const launches = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  groupsPerBlock: fc.integer({ min: 1, max: 16 }),
  residentBlocks: fc.integer({ min: 1, max: 8 }),
  multiprocessors: fc.integer({ min: 1, max: 20 }),
  gridBlocks: fc.integer({ min: 1, max: 300 }),
  issue: fc.double({ min: 0.5, max: 100, noNaN: true }),
});

/** Depths of a launch: blocks differ, the groups of one less, shortest first. */
function depthsOf(seed: number, gridBlocks: number, groupsPerBlock: number): Float64Array {
  const random = seededRandom(seed);
  const depths = new Float64Array(gridBlocks * groupsPerBlock);
  for (let b = 0; b < gridBlocks; b++) {
    const block = 10 + 200 * random() ** 3;
    for (let g = 0; g < groupsPerBlock; g++) depths[b * groupsPerBlock + g] = block * (1 + random());
    depths.subarray(b * groupsPerBlock, (b + 1) * groupsPerBlock).sort();
  }
  return depths;
}

describe('launches of known blocks', () => {
  it('take the time that the simulator plays, in one wave', () => {
    fc.assert(
      fc.property(launches, ({ seed, groupsPerBlock, residentBlocks, multiprocessors, gridBlocks: blocks, issue }) => {
        const gridBlocks = Math.min(blocks, residentBlocks * multiprocessors);
        const depths = depthsOf(seed, gridBlocks, groupsPerBlock);
        const order = arbitraryOrder(gridBlocks, seed);
        const rate = kneeRate(300, issue, 3, 4, residentBlocks * groupsPerBlock);
        let b = 0;
        const device = prepareDevice(
          {
            multiprocessors,
            residentBlocks,
            groupsPerBlock,
            gridBlocks,
            cyclesPerIteration: rate,
            launchOverheadCycles: 0,
          },
          () => (out) => {
            out.set(depths.subarray(order[b] * groupsPerBlock, (order[b] + 1) * groupsPerBlock));
            b++;
          },
        );
        const simulated = unwrap(device).run(seededRandom(1));
        const cycles = placedCycles(placedBlocks(depths, groupsPerBlock, order), multiprocessors, smoothRate(rate));
        // Exact, but only of the multiprocessors that an estimate says are slowest.
        expect(cycles).toBeLessThanOrEqual(simulated * (1 + 1e-9));
        expect(cycles).toBeGreaterThan(0.97 * simulated);
      }),
      { numRuns: 200 },
    );
  });

  it('of one block per multiprocessor take as long as the slowest block, exactly', () => {
    fc.assert(
      fc.property(launches, ({ seed, groupsPerBlock: W, gridBlocks, issue }) => {
        const depths = depthsOf(seed, gridBlocks, W);
        const rate = kneeRate(300, issue, 3, 4, W);
        let slowest = 0;
        for (let b = 0; b < gridBlocks; b++) {
          let time = 0;
          for (let g = 0; g < W; g++) {
            time += (depths[b * W + g] - (g === 0 ? 0 : depths[b * W + g - 1])) * rate[W - g];
          }
          slowest = Math.max(slowest, time);
        }
        const cycles = placedCycles(placedBlocks(depths, W, null), gridBlocks, smoothRate(rate));
        // Only the likeliest few are computed in full.
        expect(cycles).toBeLessThanOrEqual(slowest * (1 + 1e-12));
        expect(cycles).toBeGreaterThan(0.97 * slowest);
      }),
    );
  });

  it('have the law of their depths: of independent groups the one that is tabulated', () => {
    const depth = unsortedDepth(unwrap(geometricLaw(0.05)), 8);
    for (const W of [1, 4, 16]) {
      const exact = prepareBlockLaw(depth, W);
      const random = seededRandom(5);
      const survival = new Float64Array(depth.values.length);
      depth.survivalInto(survival, 1);
      const blocks = 20_000 / W;
      const depths = Float64Array.from({ length: blocks * W }, () => {
        const u = random();
        return depth.values[survival.findIndex((above) => above <= u)];
      });
      for (let b = 0; b < blocks; b++) depths.subarray(b * W, (b + 1) * W).sort();
      const counts = new Int32Array(W).fill(1);
      const sampled = sampledBlockLaw({ depths, counts, weights: null }, W, createArena(4096));
      // The sampling error of 20 000 groups.
      for (const moment of ['meanGroup', 'meanBlock', 'meanPair', 'meanResidual'] as const) {
        if (W === 1 && moment === 'meanPair') continue;
        expect(Math.abs(sampled[moment] / exact[moment] - 1)).toBeLessThan(0.03);
      }
      expect(Math.abs(sampled.clumping - exact.clumping)).toBeLessThan(0.03);
      const weights = new Float64Array(blocks).fill(7);
      const same = sampledBlockLaw({ depths, counts, weights }, W, createArena(4096));
      expect(same.meanBlock).toBeCloseTo(sampled.meanBlock, 9);
    }
  });

  it('of more than one wave start one after another: at a constant rate they end when the last block does', () => {
    fc.assert(
      fc.property(
        launches,
        fc.double({ min: 1.1, max: 8, noNaN: true }),
        ({ seed, groupsPerBlock: W, ...device }, waves) => {
          const { residentBlocks: R, multiprocessors: M } = device;
          const slots = R * M;
          const gridBlocks = Math.ceil(waves * slots) + 1;
          const depths = depthsOf(seed, gridBlocks, W);
          const free = new Array<number>(slots).fill(0);
          let end = 0;
          for (let b = 0; b < gridBlocks; b++) {
            free[0] += depths[(b + 1) * W - 1];
            end = Math.max(end, free[0]);
            free.sort((x, y) => x - y);
          }
          const rate = smoothRate(new Float64Array(R * W + 1).fill(2));
          const sequence = blockSequence(depths, W, slots, createArena(4096));
          // What is left is tabulated.
          expect(Math.abs(sequenceCycles(sequence, R, M, rate) / (2 * end) - 1)).toBeLessThan(0.01);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('of more than one wave take no other time by more than the rate is changed', () => {
    fc.assert(
      fc.property(
        launches,
        fc.double({ min: 1.1, max: 8, noNaN: true }),
        ({ seed, groupsPerBlock: W, ...device }, waves) => {
          const { residentBlocks: R, multiprocessors: M, issue } = device;
          const gridBlocks = Math.ceil(waves * R * M) + 1;
          const depths = depthsOf(seed, gridBlocks, W);
          const sequence = blockSequence(depths, W, R * M, createArena(4096));
          const law = sampledBlockLaw(
            { depths, counts: new Int32Array(W).fill(1), weights: null },
            W,
            createArena(4096),
          );
          const rates = [1, 1.001].map((factor) => smoothRate(kneeRate(300, factor * issue, 3, 4, R * W)));
          const [before, after] = rates.map((rate) => sequenceCycles(sequence, R, M, rate));
          const [lawBefore, lawAfter] = rates.map((rate) =>
            predictCycles(prepareResidency(law, R, rate), gridBlocks, M),
          );
          for (const change of [after / before, lawAfter / lawBefore]) {
            expect(change).toBeGreaterThan(0.999);
            expect(change).toBeLessThan(1.002);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('hold one block that is the longest, for certain', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1, max: 8 }), (gridBlocks, W) => {
        const depths = new Float64Array(gridBlocks * W).fill(10);
        depths.fill(1000, (gridBlocks - 1) * W);
        const law = sampledBlockLaw({ depths, counts: new Int32Array(W).fill(1), weights: null }, W, createArena(4096));
        const rate = smoothRate(new Float64Array(W + 1).fill(1));
        // All at once: were blocks draws, it would be missing in 37 of 100 launches.
        expect(drainCycles(law.fresh, 1, gridBlocks, rate, W)).toBeCloseTo(1000, 6);
        // On a quarter of the multiprocessors it is as often.
        const quarter = Math.ceil(gridBlocks / 4);
        const there = quarter / gridBlocks;
        expect(Math.abs(drainCycles(law.fresh, 1, quarter, rate, W) - (10 + 990 * there))).toBeLessThan(10);
      }),
    );
  });
});
