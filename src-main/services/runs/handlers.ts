import type { RunKind, RunRecord } from '../../../db/records.ts';
import { ok, type Result, conflict, unsupported } from '../../../src-workers/domain/result.ts';
import { machineText } from '../machine/machine.ts';
import type { RunChange, RunDetail } from '../../contract/api.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import type { LocatedStudy } from '../studies/studies.ts';
import { belongsToStudy, changedSince, staleFields } from './changes.ts';
import { diffRuns } from './diff.ts';
import { runStudy } from './run-view.ts';
import type { RunHandle } from './running.ts';
import { runSummary } from './runs.ts';

export type Resumers = Readonly<Record<Exclude<RunKind, 'import'>, (run: RunRecord) => Promise<Result<RunHandle>>>>;

export function runHandlers(
  context: Context,
  resumers: Resumers,
): Handlers<Exclude<ProceduresOf<'runs'>, 'runs.start'>> {
  const { store, views, running, changed } = context;
  return {
    'runs.resume': ({ id }) => running.start(resumed(context, resumers, id)),
    'runs.cancel': async ({ id }) => {
      const handle = running.get(id);
      if (!handle) return conflict(`Run ${id} is not running in this engine. Specify a run that is running.`);
      handle.cancel();
      await handle.finished;
      return ok(null);
    },
    'runs.wait': async ({ id }) => {
      const handle = running.get(id);
      const run = handle ? await handle.finished : await store.getRun(id);
      if (!run.ok) return run;
      const { state, failure } = run.value;
      if (state === 'running') return conflict(`Run ${id} is running in another program.`);
      return state === 'failed' && failure ? { ok: false, error: failure } : ok(runSummary(run.value, 0));
    },
    'runs.list': async ({ studyId, deleted, limit }) => {
      const page = await store.listRuns({ studyId, deleted, limit });
      if (!page.ok) return page;
      const bytes = await bytesOfRuns(context);
      return ok(page.value.rows.map((run) => runSummary(run, bytes.get(run.id) ?? 0)));
    },
    'runs.changes': ({ studyId }) => runChanges(context, studyId),
    'runs.get': ({ id }) => runDetail(context, id),
    'runs.update': async ({ id, name, note, tags }) => {
      let run = await store.getRun(id);
      if (run.ok && name !== undefined) run = await store.renameRun(id, name);
      if (run.ok && note !== undefined) run = await store.noteRun(id, note);
      if (run.ok && tags !== undefined) run = await store.tagRun(id, tags);
      if (!run.ok) return run;
      changed('runs');
      return ok(runSummary(run.value, 0));
    },
    'runs.delete': async ({ id }) => {
      const done = await store.deleteRuns([id]);
      if (!done.ok) return done;
      views.drop(id);
      views.dropFindings();
      changed('runs');
      return done;
    },
    'runs.restore': async ({ id }) => {
      const done = await store.restoreRuns([id]);
      if (!done.ok) return done;
      views.dropFindings();
      changed('runs');
      return done;
    },
    'runs.purge': async ({ before: time }) => {
      const before = await store.diskUse();
      if (!before.ok) return before;
      const purged = await store.purgeDeleted(time);
      if (!purged.ok) return purged;
      const shrunk = await store.vacuum();
      changed('all');
      if (!shrunk.ok) return shrunk;
      const after = await store.diskUse();
      if (!after.ok) return after;
      return ok({ ...purged.value, freedBytes: Math.max(0, before.value.fileBytes - after.value.fileBytes) });
    },
    'runs.diff': async ({ leftId, rightId }) => {
      const left = await views.open(leftId);
      if (!left.ok) return left;
      return views.read(rightId, (right) =>
        diffRuns(left.value, right, { left: runSummary(left.value.run, 0), right: runSummary(right.run, 0) }),
      );
    },
  };
}

async function resumed({ store, views }: Context, resumers: Resumers, id: number): Promise<Result<RunHandle>> {
  const before = await store.getRun(id);
  if (before.ok && before.value.kind === 'import')
    return unsupported(`Run ${id} was imported, so it cannot be resumed. Import its file again.`);
  const run = await store.resumeRun(id);
  if (!run.ok) return run;
  const { kind, elapsedMs } = run.value;
  const handle = await resumers[kind as keyof Resumers](run.value);
  if (!handle.ok) await store.finishRun(id, { state: 'failed', elapsedMs, failure: handle.error });
  else views.drop(id);
  return handle;
}

async function bytesOfRuns({ store }: Context): Promise<ReadonlyMap<number, number>> {
  const disk = await store.diskUse();
  return new Map(disk.ok ? disk.value.runs.map((run) => [run.runId, run.bytes]) : []);
}

async function runDetail(context: Context, id: number): Promise<Result<RunDetail>> {
  const { store } = context;
  const run = await store.getRun(id);
  if (!run.ok) return run;
  const { devices, appVersion, modelVersions, seed, machine } = run.value;
  const study = belongsToStudy(run.value) ? runStudy(run.value) : ok(null);
  if (!study.ok) return study;
  const bytes = await bytesOfRuns(context);
  return ok({
    ...runSummary(run.value, bytes.get(id) ?? 0),
    study: study.value?.study ?? null,
    devices,
    appVersion,
    modelVersion: modelVersions.prediction ?? '',
    seed: seed ?? 0,
    machine: machineText(machine),
    staleFields: study.value ? await changedSince(store, run.value, study.value) : [],
  });
}

/** Maximum number of sweeps whose changes are listed, because the studies of sweeps are read one by one. */
const MAX_CHANGES = 200;

async function runChanges({ store }: Context, studyId: number | undefined): Promise<Result<readonly RunChange[]>> {
  const page = await store.listRuns({ studyId, kind: 'sweep', limit: MAX_CHANGES });
  if (!page.ok) return page;
  const before = new Map<number | null, { readonly id: number; readonly study: LocatedStudy }>();
  const problems = new Map<string, number>();
  const changes: RunChange[] = [];
  for (const { id } of page.value.rows.toReversed()) {
    const run = await store.getRun(id);
    const study = run.ok ? runStudy(run.value) : run;
    // A run that is damaged, or was deleted in the meantime, is left out. When it is opened, the user sees the reason.
    if (!run.ok || !study.ok) continue;
    const { workload, kernel, implementations, devices } = study.value.study;
    const problem = JSON.stringify(
      [run.value.studyId, workload, kernel, implementations, devices],
      (key, value: unknown) => (key === 'origins' || key === 'origin' ? undefined : value),
    );
    if (!problems.has(problem)) problems.set(problem, id);
    // If sweeps do not belong to a saved study, they are not versions of one study.
    const last = run.value.studyId === null ? undefined : before.get(run.value.studyId);
    const fields = last ? staleFields(last.study, study.value, run.value.devices) : [];
    changes.push({ id, since: last?.id ?? null, fields, problem: problems.get(problem)! });
    before.set(run.value.studyId, { id, study: study.value });
  }
  return ok(changes);
}
