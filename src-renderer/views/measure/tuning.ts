import type { TunedDesign, TuningStep } from '../../../src-main/contract/measuring.ts';
import { failureReasons, skillText, triedDesigns, type TuningStop } from '../../../src-main/contract/tuning.ts';
import type { Curve } from '../../charts/curves.ts';
import { counted, percent } from '../../format/numbers.ts';

const timeOf = ({ measuredMs }: TunedDesign): number => measuredMs ?? Infinity;

/** Returns a step for each run. A design that was measured again belongs to the step of its last run. */
export function tuningSteps(history: readonly TunedDesign[]) {
  let before = Infinity;
  return [...Map.groupBy(history, (one) => one.runId)].map(([runId, designs]) => {
    const best = designs.reduce((one, other) => (timeOf(other) < timeOf(one) ? other : one));
    const bestMs = Math.min(before, timeOf(best));
    const saved = bestMs < before && before < Infinity ? 1 - bestMs / before : null;
    before = bestMs;
    return { runId, designs, stepBest: best.measuredMs === null ? null : best, bestMs, saved };
  });
}

export function tuningCurves({ history, randomMs }: Pick<TuningStep, 'history' | 'randomMs'>): readonly Curve[] {
  const times = history.map(timeOf);
  let best = Infinity;
  const found = times.map((time, at) => [at + 1, (best = Math.min(best, time))] as const);
  const until = Math.max(10, 2 * times.length);
  const measured = times.map((time, at) => [at + 1, time] as const);
  return [
    { name: 'best found', points: found, series: 1, steps: true },
    { name: 'random', points: randomMs.slice(0, until).map((time, at) => [at + 1, time]), series: 2, dashed: true },
    { name: 'measured', points: measured, series: 1, dots: true },
  ];
}

/** Returns how many random measurements are expected to reach the time of `best`; `null` if `randomMs` is too short. */
export function randomEquivalent({ best, randomMs }: Pick<TuningStep, 'best' | 'randomMs'>): number | null {
  if (!best) return null;
  const at = randomMs.findIndex((time) => time <= best.expectedMs);
  return at < 0 ? null : at + 1;
}

export function tuningVerdict(
  step: TuningStep | null,
  state: { readonly running: boolean; readonly stopped: TuningStop | 'cancelled' | null },
  { budget, within }: { readonly budget: number; readonly within: number },
): string {
  if (!step || step.history.length === 0) return '';
  const { expectedRegret, next, measured } = step;
  const note = skillText(step);
  const regret =
    expectedRegret === null
      ? ''
      : `According to the measurements, with a chance of 90 % the best design found is at most ${percent(expectedRegret)} slower than the fastest design of all. ${note && `${note} `}`;
  if (state.running) {
    const allowed = Math.min(next.length, Math.max(0, budget - triedDesigns(step)));
    return `${regret}Measuring the next ${counted(allowed, 'design')}.`;
  }
  if (measured === 0) {
    const [reason, ...others] = failureReasons(step);
    const more = others.length > 0 ? ` (and ${counted(others.length, 'other reason')}, in the list)` : '';
    return `${step.failed === 1 ? 'The design' : `All ${counted(step.failed, 'design')}`} failed${reason ? `: ${reason.replace(/\.$/, '')}${more}` : ''}. Remove the cause, choose another target, or continue with the next designs.`;
  }
  switch (state.stopped) {
    case 'within':
      return `${regret}The tuning ended, because at most ${percent(within)} is left to gain.`;
    case 'all-measured':
      return 'All designs were measured.';
    case 'budget':
      return `${regret}The tuning ended at its limit of ${counted(budget, 'design')}. A larger limit continues it.`;
    case 'other-device':
      return 'The last step added no measurement, because it ran on another device than the steps before. Predict again to tune for this device.';
    case 'cancelled':
      return `${regret}The tuning was cancelled. The measurements are kept. “Continue tuning” measures the next designs.`;
    case 'all-failed':
    case null:
      return regret.trim();
  }
}
