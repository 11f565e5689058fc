import type { BenchCase, BenchPlan, MeasuringDevice, PlanLine } from '../src-workers/domain/benchmark.ts';
import type { Design } from '../src-workers/domain/design.ts';

/** Makes plans and records of measurements. A test states only the values that matter to it. */

export function designOf(change: Partial<Design> = {}): Design {
  return {
    threadsPerUnit: 1,
    unitsPerThread: 1,
    loop: 'nested',
    balancing: 'none',
    blockThreads: 64,
    gridBlocks: 2,
    registerCap: null,
    ...change,
  };
}

export function unitLoop(id: string, change: Partial<Design>, residentBlocks: number | null = null): BenchCase {
  return {
    id,
    benchmark: 'unit-loop',
    parameters: { design: designOf(change), designIndex: null, predictedMs: null, residentBlocks },
  };
}

export function benchPlan(cases: readonly BenchCase[], change: Partial<BenchPlan> = {}): BenchPlan {
  return {
    format: 'lockstep-bench',
    version: 1,
    backend: 'cuda',
    cases,
    warmUps: 1,
    repeats: 2,
    seed: 7,
    caseTimeLimitMs: 60_000,
    workload: null,
    ...change,
  };
}

/** Makes the first line of a results file, for a plan without units. */
export const planLine = (plan: BenchPlan): PlanLine => {
  return { type: 'plan', plan: { ...plan, workload: null }, lengthsDigest: null, source: null };
};

export function measuringDevice(change: Partial<MeasuringDevice> = {}): MeasuringDevice {
  return {
    type: 'device',
    backend: 'cuda',
    name: 'Test GPU',
    fingerprint: 'Test GPU, driver 1',
    driver: '1',
    versions: { nvcc: '13.0' },
    threadGroupWidth: 32,
    multiprocessors: 4,
    clockMhz: 1000,
    timer: 'device',
    properties: {},
    ...change,
  };
}
