import { fail, ok, type Result } from '../../domain/result.ts';
import type { UniformSource } from '../../numeric/random.ts';
import {
  fitSoftSaturation,
  wavesTime,
  type MeasuredLaunch,
  type SoftSaturationFit,
} from '../pipeline/soft-saturation.ts';
import { dealFolds } from './fit.ts';

export interface LaunchGridCalibration {
  /** On all launches; τ and c in ms. */
  readonly fit: SoftSaturationFit;
  /** Times of every launch as predicted by a fit that had not seen its group, ms. */
  readonly heldOutMs: Float64Array;
  readonly folds: number;
  /** |predicted/measured − 1| of `heldOutMs`. */
  readonly heldOutMeanError: number;
  readonly heldOutMaxError: number;
}

/**
 * Soft saturation on a measured grid of launches, with its error on launches that the fit has not seen.
 *
 * @param options.groups launches of one group are held out together, so that a row of the grid cannot vouch for itself; one
 *   number per launch. Each its own group where left out.
 * @returns `bad-input` where `fitSoftSaturation` says so, or there are fewer groups than folds
 */
export function calibrateLaunchGrid(
  launches: readonly MeasuredLaunch[],
  options: {
    readonly schedulers: readonly number[];
    /** ≥ 2. */
    readonly folds: number;
    readonly groups?: readonly number[];
    readonly uniform: UniformSource;
  },
): Result<LaunchGridCalibration> {
  const { schedulers, folds, uniform, groups = launches.map((_, i) => i) } = options;
  const fit = fitSoftSaturation(launches, { schedulers });
  if (!fit.ok) return fit;
  const names = [...new Set(groups)];
  if (folds < 2 || names.length < folds)
    return fail('bad-input', `${folds} folds of ${names.length} groups of launches: there must be at least 2 folds, and a group for each`); // prettier-ignore
  const foldOfGroup = dealFolds(names.length, folds, uniform);
  const foldOf = groups.map((group) => foldOfGroup[names.indexOf(group)]);
  const heldOutMs = new Float64Array(launches.length);
  for (let f = 0; f < folds; f += 1) {
    const seen = fitSoftSaturation(
      launches.filter((_, i) => foldOf[i] !== f),
      { schedulers },
    );
    if (!seen.ok) return seen;
    launches.forEach((launch, i) => {
      if (foldOf[i] === f) heldOutMs[i] = wavesTime(seen.value.parameters, launch);
    });
  }
  const errors = heldOutMs.map((time, i) => Math.abs(time / launches[i].timeMs - 1));
  return ok({
    fit: fit.value,
    heldOutMs,
    folds,
    heldOutMeanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    heldOutMaxError: Math.max(...errors),
  });
}
