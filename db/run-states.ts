import { AXIS_ORDER } from '../src-workers/domain/space.ts';
import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import type { RunAxes, RunDraft, RunEnd, RunRecord } from './records.ts';
import type { RunRows } from './run-rows.ts';
import { type Statements, now, toJson } from './statements.ts';

export function runStates(
  { get, run, insert, write }: Statements,
  ownership: Ownership,
  { rowOf, ownRow, getRun }: RunRows,
) {
  function createRun(draft: RunDraft): RunRecord {
    checkDraft(draft);
    const runId = write(() => {
      if (draft.studyId !== null && !get('SELECT 1 FROM studies WHERE id = ?', draft.studyId)) {
        refuse('not-found', `no study ${draft.studyId}`, { studyId: draft.studyId });
      }
      ownership.claim();
      const id = insert(
        `INSERT INTO runs (study_id, study, kind, state, name, app_version, model_versions, seed, machine, started_at,
           source_run_id, enumerated_count, best_wanted, owner_token)
         VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        draft.studyId,
        toJson('study', draft.study),
        draft.kind,
        draft.name,
        draft.appVersion,
        toJson('modelVersions', draft.modelVersions),
        draft.seed,
        toJson('machine', draft.machine),
        now(),
        draft.sourceRunId ?? null,
        draft.enumeratedCount,
        draft.bestWanted ?? null,
        ownership.token,
      );
      draft.devices.forEach((device, position) =>
        run(
          'INSERT INTO run_devices (run_id, position, device_id, device) VALUES (?, ?, ?, ?)',
          id,
          position,
          device.id,
          toJson('device', device),
        ),
      );
      if (draft.axes) insertAxes(run, id, draft.axes, draft.implementations ?? 1, draft.blockWidths ?? 1);
      return id;
    });
    return getRun(runId);
  }

  function saveMeasuringDevice(runId: number, device: unknown): null {
    return write(() => {
      if (ownRow(runId).measuring_device !== null)
        refuse('conflict', `Run ${runId} already has the device that measures it.`, { runId });
      run('UPDATE runs SET measuring_device = ? WHERE id = ?', toJson('device', device), runId);
      return null;
    });
  }

  function finishRun(runId: number, end: RunEnd): RunRecord {
    if ((end.state === 'failed') !== (end.failure !== undefined)) {
      refuse('bad-input', `run ${runId} ends as ${end.state} ${end.failure ? 'with' : 'without'} a failure`);
    }
    write(() => {
      const row = ownRow(runId);
      const saved = row.valid_count + row.invalid_count;
      if (end.state === 'complete' && row.best_wanted !== null && row.predicted_count === null)
        refuse('conflict', `The best designs of run ${runId} are not saved, so it is not complete.`, { runId });
      if (
        end.state === 'complete' &&
        row.kind === 'sweep' &&
        row.best_wanted === null &&
        saved !== row.enumerated_count
      ) {
        refuse('conflict', `Run ${runId} has ${saved} of ${row.enumerated_count} designs, so it is not complete.`, {
          runId,
        });
      }
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
      if (row.state === 'running' || row.state === 'complete') {
        refuse('conflict', `Run ${runId} is ${row.state}. Only a run that stopped before its end can be resumed.`, {
          runId,
        });
      }
      if (row.deleted_at !== null) refuse('conflict', `run ${runId} is deleted; restore it first`, { runId });
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
  run: Statements['run'],
  runId: number,
  axes: RunAxes,
  implementations: number,
  blockWidths: number,
): void {
  let stride = 1;
  for (const axis of AXIS_ORDER.toReversed()) {
    if (axis === 'implementation' || axis === 'blockWidth') {
      stride *= axis === 'implementation' ? implementations : blockWidths;
      continue;
    }
    const values = axes[axis];
    run('INSERT INTO run_axes (run_id, axis, size, stride) VALUES (?, ?, ?, ?)', runId, axis, values.length, stride);
    values.forEach((value, position) => {
      const stored = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
      run(
        'INSERT INTO run_axis_values (run_id, axis, position, value) VALUES (?, ?, ?, ?)',
        runId,
        axis,
        position,
        stored,
      );
    });
    stride *= values.length;
  }
}

/** Design indices are 32-bit numbers, of which the largest means "none". */
const MAX_DESIGN_INDEX = 2 ** 32 - 2;

function checkDraft({ name, enumeratedCount, bestWanted, axes, devices, ...draft }: RunDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a run must not be empty.');
  if (!Number.isSafeInteger(enumeratedCount) || enumeratedCount < 0) {
    refuse('bad-input', `The designs of a run must be a whole number ≥ 0, not ${enumeratedCount}.`);
  }
  if (bestWanted !== undefined && !(Number.isSafeInteger(bestWanted) && bestWanted >= 1))
    refuse('bad-input', `The best designs of a run must be a whole number ≥ 1, not ${bestWanted}.`);
  if (bestWanted !== undefined && enumeratedCount > MAX_DESIGN_INDEX)
    refuse('bad-input', `A run can have ${MAX_DESIGN_INDEX} designs, not ${enumeratedCount}.`);
  if (!axes) return;
  const { implementations = 1, blockWidths = 1 } = draft;
  const product = Object.values(axes).reduce((size, values) => size * values.length, implementations * blockWidths);
  if (product !== enumeratedCount) {
    refuse('bad-input', `A run of ${enumeratedCount} designs cannot have axes that span ${product}.`);
  }
  const described = new Set(devices.map((device) => device.id));
  const missing = axes.device.find((id) => typeof id !== 'string' || !described.has(id));
  if (missing !== undefined)
    refuse('bad-input', `device ${missing} is on an axis, but not among the devices of the run`);
}
