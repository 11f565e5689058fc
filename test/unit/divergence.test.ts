import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { deviceStack, runCycles, stackCycles, STACK_COSTS } from '../../src-workers/models/divergence/costs.ts';
import { runProgram } from '../../src-workers/models/divergence/emulator.ts';
import { expectedDivergence } from '../../src-workers/models/divergence/expected.ts';
import { loopTimings, runLoops } from '../../src-workers/models/divergence/figures.ts';
import type { Program } from '../../src-workers/models/divergence/program.ts';
import { devicesIn } from '../catalogue.ts';

/** This program is x < 3 ? y += 1 : y += 2, followed by z += 1 for all lanes. */
const branches: Program = {
  name: 'branches',
  instructions: [
    { text: 'less', op: 'less', left: { register: 'x' }, right: 3 },
    { text: 'ssy', op: 'ssy', target: 6 },
    { text: 'branch', op: 'branch', target: 5 },
    { text: 'else', op: 'add', register: 'y', value: 2 },
    { text: 'pop', op: 'work', pop: true },
    { text: 'then and pop', op: 'work', pop: true },
    { text: 'join', op: 'add', register: 'z', value: 1 },
  ],
};

it('the emulator runs both sides of a branch and joins all lanes after it, and does not push for a branch that all lanes or none take', () => {
  const run = unwrap(runProgram(branches, { x: [1, 2, 3, 4] }));
  expect([...run.programCounters]).toEqual([0, 1, 2, 5, 3, 4, 6]);
  expect([...run.activeMasks]).toEqual([0b1111, 0b1111, 0b0011, 0b1100, 0b1100, 0b1111, 0b1111]);
  expect(run).toMatchObject({ pushes: 2, pops: 2, divergentBranches: 1, maxDepth: 2, spills: 0, loads: 0 });
  expect(unwrap(runProgram(branches, { x: [1, 2] })).divergentBranches).toBe(0);
  expect(unwrap(runProgram(branches, { x: [5, 6] })).divergentBranches).toBe(0);
});

it('the emulator refuses programs that cannot run', () => {
  const refused = (instructions: Program['instructions'], message: string | RegExp = /./) =>
    expect(runProgram({ name: 'wrong', instructions }, { x: [1] })).toFail(null, message);
  refused([{ text: 'pop', op: 'work', pop: true }], 'Instruction 0 of "wrong" pops an empty stack.');
  const message = 'Instruction 0: the target must be an integer from 0 to 1, not 9.';
  refused([{ text: 'ssy', op: 'ssy', target: 9 }], message);
  refused([{ text: 'x', op: 'ssy', target: 1, pop: true }]);
  const endless = { text: 'branch', op: 'branch', target: 1 } as const;
  refused([{ text: 'less', op: 'less', left: 0, right: 1 }, endless]);
  for (const registers of [{ x: [1], y: [1, 2] }, {}])
    expect(runProgram(branches, registers)).toMatchObject({ ok: false });
});

describe('costs', () => {
  const divergence = { divergentBranches: 10, spills: 2 };

  it('has the measured costs for Kepler and Maxwell, those of Maxwell for Pascal, and no others', () => {
    for (const device of devicesIn('nvidia')) {
      const rules = device.occupancy;
      if (rules.family !== 'nvidia') throw new Error(device.id);
      const major = Number(rules.computeCapability.split('.')[0]);
      const expected = major === 3 ? 320 + 168 : major === 5 || major === 6 ? 260 + 352 : null;
      const { costs } = deviceStack(device);
      expect(costs && stackCycles(costs, divergence), device.id).toBe(expected);
    }
    for (const device of [...devicesIn('amd'), ...devicesIn('software')]) {
      const { costs, reason } = deviceStack(device);
      expect(costs).toBeNull();
      expect(reason).toMatch(/^No reconvergence stack/);
    }
  });

  it('explains why independent thread scheduling has no cost, and offers both costs of Maxwell', () => {
    const volta = { occupancy: { family: 'nvidia', computeCapability: '7.0' } } as const;
    expect(deviceStack(volta).costs).toBeNull();
    expect(deviceStack(volta).reason).toContain('Independent thread scheduling');
    const maxwell = { occupancy: { family: 'nvidia', computeCapability: '5.2' } } as const;
    expect(stackCycles(deviceStack(maxwell, 'maxwell-summary').costs!, divergence)).toBe(240 + 352);
  });
});

it('timings count the instruction of a divergent branch once, and spill from 15 divergent lanes on in the double loop', () => {
  const costs = STACK_COSTS.kepler;
  expect(runCycles(runLoops('single', 5), costs, 10)).toBe(runCycles(runLoops('single', 0), costs, 10) + 5 * 32);
  // The stack of the double loop is one deeper.
  expect(loopTimings('double', costs, 0).spills.findIndex((count) => count > 0)).toBe(15);
});

it('expected divergence is 0 for one length whose probability is rounded to slightly more than 1', () => {
  const law = { label: '', support: Float64Array.of(3), probability: Float64Array.of(1 + 2 ** -52), truncatedMass: 0 };
  expect(expectedDivergence(law, 32)).toEqual({ divergentBranches: 0, spills: 0 });
});

it('expected divergence is at most one less than the number of lanes', () => {
  const many = 10_000;
  const wide = {
    label: 'wide',
    support: Float64Array.from({ length: many }, (_, i) => i + 1),
    probability: new Float64Array(many).fill(1 / many),
    truncatedMass: 0,
  };
  const { divergentBranches, spills } = expectedDivergence(wide, 32);
  expect(divergentBranches).toBeCloseTo(many * (1 - (1 - 1 / many) ** 32) - 1, 9);
  // A fourth spill needs 29 distinct lengths in 32. Ties have a probability of 1/10,000 for each of 496 pairs.
  expect(Math.abs(spills - 4)).toBeLessThan(1e-4);
});
