import type { GpuDevice } from '../domain/device.ts';
import { ok, type Result } from '../domain/result.ts';
import { fitParameters, type FitParameter } from '../models/calibration/fit.ts';
import { SPMV_IMPLEMENTATIONS, type SpmvImplementation } from '../models/spmv/implementations.ts';
import { SPMV_PARAMETERS, type SpmvParameters } from '../models/spmv/parameters.ts';
import { sortedQuantile } from '../numeric/statistics.ts';
import type { MeasuredImplementation } from '../models/spmv/datasets.ts';
import type { FittedImplementation } from './kept.ts';
import { FOLDS, outside, type MeasuredTimes } from './folds.ts';
import { fitFourNumbers } from './four-numbers.ts';

/** Parameters count as known within a factor of e. */
const KNOWN_WITHIN = 1;
const STEP = 1e-4;

/**
 * Fits the parameters of an implementation to the logarithms of measured times, robustly, within their ranges.
 * @returns values and standard errors, in order of `implementation.parameters`
 */
export function fitImplementation(
  implementation: SpmvImplementation,
  device: GpuDevice,
  { matrices, microseconds }: MeasuredTimes,
): Result<{ readonly values: SpmvParameters; readonly errors: Readonly<Record<string, number | null>> }> {
  const names = implementation.parameters;
  const quickest = sortedQuantile(microseconds.slice().sort(), 0.02);
  const parameters = names.map((name): FitParameter => {
    const { lower, upper, initial } = SPMV_PARAMETERS[name];
    return { name, lower, upper, initial, coordinate: 'log', step: STEP, knownWithin: KNOWN_WITHIN };
  });
  const named = (values: readonly number[]): SpmvParameters =>
    Object.fromEntries(names.map((name, at) => [name, values[at]]));
  const starts = [1, 2.5].map((latencies) =>
    names.map((name) => {
      if (name === 'startMicroseconds') return 0.9 * quickest;
      return SPMV_PARAMETERS[name].initial * (name === 'latencyNs' ? latencies : 1);
    }),
  );
  const fitted = fitParameters({
    parameters,
    measuredMs: microseconds.map((time) => time * 1e-3),
    relativeErrors: new Float64Array(microseconds.length),
    starts,
    predict: (values) => {
      const at = named(values);
      return Float64Array.from(matrices, (matrix) => implementation.microseconds(device, matrix, at) * 1e-3);
    },
  });
  if (!fitted.ok) return fitted;
  const { values, standardErrors } = fitted.value;
  return ok({
    values: named(values),
    errors: Object.fromEntries(names.map((name, at) => [name, standardErrors[at]])),
  });
}

/** What is kept of an implementation on a device: fits on all matrices, and without each fold. */
export function fitFolds(
  measured: MeasuredImplementation,
  device: GpuDevice,
  times: MeasuredTimes,
): Result<FittedImplementation> {
  const implementation = SPMV_IMPLEMENTATIONS.get(measured.implementation)!;
  const all = fitImplementation(implementation, device, times);
  if (!all.ok) return all;
  const folds: SpmvParameters[] = [];
  for (let fold = 0; fold < FOLDS; fold += 1) {
    const part = fitImplementation(implementation, device, outside(times, fold));
    if (!part.ok) return part;
    folds.push(part.value.values);
  }
  const fourNumbers = fitFourNumbers(measured.implementation, device, times);
  return fourNumbers.ok ? ok({ ...all.value, folds, fourNumbers: fourNumbers.value }) : fourNumbers;
}
