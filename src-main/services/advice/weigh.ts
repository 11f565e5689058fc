import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { MAX_WEIGHED } from '../../contract/api.ts';
import type { UncertainDesign } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import type { RunView } from '../runs/run-view.ts';
import { tooLarge } from '../studies/plan.ts';
import { createPredictions, runPredictions } from './predictions.ts';
import { adviseRun } from './prepare.ts';
import { uncertainty } from './uncertainty.ts';

/** Compares designs with the best one of their device. The regret of a design that cannot run in some draw is NaN. */
export async function weighedDesigns(
  context: Context,
  view: RunView,
  designs: readonly number[],
): Promise<Result<ReadonlyMap<number, UncertainDesign>>> {
  if (designs.length > MAX_WEIGHED)
    return badInput(`Expected regrets can be computed for at most ${MAX_WEIGHED} designs, not ${designs.length}.`);
  const refused = tooLarge(view.ranking.axes);
  if (refused) return refused;
  const study = adviseRun(view);
  const predictions = runPredictions(view, createPredictions(context.pool));
  const weighed = new Map<number, UncertainDesign>();
  for (const { device, firstDesign, size } of study.devices) {
    const own = designs.filter((design) => design >= firstDesign && design < firstDesign + size);
    if (own.length === 0) continue;
    const turn = new AbortController().signal;
    const found = await uncertainty(context, predictions, study, { deviceId: device.id, designs: own }, turn);
    if (!found.ok) return found;
    for (const one of found.value.designs) weighed.set(one.designIndex, one);
  }
  return ok(weighed);
}
