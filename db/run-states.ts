import { AXIS_ORDER } from '../src-workers/domain/space.ts';
import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import type { RunAxes, RunDraft, RunEnd, RunRecord } from './records.ts';
import { isStoredAxis, type RunRows } from './run-rows.ts';
import { type Statements, now, toJson } from './statements.ts';

export function runStates(
  { get, run, insert, write }: Statements,
  ownership: Ownership,
  { rowOf, ownRow, getRun }: RunRows,
) {
  function createRun(draft: RunDraft): RunRecord {
    checkDraft(draft);
    const runId = write(() => {
      if (draft.studyId !== null && !get('SELECT 1 FROM studies WHERE id = ?', draft.studyId))
        refuse('not-found', `This database has no study ${draft.studyId}.`, { studyId: draft.studyId });
      ownership.claim();
      const { studyId, kind, name, appVersion, seed, enumeratedCount } = draft;
      const id = insert('runs', {
        studyId,
        kind,
        state: 'running',
        name,
        appVersion,
        seed,
        enumeratedCount,
        study: toJson('study', draft.study),
        modelVersions: toJson('modelVersions', draft.modelVersions),
        machine: toJson('machine', draft.machine),
        startedAt: now(),
        sourceRunId: draft.sourceRunId ?? null,
        bestWanted: draft.bestWanted ?? null,
        ownerToken: ownership.token,
      });
      draft.devices.forEach((device, position) =>
        insert('run_devices', { runId: id, position, deviceId: device.id, device: toJson('device', device) }),
      );
      if (draft.axes) insertAxes(insert, id, draft.axes, draft.implementations ?? 1, draft.blockWidths ?? 1);
      return id;
    });
    return getRun(runId);
  }

  function saveMeasuringDevice(runId: number, device: unknown): null {
    return write(() => {
      if (ownRow(runId).measuringDevice !== null)
        refuse('conflict', `Run ${runId} already has a measuring device, which cannot be replaced.`, { runId });
      run('UPDATE runs SET measuring_device = ? WHERE id = ?', toJson('device', device), runId);
      return null;
    });
  }

  function finishRun(runId: number, end: RunEnd): RunRecord {
    if ((end.state === 'failed') !== (end.failure !== undefined))
      refuse('bad-input', `Run ${runId} cannot end as ${end.state} ${end.failure ? 'with' : 'without'} a failure.`);
    write(() => {
      const row = ownRow(runId);
      const saved = row.validCount + row.invalidCount;
      if (end.state === 'complete' && row.bestWanted !== null && row.predictedCount === null)
        refuse('conflict', `The best designs of run ${runId} are not saved, so it is not complete.`, { runId });
      if (end.state === 'complete' && row.kind === 'sweep' && row.bestWanted === null && saved !== row.enumeratedCount)
        refuse('conflict', `Run ${runId} has ${saved} of ${row.enumeratedCount} designs, so it is not complete.`, {
          runId,
        });
      run(
        `UPDATE runs SET state = ?, finished_at = ?, elapsed_ms = ?, failure = ?, best_time_ms = ?, best_design = ?,
           owner_token = NULL WHERE id = ?`,
        end.state,
        now(),
        end.elapsedMs,
        end.failure ? toJson('failure', end.failure) : null,
        end.best?.timeMs ?? null,
        end.best?.design ?? null,
        runId,
      );
    });
    return getRun(runId);
  }

  function resumeRun(runId: number): RunRecord {
    write(() => {
      const row = rowOf(runId);
      if (row.state === 'running' || row.state === 'complete')
        refuse('conflict', `Run ${runId} is ${row.state}. Only a run that stopped before its end can be resumed.`, {
          runId,
        });
      if (row.deletedAt !== null) refuse('conflict', `Run ${runId} is in the bin. Restore it first.`, { runId });
      ownership.claim();
      run(
        `UPDATE runs SET state = 'running', finished_at = NULL, failure = NULL, owner_token = ? WHERE id = ?`,
        ownership.token,
        runId,
      );
    });
    return getRun(runId);
  }

  return { createRun, saveMeasuringDevice, finishRun, resumeRun };
}

function insertAxes(
  insert: Statements['insert'],
  runId: number,
  axes: RunAxes,
  implementations: number,
  blockWidths: number,
): void {
  let stride = 1;
  for (const axis of AXIS_ORDER.toReversed()) {
    if (!isStoredAxis(axis)) {
      stride *= axis === 'implementation' ? implementations : blockWidths;
      continue;
    }
    const values = axes[axis];
    insert('run_axes', { runId, axis, size: values.length, stride });
    values.forEach((value, position) => {
      const stored = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
      insert('run_axis_values', { runId, axis, position, value: stored });
    });
    stride *= values.length;
  }
}

/** Design indices are 32-bit numbers, and the largest 32-bit number means "none". */
const MAX_DESIGN_INDEX = 2 ** 32 - 2;

function checkDraft({ name, enumeratedCount, bestWanted, axes, devices, ...draft }: RunDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a run must not be empty.');
  if (!Number.isSafeInteger(enumeratedCount) || enumeratedCount < 0)
    refuse('bad-input', `The number of designs of a run must be a whole number ≥ 0, not ${enumeratedCount}.`);
  if (bestWanted !== undefined && !(Number.isSafeInteger(bestWanted) && bestWanted >= 1))
    refuse('bad-input', `The number of best designs of a run must be a whole number ≥ 1, not ${bestWanted}.`);
  if (bestWanted !== undefined && enumeratedCount > MAX_DESIGN_INDEX)
    refuse('bad-input', `A run can have at most ${MAX_DESIGN_INDEX} designs, not ${enumeratedCount}.`);
  if (!axes) return;
  const { implementations = 1, blockWidths = 1 } = draft;
  const product = Object.values(axes).reduce((size, values) => size * values.length, implementations * blockWidths);
  if (product !== enumeratedCount)
    refuse('bad-input', `The run has ${enumeratedCount} designs, but its axes make ${product}.`);
  const described = new Set(devices.map((device) => device.id));
  const missing = axes.device.find((id) => typeof id !== 'string' || !described.has(id));
  if (missing !== undefined)
    refuse('bad-input', `Device ${missing} is on an axis, but not among the devices of the run.`);
}
