import type { MeasuringDevice } from '../domain/benchmark.ts';
import {
  CALIBRATION_PARAMETERS,
  type CalibratedParameters,
  type CalibrationParameter,
  type CalibrationProfile,
  type HeldOutFigures,
  type ParameterIdentification,
} from '../domain/calibration.ts';
import type { GpuDevice } from '../domain/device.ts';
import type { PipelineParameters } from '../domain/kernel.ts';
import { computeSetupIterations, withSetupIterations } from '../domain/provenance.ts';
import { invalidDesign } from '../domain/design.ts';
import { ok, type Result, badInput, unsupported, conflict } from '../domain/result.ts';
import { countedText } from '../domain/text.ts';
import { AXIS, AXIS_ORDER, axisCounts, decodeInto, encode, type SpaceAxes, spaceSize } from '../domain/space.ts';
import type { DivergenceFit } from '../models/calibration/divergence.ts';
import {
  calibrationFigures,
  minDesigns,
  fitParameters,
  heldOutFigures,
  heldOutPredictions,
  type FitParameter,
  type FitProblem,
} from '../models/calibration/fit.ts';
import { deviceStack } from '../models/divergence/costs.ts';
import { pipelineParameters } from '../models/pipeline/derive.ts';
import { moments } from '../models/workload/laws.ts';
import type { UniformSource } from '../numeric/random.ts';
import { median } from '../numeric/statistics.ts';
import type { SweepPlan } from '../predict/plan.ts';
import { computeBalancingTime, describeDesign } from '../predict/designs.ts';
import { explainDesign } from '../predict/explain.ts';
import { predictChunk } from '../predict/ranges.ts';
import { createPredictor } from '../predict/predictor.ts';

/** The measured time of a design. It excludes the ordering of units, which happens before the launch. */
export interface MeasuredDesign {
  readonly designIndex: number;
  readonly timeMs: number;
  /** Half width of the median's 95 % interval, ms; `null` if unknown. */
  readonly halfWidthMs: number | null;
}

export interface CalibrationOptions {
  readonly deviceName: string;
  readonly fingerprint: string;
  readonly backend: MeasuringDevice['backend'];
  readonly sourceRunIds: readonly number[];
  readonly uniform: UniformSource;
  readonly folds?: number;
  readonly divergence?: DivergenceFit | null;
  /** Whether a software adapter measured: its launches may take milliseconds. */
  readonly software?: boolean;
}

/** Limit of the fitted overhead: CUDA and HIP launch a kernel in 2 to 10 µs, so any more is time of the kernel. */
const MAX_LAUNCH_OVERHEAD_MS = 0.02;

const FOLDS = 5;

/** Minimum fraction of the spread of measured times that a calibration must explain; otherwise it is rejected. */
const MIN_EXPLAINED = 0.1;
/** The explained fraction is checked only if the mean |ln(time / median)| of the measured times reaches this. */
const SPREAD = 0.05;

/**
 * Fits the unknown parameters of a kernel on a device to measured times of its designs. The model is the predictor
 * itself. A parameter that the designs do not determine keeps the value of the plan.
 * @param deviceAt position of the designs' device on the plan's device axis
 */
export function calibrateFromDesigns(
  plan: SweepPlan,
  deviceAt: number,
  measured: readonly MeasuredDesign[],
  options: CalibrationOptions,
): Result<CalibrationProfile> {
  const device = plan.axes.devices[deviceAt];
  if (!device)
    return badInput(`The plan has no device ${deviceAt}, only ${countedText(plan.axes.devices.length, 'device')}.`);
  if (device.kind === 'cpu')
    return unsupported(`${device.name} is a CPU, and the model of a CPU has no parameters to fit. Calibrate a GPU.`);
  if (plan.axes.implementations)
    return unsupported('A calibration fits a single kernel. Calibrate a study without implementations.');
  const reduced = onlyMeasured(plan, deviceAt, measured);
  if (!reduced.ok) return reduced;
  const designs = measured.map(({ designIndex }) => designIndex);
  const uncalibrated = predictMeasured(plan, designs);
  if (!uncalibrated.ok) return uncalibrated;
  const starting = { ...startingValues(plan, device), divergentBranchCycles: null };
  const { schedulers } = plannedPipeline(plan, device);
  const ofOrder = plan.ordered
    ? predictMeasured(calibratedPlan(plan, device.id, { ...starting, schedulers }), designs)
    : ok(null);
  if (!ofOrder.ok) return ofOrder;
  const model = createForwardModel(reduced.value.plan, device, reduced.value.indices, ofOrder.value);
  const problem = fitProblem(reduced.value.plan, device, model, measured, options.software ?? false);
  if (!problem.ok) return problem;
  const fitted = fitParameters(problem.value);
  if (!fitted.ok) return fitted;
  const { measuredMs, parameters } = problem.value;
  const folds = Math.min(options.folds ?? FOLDS, measured.length);
  const smallest = measured.length - Math.ceil(measured.length / folds);
  let heldOut: HeldOutFigures | null = null;
  let judged = fitted.value.predictedMs;
  if (folds >= 2 && smallest >= minDesigns(parameters.length)) {
    const predicted = heldOutPredictions(problem.value, folds, options.uniform);
    if (!predicted.ok) return predicted;
    judged = predicted.value;
    heldOut = heldOutFigures(folds, judged, measuredMs);
  }
  const explained = checkExplained(judged, measuredMs, device);
  if (!explained.ok) return explained;

  const { values, standardErrors, held } = fitted.value;
  const identified: Partial<Record<CalibrationParameter, ParameterIdentification>> = {};
  const found: { -readonly [Name in CalibrationParameter]?: number } = {};
  parameters.forEach(({ name }, j) => {
    const parameter = name as FittedParameter;
    identified[parameter] = { standardError: standardErrors[j], held: held[j] };
    found[parameter] = values[j];
  });
  const { divergence } = options;
  if (divergence) identified.divergentBranchCycles = { standardError: divergence.branchStandardError, held: false };
  for (const name of CALIBRATION_PARAMETERS) identified[name] ??= { standardError: null, held: true };
  const { kernel } = plan;
  const calibrated: CalibratedParameters = {
    latencyCycles: found.latencyCycles!,
    issueCycles: found.issueCycles!,
    kneeSoftness: found.kneeSoftness!,
    schedulers,
    serialFraction: found.serialFraction ?? kernel.serialFraction,
    cooperationCost: found.cooperationCost ?? kernel.cooperationCost,
    setupIterationsPerUnit: found.setupIterationsPerUnit ?? computeSetupIterations(kernel),
    divergentBranchCycles:
      divergence?.cyclesPerDivergentBranch ?? deviceStack(device).costs?.cyclesPerDivergentBranch ?? null,
    launchOverheadMs: identified.launchOverheadMs!.held ? null : found.launchOverheadMs!,
  };
  const inStudy = predictMeasured(calibratedPlan(plan, device.id, calibrated), designs);
  if (!inStudy.ok) return inStudy;
  const overheadMs = calibrated.launchOverheadMs ?? 0;
  const withOverhead = inStudy.value.map((time) => time + overheadMs);
  return ok({
    version: 1,
    deviceId: device.id,
    deviceName: options.deviceName,
    fingerprint: options.fingerprint,
    backend: options.backend,
    parameters: calibrated,
    identified: identified as Record<CalibrationParameter, ParameterIdentification>,
    fit: calibrationFigures(withOverhead, measuredMs),
    ...(overheadMs > 0 && { fitInStudy: calibrationFigures(inStudy.value, measuredMs) }),
    heldOut,
    before: calibrationFigures(uncalibrated.value, measuredMs),
    sourceRunIds: options.sourceRunIds,
  });
}

/** Returns the plan with fitted parameters, for this device alone, because σ, κ and setup change the kernel. */
export function calibratedPlan(plan: SweepPlan, deviceId: string, parameters: CalibratedParameters): SweepPlan {
  const { latencyCycles, issueCycles, kneeSoftness, schedulers } = parameters;
  return {
    ...plan,
    id: `${plan.id} calibrated ${deviceId} ${JSON.stringify(parameters)}`,
    kernel: withSetupIterations(
      {
        ...plan.kernel,
        serialFraction: parameters.serialFraction ?? plan.kernel.serialFraction,
        cooperationCost: parameters.cooperationCost ?? plan.kernel.cooperationCost,
      },
      parameters.setupIterationsPerUnit ?? computeSetupIterations(plan.kernel),
    ),
    pipeline: { ...plan.pipeline, [deviceId]: { latencyCycles, issueCycles, kneeSoftness, schedulers } },
  };
}

/** Returns times, ms, with launch overhead but no ordering of units. Fails with `conflict` on an invalid design. */
export function predictMeasured(
  plan: SweepPlan,
  designIndices: readonly number[],
  launchOverheadMs = 0,
): Result<Float64Array> {
  const predictor = createPredictor(plan);
  const times = new Float64Array(designIndices.length);
  for (const [i, index] of designIndices.entries()) {
    const breakdown = explainDesign(predictor, index);
    if (!breakdown) return invalidDesign(index, describeDesign(predictor, index).invalid!);
    times[i] = breakdown.timeMs - computeBalancingTime(predictor, index) + launchOverheadMs;
  }
  return ok(times);
}

type FittedParameter = Exclude<CalibrationParameter, 'schedulers' | 'divergentBranchCycles'>;
type Values = Readonly<Record<FittedParameter, number>>;
interface ForwardModel {
  readonly exact: (values: Values) => Float64Array;
  /** Interpolates over `setupIterationsPerUnit`, since a fit tries hundreds of values, and depth laws take long. */
  readonly quick: (values: Values) => Float64Array;
}

function plannedPipeline(plan: SweepPlan, device: GpuDevice): PipelineParameters {
  const derived = pipelineParameters(device, plan.kernel, { spilledRegisters: 0 });
  const planned = plan.pipeline[device.id];
  return planned ? { ...planned, schedulers: planned.schedulers ?? derived.schedulers } : derived;
}

function startingValues(plan: SweepPlan, device: GpuDevice): Values {
  const { latencyCycles, issueCycles, kneeSoftness } = plannedPipeline(plan, device);
  const { serialFraction, cooperationCost } = plan.kernel;
  const setupIterationsPerUnit = computeSetupIterations(plan.kernel);
  return {
    latencyCycles,
    issueCycles,
    kneeSoftness,
    serialFraction,
    cooperationCost,
    setupIterationsPerUnit,
    launchOverheadMs: 0,
  };
}

function onlyMeasured(
  plan: SweepPlan,
  deviceAt: number,
  measured: readonly MeasuredDesign[],
): Result<{ readonly plan: SweepPlan; readonly indices: readonly number[] }> {
  const counts = axisCounts(plan.axes);
  const size = spaceSize(plan.axes);
  const positions: Int32Array[] = [];
  for (const { designIndex } of measured) {
    if (!(Number.isInteger(designIndex) && designIndex >= 0 && designIndex < size))
      return badInput(`There is no design ${designIndex} in the plan. The number of its designs is ${size}.`, {
        design: designIndex,
      });
    const at = new Int32Array(counts.length);
    decodeInto(at, counts, designIndex);
    if (at[AXIS.device] !== deviceAt) {
      const names = [at[AXIS.device], deviceAt].map((position) => plan.axes.devices[position].name);
      return badInput(`design ${designIndex} belongs to ${names[0]}, not to ${names[1]}`, { design: designIndex });
    }
    positions.push(at);
  }
  const used = AXIS_ORDER.map((_, axis) => [...new Set(positions.map((at) => at[axis]))].sort((a, b) => a - b));
  const pick = <T>(values: readonly T[], axis: number): readonly T[] => used[axis].map((at) => values[at]);
  const { axes } = plan;
  const kept: SpaceAxes = {
    devices: pick(axes.devices, AXIS.device),
    ...(axes.blockWidth && { blockWidth: pick(axes.blockWidth, AXIS.blockWidth) }),
    threadsPerUnit: pick(axes.threadsPerUnit, AXIS.threadsPerUnit),
    loop: pick(axes.loop, AXIS.loop),
    balancing: pick(axes.balancing, AXIS.balancing),
    launch: pick(axes.launch, AXIS.launch),
    registerCap: pick(axes.registerCap, AXIS.registerCap),
    blockThreads: pick(axes.blockThreads, AXIS.blockThreads),
  };
  const keptCounts = axisCounts(kept);
  return ok({
    plan: { ...plan, axes: kept, ordered: null },
    indices: positions.map((at) =>
      encode(
        keptCounts,
        used.map((values, axis) => values.indexOf(at[axis])),
      ),
    ),
  });
}

/**
 * Times are computed for values of `setupIterationsPerUnit` at this distance, and interpolated in between. The distance
 * is wide, because laws of near values may have different grids, which changes a time by 0.3 %.
 */
const setupStep = (plan: SweepPlan): number => 0.1 * moments(plan.law).mean + 0.2;

/**
 * Returns predictors of measured times. Their units have no order, because an order takes several times as long.
 * @param ofOrder starting times with the order; all times are scaled by their ratios to starting times without order
 */
function createForwardModel(
  plan: SweepPlan,
  device: GpuDevice,
  indices: readonly number[],
  ofOrder: Float64Array | null,
): ForwardModel {
  const first = createPredictor(plan);
  const orderingMs = new Float64Array(indices.length);
  for (const [i, index] of indices.entries()) orderingMs[i] = computeBalancingTime(first, index);
  const { schedulers } = plannedPipeline(plan, device);
  const kernelMs = ({ latencyCycles, issueCycles, kneeSoftness, launchOverheadMs: _, ...fitted }: Values) => {
    const { setupIterationsPerUnit, ...shared } = fitted;
    const pipeline = { [device.id]: { latencyCycles, issueCycles, kneeSoftness, schedulers } };
    const kernel = withSetupIterations({ ...plan.kernel, ...shared }, setupIterationsPerUnit);
    const predictor = createPredictor({ ...plan, kernel, pipeline }, first.caches);
    return Float64Array.from(indices, (index, i) => predictChunk(predictor, index, 1).timeMs[0] - orderingMs[i]);
  };
  const before = ofOrder && kernelMs(startingValues(plan, device));
  const ratios = before && ofOrder.map((time, i) => time / before[i]);
  const exact = (values: Values): Float64Array =>
    kernelMs(values).map((time, i) => time * (ratios?.[i] ?? 1) + values.launchOverheadMs);
  // The plan's own value is computed, not interpolated, since it stays if the designs do not determine the setup.
  const origin = computeSetupIterations(plan.kernel);
  const step = setupStep(plan);
  const quick = (values: Values) => {
    const setup = values.setupIterationsPerUnit;
    const knot = Math.floor((setup - origin) / step);
    const below = Math.max(0, origin + knot * step);
    const above = origin + (knot + 1) * step;
    const times = exact({ ...values, setupIterationsPerUnit: below });
    if (setup <= below) return times;
    const part = (setup - below) / (above - below);
    return exact({ ...values, setupIterationsPerUnit: above }).map((time, i) => times[i] + part * (time - times[i]));
  };
  return { exact, quick };
}

/** Half width of a 95 % interval in standard errors: the 97.5 % quantile of the normal law. */
const HALF_WIDTH_DEVIATIONS = 1.959963984540054;

function fitProblem(
  plan: SweepPlan,
  device: GpuDevice,
  model: ForwardModel,
  measured: readonly MeasuredDesign[],
  software: boolean,
): Result<FitProblem> {
  const measuredMs = Float64Array.from(measured, ({ timeMs }) => timeMs);
  const initial = startingValues(plan, device);
  const meanLength = moments(plan.law).mean;
  const shortest = measuredMs.reduce((least, time) => Math.min(least, time), Infinity);
  const sharing = new Set(plan.axes.threadsPerUnit);
  // A standard error of 0.5 in the logarithm means that in 19 of 20 cases the value is known within a factor of e.
  const cycles = { lower: 1e-3, upper: 1e9, coordinate: 'log', step: 3e-2, knownWithin: 0.5 } as const;
  const all: (Omit<FitParameter, 'initial' | 'name'> & { readonly name: FittedParameter })[] = [
    { name: 'issueCycles', ...cycles },
    { name: 'latencyCycles', ...cycles },
    { name: 'kneeSoftness', lower: 1, upper: 64, coordinate: 'log', step: 1e-1, knownWithin: 0.5 },
  ];
  // If all designs have the same threads per unit, the cost of sharing cannot be separated from the cost of an
  // iteration. With two different numbers, σ cannot be separated from κ.
  const split = plan.kernel.sharing !== 'deal';
  if (split && sharing.size > 1)
    all.push({ name: 'serialFraction', lower: 0, upper: 1, coordinate: 'linear', step: 1e-2, knownWithin: 0.1 });
  if (split && sharing.size > 2)
    all.push({ name: 'cooperationCost', lower: 0, upper: 2, coordinate: 'linear', step: 1e-2, knownWithin: 0.1 });
  all.push(
    {
      name: 'launchOverheadMs',
      lower: 0,
      upper: software ? shortest : Math.min(shortest, MAX_LAUNCH_OVERHEAD_MS),
      coordinate: 'linear',
      step: 1e-3 * shortest,
      knownWithin: 0.05 * shortest,
    },
    {
      name: 'setupIterationsPerUnit',
      lower: 0,
      upper: 10 * meanLength + 100,
      coordinate: 'linear',
      step: setupStep(plan),
      knownWithin: 0.05 * meanLength + 0.25,
      slow: true,
    },
  );
  const parameters = all.map((parameter) => ({ ...parameter, initial: initial[parameter.name] }));
  const withValues = (values: readonly number[]): Values => ({
    ...initial,
    ...Object.fromEntries(parameters.map(({ name }, j) => [name, values[j]])),
  });
  const starts: (readonly number[])[] = [];
  for (const { ratio, knee } of STARTS) {
    const moved = {
      ...initial,
      latencyCycles: initial.latencyCycles * ratio,
      kneeSoftness: knee ?? initial.kneeSoftness,
    };
    const predicted = model.quick(moved);
    const bad = predicted.findIndex((time, i) => !(time > 0 && time < Infinity && measuredMs[i] > 0));
    if (bad >= 0) {
      const times = `predicted ${predicted[bad]} ms, measured ${measuredMs[bad]} ms`;
      return badInput(`Measured design ${bad}: ${times}. Both times must be positive.`, { design: bad });
    }
    // The time is proportional to a common factor of τ and c.
    const scale = median(predicted.map((time, i) => measuredMs[i] / time));
    const start = { ...moved, latencyCycles: moved.latencyCycles * scale, issueCycles: moved.issueCycles * scale };
    starts.push(parameters.map(({ name }) => start[name]));
  }
  return ok({
    parameters,
    predict: (values) => model.quick(withValues(values)),
    predictExactly: (values) => model.exact(withValues(values)),
    measuredMs,
    relativeErrors: Float64Array.from(measured, ({ timeMs, halfWidthMs }) =>
      halfWidthMs === null ? 0 : halfWidthMs / timeMs / HALF_WIDTH_DEVIATIONS,
    ),
    starts,
  });
}

/** Start points of the fit: τ/c divided by the plan's τ/c, and p; null is the plan's p. A small p is a soft knee. */
const STARTS = [
  { ratio: 1, knee: null },
  { ratio: 8, knee: null },
  { ratio: 1 / 8, knee: null },
  { ratio: 1, knee: 2 },
] as const;

function checkExplained(predictedMs: Float64Array, measuredMs: Float64Array, device: GpuDevice): Result<null> {
  const centre = median(measuredMs);
  const size = (column: Float64Array, over: (i: number) => number) =>
    column.reduce((sum, time, i) => sum + Math.abs(Math.log(time / over(i))), 0) / column.length;
  const left = size(predictedMs, (i) => measuredMs[i]);
  const spread = size(measuredMs, () => centre);
  if (spread < SPREAD || left < (1 - MIN_EXPLAINED) * spread) return ok(null);
  const percent = (value: number) => `${(100 * Math.expm1(value)).toFixed(0)} %`;
  return conflict(
    `The calibrated model has an error of ${percent(left)}, hardly less than with the same time for all designs (${percent(spread)}). Use measurements of this study's kernel on ${device.name}.`,
  );
}
