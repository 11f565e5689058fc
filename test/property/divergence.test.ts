import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { runProgram } from '../../src-workers/models/divergence/emulator.ts';
import { distinctLengths, expectedDivergence } from '../../src-workers/models/divergence/expected.ts';
import { DOUBLE_LOOP, SINGLE_LOOP } from '../../src-workers/models/divergence/program.ts';
import { forAllOf, whole } from '../for-all.ts';

const limits = fc.array(whole(0, 40), { minLength: 1, maxLength: 32 });
const shape = fc.record({ fastEntries: fc.constantFrom(4, 8, 16), chunkEntries: fc.constantFrom(1, 2, 4) });

describe('laws of the reconvergence stack', () => {
  it('a loop diverges once for each distinct length except one, and spills in chunks beyond the fast part of the stack', () =>
    forAllOf(500)(limits, shape, (M, stack) => {
      const run = unwrap(runProgram(SINGLE_LOOP, { M }, stack));
      expect(run.divergentBranches).toBe(new Set(M).size - 1);
      const above = new Set(M.filter((length) => length > 0)).size;
      expect(run.spills).toBe(Math.max(0, Math.ceil((above - stack.fastEntries) / stack.chunkEntries)));
    }));

  it('every push is popped, every spill is loaded back, and all lanes leave together', () => {
    forAllOf(300)(
      fc.array(fc.tuple(whole(0, 8), whole(0, 8)), { minLength: 1, maxLength: 32 }),
      shape,
      (pairs, stack) => {
        const registers = { M: pairs.map(([m]) => m), N: pairs.map(([, n]) => n) };
        const run = unwrap(runProgram(DOUBLE_LOOP, registers, stack));
        expect(run).toMatchObject({ pops: run.pushes, loads: run.spills });
        expect(run.depths.at(-1)).toBe(0);
        expect(run.activeMasks.at(-1)).toBe(2 ** pairs.length - 1);
        expect(run.maxDepth).toBe(Math.max(...run.depths));
        expect(run.events.filter(({ kind }) => kind === 'push')).toHaveLength(run.pushes);
      },
    );
  });

  it('the expectation equals the mean over all draws of a small law', () => {
    const law = fc
      .tuple(
        fc.uniqueArray(whole(0, 12), { minLength: 1, maxLength: 4 }),
        fc.array(whole(1, 9), { minLength: 4, maxLength: 4 }),
      )
      .map(([values, weights]) => {
        const support = Float64Array.from(values).sort();
        const used = weights.slice(0, support.length);
        const sum = used.reduce((a, b) => a + b, 0);
        return { label: 'test', support, probability: Float64Array.from(used, (w) => w / sum), truncatedMass: 0 };
      });
    const stack = { fastEntries: 2, chunkEntries: 1 };
    forAllOf(60)(law, whole(1, 4), (drawn, lanes) => {
      const values = drawn.support.length;
      let divergentBranches = 0;
      let spills = 0;
      for (let draw = 0; draw < values ** lanes; draw++) {
        const picks = Array.from({ length: lanes }, (_, lane) => Math.floor(draw / values ** lane) % values);
        const chance = picks.reduce((product, pick) => product * drawn.probability[pick], 1);
        const run = unwrap(runProgram(SINGLE_LOOP, { M: picks.map((pick) => drawn.support[pick]) }, stack));
        divergentBranches += chance * run.divergentBranches;
        spills += chance * run.spills;
      }
      const expected = expectedDivergence(drawn, lanes, stack);
      // At most 256 draws are summed, each with a few roundings.
      expect(Math.abs(expected.divergentBranches - divergentBranches)).toBeLessThan(1e-12);
      expect(Math.abs(expected.spills - spills)).toBeLessThan(1e-12);
      expect(Math.abs(distinctLengths(drawn, lanes).reduce((a, b) => a + b, 0) - 1)).toBeLessThan(1e-12);
    });
  });
});
