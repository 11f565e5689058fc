import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { keptFor } from '../../../src-workers/numeric/kept.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import { unknownPaths } from '../../../src-workers/advise/unknown.ts';
import type { Uncertainty } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import { chanceText, lossText, percent } from '../export/text.ts';
import { recommendedDesign, type RecommendedDesign } from '../ranking/recommended.ts';
import { deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { tooLarge } from '../studies/plan.ts';
import { createPredictions, runPredictions } from './predictions.ts';
import { adviseRun } from './prepare.ts';
import { uncertainty } from './uncertainty.ts';
import { drawnText, unknownIn } from './unknown.ts';

const known = new WeakMap<RunView['ranking'], Map<string, Promise<Result<RecommendedDesign | null>>>>();

/**
 * Finds the design that exported documents of a run recommend, with about the least expected regret over draws of the
 * assumed inputs. Returns `null` if no design is valid.
 */
export function recommendOfRun(
  context: Context,
  view: RunView,
  deviceId: string | undefined,
): Promise<Result<RecommendedDesign | null>> {
  const device = deviceId ?? '';
  const answer = keptFor(known, view.ranking, Infinity, device, () => weighed(context, view, deviceId));
  // A failure may be temporary, so it is not remembered.
  const forget = (): void => void known.get(view.ranking)?.delete(device);
  answer.then(({ ok: isKept }) => isKept || forget(), forget);
  return answer;
}

async function weighed(
  context: Context,
  view: RunView,
  deviceId: string | undefined,
): Promise<Result<RecommendedDesign | null>> {
  const filter = deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const point = recommendedDesign(view, filter.value);
  const study = adviseRun(view);
  const isKnown = study.devices.every((device) => unknownPaths(unknownIn(study, device)).length === 0);
  if (point === null || isKnown) return ok(point);
  const why =
    view.run.state !== 'complete'
      ? 'The run is not complete'
      : tooLarge(view.ranking.axes)
        ? 'The space has too many designs'
        : null;
  if (why !== null)
    return ok({
      ...point,
      weighed: `${why}, so the assumed inputs were not weighed. The design is the best one for the usual value of each input.`,
    });
  const predictions = runPredictions(view, createPredictions(context.pool));
  const found = await uncertainty(context, predictions, study, { deviceId }, context.closing);
  if (!found.ok) return found;
  return ok({ ...point, ...weighedPick(found.value) });
}

export function weighedPick({
  robust,
  point,
  draws,
  unknown,
  within,
}: Uncertainty): Pick<RecommendedDesign, 'designIndex' | 'isByRule' | 'weighed'> {
  const { designIndex } = robust;
  if (draws === 1) return { designIndex, isByRule: true, weighed: '' };
  const usual =
    designIndex === point.designIndex
      ? ''
      : ` With the usual value of each assumed input, the choice would be ${point.text}.`;
  const weighed =
    `Over ${draws} draws of ${drawnText(unknown)}, this is the simplest design whose mean time is within ${percent(AGREEMENT_FRACTION)} of the least. ` +
    `With the model's own errors, its expected regret is ${lossText(robust.expectedRegret)}, compared with the best design of each draw. ` +
    `The chance that it is within ${percent(within)} of the best is ${chanceText(robust.chanceBest)}.${usual}`;
  return { designIndex, isByRule: false, weighed };
}
