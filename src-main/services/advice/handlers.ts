import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import type { Uncertainty } from '../../contract/advice.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Study } from '../../contract/study.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { Turns } from '../turns.ts';
import { tooLarge } from '../studies/plan.ts';
import { wrongLaw } from '../../../src-workers/advise/assumed.ts';
import { getStudy } from '../studies/studies.ts';
import { createPredictions, runPredictions, type Predictions } from './predictions.ts';
import { adviseRun, adviseStudy, type AdvisedStudy } from './prepare.ts';
import { recommend } from './recommend.ts';
import { adviseCode } from './code.ts';
import { predictAsked } from './predict.ts';
import { robust } from './robust.ts';
import { sensitivity } from './sensitivity.ts';
import { uncertainty } from './uncertainty.ts';

const MAX_WEIGHINGS = 4;

export function adviceHandlers(context: Context): Handlers<ProceduresOf<'advice'>> {
  const ownPredictions = createPredictions(context.pool);
  const turns = new Turns();
  /** `robust` calls cancel only each other, because a call without `robust` precedes each of them. */
  const weighings = new Turns();
  /** Weighing takes seconds, so exported code uses the result that the page has already requested. */
  const weighed = new Map<string, Promise<Result<Uncertainty>>>();
  const weighedKey = ({ study, devices }: AdvisedStudy, deviceId: string | undefined): string =>
    JSON.stringify([study, devices.map(({ plan }) => plan.id), deviceId]);
  const weighAgain = async (study: AdvisedStudy, deviceId: string): Promise<Result<Uncertainty>> => {
    const known = await weighed.get(weighedKey(study, deviceId))?.catch(() => null);
    return known?.ok ? known : uncertainty(context, ownPredictions, study, { deviceId }, context.closing);
  };
  const studyOf = async (input: {
    readonly studyId?: number | undefined;
    readonly study: Study;
    readonly folder?: string | undefined;
  }): Promise<Result<AdvisedStudy>> => {
    const saved =
      input.studyId === undefined || input.folder !== undefined
        ? ok(null)
        : await getStudy(context.store, input.studyId);
    if (!saved.ok) return saved;
    const wrong = wrongLaw(input.study);
    if (wrong) return wrong;
    return adviseStudy(context, input.study, input.folder ?? saved.value?.baseFolder ?? null);
  };
  const advisedOf = async (
    input: ProcedureArguments<'advice.sensitivity' | 'advice.recommend' | 'advice.uncertainty' | 'advice.predict'>,
  ): Promise<Result<{ readonly study: AdvisedStudy; readonly predictions: Predictions }>> => {
    const { study, runId } = input;
    if ((study === undefined) === (runId === undefined))
      return badInput('Specify either a study or the number of a run, not both.');
    if (runId !== undefined)
      return context.views.read(
        runId,
        (view) =>
          tooLarge(view.ranking.axes) ??
          ok({ study: adviseRun(view), predictions: runPredictions(view, ownPredictions) }),
      );
    const advised = await studyOf({ ...input, study: study! });
    return advised.ok ? ok({ study: advised.value, predictions: ownPredictions }) : advised;
  };
  const answered = <Input extends Parameters<typeof advisedOf>[0], Answer>(
    within: Turns,
    input: Input,
    gone: AbortSignal | undefined,
    answer: (predictions: Predictions, study: AdvisedStudy, input: Input, turn: AbortSignal) => Promise<Result<Answer>>,
  ): Promise<Result<Answer>> =>
    within.take(input.client, [gone], async (turn) => {
      const advised = await advisedOf(input);
      return advised.ok ? answer(advised.value.predictions, advised.value.study, input, turn) : advised;
    });
  return {
    'advice.recommend': (asked, gone) => {
      if (!asked.robust && asked.client !== undefined) weighings.cancel(asked.client);
      return answered(asked.robust ? weighings : turns, asked, gone, async (predictions, study, input, turn) => {
        if (!input.robust) return recommend(context, predictions, study, input, turn);
        const weighing = uncertainty(context, predictions, study, input, turn);
        void keep(weighed, MAX_WEIGHINGS, weighedKey(study, input.deviceId), weighing);
        const known = await weighing;
        if (!known.ok) return known;
        const design = input.design ?? known.value.robust.designIndex;
        const answer = await recommend(context, predictions, study, { ...input, design }, turn);
        return answer.ok ? ok({ ...answer.value, uncertainty: known.value }) : answer;
      });
    },
    'advice.sensitivity': (asked, gone) => answered(turns, asked, gone, (...about) => sensitivity(context, ...about)),
    'advice.uncertainty': (asked, gone) => answered(turns, asked, gone, (...about) => uncertainty(context, ...about)),
    'advice.predict': (asked, gone) =>
      answered(turns, asked, gone, (_, study, input, turn) => predictAsked(context, study, input, turn)),
    'advice.robust': (input) => robust(context, input),
    'advice.code': async (input) => {
      const study = await studyOf(input);
      return study.ok
        ? adviseCode(context, ownPredictions, study.value, input, (id) => weighAgain(study.value, id))
        : study;
    },
  };
}
