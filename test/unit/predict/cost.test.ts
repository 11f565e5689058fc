/* Tests the cost of a kernel's phases in a launch. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import type { KernelProfile } from '../../../src-workers/domain/kernel.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { cycleTable, cyclesWithTraffic, marginalCycles } from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { smoothRounds } from '../../../src-workers/predict/time/cycles.ts';
import { countActiveLanes } from '../../../src-workers/predict/cost/active-lanes.ts';
import { getPace } from '../../../src-workers/predict/cost/pace.ts';
import { computePhaseDemands } from '../../../src-workers/predict/cost/phases.ts';
import { examine, type GpuCandidate } from '../../../src-workers/predict/design/candidate.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';
import { gpu } from '../../catalogue.ts';
import { forAll } from '../../for-all.ts';

const A100 = gpu('nvidia-a100-sxm4-40gb');
const UNITS = 1 << 18;

interface Asked {
  readonly lengths?: string;
  readonly units?: number;
  readonly kernel?: Partial<StudyFile['kernel']>;
  readonly axes?: Partial<StudyFile['axes']>;
}
const planned = ({ lengths = 'constant(32)', units = UNITS, kernel = {}, axes = {} }: Asked) =>
  planOf(
    oneDesign({
      workload: { lengths, units },
      kernel: { ...KERNEL, ...kernel },
      axes: { blockThreads: [256], ...axes },
    }),
  );
function pacedDesign(predictor: Predictor) {
  const candidate = {} as GpuCandidate;
  examine(predictor, new Int32Array(predictor.counts.length), candidate);
  return { candidate, pace: getPace(candidate) };
}
const timeOf = async (asked: Asked): Promise<number> =>
  predictChunk(createPredictor(await planned(asked)), 0, 1).timeMs[0];
/** Returns the number of thread group instructions that a full device issues in `ms`. */
const instructionsIn = (ms: number): number =>
  (ms * A100.clockMhz * 1e3 * A100.multiprocessors * A100.fp32LanesPerMultiprocessor) / A100.threadGroupWidth;

describe('the phases of a kernel', () => {
  it.each([1, 2, 8, 32])('have their full cost if %i threads share a unit', async (u) => {
    const axes = { threadsPerUnit: [u] };
    for (const sharing of ['deal', 'split'] as const) {
      const kernel = { sharing, combine: { instructions: 0 } };
      const none = await timeOf({ kernel, axes });
      const some = await timeOf({ kernel: { ...kernel, unit: { instructions: 1000, chainInstructions: 1 } }, axes });
      // A thread group takes 32 / u units at a time, and runs 1,000 instructions for all of them together.
      expect(instructionsIn(some - none) / (1000 * (UNITS / (32 / u)))).toBeBetween(0.9, 1.1);
    }
  });

  it('cost one step of 32 threads for a dealt unit of one iteration', async () => {
    const kernel = { sharing: 'deal', combine: { instructions: 0 } } as const;
    // Blocks are large, so that starting them does not limit the launch.
    const axes = { threadsPerUnit: [32], blockThreads: [1024] };
    const one = await timeOf({ kernel, axes, lengths: 'constant(1)' });
    for (const length of [2, 31, 32]) expect(await timeOf({ kernel, axes, lengths: `constant(${length})` })).toBe(one);
    expect(await timeOf({ kernel, axes, lengths: 'constant(33)' })).toBeCloseTo(2 * one, 9);
    // A split iteration takes 1/32 of the time of a dealt one, or the shortest time of a launch.
    expect(await timeOf({ kernel: { sharing: 'split' }, axes, lengths: 'constant(1)' })).toBeLessThan(one / 4);
  });

  it('do not change the pace of a kernel that has none, and no traffic', async () => {
    for (const lengths of ['constant(20)', 'geometric(0.05)', 'mtx:ca-GrQc.mtx'])
      for (const u of [1, 4]) {
        const plan = await planned({ lengths, kernel: { serialFraction: 0.1 }, axes: { threadsPerUnit: [u] } });
        const { pace } = pacedDesign(createPredictor(plan));
        const step = pipelineParameters(A100, plan.kernel, { spilledRegisters: 0 });
        expect([pace.setupIterations, pace.overheadIterations, pace.iterationFactor]).toEqual([0, 0, 0.9 / u + 0.1]);
        expect(Array.from(pace.getCycles())).toEqual(
          Array.from(smoothRounds(cycleTable(step, pace.getCycles().length - 1), step.schedulers)),
        );
      }
  });

  it('combine a unit in log₂ u steps, and several thread groups with barriers', () => {
    const combine = { instructions: 10, chainInstructions: 6, dependentExchanges: 1 };
    const kernel = { ...KERNEL, sharing: 'deal', combine } as unknown as KernelProfile;
    const cost = (u: number) => computePhaseDemands(kernel, A100, u).unit;
    expect(cost(1)).toEqual({ latencyCycles: 0, issueCycles: 0 });
    expect(cost(8).issueCycles).toBeCloseTo(3 * cost(2).issueCycles, 9);
    expect(cost(8).latencyCycles).toBeCloseTo(3 * cost(2).latencyCycles, 9);
    expect(cost(64).issueCycles).toBeGreaterThan(6 * cost(2).issueCycles);
    expect(cost(128).issueCycles - cost(64).issueCycles).toBeCloseTo(cost(2).issueCycles, 9);
  });

  it('grow the time with every instruction, load and byte', async () => {
    const unit = { instructions: 50, dependentLoads: 1, bytes: 32 };
    const kernel = { sharing: 'deal', prologue: { instructions: 20 }, unit } as const;
    const asked = { lengths: 'geometric(0.05)', axes: { threadsPerUnit: [4] } };
    const base = await timeOf({ ...asked, kernel });
    const more = [
      { unit: { ...unit, instructions: 500 } },
      { unit: { ...unit, dependentLoads: 8 } },
      { unit: { ...unit, bytes: 2048 } },
      { prologue: { instructions: 2000 } },
      { combine: { instructions: 300 } },
    ];
    for (const change of more)
      expect(await timeOf({ ...asked, kernel: { ...kernel, ...change } })).toBeGreaterThan(base);
  });
});

it('the cycles of a mean round are the sum of the parts of latency, issue and traffic', () => {
  const above = fc.double({ min: 1, max: 1e5, noNaN: true });
  forAll(above, above, fc.oneof(fc.constant(0), above), fc.integer({ min: 1, max: 64 }), (τ, c, moved, w) => {
    const pipeline = { latencyCycles: τ, issueCycles: c, kneeSoftness: 6.5, schedulers: 4 };
    const part = marginalCycles(pipeline, moved, w);
    const sum = part.latency * τ + part.issue * c + part.transfer * moved;
    expect(Math.abs(sum / cyclesWithTraffic(pipeline, moved, w) - 1)).toBeLessThan(1e-12);
  });
});

it('the cycles of a mean round make a launch of whole waves as long as the sum of its rounds', async () => {
  const kernel = {
    bytesPerIteration: 4,
    dependentLoadsPerIteration: 1,
    prologue: { instructions: 20 },
    unit: { instructions: 18, dependentLoads: 1 },
  };
  const [blocksPerMultiprocessor, rounds] = [8, 3];
  const units = blocksPerMultiprocessor * A100.multiprocessors * 256 * rounds;
  const plan = await planned({ units, kernel, axes: { blocksPerMultiprocessor: [blocksPerMultiprocessor] } });
  const { candidate, pace } = pacedDesign(createPredictor(plan));
  const { iterationFactor, getCycles, setupIterations } = pace;
  expect([candidate.meanUnitsPerThread, candidate.shape.residentBlocks]).toEqual([rounds, blocksPerMultiprocessor]);
  const cycles = rounds * (32 + setupIterations) * getCycles()[blocksPerMultiprocessor * 8] * iterationFactor;
  const { timeMs } = predictChunk(createPredictor(plan), 0, 1);
  expect(Math.abs(timeMs[0] / (cycles / (A100.clockMhz * 1e3)) - 1)).toBeLessThan(1e-9);
});

it.each([1, 32, 64, 256])(
  'the best rate of a mean round is at some number of groups: %i threads per unit',
  async (u) => {
    for (const kernel of [{ unit: { instructions: 30 } }, { unit: { instructions: 9, bytes: 16 } }])
      for (const schedulers of [1, 3, 4]) {
        const measured = { latencyCycles: 500, issueCycles: 9, kneeSoftness: 3, schedulers };
        const plan = await planned({ kernel, axes: { threadsPerUnit: [u] } });
        const { pace } = pacedDesign(createPredictor({ ...plan, pipeline: { [A100.id]: measured } }));
        let best = Infinity;
        for (let w = 1; w < pace.getCycles().length; w += 1) {
          best = Math.min(best, pace.getCycles()[w] / w);
          expect(Math.abs(pace.findBestRate(w) / best - 1), `${w} groups`).toBeLessThan(1e-12);
        }
      }
  },
);

describe('the lanes of a group', () => {
  const lanesOf = async (lengths: string) => {
    return countActiveLanes(createPredictor(await planned({ lengths })), { kind: 'none' });
  };
  it('are all active if lengths are equal, and fewer are active the more lengths differ', async () => {
    expect((await lanesOf('constant(20)')).ofReads).toBe(1);
    const few = (await lanesOf('uniform(1, 40)')).ofReads;
    const fewer = (await lanesOf('geometric(0.05)')).ofReads;
    expect(few).toBeLessThan(1);
    expect(fewer).toBeLessThan(few);
  });

  it('load more often the more lanes there are', async () => {
    const lanes = await lanesOf('geometric(0.05)');
    let before = 0;
    for (const n of [1, 2, 8, 32]) {
      const any = lanes.any(n, 0.1);
      expect(any).toBeGreaterThan(before);
      expect(any).toBeLessThanOrEqual(1);
      before = any;
    }
    expect(lanes.any(1, 0.1)).toBeCloseTo(0.1, 9);
  });

  it('move no bytes once they have ended, so equal traffic takes equal time however lengths differ', async () => {
    const kernel = { instructionsPerIteration: 1, bytesPerIteration: 512 };
    const even = await timeOf({ kernel, lengths: 'constant(20)' });
    expect((await timeOf({ kernel, lengths: 'categorical(1: 0.5, 39: 0.5)' })) / even).toBeLessThan(1.25);
  });
});
