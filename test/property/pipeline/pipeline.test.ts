import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cyclesPerIteration, wavesTime } from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { forAll } from '../../for-all.ts';

const parameters = fc.record({
  latencyCycles: fc.double({ min: 1, max: 2000, noNaN: true }),
  issueCycles: fc.double({ min: 0.1, max: 100, noNaN: true }),
  kneeSoftness: fc.double({ min: 1, max: 50, noNaN: true }),
  schedulers: fc.constantFrom(1, 2, 4),
});
/** The tolerance covers the rounding of two powers. */
const SLACK = 1e-12;

it('an iteration costs at least the larger of latency and issue, at most their sum, and never less with more thread groups', () =>
  forAll(parameters, fc.integer({ min: 0, max: 64 }), (p, groups) => {
    const cycles = cyclesPerIteration(p, groups);
    const issue = p.issueCycles * p.schedulers * Math.ceil(groups / p.schedulers);
    expect(cycles).toBeWithin(Math.max(p.latencyCycles, issue) * (1 - SLACK), (p.latencyCycles + issue) * (1 + SLACK));
    expect(cyclesPerIteration(p, groups + 1)).toBeGreaterThanOrEqual(cycles * (1 - SLACK));
  }));

it('more blocks never take less time', () =>
  forAll(parameters, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 40 }), (p, groupsPerBlock, blocks) => {
    const at = (blocksPerMultiprocessor: number) =>
      wavesTime(p, { groupsPerBlock, blocksPerMultiprocessor, residentBlocks: 8 });
    expect(at(blocks + 1)).toBeGreaterThanOrEqual(at(blocks) * (1 - SLACK));
  }));
