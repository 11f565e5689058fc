import type { MeasuringDevice } from '../domain/benchmark.ts';
import {
  CALIBRATION_CHOICES,
  CALIBRATION_PARAMETERS,
  calibratedPipeline,
  type CalibratedParameters,
  type CalibrationParameter,
  type CalibrationProfile,
  type ParameterIdentification,
} from '../domain/calibration.ts';
import type { GpuDevice } from '../domain/device.ts';
import { PHASES, type KernelProfile, type MeasuredPipeline } from '../domain/kernel.ts';
import { computeSetupIterations, withSetupIterations } from '../domain/provenance.ts';
import { invalidDesign } from '../domain/design.ts';
import { ok, type Result, badInput, unsupported, conflict } from '../domain/result.ts';
import { countedText } from '../domain/text.ts';
import { AXIS, AXIS_ORDER, axisCounts, decodeInto, encode, type SpaceAxes, spaceSize } from '../domain/space.ts';
import { chooseSimplest } from '../models/calibration/choice.ts';
import type { DivergenceFit } from '../models/calibration/divergence.ts';
import {
  calibrationFigures,
  dealFolds,
  minDesigns,
  fitParameters,
  heldOutFigures,
  heldOutPredictions,
  type FitParameter,
  type FitProblem,
  type FittedParameters,
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

/** One factor for all times is judged on a fold that is left out, so the other folds must be enough to fit it. */
const MIN_DESIGNS = minDesigns(1) + 1;

/**
 * Fits the unknown parameters of a kernel on a device to measured times of its designs. The model is the predictor
 * itself. A parameter that the designs do not determine keeps the value of the plan. The fitted parameters are taken
 * only if they predict designs left out of the fit better than the plan itself and than one factor for all its times.
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
  if (measured.length < MIN_DESIGNS)
    return badInput(
      `A calibration needs at least ${MIN_DESIGNS} measured designs, not ${measured.length}. Measure more designs, spread over the ranking.`,
    );
  const planned = plannedValues(plan, device);
  const { schedulers } = plannedPipeline(plan, device);
  const starting = startingValues(plan, device);
  const ofOrder = plan.ordered
    ? predictMeasured(
        calibratedPlan(plan, device.id, { ...starting, schedulers, divergentBranchCycles: null }),
        designs,
      )
    : ok(null);
  if (!ofOrder.ok) return ofOrder;
  const model = createForwardModel(reduced.value.plan, device, reduced.value.indices, ofOrder.value);
  const problem = fitProblem(reduced.value.plan, device, model, measured, options.software ?? false);
  if (!problem.ok) return problem;
  const factorProblem = makeFactorProblem(problem.value, model, planned, uncalibrated.value);
  const { measuredMs, parameters } = problem.value;

  const enough = minDesigns(parameters.length);
  const asked = Math.min(options.folds ?? FOLDS, measured.length);
  const spare = measured.length - enough;
  // With few designs, a fold has at most the designs that a fit of all parameters can spare.
  const folds = spare > 0 ? Math.max(asked, Math.ceil(measured.length / spare)) : asked;
  const fold = dealFolds(measured.length, folds, options.uniform);
  const ofFactor = heldOutPredictions(factorProblem, fold);
  if (!ofFactor.ok) return ofFactor;
  const ofParameters = spare > 0 ? heldOutPredictions(problem.value, fold) : ok(null);
  if (!ofParameters.ok) return ofParameters;
  const judged = [uncalibrated.value, ofFactor.value, ofParameters.value];
  const at = chooseSimplest(judged, measuredMs);
  const explained = checkExplained(
    judged[at]!,
    measuredMs,
    spare > 0
      ? `Use measurements of this study's kernel on ${device.name}.`
      : `Measure at least ${enough + 1} designs, which a fit of all parameters needs.`,
  );
  if (!explained.ok) return explained;

  const taken = CALIBRATION_CHOICES[at];
  const factor = fitParameters(factorProblem);
  if (!factor.ok) return factor;
  const whole = taken === 'parameters' ? fitParameters(problem.value) : ok(null);
  if (!whole.ok) return whole;
  let found: Found = { values: planned, identified: {} };
  if (taken === 'factor') found = findScaled(planned, factor.value);
  else if (whole.value) found = findAll(starting, parameters, whole.value);
  const { values } = found;
  const identified = { ...found.identified };
  const { divergence } = options;
  if (divergence) identified.divergentBranchCycles = { standardError: divergence.branchStandardError, held: false };
  for (const name of CALIBRATION_PARAMETERS) identified[name] ??= { standardError: null, held: true };
  const { transferScale, launchOverheadMs } = values;
  const calibrated: CalibratedParameters = {
    latencyCycles: values.latencyCycles,
    issueCycles: values.issueCycles,
    ...(transferScale !== undefined && { transferScale }),
    kneeSoftness: values.kneeSoftness,
    schedulers,
    serialFraction: values.serialFraction,
    cooperationCost: values.cooperationCost,
    setupIterationsPerUnit: values.setupIterationsPerUnit,
    divergentBranchCycles:
      divergence?.cyclesPerDivergentBranch ?? deviceStack(device).costs?.cyclesPerDivergentBranch ?? null,
    launchOverheadMs: identified.launchOverheadMs!.held ? null : launchOverheadMs,
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
    heldOut: heldOutFigures(folds, judged[at]!, measuredMs),
    before: calibrationFigures(uncalibrated.value, measuredMs),
    choice: {
      taken,
      factor: factor.value.values[0],
      heldOut: Object.fromEntries(
        CALIBRATION_CHOICES.map((name, i) => [name, judged[i] && heldOutFigures(folds, judged[i], measuredMs)]),
      ) as NonNullable<CalibrationProfile['choice']>['heldOut'],
    },
    sourceRunIds: options.sourceRunIds,
  });
}

/** Returns the plan with fitted parameters, for this device alone, because σ, κ and setup change the kernel. */
export function calibratedPlan(plan: SweepPlan, deviceId: string, parameters: CalibratedParameters): SweepPlan {
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
    pipeline: { ...plan.pipeline, [deviceId]: calibratedPipeline(parameters) },
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
type Values = Readonly<Record<Exclude<FittedParameter, 'transferScale'>, number>> & {
  readonly transferScale?: number;
};
interface ForwardModel {
  readonly exact: (values: Values) => Float64Array;
  /** Interpolates over `setupIterationsPerUnit`, since a fit tries hundreds of values, and depth laws take long. */
  readonly quick: (values: Values) => Float64Array;
}

function movesData(kernel: KernelProfile): boolean {
  const { accesses, bytesPerIteration } = kernel;
  return accesses !== undefined || bytesPerIteration > 0 || PHASES.some((name) => (kernel[name]?.bytes ?? 0) > 0);
}

/** Returns the pipeline parameters that the plan uses. Those of a data sheet have the traffic apart, if there is any. */
function plannedPipeline(plan: SweepPlan, device: GpuDevice): MeasuredPipeline & { readonly schedulers: number } {
  const derived = pipelineParameters(device, plan.kernel, { spilledRegisters: 0, bytesPerIteration: 0 });
  const planned = plan.pipeline[device.id];
  if (planned) return { ...planned, schedulers: planned.schedulers ?? derived.schedulers };
  return movesData(plan.kernel) ? { ...derived, transferScale: 1 } : derived;
}

function plannedValues(plan: SweepPlan, device: GpuDevice): Values {
  const { latencyCycles, issueCycles, kneeSoftness, transferScale } = plannedPipeline(plan, device);
  const { serialFraction, cooperationCost } = plan.kernel;
  const setupIterationsPerUnit = computeSetupIterations(plan.kernel);
  return {
    latencyCycles,
    issueCycles,
    ...(transferScale !== undefined && { transferScale }),
    kneeSoftness,
    serialFraction,
    cooperationCost,
    setupIterationsPerUnit,
    launchOverheadMs: 0,
  };
}

/** Returns the planned values, but if their issue cycles contain the traffic, the data sheet's cycles without it. */
function startingValues(plan: SweepPlan, device: GpuDevice): Values {
  const planned = plannedValues(plan, device);
  if (planned.transferScale !== undefined || !movesData(plan.kernel)) return planned;
  const { issueCycles } = pipelineParameters(device, plan.kernel, { spilledRegisters: 0, bytesPerIteration: 0 });
  return { ...planned, issueCycles, transferScale: 1 };
}

/** All times are proportional to a common factor of these. */
const SCALED = ['latencyCycles', 'issueCycles', 'transferScale'] as const;

function scaledBy(values: Values, factor: number): Values {
  const scaled = SCALED.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name] * factor]]));
  return { ...values, ...Object.fromEntries(scaled) };
}

interface Found {
  readonly values: Values;
  readonly identified: Partial<Record<CalibrationParameter, ParameterIdentification>>;
}

function findScaled(planned: Values, { values: [factor], standardErrors: [error] }: FittedParameters): Found {
  const values = scaledBy(planned, factor);
  const known = SCALED.filter((name) => values[name] !== undefined).map((name) => {
    const standardError = error === null ? null : (error / factor) * values[name]!;
    return [name, { standardError, held: false }];
  });
  return { values, identified: Object.fromEntries(known) };
}

function findAll(starting: Values, parameters: readonly FitParameter[], fitted: FittedParameters): Found {
  const { values, standardErrors, held } = fitted;
  const ofEach = <T>(of: (j: number) => T): Record<string, T> =>
    Object.fromEntries(parameters.map(({ name }, j) => [name, of(j)]));
  return {
    values: { ...starting, ...ofEach((j) => values[j]) },
    identified: ofEach((j) => ({ standardError: standardErrors[j], held: held[j] })),
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
  const kernelMs = (values: Values) => {
    const { serialFraction, cooperationCost, setupIterationsPerUnit } = values;
    const pipeline = { [device.id]: calibratedPipeline({ ...values, schedulers }) };
    const shared = { ...plan.kernel, serialFraction, cooperationCost };
    const kernel = withSetupIterations(shared, setupIterationsPerUnit);
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
  const throughput = [
    { name: 'issueCycles', ...cycles },
    ...(initial.transferScale === undefined ? [] : [{ name: 'transferScale', ...cycles } as const]),
  ] as const;
  const doubled = (name: 'issueCycles' | 'transferScale'): number =>
    median(model.quick({ ...initial, [name]: 2 * initial[name]! }));
  const all: (Omit<FitParameter, 'initial' | 'name'> & { readonly name: FittedParameter })[] = [
    // If the data cannot separate the two, the one that takes more of the time is fitted.
    ...throughput.toSorted((a, b) => doubled(b.name) - doubled(a.name)),
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
  const parameters = all.map((parameter) => ({ ...parameter, initial: initial[parameter.name]! }));
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
    const start = scaledBy(moved, median(predicted.map((time, i) => measuredMs[i] / time)));
    starts.push(parameters.map(({ name }) => start[name]!));
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

/** The fit of one factor for all times of the plan. */
function makeFactorProblem(
  { measuredMs, relativeErrors }: FitProblem,
  model: ForwardModel,
  planned: Values,
  uncalibratedMs: Float64Array,
): FitProblem {
  const start = median(measuredMs.map((time, i) => time / uncalibratedMs[i]));
  return {
    parameters: [
      { name: 'factor', initial: 1, lower: 1e-9, upper: 1e9, coordinate: 'log', step: 3e-2, knownWithin: 0.5 },
    ],
    predict: ([factor]) => model.exact(scaledBy(planned, factor)),
    measuredMs,
    relativeErrors,
    starts: [[start]],
  };
}

function checkExplained(predictedMs: Float64Array, measuredMs: Float64Array, advice: string): Result<null> {
  const centre = median(measuredMs);
  const size = (column: Float64Array, over: (i: number) => number) =>
    column.reduce((sum, time, i) => sum + Math.abs(Math.log(time / over(i))), 0) / column.length;
  const left = size(predictedMs, (i) => measuredMs[i]);
  const spread = size(measuredMs, () => centre);
  if (spread < SPREAD || left < (1 - MIN_EXPLAINED) * spread) return ok(null);
  const percent = (value: number) => `${(100 * Math.expm1(value)).toFixed(0)} %`;
  return conflict(
    `The calibrated model has an error of ${percent(left)}, hardly less than with the same time for all designs (${percent(spread)}). ${advice}`,
  );
}
