import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { Study } from '../../contract/study.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { getStudy } from '../studies/studies.ts';
import { createLengthsCache } from './lengths.ts';
import { createPredictions } from './predictions.ts';
import { adviseRun, adviseStudy, type AdvisedStudy } from './prepare.ts';
import { recommend } from './recommend.ts';
import { sensitivity } from './sensitivity.ts';

export function adviceHandlers(context: Context): Handlers<ProceduresOf<'advice'>> {
  const lengths = createLengthsCache(context.store);
  const predictions = createPredictions(context.pool);
  const calls = new Map<string, number>();
  /** Whether no newer call of the same client has come; always true of one that names no client. */
  const currency = (client: string | undefined): (() => boolean) => {
    if (client === undefined) return () => true;
    const mine = (calls.get(client) ?? 0) + 1;
    // A client that has been away for long begins anew.
    calls.delete(client);
    if (calls.size >= MAX_CLIENTS) calls.delete(calls.keys().next().value!);
    calls.set(client, mine);
    return () => calls.get(client) === mine;
  };
  /** A study as it is on screen; its files are beside the saved one. */
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
    return adviseStudy(context, lengths, input.study, input.folder ?? saved.value?.baseFolder ?? null);
  };
  const runStudyOf = (runId: number): Promise<Result<AdvisedStudy>> =>
    context.views.read(runId, (view) => ok(adviseRun(view)));
  return {
    'advice.recommend': async (input) => {
      const isCurrent = currency(input.client);
      const study = await studyOf(input);
      return study.ok ? recommend(context, predictions, study.value, input, isCurrent) : study;
    },
    'advice.sensitivity': async (input) => {
      const isCurrent = currency(input.client);
      const study = 'runId' in input ? await runStudyOf(input.runId) : await studyOf(input);
      return study.ok ? sensitivity(context, predictions, study.value, input, isCurrent) : study;
    },
  };
}

const MAX_CLIENTS = 64;
