import { ok, type Result } from '../../src-workers/domain/result.ts';
import type { TuningStep } from './measuring.ts';

/** Tuning as hosts drive it: propose designs, measure them, and repeat until there is one of these reasons to stop. */
export type TuningStop =
  /** The expected regret is small enough. */
  | 'within'
  | 'all-measured'
  | 'budget'
  /** Nothing has a time, and all designs of the last step failed. */
  | 'all-failed'
  /** A step added no measurement: another device answered than measured before. */
  | 'other-device';

/** Designs of one step; the target's program starts once for all of them. */
export const DESIGNS_PER_STEP = 4;

/** Why designs failed, each reason once, the newest first. */
export function failureReasons({ history }: Pick<TuningStep, 'history'>): readonly string[] {
  return [...new Set(history.toReversed().flatMap(({ failure }) => failure ?? []))];
}

/** Below this rank correlation with the measured times, a prediction is said to be of little help. */
const LITTLE_SKILL = 0.2;

/** What the measurements say about the prediction; empty if they agree, or say nothing yet. */
export function skillText({ skill, measured }: Pick<TuningStep, 'skill' | 'measured'>): string {
  if (skill === null || skill >= LITTLE_SKILL) return '';
  const says = skill < -LITTLE_SKILL ? 'contradicts' : 'does not follow';
  return `The measured order ${says} the prediction (rank correlation ${skill.toFixed(2).replace('-', '−')} over ${measured} designs): designs are chosen by the measurements.`;
}

/** Designs that were measured or could not be. */
export const triedDesigns = (step: TuningStep): number => step.measured + step.failed;

/**
 * Measures step after step; nothing is kept but the measurements, so a tuning that was stopped goes on by another call.
 * @param within expected regret at which it ends
 * @param next calls `bench.next`
 * @param measure starts a run of these designs, and waits for its end
 * @param left how many designs the budget allows still
 * @param show takes what is known at first, and then after each step, with the run that measured it and its designs
 */
export async function tune({
  within,
  next,
  measure,
  left,
  show,
}: {
  readonly within: number;
  readonly next: () => Promise<Result<TuningStep>>;
  readonly measure: (designs: readonly number[]) => Promise<Result<{ readonly id: number }>>;
  readonly left: (step: TuningStep) => number;
  readonly show: (
    step: TuningStep,
    measured: { readonly runId: number; readonly designs: readonly number[] } | null,
  ) => void;
}): Promise<Result<{ readonly step: TuningStep; readonly stopped: TuningStop }>> {
  let step = await next();
  if (step.ok) show(step.value, null);
  while (step.ok) {
    const { expectedRegret, next: proposed } = step.value;
    if (expectedRegret !== null && expectedRegret <= within) return ok({ step: step.value, stopped: 'within' });
    if (proposed.length === 0) return ok({ step: step.value, stopped: 'all-measured' });
    const designs = proposed.slice(0, Math.max(0, left(step.value)));
    if (designs.length === 0) return ok({ step: step.value, stopped: 'budget' });
    const run = await measure(designs);
    if (!run.ok) return run;
    const before = triedDesigns(step.value);
    step = await next();
    if (!step.ok) break;
    if (triedDesigns(step.value) === before) return ok({ step: step.value, stopped: 'other-device' });
    show(step.value, { runId: run.value.id, designs });
    if (step.value.measured === 0) return ok({ step: step.value, stopped: 'all-failed' });
  }
  return step;
}
