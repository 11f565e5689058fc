/// <reference types="@webgpu/types" />
import type { BenchCase, BenchPlan, BenchRecord, MeasuringDevice } from '../../domain/benchmark.ts';
import { FailureError, unwrap, type Result, badInput, unsupported } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { describeWebGpu, isSoftwareAdapter, measuringDeviceDescriptor } from './describe.ts';
import { prepareLaunchGrid, prepareLoops, prepareMatrixPower, type MatrixTimes } from './kernels.ts';
import { createLauncher, DeviceLostError, refusal, type Launcher, type PreparedCase } from './launcher.ts';
import { ownKernelBuffers, prepareOwnKernel, type LoadedKernel, type OwnKernelBuffers } from './own-kernel.ts';
import { measureProbe } from './probes.ts';
import { prepareUnitLoop, unitLoopBuffers, type UnitLoopBuffers } from './unit-loop.ts';

export { describeWebGpu, isSoftwareAdapter, measuringDeviceDescriptor };

export type LengthLawSource = (text: string) => Promise<Result<LengthLaw>>;

interface Measurement {
  readonly launcher: Launcher;
  readonly info: MeasuringDevice;
  readonly plan: BenchPlan;
  readonly emit: (record: BenchRecord) => void | Promise<void>;
  readonly signal: AbortSignal;
  readonly lengthLaw: LengthLawSource;
  readonly matrixTimes: MatrixTimes;
  readonly kernel: LoadedKernel | null;
  unitLoops: UnitLoopBuffers | null;
  ownKernel: OwnKernelBuffers | null;
}

/**
 * Records come in the order of `BenchRecord`: the device, then the records of each case, and `done` last. No record
 * follows after `lost` or after an abort, which takes effect between two launches.
 */
export async function measureWebGpu(
  device: GPUDevice,
  info: MeasuringDevice,
  plan: BenchPlan,
  emit: Measurement['emit'],
  signal: AbortSignal,
  lengthLaw: LengthLawSource,
  kernel: LoadedKernel | null = null,
): Promise<void> {
  const started = performance.now();
  const launcher = createLauncher(device);
  const given = { launcher, info, plan, emit, signal, lengthLaw, kernel };
  const measurement: Measurement = { ...given, matrixTimes: new Map(), unitLoops: null, ownKernel: null };
  try {
    await emit(info);
    for (const cases of comparedCases(plan.cases)) await measureInTurn(measurement, cases);
    if (!signal.aborted) await emit({ type: 'done', elapsedMs: performance.now() - started });
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    await emit({ type: 'lost', message: error.message });
  } finally {
    launcher.destroy();
  }
}

/** The fractions of a launch that run first, to find launches that a driver's watchdog would stop. */
const FIRST_SHARES = [1 / 64, 1 / 8];

function comparedCases(cases: readonly BenchCase[]): readonly (readonly BenchCase[])[] {
  const groups: BenchCase[][] = [];
  let last: string | null = null;
  for (const benchCase of cases) {
    const { benchmark, parameters } = benchCase;
    const work =
      benchmark === 'matrix-power'
        ? `${parameters.lengths} ${parameters.unitsPerGroup} ${parameters.workGroups}`
        : null;
    if (work !== null && work === last) groups.at(-1)!.push(benchCase);
    else groups.push([benchCase]);
    last = work;
  }
  return groups;
}

interface CaseUnderWay {
  readonly id: string;
  readonly prepared: PreparedCase;
  readonly timesNs: number[];
  spentMs: number;
}

async function measureInTurn(measurement: Measurement, cases: readonly BenchCase[]): Promise<void> {
  const { plan, signal, emit } = measurement;
  const underWay = new Set<CaseUnderWay>();
  const failed = async (id: string, error: unknown): Promise<null> => {
    if (!(error instanceof FailureError)) throw error;
    await emit({ type: 'failed', case: id, message: error.message });
    return null;
  };
  try {
    for (const benchCase of cases) {
      if (signal.aborted) return;
      const begun = await beginCase(measurement, benchCase).catch((error: unknown) => failed(benchCase.id, error));
      if (begun) underWay.add(begun);
    }
    const launches = plan.warmUps + plan.repeats;
    for (let launch = 0; launch < launches; launch++) {
      // A launch may affect the next one, so the direction of the rounds alternates. The last round is in plan order.
      const order = (launches - launch) % 2 === 1 ? [...underWay] : [...underWay].reverse();
      for (const each of order) {
        if (signal.aborted) return;
        try {
          await launchCase(measurement, each, launch);
        } catch (error) {
          await failed(each.id, error);
          underWay.delete(each);
          each.prepared.release();
        }
      }
    }
  } finally {
    for (const { prepared } of underWay) prepared.release();
  }
}

async function beginCase(measurement: Measurement, benchCase: BenchCase): Promise<CaseUnderWay | null> {
  const { launcher, plan, signal, emit } = measurement;
  const { id } = benchCase;
  const started = performance.now();
  if (benchCase.benchmark === 'probe') {
    await emit({ type: 'values', case: id, values: await measureProbe(launcher, measurement.info, benchCase, signal) });
    return null;
  }
  const prepared = unwrap(await prepare(measurement, benchCase));
  let begun = false;
  try {
    const launches = plan.warmUps + plan.repeats;
    const limitMs = plan.caseTimeLimitMs;
    for (const share of FIRST_SHARES) {
      if (signal.aborted) return null;
      const atLeastMs = (launches * (await launcher.time(prepared.launch(share)))) / 1e6;
      if (atLeastMs > limitMs) {
        const part = `1/${Math.round(1 / share)} of a launch took ${(atLeastMs / launches).toFixed(1)} ms`;
        throw refusal(`${part}; ${launches} launches would exceed the limit of ${limitMs} ms for a case`);
      }
    }
    prepared.begin?.();
    begun = true;
    return { id, prepared, timesNs: [], spentMs: performance.now() - started };
  } finally {
    if (!begun) prepared.release();
  }
}

async function launchCase(
  { launcher, plan, emit }: Measurement,
  underWay: CaseUnderWay,
  launch: number,
): Promise<void> {
  const { id, prepared, timesNs, spentMs } = underWay;
  const { warmUps, repeats, caseTimeLimitMs: limitMs } = plan;
  const launches = warmUps + repeats;
  if (spentMs > limitMs)
    throw refusal(
      `Stopped after ${spentMs.toFixed(0)} ms (limit ${limitMs} ms), ${launch} of ${launches} launches done`,
    );
  const started = performance.now();
  const timeNs = await launcher.time(prepared.launch(1));
  const warmUp = launch < warmUps;
  if (!warmUp) timesNs.push(timeNs);
  await emit({ type: 'sample', case: id, repeat: warmUp ? launch : launch - warmUps, warmUp, timeNs, clockMhz: null });
  if (launch === launches - 1) for (const record of await prepared.finish(timesNs)) await emit(record);
  underWay.spentMs += performance.now() - started;
}

async function prepare(
  measurement: Measurement,
  benchCase: Exclude<BenchCase, { benchmark: 'probe' }>,
): Promise<Result<PreparedCase>> {
  const { launcher, plan, info, lengthLaw } = measurement;
  switch (benchCase.benchmark) {
    case 'unit-loop':
      if (!plan.workload) return badInput('The plan has a unit loop, but no workload (lengths of units).');
      if (measurement.kernel) {
        if (!measurement.ownKernel) {
          const buffers = await ownKernelBuffers(launcher, measurement.kernel, plan.workload.lengths);
          if (!buffers.ok) return buffers;
          measurement.ownKernel = buffers.value;
        }
        return prepareOwnKernel(launcher, measurement.ownKernel, benchCase);
      }
      if (!measurement.unitLoops) {
        const buffers = await unitLoopBuffers(launcher, plan.workload);
        if (!buffers.ok) return buffers;
        measurement.unitLoops = buffers.value;
      }
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
    default:
      return unsupported(`The benchmark ${benchCase.benchmark} does not run on a WebGPU device.`);
  }
}
