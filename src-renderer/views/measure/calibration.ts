import type { SavedProfile } from '../../../src-main/contract/measuring.ts';
import {
  CALIBRATION_PARAMETERS,
  choiceText,
  type CalibrationFigures,
  type CalibrationParameter,
  type CalibrationProfile,
} from '../../../src-workers/domain/calibration.ts';
import { NBSP, count, fixed, percent, plain } from '../../format/numbers.ts';
import { listText } from '../../../src-workers/domain/text.ts';

export const PARAMETER_WORDS: Readonly<
  Record<CalibrationParameter, { readonly label: string; readonly symbol: string; readonly unit: string }>
> = {
  latencyCycles: { label: 'Latency floor', symbol: 'τ', unit: 'cycles' },
  issueCycles: { label: 'Issue cost', symbol: 'c', unit: 'cycles' },
  transferScale: { label: 'Memory traffic', symbol: '', unit: '× predicted' },
  kneeSoftness: { label: 'Knee softness', symbol: 'p', unit: '' },
  schedulers: { label: 'Schedulers', symbol: 'q', unit: '' },
  serialFraction: { label: 'Serial fraction', symbol: 'σ', unit: '' },
  cooperationCost: { label: 'Cooperation step', symbol: 'κ', unit: 'steps' },
  setupIterationsPerUnit: { label: 'Set-up per unit', symbol: '', unit: 'steps' },
  divergentBranchCycles: { label: 'Divergent branch', symbol: '', unit: 'cycles' },
  launchOverheadMs: { label: 'Launch overhead', symbol: '', unit: 'ms' },
};

export function parameterRows(profile: CalibrationProfile) {
  return CALIBRATION_PARAMETERS.flatMap((parameter) => {
    const value = profile.parameters[parameter];
    // Kernels without traffic, and older profiles, have no such parameter.
    if (value === undefined) return [];
    const { standardError, held } = profile.identified[parameter];
    return {
      parameter,
      ...PARAMETER_WORDS[parameter],
      value: value === null ? '–' : plain(value, 4),
      error: standardError === null || held || value === null ? '' : `±${NBSP}${plain(standardError, 2)}`,
      errorFraction: standardError === null || value === null || value === 0 ? null : standardError / Math.abs(value),
      state: value === null ? 'unknown' : held ? 'held' : 'fitted',
    } as const;
  });
}

export function figureRows({ before, fit, heldOut }: CalibrationProfile) {
  const row = (label: string, write: (figures: Omit<CalibrationFigures, 'designs'>) => string) => ({
    label,
    before: write(before),
    fitted: write(fit),
    heldOut: heldOut ? write(heldOut) : '–',
  });
  return [
    row('Median error', ({ medianError }) => percent(medianError)),
    row('95th percentile', ({ p95Error }) => percent(p95Error)),
    row('Rank correlation', ({ spearman }) => fixed(spearman ?? NaN, 3)),
  ];
}

export function verdict(profile: CalibrationProfile): string {
  const { before, fit, fitInStudy, heldOut, choice } = profile;
  const held = parameterRows(profile).filter(({ state }) => state === 'held');
  const names = held.map(({ label }) => label.toLowerCase());
  const kept =
    held.length === 0
      ? ''
      : ` The data cannot identify ${listText(names)}, so ${names.length === 1 ? 'it keeps its value' : 'they keep their values'}.`;
  const inStudy = fitInStudy
    ? ` In a study, which leaves out the launch overhead, the median error of the measured designs is ${percent(fitInStudy.medianError)}.`
    : '';
  if (choice) return `${choiceText(profile, percent)}${inStudy}${choice.taken === 'parameters' ? kept : ''}`;
  if (heldOut === null)
    return `Fitted on all ${count(fit.designs)} designs, because there are too few to leave any out. The error on other designs is unknown.${inStudy}${kept}`;
  if (heldOut.medianError >= before.medianError)
    return `No gain on designs left out of the fit: their median error is ${percent(heldOut.medianError)}, and was ${percent(before.medianError)} before. Measure more designs, spread over the ranking.${inStudy}${kept}`;
  return `On designs left out of the fit, the median error falls from ${percent(before.medianError)} to ${percent(heldOut.medianError)} (${heldOut.folds} folds).${inStudy}${kept}`;
}

export function shownProfile(
  profiles: readonly SavedProfile[],
  wanted: number | null,
  runId: number,
): SavedProfile | null {
  return (
    profiles.find(({ id }) => id === wanted) ??
    profiles.find(({ profile }) => profile.sourceRunIds.includes(runId)) ??
    null
  );
}
