import { ok, type Result } from '../../src-workers/domain/result.ts';
import type { TuningStep } from './measuring.ts';

export type TuningStop = 'within' | 'all-measured' | 'budget' | 'all-failed' | 'other-device';

export const DESIGNS_PER_STEP = 4;

export function failureReasons({ history }: Pick<TuningStep, 'history'>): readonly string[] {
  return [...new Set(history.toReversed().flatMap(({ failure }) => failure ?? []))];
}

const LITTLE_SKILL = 0.2;

export function skillText({ skill, measured }: Pick<TuningStep, 'skill' | 'measured'>): string {
  if (skill === null || skill >= LITTLE_SKILL) return '';
  const says = skill < -LITTLE_SKILL ? 'contradicts' : 'does not follow';
  return `The measured order ${says} the prediction (rank correlation ${skill.toFixed(2).replace('-', '−')} over ${measured} designs), so designs are chosen by the measurements.`;
}

export const triedDesigns = (step: TuningStep): number => step.measured + step.failed;

/**
 * Measures step after step. Only the measurements are saved, so a later call can continue a stopped tuning.
 * @param left returns the number of designs that the budget still allows
 * @param show is called with the initial state, and after each step with the run and the designs of the step
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
