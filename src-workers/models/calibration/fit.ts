import type { CalibrationFigures, HeldOutFigures } from '../../domain/calibration.ts';
import { ok, type Result, badInput } from '../../domain/result.ts';
import { shuffle, type UniformSource } from '../../numeric/random.ts';
import { MAD_TO_DEVIATION, median, sortedQuantile, spearman } from '../../numeric/statistics.ts';
import { solveSymmetric } from '../../numeric/symmetric.ts';

export interface FitParameter {
  readonly name: string;
  /** The value if the data do not determine the parameter. */
  readonly initial: number;
  readonly lower: number;
  /** Above `lower`; may be Infinity. */
  readonly upper: number;
  /** Whether the fit moves the parameter itself or its logarithm, which requires `lower` > 0. */
  readonly coordinate: 'linear' | 'log';
  /** Step of numeric derivatives, in the coordinate. It must exceed the rounding errors and jumps of the model. */
  readonly step: number;
  /** The parameter counts as known if its standard error is at most this, in the coordinate. */
  readonly knownWithin: number;
  /** Whether the model is slow at a new value. The fit then only refines the parameter, from the best result. */
  readonly slow?: boolean;
}

export interface FitProblem {
  /** The most important comes first. Later ones keep their initial values if the data cannot separate them. */
  readonly parameters: readonly FitParameter[];
  /** Returns the times of all designs, ms, for values in the order of `parameters`. */
  readonly predict: (values: readonly number[]) => Float64Array;
  /** Returns the times without the approximations of `predict`, for the result of a fit. */
  readonly predictExactly?: (values: readonly number[]) => Float64Array;
  readonly measuredMs: Float64Array;
  /** Standard error of each measured time divided by that time; 0 if unknown. */
  readonly relativeErrors: Float64Array;
  /** At least one list of values. The fit descends from each list. */
  readonly starts: readonly (readonly number[])[];
}

export interface FittedParameters {
  readonly values: readonly number[];
  /** In the units of the parameters; `null` if the parameter was held, or if only a bound is known. */
  readonly standardErrors: readonly (number | null)[];
  readonly held: readonly boolean[];
  readonly predictedMs: Float64Array;
}

/** The loss is quadratic up to this many standard deviations: 95 % efficiency (Huber 1981, doi:10.1002/0471725250). */
const HUBER_DEVIATIONS = 1.345;
/** `huber` of the first fit, which has no residuals yet. */
const FIRST_HUBER = 0.2;
const ROUNDS = 3;
/** A smaller standard deviation of the residuals counts as 0.01 %. */
const MIN_DEVIATION = 1e-4;
/** Holding a parameter may raise 2 · cost / variance by this, the 95 % quantile of χ² with one degree of freedom. */
const HOLD_COST = 3.841459;

/** A fit needs two more designs than parameters, so that it can be judged. */
export function minDesigns(parameters: number): number {
  return parameters + 2;
}

/**
 * Fits ln(predicted) to ln(measured) by Huber's loss, with Levenberg–Marquardt in bounded coordinates from every start.
 * Parameters that the data do not determine are held at their initial values, beginning with the last one.
 * @param included designs to fit; all if omitted
 */
export function fitParameters(problem: FitProblem, included?: readonly boolean[]): Result<FittedParameters> {
  const checked = checkProblem(problem, included);
  if (!checked.ok) return checked;
  const n = problem.measuredMs.length;
  const { parameters } = problem;
  const base = Float64Array.from({ length: n }, (_, i) => (included && !included[i] ? 0 : 1));
  const quick = parameters.map(({ slow }) => !slow);

  let best: Fit | null = null;
  for (const start of problem.starts) {
    const coordinates = parameters.map((parameter, j) => toCoordinate(parameter, start[j]));
    const fit = descend(problem, coordinates, quick, { weights: base, huber: FIRST_HUBER });
    if (!best || fit.cost < best.cost) best = fit;
  }
  if (!best || !Number.isFinite(best.cost)) return modelFailure(problem, included);

  const free = parameters.map(() => true);
  const bounded = parameters.map(() => false);
  let loss: Loss = { weights: base, huber: FIRST_HUBER };
  for (let round = 0; round < ROUNDS; round += 1) {
    loss = lossAfter(best, problem, base);
    best = descend(problem, best.coordinates, free, loss);
  }
  let errors = standardErrors(problem, best, free, loss);
  for (;;) {
    const unknown = lastUnknown(parameters, free, errors);
    if (unknown < 0) break;
    free[unknown] = false;
    const coordinates = best.coordinates.slice();
    coordinates[unknown] = toCoordinate(parameters[unknown], parameters[unknown].initial);
    const held = descend(problem, coordinates, free, loss);
    const allowed = best.cost + (HOLD_COST / 2) * Math.max(variance(best, loss, free), MIN_DEVIATION ** 2);
    if (held.cost <= allowed) best = held;
    else bounded[unknown] = true;
    errors = standardErrors(problem, best, free, loss);
  }
  const { coordinates, residuals } = best;
  const values = parameters.map((parameter, j) => toValue(parameter, coordinates[j]));
  return ok({
    values,
    standardErrors: parameters.map((parameter, j) =>
      free[j] ? errors[j] * (parameter.coordinate === 'log' ? toValue(parameter, coordinates[j]) : 1) : null,
    ),
    held: free.map((isFree, j) => !isFree && !bounded[j]),
    predictedMs:
      problem.predictExactly?.(values) ?? residuals.map((residual, i) => problem.measuredMs[i] * Math.exp(residual)),
  });
}

/**
 * Predicts each design's time, ms, by a fit to all folds except its own.
 * @param fold the fold of each design (`dealFolds`)
 */
export function heldOutPredictions(problem: FitProblem, fold: Uint32Array): Result<Float64Array> {
  const predictedMs = new Float64Array(fold.length);
  for (const f of new Set(fold)) {
    const fitted = fitParameters(
      problem,
      Array.from(fold, (own) => own !== f),
    );
    if (!fitted.ok) return fitted;
    fold.forEach((own, i) => {
      if (own === f) predictedMs[i] = fitted.value.predictedMs[i];
    });
  }
  return ok(predictedMs);
}

/** Returns the fold of each design, at random; 2 ≤ `folds` ≤ `count`. */
export function dealFolds(count: number, folds: number, uniform: UniformSource): Uint32Array {
  const fold = Uint32Array.from({ length: count }, (_, i) => i % folds);
  shuffle(fold, uniform);
  return fold;
}

export function calibrationFigures(predictedMs: Float64Array, measuredMs: Float64Array): CalibrationFigures {
  const errors = predictedMs.map((time, i) => Math.abs(time / measuredMs[i] - 1)).sort();
  const correlation = spearman(predictedMs, measuredMs);
  return {
    designs: errors.length,
    medianError: sortedQuantile(errors, 0.5),
    p95Error: sortedQuantile(errors, 0.95),
    spearman: Number.isNaN(correlation) ? null : correlation,
  };
}

export function heldOutFigures(folds: number, predictedMs: Float64Array, measuredMs: Float64Array): HeldOutFigures {
  const { designs: _, ...figures } = calibrationFigures(predictedMs, measuredMs);
  return { folds, ...figures };
}

function checkProblem(problem: FitProblem, included: readonly boolean[] | undefined): Result<null> {
  const { measuredMs, parameters } = problem;
  const bad = measuredMs.findIndex((time) => !(time > 0 && time < Infinity));
  if (bad >= 0)
    return badInput(`Design ${bad} took ${measuredMs[bad]} ms, which is not a positive time.`, { design: bad });
  const designs = included ? included.filter(Boolean).length : measuredMs.length;
  const expected = minDesigns(parameters.length);
  if (designs < expected)
    return badInput(
      `The fit needs at least ${expected} measured designs (parameters: ${parameters.length}, measured designs: ${designs}). Measure more designs, spread over the ranking.`,
    );
  return ok(null);
}

function modelFailure(problem: FitProblem, included: readonly boolean[] | undefined): Result<never> {
  const predicted = problem.predict(problem.starts[0]);
  const bad = predicted.findIndex((time, i) => (!included || included[i]) && !(time > 0 && time < Infinity));
  return badInput(`The model predicts ${predicted[bad]} ms for design ${bad}, which is not a positive time.`, {
    design: bad,
  });
}

function toCoordinate({ coordinate, lower, upper }: FitParameter, value: number): number {
  const inside = Math.min(upper, Math.max(lower, value));
  return coordinate === 'log' ? Math.log(inside) : inside;
}

function toValue({ coordinate, lower, upper }: FitParameter, x: number): number {
  // Rounding of a logarithm may move the value beyond a bound.
  return Math.min(upper, Math.max(lower, coordinate === 'log' ? Math.exp(x) : x));
}

interface Loss {
  /** 0 for an excluded design; below 1 if the time is uncertain. */
  readonly weights: Float64Array;
  /** The residual above which the loss grows linearly, ln units. */
  readonly huber: number;
}

interface Fit {
  readonly coordinates: readonly number[];
  /** ln(predicted/measured). */
  readonly residuals: Float64Array;
  readonly cost: number;
}

function evaluate(problem: FitProblem, coordinates: readonly number[], { weights, huber }: Loss): Fit {
  const predicted = problem.predict(problem.parameters.map((parameter, j) => toValue(parameter, coordinates[j])));
  const residuals = predicted.map((time, i) => Math.log(time / problem.measuredMs[i]));
  let cost = 0;
  residuals.forEach((residual, i) => {
    if (weights[i] === 0) return;
    const size = Math.abs(residual);
    cost += weights[i] * (size <= huber ? 0.5 * size * size : huber * (size - 0.5 * huber));
  });
  return { coordinates, residuals, cost: Number.isNaN(cost) ? Infinity : cost };
}

function lossAfter(fit: Fit, problem: FitProblem, base: Float64Array): Loss {
  const sizes = fit.residuals.filter((_, i) => base[i] > 0).map(Math.abs);
  const deviation = Math.max(MIN_DEVIATION, MAD_TO_DEVIATION * median(sizes));
  return {
    huber: HUBER_DEVIATIONS * deviation,
    weights: base.map((weight, i) => weight / (1 + (problem.relativeErrors[i] / deviation) ** 2)),
  };
}

const MAX_STEPS = 60;
const MAX_DAMPING = 1e9;

/** Minimises the loss by Levenberg–Marquardt. A parameter is fixed at a bound that a step would cross. */
function descend(problem: FitProblem, start: readonly number[], free: readonly boolean[], loss: Loss): Fit {
  const { parameters } = problem;
  const lower = parameters.map((parameter) => toCoordinate(parameter, parameter.lower));
  const upper = parameters.map((parameter) => toCoordinate(parameter, parameter.upper));
  let fit = evaluate(problem, start, loss);
  if (!Number.isFinite(fit.cost)) return fit;
  let damping = 1e-3;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { normal, gradient } = normalEquations(problem, fit, free, loss);
    const moving = parameters.map((_, j) => {
      const x = fit.coordinates[j];
      return free[j] && normal[j][j] > 0 && !(gradient[j] > 0 ? x <= lower[j] : x >= upper[j]);
    });
    const active = parameters.map((_, j) => j).filter((j) => moving[j]);
    const before = fit.cost;
    let improved = false;
    let moved = 0;
    while (!improved && damping < MAX_DAMPING && active.length > 0) {
      const damped = active.map((i) =>
        active.map((j) => normal[i][j] * (i === j ? 1 + damping : 1) + (i === j ? 1e-12 * normal[i][i] : 0)),
      );
      const delta = solveSymmetric(
        damped,
        active.map((j) => -gradient[j]),
      );
      const coordinates = fit.coordinates.slice();
      moved = 0;
      active.forEach((j, at) => {
        coordinates[j] = Math.min(upper[j], Math.max(lower[j], coordinates[j] + delta[at]));
        moved = Math.max(moved, Math.abs(coordinates[j] - fit.coordinates[j]));
      });
      const next = evaluate(problem, coordinates, loss);
      if (next.cost < fit.cost) {
        fit = next;
        damping = Math.max(1e-9, damping / 6);
        improved = true;
      } else damping *= 6;
    }
    if (!improved || before - fit.cost <= 1e-7 * before || moved < 1e-7) break;
  }
  return fit;
}

/** Computes JᵀWJ and JᵀWr from derivatives J, residuals r and weights W; 0 for parameters that are not free. */
function normalEquations(
  problem: FitProblem,
  fit: Fit,
  free: readonly boolean[],
  { weights, huber }: Loss,
): { readonly normal: readonly Float64Array[]; readonly gradient: Float64Array } {
  const { parameters } = problem;
  const { residuals } = fit;
  const count = parameters.length;
  const columns = parameters.map((parameter, j) => {
    if (!free[j]) return null;
    const coordinates = fit.coordinates.slice();
    // The model is not defined beyond the upper bound.
    const end = toCoordinate(parameter, parameter.upper);
    const step = coordinates[j] + parameter.step > end ? -parameter.step : parameter.step;
    coordinates[j] += step;
    const moved = evaluate(problem, coordinates, { weights, huber }).residuals;
    return moved.map((residual, i) => (weights[i] === 0 ? 0 : (residual - residuals[i]) / step));
  });
  const robust = residuals.map((residual, i) => weights[i] * Math.min(1, huber / Math.max(Math.abs(residual), 1e-300)));
  const normal = Array.from({ length: count }, () => new Float64Array(count));
  const gradient = new Float64Array(count);
  for (let a = 0; a < count; a += 1) {
    const columnA = columns[a];
    if (!columnA) continue;
    for (let i = 0; i < residuals.length; i += 1)
      if (robust[i] > 0) gradient[a] += robust[i] * columnA[i] * residuals[i];
    for (let b = 0; b <= a; b += 1) {
      const columnB = columns[b];
      if (!columnB) continue;
      let sum = 0;
      for (let i = 0; i < residuals.length; i += 1) if (robust[i] > 0) sum += robust[i] * columnA[i] * columnB[i];
      normal[a][b] = sum;
      normal[b][a] = sum;
    }
  }
  return { normal, gradient };
}

/** The variance under Huber's loss: the variance of clipped residuals over the squared share of unclipped residuals. */
function variance({ residuals }: Fit, { weights, huber }: Loss, free: readonly boolean[]): number {
  let designs = 0;
  let clipped = 0;
  let squares = 0;
  residuals.forEach((residual, i) => {
    if (weights[i] === 0) return;
    const size = Math.abs(residual);
    designs += 1;
    if (size > huber) clipped += 1;
    squares += weights[i] * Math.min(size, huber) ** 2;
  });
  const kept = Math.max(0.5, 1 - clipped / designs);
  return squares / Math.max(1, designs - free.filter(Boolean).length) / (kept * kept);
}

/** A parameter is a combination of the others, within rounding, if they inflate its variance by this factor. */
const MAX_INFLATION = 1e6;

/**
 * Computes standard errors in coordinates, from the curvature at the end (Huber 1981, section 7.6): infinite if a
 * parameter has no influence or cannot be distinguished from others, 0 if it is not free.
 */
function standardErrors(problem: FitProblem, fit: Fit, free: readonly boolean[], loss: Loss): number[] {
  const { normal } = normalEquations(problem, fit, free, loss);
  const residualVariance = Math.max(variance(fit, loss, free), MIN_DEVIATION ** 2);
  const errors = problem.parameters.map((_, j) => (free[j] ? Infinity : 0));
  const active = errors.map((_, j) => j).filter((j) => free[j] && normal[j][j] > 0);
  // With a diagonal of 1, a pivot near 0 shows a combination of other parameters, whatever their units.
  const scaled = active.map((i) => active.map((j) => normal[i][j] / Math.sqrt(normal[i][i] * normal[j][j])));
  active.forEach((j, at) => {
    const unit = active.map((_, i) => (i === at ? 1 : 0));
    const inverse = solveSymmetric(
      scaled.map((line, i) => line.map((value, k) => (i === k ? value + 1e-9 : value))),
      unit,
    )[at];
    if (inverse < MAX_INFLATION) errors[j] = Math.sqrt((residualVariance * inverse) / normal[j][j]);
  });
  return errors;
}

function lastUnknown(parameters: readonly FitParameter[], free: readonly boolean[], errors: readonly number[]): number {
  return parameters.findLastIndex((parameter, j) => free[j] && !(errors[j] <= parameter.knownWithin));
}
