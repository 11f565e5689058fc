import { describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import { BREAKDOWN_PARTS } from '../../../src-workers/domain/breakdown.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { chooseClasses } from '../../../src-workers/predict/design/classes.ts';
import { describeDesign, listPlayableLaunches } from '../../../src-workers/predict/designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import { simulateDesign, simulateTimeline } from '../../../src-workers/simulate/simulate-design.ts';
import { spaceSize } from '../../../src-workers/domain/space.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';

const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true, serialFraction: 0.05, cooperationCost: 0.02 };

/** Predicts designs with these balancings on an A100, by default with one thread per unit. */
async function predictorOf(lengths: string, balancing: string[], axes: object = {}, units = 1 << 16) {
  return createPredictor(
    await planOf(
      oneDesign({ kernel, workload: { lengths, units }, axes: { balancing, blockThreads: [128], ...axes } }),
    ),
  );
}

describe('a mixed design', () => {
  it.each(['zipf(1.6, 2000)', 'mtx:ca-GrQc.mtx'])('is a launch for each class of its units: %s', async (lengths) => {
    const predictor = await predictorOf(lengths, ['mixed(1:4,8:32,group:200,block)']);
    const { design } = describeDesign(predictor, 0);
    const classes = design.classes!;
    expect(classes.reduce((sum, { units }) => sum + units, 0)).toBe(1 << 16);
    expect(design.gridBlocks).toBe(classes.reduce((sum, { gridBlocks }) => sum + gridBlocks, 0));
    expect(classes.map(({ threadsPerUnit }) => threadsPerUnit)).toEqual([1, 8, 32, 128].slice(0, classes.length));
    const launches = listPlayableLaunches(predictor, 0);
    expect(launches.map(({ predictor: own }) => own.plan.units)).toEqual(classes.map(({ units }) => units));
    // All classes together have the whole work.
    const work = launches.reduce((sum, { predictor: own }) => sum + own.plan.units * own.meanLength, 0);
    expect(Math.abs(work / (predictor.plan.units * predictor.meanLength) - 1)).toBeLessThan(1e-3);
  });

  it('takes the time of its launches one after another, whose parts add up', async () => {
    const predictor = await predictorOf('zipf(1.6, 2000)', ['mixed(1:4,8:32,group)']);
    const { timeMs, parts } = explainDesign(predictor, 0)!;
    expect(timeMs).toBe(predictChunk(predictor, 0, 1).timeMs[0]);
    const sum = BREAKDOWN_PARTS.reduce((total, { id }) => total + parts[id], 0);
    expect(Math.abs(sum / timeMs - 1)).toBeLessThan(1e-9);
  });

  it('shows its launches one after another in its timeline', async () => {
    const predictor = await predictorOf('zipf(1.6, 2000)', ['mixed(1:8,block)', 'none']);
    const timeline = unwrap(simulateTimeline(predictor, 0, 3, 0));
    const [{ design }, { design: wide }] = listPlayableLaunches(predictor, 0);
    expect(timeline.gridBlocks).toBe(design.gridBlocks + wide.gridBlocks);
    const [first, second] = timeline.launchStartMs;
    expect(first).toBe(0);
    expect(timeline.launchStartMs).toHaveLength(2);
    expect(second).toBeLessThan(timeline.kernelMs);
    timeline.blockIndex.forEach((block, i) => {
      // One bar may stand for several blocks of a slot.
      if (block >= design.gridBlocks) expect(timeline.blockStartMs[i]).toBeGreaterThanOrEqual(second);
      else if (timeline.blockCount[i] === 1) expect(timeline.blockEndMs[i]).toBeLessThanOrEqual(second);
    });
    expect(Math.max(...timeline.blockEndMs) / timeline.kernelMs).toBeCloseTo(1, 9);
    // Blocks whose threads share a unit have as many thread groups as other blocks.
    const most = timeline.residentBlocks * timeline.groupsPerBlock;
    expect(timeline.groupsPerBlock).toBe(4);
    const after = Math.ceil(second / timeline.binMs);
    expect(Math.max(...timeline.activeMax.subarray(after))).toBeGreaterThan(0.9 * most);
    expect(Math.max(...timeline.activeMax)).toBeLessThanOrEqual(most + 1e-9);
    // The total time of the timeline is that of the replication that it shows.
    const options = { seed: 3, halfWidth: 1e-9, maxReplications: 5 };
    const { timesMs } = unwrap(simulateDesign(predictor, 0, options));
    expect(Math.abs((timeline.kernelMs + design.balancingMs) / timesMs[0] - 1)).toBeLessThan(1e-12);
    expect(unwrap(simulateTimeline(predictor, 1, 3, 0)).launchStartMs).toEqual(Float64Array.of(0));
  });

  it('is faster than every single number of threads if lengths differ much', async () => {
    const axes = { threadsPerUnit: [1, 2, 4, 8, 16, 32] };
    const predictor = await predictorOf('zipf(1.6, 2000)', ['none', 'full-sort', 'mixed(4)'], axes, 1 << 18);
    const { timeMs } = predictChunk(predictor, 0, spaceSize(predictor.plan.axes));
    const bestOf = (text: string): number =>
      Math.min(...timeMs.filter((ms, at) => ms > 0 && describeDesign(predictor, at).design.balancing === text));
    expect(bestOf('mixed(4)')).toBeLessThan(0.9 * bestOf('none'));
  });

  it('is allowed only with one thread per unit, and needs lengths', async () => {
    const axes = { threadsPerUnit: [1, 2] };
    const predictor = await predictorOf('geometric(0.05)', ['mixed(2)'], axes);
    expect([0, 1].map((at) => describeDesign(predictor, at).invalid)).toEqual([null, 'classes']);
    const unknown = createPredictor(
      await planOf(oneDesign({ axes: { balancing: ['mixed(2)'], blockThreads: [128] } })),
    );
    expect(describeDesign(unknown, 0).invalid).toBe('lengths-unknown');
  });

  it('has blocks of a power of two if the block shares a unit', async () => {
    const predictor = await predictorOf('geometric(0.05)', ['mixed(1:8,block)'], { blockThreads: [96, 128] });
    expect([0, 1].map((at) => describeDesign(predictor, at).invalid)).toEqual(['block-not-multiple', null]);
  });

  it('has the classes with the least estimate, so more classes are never worse', async () => {
    const predictor = await predictorOf('zipf(1.6, 2000)', ['none']);
    const device = predictor.plan.axes.devices[0] as GpuDevice;
    for (const most of [2, 3, 4]) {
      const classes = chooseClasses(predictor, device, most);
      expect(classes.length).toBeLessThanOrEqual(most);
      expect(classes.at(-1)!.upTo).toBeUndefined();
      const ends = classes.slice(0, -1).map(({ upTo }) => upTo!);
      expect(ends).toEqual([...new Set(ends)].sort((a, b) => a - b));
    }
    // Units of one length cannot be divided into classes.
    const same = await predictorOf('constant(20)', ['none']);
    expect(chooseClasses(same, device, 3)).toHaveLength(1);
  });
});
