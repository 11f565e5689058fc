import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { uniformLaw } from '../../src-workers/models/workload/laws.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { replicate } from '../../src-workers/simulate/replicate.ts';
import { independentGroups } from '../../src-workers/simulate/samplers.ts';
import { kneeRate, predictCycles, unsortedDepth } from '../bench/composite-designs.ts';
import { categorical } from '../categorical.ts';

/*
 * The launch has slightly more blocks than whole waves. The last block takes about as long as any other, and one of the
 * multiprocessors is certain to run it. When each slot had it with a probability, a third of the launches of five
 * multiprocessors did not have it.
 */
const LAWS = {
  'two lengths': categorical({ 1: 0.97, 9: 0.03 }),
  'a narrow uniform law': unwrap(uniformLaw(90, 100)),
};

it.each([
  ['two lengths', 5, 6],
  ['two lengths', 5, 11],
  ['a narrow uniform law', 5, 6],
  ['a narrow uniform law', 5, 11],
  ['a narrow uniform law', 46, 47],
] as const)(
  '%s on %i multiprocessors with one block each: %i blocks take as long as in the simulation',
  (law, M, gridBlocks) => {
    const depth = unsortedDepth(LAWS[law], 32);
    const launch = { multiprocessors: M, residentBlocks: 1, groupsPerBlock: 32, gridBlocks };
    const cyclesPerIteration = kneeRate(572, 45.5, 3.5, 4, 32);
    const device = { ...launch, cyclesPerIteration };
    const prepared = unwrap(prepareDevice(device, independentGroups(depth)));
    const times = unwrap(replicate(prepared, { seed: 1, atLeast: 30, atMost: 300, relativeStandardError: 0.004 }));
    const predicted = predictCycles({ ...launch, depth, cyclesPerIteration });
    expect(Math.abs(predicted / times.meanCycles - 1)).toBeLessThan(0.06);
  },
);
