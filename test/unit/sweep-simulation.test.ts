import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { playableDesign } from './designs.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { simulateDesign, simulateTimeline } from '../../src-workers/simulate/simulate-design.ts';
import { KERNEL, oneDesign, planOf } from './sweep-plans.ts';
import { gpu } from '../catalogue.ts';

const OPTIONS = { seed: 7, halfWidth: 0.005, maxReplications: 30 };
const WIDE = gpu('amd-mi250x-gcd');

it('fills only lanes that a block has: 96 threads in groups of 64', async () => {
  const gridBlocks = 2 * WIDE.multiprocessors;
  for (const balancing of ['none', 'dynamic-fetch', 'full-sort']) {
    const study = oneDesign({
      workload: { lengths: 'constant(10)', units: gridBlocks * 96 * 4 },
      devices: [WIDE.id],
      kernel: { ...KERNEL, lengthsKnownBeforeLaunch: true },
      axes: { blockThreads: [96], gridBlocks: [gridBlocks], balancing: [balancing] },
    });
    const predictor = createPredictor(await planOf(study));
    const design = playableDesign(predictor, 0)!;
    expect(design).toMatchObject({ groupsPerBlock: 2, unitsPerGroup: 64, slotsPerBlock: 96, unitsPerThread: 4 });
    const { meanMs, standardDeviationMs } = unwrap(simulateDesign(predictor, 0, OPTIONS));
    // A slot has four units of ten iterations in a row. Every multiprocessor has two blocks of two groups. If the lanes
    // of all groups were used, a slot would have three units.
    const { cyclesPerIteration, fetches } = design;
    // Units are fetched after 0, 10, 20 and 30 iterations. Then nothing is left.
    const cycles = fetches
      ? fetches.startCycles + 30 * fetches.cyclesPerIteration[4] + 10 * cyclesPerIteration[4] + fetches.lastCycles
      : 40 * cyclesPerIteration[4];
    const kernelMs = cycles * design.msPerCycle;
    expect(Math.abs(meanMs / (kernelMs + design.balancingMs) - 1)).toBeLessThan(8 * Number.EPSILON);
    expect(standardDeviationMs).toBe(0);
  }
});

it('gives some slots one more unit if the grid does not divide the work', async () => {
  const gridBlocks = WIDE.multiprocessors;
  const times = [0, 1].map(async (more) => {
    const study = oneDesign({
      workload: { lengths: 'constant(10)', units: gridBlocks * 256 * 2 + more },
      devices: [WIDE.id],
      axes: { blockThreads: [256], gridBlocks: [gridBlocks] },
    });
    const predictor = createPredictor(await planOf(study));
    const { cyclesPerIteration, msPerCycle } = playableDesign(predictor, 0)!;
    return { meanMs: unwrap(simulateDesign(predictor, 0, OPTIONS)).meanMs, cyclesPerIteration, msPerCycle };
  });
  const [even, odd] = await Promise.all(times);
  // One more unit keeps a single group active for ten more iterations, alone on its multiprocessor.
  const moreMs = 10 * odd.cyclesPerIteration[1] * odd.msPerCycle;
  expect(Math.abs((odd.meanMs - even.meanMs) / moreMs - 1)).toBeLessThan(1e-12);
});

it('draws the same work for the same seed and replication, and different work for others', async () => {
  const predictor = createPredictor(
    await planOf(oneDesign({ workload: { lengths: 'geometric(0.05)', units: 50_000 } })),
  );
  const play = (seed: number): readonly number[] => unwrap(simulateDesign(predictor, 0, { ...OPTIONS, seed })).timesMs;
  expect(play(1)).toEqual(play(1));
  expect(play(2)).not.toEqual(play(1));
  expect(new Set(play(1)).size).toBe(play(1).length);
  const kernelMs = (replication: number): number => unwrap(simulateTimeline(predictor, 0, 1, replication)).kernelMs;
  expect([0, 1, 2].map(kernelMs)).toEqual(play(1).slice(0, 3));
});

it('keeps a timeline of very many blocks drawable, and refuses one that is too large to record', async () => {
  const many = oneDesign({ workload: { lengths: 'geometric(0.5)', units: 4_000_000 }, axes: { blockThreads: [32] } });
  const predictor = createPredictor(await planOf({ ...many, devices: ['nvidia-a100-sxm4-40gb'] }));
  const timeline = unwrap(simulateTimeline(predictor, 0, 1, 0));
  expect(timeline.gridBlocks).toBe(125_000);
  expect(timeline.blockIndex.length).toBeLessThanOrEqual(20_000);
  expect(timeline.shownMultiprocessors.length).toBeGreaterThan(1);
  expect([...timeline.blockCount].every((count) => count === 1)).toBe(true);
  const huge = oneDesign({ workload: { lengths: 'constant(1)', units: 300_000_000 }, axes: { blockThreads: [32] } });
  expect(simulateTimeline(createPredictor(await planOf(huge)), 0, 1, 0)).toFail('unsupported');
});

it('is not certain after a few equal times if a rare length could change them', async () => {
  const played = async (lengths: string, seed: number): Promise<readonly number[]> => {
    const study = oneDesign({ workload: { lengths, units: 1024 }, axes: { blockThreads: [128], unitsPerThread: [1] } });
    const options = { seed, halfWidth: 0.02, maxReplications: 100 };
    return unwrap(simulateDesign(createPredictor(await planOf(study)), 0, options)).timesMs;
  };
  // One launch in ten has a unit of 100 iterations.
  for (let seed = 1; seed <= 8; seed += 1) {
    const times = await played('categorical(10:0.9999, 100:0.0001)', seed);
    expect(times.length >= 30 || new Set(times).size > 1).toBe(true);
    expect((await played('constant(10)', seed)).length).toBe(5);
  }
});

it('continues if a unit that all five replications drew is missing in some launches', async () => {
  // One launch in 27 has no unit of 4000 iterations.
  const study = (lengths: string) => oneDesign({ workload: { lengths, units: 20_000 } });
  const play = async (lengths: string): Promise<number> => {
    const predictor = createPredictor(await planOf(study(lengths)));
    return unwrap(simulateDesign(predictor, 0, { ...OPTIONS, halfWidth: 0.05, maxReplications: 100 })).timesMs.length;
  };
  expect(await play('categorical(10: 0.999835, 4000: 0.000165)')).toBeGreaterThanOrEqual(30);
  expect(await play('uniform(5, 50)')).toBeLessThan(30);
});

it('counts sorting before the launch, and fetching within it', async () => {
  for (const [balancing, before] of [
    ['full-sort', true],
    ['dynamic-fetch', false],
  ] as const) {
    const study = oneDesign({
      kernel: { ...KERNEL, lengthsKnownBeforeLaunch: true },
      axes: { blockThreads: [128], balancing: [balancing] },
    });
    const predictor = createPredictor(await planOf(study));
    const { balancingMs } = playableDesign(predictor, 0)!;
    if (before) expect(balancingMs).toBeGreaterThan(0);
    else expect(balancingMs).toBe(0);
    expect(explainDesign(predictor, 0)!.parts.balancing).toBeGreaterThan(balancingMs / 2);
  }
});
