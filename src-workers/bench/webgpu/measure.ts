/// <reference types="@webgpu/types" />
import type { BenchCase, BenchPlan, BenchRecord, MeasuringDevice } from '../../domain/benchmark.ts';
import { fail, FailureError, unwrap, type Result } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import type { PreparedCase } from './cases.ts';
import { describeWebGpu, measuringDeviceDescriptor } from './describe.ts';
import { prepareLaunchGrid, prepareLoops, prepareMatrixPower, type MatrixTimes } from './kernels.ts';
import { createLauncher, DeviceLostError, type Launcher } from './launcher.ts';
import { measureProbe } from './probes.ts';
import { prepareUnitLoop, unitLoopBuffers, type UnitLoopBuffers } from './unit-loop.ts';

export { describeWebGpu, measuringDeviceDescriptor };

/** The law that a text of the workload grammar names; how files are found is the caller's business. */
export type LengthLawSource = (text: string) => Promise<Result<LengthLaw>>;

interface Measurement {
  readonly launcher: Launcher;
  readonly info: MeasuringDevice;
  readonly plan: BenchPlan;
  readonly emit: (record: BenchRecord) => void | Promise<void>;
  readonly signal: AbortSignal;
  readonly lengthLaw: LengthLawSource;
  readonly matrixTimes: MatrixTimes;
  unitLoops: UnitLoopBuffers | null;
}

/**
 * Measures the cases of a plan on a WebGPU device, one launch at a time, in a page or under Node alike. Records come in the
 * order of `BenchRecord`: the device, then each case's warm-ups, samples and findings, or why it failed; `done` last.
 * After an abort, which is heeded between launches, nothing more comes; after `lost` neither.
 *
 * @param info of the device: see `describeWebGpu`
 */
export async function measureWebGpu(
  device: GPUDevice,
  info: MeasuringDevice,
  plan: BenchPlan,
  onRecord: (record: BenchRecord) => void | Promise<void>,
  signal: AbortSignal,
  lengthLaw: LengthLawSource,
): Promise<void> {
  const started = performance.now();
  const launcher = createLauncher(device);
  const measurement: Measurement = {
    launcher,
    info,
    plan,
    emit: onRecord,
    signal,
    lengthLaw,
    matrixTimes: new Map(),
    unitLoops: null,
  };
  try {
    await onRecord(info);
    for (const benchCase of plan.cases) {
      if (signal.aborted) return;
      try {
        await measureCase(measurement, benchCase);
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        await onRecord({ type: 'failed', case: benchCase.id, message: error.message });
      }
    }
    if (!signal.aborted) await onRecord({ type: 'done', elapsedMs: performance.now() - started });
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    await onRecord({ type: 'lost', message: error.message });
  } finally {
    launcher.destroy();
  }
}

/** Parts of a launch that are run first, to find out what the whole may cost before a driver's watchdog does. */
const FIRST_SHARES = [1 / 64, 1 / 8];

async function measureCase(measurement: Measurement, benchCase: BenchCase): Promise<void> {
  const { launcher, plan, signal, emit } = measurement;
  const { id } = benchCase;
  const started = performance.now();
  if (benchCase.benchmark === 'probe') {
    await emit({ type: 'values', case: id, values: await measureProbe(launcher, measurement.info, benchCase, signal) });
    return;
  }
  const prepared = unwrap(await prepare(measurement, benchCase));
  try {
    const launches = plan.warmUps + plan.repeats;
    const limitMs = plan.caseTimeLimitMs;
    for (const share of FIRST_SHARES) {
      if (signal.aborted) return;
      const atLeastMs = (launches * (await launcher.time(prepared.launch(share)))) / 1e6;
      if (atLeastMs > limitMs) {
        const part = `1/${Math.round(1 / share)} of a launch took ${(atLeastMs / launches).toFixed(1)} ms`;
        giveUp(`${part}; ${launches} launches would take more than the ${limitMs} ms a case may take`);
      }
    }
    prepared.begin?.();
    const timesNs: number[] = [];
    for (let launch = 0; launch < launches; launch++) {
      if (signal.aborted) return;
      const elapsedMs = performance.now() - started;
      if (elapsedMs > limitMs)
        giveUp(`${launch} of ${launches} launches took ${elapsedMs.toFixed(0)} ms; a case may take ${limitMs} ms`);
      const timeNs = await launcher.time(prepared.launch(1));
      const warmUp = launch < plan.warmUps;
      if (!warmUp) timesNs.push(timeNs);
      const repeat = warmUp ? launch : launch - plan.warmUps;
      await emit({ type: 'sample', case: id, repeat, warmUp, timeNs, clockMhz: null });
    }
    for (const record of await prepared.finish(timesNs)) await emit(record);
  } finally {
    prepared.release();
  }
}

function giveUp(message: string): never {
  throw new FailureError({ code: 'unsupported', message });
}

async function prepare(
  measurement: Measurement,
  benchCase: Exclude<BenchCase, { benchmark: 'probe' }>,
): Promise<Result<PreparedCase>> {
  const { launcher, plan, info, lengthLaw } = measurement;
  switch (benchCase.benchmark) {
    case 'unit-loop':
      if (!plan.workload)
        return fail('bad-input', 'a unit loop in a plan without a workload; expected lengths of units');
      measurement.unitLoops ??= await unitLoopBuffers(launcher, plan.workload);
      return prepareUnitLoop(launcher, measurement.unitLoops, plan, benchCase, info.threadGroupWidth);
    case 'matrix-power': {
      const law = await lengthLaw(benchCase.parameters.lengths);
      if (!law.ok) return law;
      return prepareMatrixPower(launcher, info, benchCase, law.value, plan.seed, measurement.matrixTimes);
    }
    case 'divergent-loops':
      return prepareLoops(launcher, info, benchCase);
    case 'launch-grid':
      return prepareLaunchGrid(launcher, benchCase);
    case 'stream':
    case 'triangular':
    case 'imbalanced-stream':
    case 'external':
      return fail('unsupported', `${benchCase.benchmark} does not run on a WebGPU device`);
  }
}
