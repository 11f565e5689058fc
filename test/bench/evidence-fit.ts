import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { ok, type Result } from '../../src-workers/domain/result.ts';
import { solveSymmetric } from '../../src-workers/numeric/symmetric.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import type { MeasuredImplementation } from '../../src-workers/models/spmv/datasets.ts';
import type { MatrixSummary } from '../../src-workers/models/spmv/summary.ts';
import type { FittedImplementation } from '../../src-workers/evidence/kept.ts';
import { fitParameters } from '../../src-workers/models/calibration/fit.ts';
import { FOLDS, assignFold } from '../../src-workers/evidence/folds.ts';
import { fourNumbersTime, type FourNumbers } from '../../src-workers/evidence/four-numbers.ts';
import { SPMV_IMPLEMENTATIONS, type SpmvImplementation } from '../../src-workers/evidence/spmv-designs.ts';
import { SPMV_PARAMETERS, type SpmvParameters } from '../../src-workers/evidence/spmv-parameters.ts';

/** Matrices, and the measured times of an implementation on a device in µs. All times are positive. */
export interface MeasuredTimes {
  readonly matrices: readonly MatrixSummary[];
  readonly microseconds: Float64Array;
}

export function measuredTimes(matrices: readonly MatrixSummary[], column: Float64Array): MeasuredTimes {
  return { matrices: matrices.filter((_, i) => column[i] > 0), microseconds: column.filter((time) => time > 0) };
}

export const outside = (times: MeasuredTimes, fold: number): MeasuredTimes => pick(times, outsideFold(times, fold));

/** Number of matrices for a fit, spread over the list. A few parameters need no more, and each costs a prediction. */
const FITTED_MATRICES = 160;
/** Step of the numerical derivatives, in units of ln. It exceeds the steps to which predictions round their laws. */
const STEP = 0.05;
/** Residuals in units of ln count linearly above this size (Huber 1981, doi:10.1002/0471725250). */
const HUBER = 0.2;
const ITERATIONS = 8;
/** Largest change of a parameter in one iteration, in units of ln. */
const LONGEST_MOVE = 1;

/** Logarithms of predicted over measured times, and their derivatives by the logarithms of the parameters. */
interface Linearised {
  readonly residuals: Float64Array;
  readonly slopes: readonly Float64Array[];
}

/** Fits parameters to logarithms of measured times, robustly and within their ranges, by damped Gauss–Newton steps. */
class Fit {
  readonly values: number[];
  private readonly device: GpuDevice;
  private readonly implementation: SpmvImplementation;
  private readonly times: MeasuredTimes;

  constructor(device: GpuDevice, implementation: SpmvImplementation, times: MeasuredTimes, from: readonly number[]) {
    this.device = device;
    this.implementation = implementation;
    this.times = times;
    this.values = from.map((value, at) => this.within(Math.log(value), at));
  }

  private within(logarithm: number, at: number): number {
    const { lower, upper } = SPMV_PARAMETERS[this.implementation.parameters[at]];
    return Math.min(Math.log(upper), Math.max(Math.log(lower), logarithm));
  }

  named(values: readonly number[] = this.values): SpmvParameters {
    return Object.fromEntries(this.implementation.parameters.map((name, at) => [name, Math.exp(values[at])]));
  }

  private residualsAt(values: readonly number[]): Float64Array {
    const { matrices, microseconds } = this.times;
    const at = this.named(values);
    return Float64Array.from(matrices, (matrix, i) =>
      Math.log(this.implementation.microseconds(this.device, matrix, at) / microseconds[i]),
    );
  }

  linearised(residuals = this.residualsAt(this.values)): Linearised {
    const slopes = this.values.map((value, at) => {
      // A step that would leave the range goes in the other direction.
      const step = this.within(value + STEP, at) === value + STEP ? STEP : -STEP;
      const moved = this.residualsAt(this.values.with(at, value + step));
      return moved.map((residual, i) => (residual - residuals[i]) / step);
    });
    return { residuals, slopes };
  }

  /** Takes damped steps while they reduce the cost. */
  descend(iterations: number, now = this.linearised()): void {
    for (let i = 0; i < iterations; i += 1) {
      const direction = step(now);
      const before = cost(now.residuals);
      let residuals: Float64Array | null = null;
      for (let part = 1; part > 0.1 && !residuals; part /= 3) {
        const tried = this.values.map((value, at) => this.within(value + part * direction[at], at));
        const found = this.residualsAt(tried);
        if (cost(found) >= before) continue;
        this.values.splice(0, tried.length, ...tried);
        residuals = found;
      }
      if (!residuals || i + 1 === iterations || cost(residuals) > 0.999 * before) break;
      now = this.linearised(residuals);
    }
  }
}

const weight = (residual: number): number => Math.min(1, HUBER / Math.abs(residual));

function cost(residuals: Float64Array): number {
  return residuals.reduce((sum, residual) => {
    const size = Math.abs(residual);
    return sum + (size < HUBER ? size * size : HUBER * (2 * size - HUBER));
  }, 0);
}

/** Returns the weighted normal equations. An addition to the diagonal keeps undetermined parameters in place. */
function normal({ residuals, slopes }: Linearised): { readonly matrix: number[][]; readonly right: number[] } {
  const sum = (of: (i: number) => number): number => {
    let total = 0;
    for (let i = 0; i < residuals.length; i += 1) total += weight(residuals[i]) * of(i);
    return total;
  };
  const matrix = slopes.map((a, row) =>
    slopes.map((b, column) => sum((i) => a[i] * b[i]) + (row === column ? 0.02 : 0)),
  );
  return { matrix, right: slopes.map((a) => -sum((i) => a[i] * residuals[i])) };
}

function step(linearised: Linearised): readonly number[] {
  const { matrix, right } = normal(linearised);
  return solve(matrix, right).map((move) => Math.max(-LONGEST_MOVE, Math.min(LONGEST_MOVE, move)));
}

const solve = (matrix: number[][], right: number[]): readonly number[] =>
  solveSymmetric(matrix, right) ?? right.map(() => 0);

/** Returns the relative standard errors of the fitted values. */
function errorsOf(linearised: Linearised): readonly number[] {
  const { matrix } = normal(linearised);
  const { residuals } = linearised;
  const variance = cost(residuals) / Math.max(1, residuals.length - matrix.length);
  return matrix.map((_, at) => {
    const unit = matrix.map((__, row) => Number(row === at));
    return Math.sqrt(Math.max(0, variance * solve(matrix, unit)[at]));
  });
}

function fitFrom(implementation: SpmvImplementation, device: GpuDevice, sample: MeasuredTimes) {
  const quickest = sortedQuantile(sample.microseconds.slice().sort(), 0.02);
  const initial = implementation.parameters.map((name) =>
    name === 'startMicroseconds' ? 0.8 * quickest : SPMV_PARAMETERS[name].initial,
  );
  const fit = new Fit(device, implementation, sample, initial);
  fit.descend(ITERATIONS);
  return { fit, end: fit.linearised() };
}

/** Returns the saved fits of an implementation on a device: one to all matrices, and one without each fold. */
export function fitFolds(
  { implementation: id }: MeasuredImplementation,
  device: GpuDevice,
  times: MeasuredTimes,
): Result<FittedImplementation> {
  const implementation = SPMV_IMPLEMENTATIONS.get(id)!;
  const sample = sampleOf(times);
  const { fit: all, end } = fitFrom(implementation, device, sample);
  const errors = errorsOf(end);
  const folds = Array.from({ length: FOLDS }, (_, fold) => {
    // The fit without a fold starts at the fit to all matrices. Two steps suffice to remove the influence of the fold.
    const kept = outsideFold(sample, fold);
    const part = new Fit(device, implementation, pick(sample, kept), all.values.map(Math.exp));
    part.descend(2, {
      residuals: Float64Array.from(kept, (at) => end.residuals[at]),
      slopes: end.slopes.map((slope) => Float64Array.from(kept, (at) => slope[at])),
    });
    return part.named();
  });
  const fourNumbers = fitFourNumbers(id, device, times);
  if (!fourNumbers.ok) return fourNumbers;
  const named = implementation.parameters.map((name, at) => {
    return [name, errors[at] < 1 ? errors[at] * Math.exp(all.values[at]) : null] as const;
  });
  return ok({ values: all.named(), errors: Object.fromEntries(named), folds, fourNumbers: fourNumbers.value });
}

function sampleOf({ matrices, microseconds }: MeasuredTimes): MeasuredTimes {
  const every = Math.max(1, matrices.length / FITTED_MATRICES);
  const chosen = Array.from({ length: Math.min(matrices.length, FITTED_MATRICES) }, (_, i) => Math.floor(i * every));
  return pick({ matrices, microseconds }, chosen);
}

function outsideFold({ matrices }: MeasuredTimes, fold: number): readonly number[] {
  return [...matrices.keys()].filter((at) => assignFold(matrices[at].name) !== fold);
}

function pick({ matrices, microseconds }: MeasuredTimes, chosen: readonly number[]): MeasuredTimes {
  const own: readonly MatrixSummary[] = chosen.map((at) => matrices[at]);
  return { matrices: own, microseconds: Float64Array.from(chosen, (at) => microseconds[at]) };
}

/** Fits the four-number model once to all matrices, and once for each fold to the matrices outside it. `implementation` is an id of `models/spmv`. */
function fitFourNumbers(
  implementation: string,
  device: GpuDevice,
  times: MeasuredTimes,
): Result<{ readonly values: FourNumbers; readonly folds: readonly FourNumbers[] }> {
  const fit = ({ matrices, microseconds }: MeasuredTimes): Result<FourNumbers> => {
    const perByte = 1 / device.memoryBandwidthGbS;
    const free = { lower: 1e-9, upper: 1e6, coordinate: 'log', step: 1e-4, knownWithin: Infinity } as const;
    const initial = [sortedQuantile(microseconds.slice().sort(), 0.1), 2 * perByte, 1, 0.01];
    const fitted = fitParameters({
      parameters: initial.map((value, at) => ({ ...free, name: `${at}`, initial: value })),
      measuredMs: microseconds.map((time) => time * 1e-3),
      relativeErrors: new Float64Array(microseconds.length),
      starts: [initial],
      predict: (values) => {
        const own = values as unknown as FourNumbers;
        return Float64Array.from(matrices, (matrix) => 1e-3 * fourNumbersTime(implementation, matrix, own));
      },
    });
    return fitted.ok ? ok(fitted.value.values as unknown as FourNumbers) : fitted;
  };
  const all = fit(times);
  if (!all.ok) return all;
  const folds: FourNumbers[] = [];
  for (let fold = 0; fold < FOLDS; fold += 1) {
    const part = fit(outside(times, fold));
    if (!part.ok) return part;
    folds.push(part.value);
  }
  return ok({ values: all.value, folds });
}
