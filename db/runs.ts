import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import { AXIS_ORDER } from '../src-workers/domain/space.ts';
import { checkBest, checkChunk } from './columns.ts';
import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import { predictionTable } from './predictions.ts';
import type {
  AxisValue,
  BestDesigns,
  CommittedChunk,
  PredictionChunk,
  RunAxes,
  StoredAxis,
  RunColumns,
  RunDraft,
  RunEnd,
  RunKind,
  RunPage,
  RunQuery,
  RunRecord,
  RunSort,
  RunState,
  RunSummary,
} from './records.ts';
import type { SqlValue, Statements } from './statements.ts';
import { fromJson, now, toJson } from './statements.ts';

interface SummaryRow {
  readonly id: number;
  readonly study_id: number | null;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly name: string;
  readonly note: string;
  readonly tags: string;
  readonly app_version: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly elapsed_ms: number;
  readonly source_run_id: number | null;
  readonly enumerated_count: number;
  readonly valid_count: number;
  readonly invalid_count: number;
  readonly best_wanted: number | null;
  readonly predicted_count: number | null;
  readonly picked_design: number | null;
  readonly best_time_ms: number | null;
  readonly best_design: string | null;
  readonly deleted_at: string | null;
}

interface RunRow extends SummaryRow {
  readonly study: string;
  readonly model_versions: string;
  readonly seed: number | null;
  readonly machine: string;
  readonly failure: string | null;
  readonly measuring_device: string | null;
  readonly owner_token: string | null;
}

const TAGS =
  '(SELECT json_group_array(tag) FROM (SELECT tag FROM run_tags WHERE run_id = runs.id ORDER BY tag)) AS tags';
const SUMMARY = `id, study_id, kind, state, name, note, ${TAGS}, app_version, started_at, finished_at, elapsed_ms, source_run_id,
  enumerated_count, valid_count, invalid_count, best_wanted, predicted_count, picked_design, best_time_ms, best_design, deleted_at`;

const SORT_COLUMNS: Readonly<Record<RunSort, string>> = {
  id: 'id',
  name: 'name COLLATE NOCASE',
  kind: 'kind',
  state: 'state',
  startedAt: 'started_at',
  elapsedMs: 'elapsed_ms',
  enumeratedCount: 'enumerated_count',
};

const DEFAULT_PAGE_ROWS = 100;
const MAX_PAGE_ROWS = 1000;

function summaryOf(row: SummaryRow): RunSummary {
  return {
    id: row.id,
    studyId: row.study_id,
    kind: row.kind,
    state: row.state,
    name: row.name,
    note: row.note,
    tags: fromJson(row.tags) as readonly string[],
    appVersion: row.app_version,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    elapsedMs: row.elapsed_ms,
    sourceRunId: row.source_run_id,
    enumeratedCount: row.enumerated_count,
    validCount: row.valid_count,
    invalidCount: row.invalid_count,
    kept:
      row.best_wanted === null
        ? null
        : { wanted: row.best_wanted, predicted: row.predicted_count, picked: row.picked_design },
    best: row.best_time_ms === null ? null : { timeMs: row.best_time_ms, design: row.best_design ?? '' },
    deletedAt: row.deleted_at,
  };
}

/** The functions for runs and their predictions. They throw `FailureError`s, which the store turns into results. */
export function runsOf(statements: Statements, ownership: Ownership) {
  const { all, get, run, insert, write } = statements;
  const predictions = predictionTable(statements.db);

  function rowOf(runId: number): RunRow {
    const row = get<RunRow>(`SELECT *, ${TAGS} FROM runs WHERE id = ?`, runId);
    return row ?? refuse('not-found', `This database has no run ${runId}.`, { runId });
  }

  /** The run, if this store may write its results. */
  function ownRow(runId: number): RunRow {
    const row = rowOf(runId);
    if (row.state !== 'running') refuse('conflict', `Run ${runId} is ${row.state}, not running.`, { runId });
    if (row.owner_token !== ownership.token)
      refuse('conflict', `Run ${runId} is running in another program.`, { runId });
    return row;
  }

  function insertAxes(runId: number, axes: RunAxes, implementations: number, blockWidths: number): void {
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

  function axesOf(runId: number): RunAxes | null {
    const rows = all<{ axis: StoredAxis; value: AxisValue }>(
      'SELECT axis, value FROM run_axis_values WHERE run_id = ? ORDER BY axis, position',
      runId,
    );
    if (rows.length === 0) return null;
    const values = (axis: StoredAxis): AxisValue[] => rows.filter((row) => row.axis === axis).map((row) => row.value);
    return {
      device: values('device'),
      threadsPerUnit: values('threadsPerUnit'),
      loop: values('loop'),
      balancing: values('balancing'),
      launch: values('launch'),
      registerCap: values('registerCap'),
      blockThreads: values('blockThreads'),
    };
  }

  function getRun(runId: number): RunRecord {
    const row = rowOf(runId);
    const devices = all<{ device: string }>('SELECT device FROM run_devices WHERE run_id = ? ORDER BY position', runId);
    return {
      ...summaryOf(row),
      study: fromJson(row.study),
      modelVersions: fromJson(row.model_versions) as RunRecord['modelVersions'],
      seed: row.seed,
      machine: fromJson(row.machine),
      failure: row.failure === null ? null : (fromJson(row.failure) as Failure),
      devices: devices.map(({ device }) => fromJson(device) as Device),
      axes: axesOf(runId),
      measuringDevice: row.measuring_device === null ? null : fromJson(row.measuring_device),
    };
  }

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
      if (draft.axes) insertAxes(id, draft.axes, draft.implementations ?? 1, draft.blockWidths ?? 1);
      return id;
    });
    return getRun(runId);
  }

  function savePredictionChunk(runId: number, chunk: PredictionChunk): null {
    write(() => {
      const row = ownRow(runId);
      if (row.best_wanted !== null) refuse('conflict', `Run ${runId} keeps its best designs alone.`, { runId });
      const validCount = checkChunk(chunk, row.enumerated_count);
      const { firstDesign, count } = chunk;
      const overlapping = get<CommittedChunk>(
        `SELECT first_design AS firstDesign, count FROM run_chunks
         WHERE run_id = ? AND first_design < ? AND first_design + count > ?`,
        runId,
        firstDesign + count,
        firstDesign,
      );
      if (overlapping) {
        const saved = `${overlapping.firstDesign}…${overlapping.firstDesign + overlapping.count - 1}`;
        refuse(
          'conflict',
          `designs ${firstDesign}…${firstDesign + count - 1} of run ${runId}: ${saved} are already saved`,
          {
            runId,
            firstDesign,
          },
        );
      }
      run('INSERT INTO run_chunks (run_id, first_design, count) VALUES (?, ?, ?)', runId, firstDesign, count);
      predictions.insert(runId, chunk);
      countResults(runId, validCount, count - validCount);
    });
    return null;
  }

  function saveBestDesigns(runId: number, best: BestDesigns): null {
    write(() => {
      const row = ownRow(runId);
      const wanted = row.best_wanted ?? 0;
      const count = checkBest(best, row.enumerated_count);
      if (best.designs.length > wanted || count < best.designs.length)
        refuse('conflict', `Run ${runId} keeps at most ${wanted} designs, all valid, not ${best.designs.length}.`, {
          runId,
        });
      predictions.replace(runId, best);
      run(
        'UPDATE runs SET valid_count = ?, predicted_count = ?, picked_design = ? WHERE id = ?',
        count,
        best.predicted,
        best.picked,
        runId,
      );
    });
    return null;
  }

  function listChunks(runId: number): readonly CommittedChunk[] {
    rowOf(runId);
    return all<CommittedChunk>(
      'SELECT first_design AS firstDesign, count FROM run_chunks WHERE run_id = ? ORDER BY first_design',
      runId,
    );
  }

  function saveMeasuringDevice(runId: number, device: unknown): null {
    return write(() => {
      if (ownRow(runId).measuring_device !== null)
        refuse('conflict', `Run ${runId} already has the device that measures it.`, { runId });
      run('UPDATE runs SET measuring_device = ? WHERE id = ?', toJson('device', device), runId);
      return null;
    });
  }

  function countResults(runId: number, validCount: number, invalidCount: number): void {
    run(
      'UPDATE runs SET valid_count = valid_count + ?, invalid_count = invalid_count + ? WHERE id = ?',
      validCount,
      invalidCount,
      runId,
    );
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

  function listRuns(query: RunQuery): RunPage {
    const limit = query.limit ?? DEFAULT_PAGE_ROWS;
    const offset = query.offset ?? 0;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_PAGE_ROWS) {
      refuse('bad-input', `limit must be from 1 to ${MAX_PAGE_ROWS} runs, not ${limit}.`);
    }
    if (!Number.isSafeInteger(offset) || offset < 0) refuse('bad-input', `offset must be 0 or more, not ${offset}.`);
    const conditions = [query.deleted ? 'deleted_at IS NOT NULL' : 'deleted_at IS NULL'];
    const values: SqlValue[] = [];
    const where = (condition: string, ...parameters: SqlValue[]): void => {
      conditions.push(condition);
      values.push(...parameters);
    };
    if (query.studyId !== undefined) where('study_id = ?', query.studyId);
    if (query.kind !== undefined) where('kind = ?', query.kind);
    if (query.state !== undefined) where('state = ?', query.state);
    if (query.tag !== undefined) where('id IN (SELECT run_id FROM run_tags WHERE tag = ?)', query.tag);
    if (query.text !== undefined) {
      const pattern = `%${query.text.replace(/[\\%_]/g, '\\$&')}%`;
      where(`(name LIKE ? ESCAPE '\\' OR note LIKE ? ESCAPE '\\')`, pattern, pattern);
    }
    const filter = conditions.join(' AND ');
    const direction = (query.descending ?? query.sort === undefined) ? 'DESC' : 'ASC';
    const order = SORT_COLUMNS[query.sort ?? 'id'];
    const total = get<{ total: number }>(`SELECT count(*) AS total FROM runs WHERE ${filter}`, ...values)?.total ?? 0;
    const rows = all<SummaryRow>(
      `SELECT ${SUMMARY} FROM runs WHERE ${filter} ORDER BY ${order} ${direction}, id ${direction} LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
    return { total, rows: rows.map(summaryOf) };
  }

  function listTags(): readonly string[] {
    return all<{ tag: string }>('SELECT DISTINCT tag FROM run_tags ORDER BY tag').map(({ tag }) => tag);
  }

  function renameRun(runId: number, name: string): RunRecord {
    if (name.trim() === '') refuse('bad-input', `The name of run ${runId} must not be empty.`);
    if (run('UPDATE runs SET name = ? WHERE id = ?', name, runId) === 0) rowOf(runId);
    return getRun(runId);
  }

  function noteRun(runId: number, note: string): RunRecord {
    run('UPDATE runs SET note = ? WHERE id = ?', note, runId);
    return getRun(runId);
  }

  function tagRun(runId: number, tags: readonly string[]): RunRecord {
    write(() => {
      rowOf(runId);
      run('DELETE FROM run_tags WHERE run_id = ?', runId);
      for (const tag of new Set(tags)) {
        if (tag.trim() === '') refuse('bad-input', `A tag of run ${runId} must not be empty.`);
        run('INSERT INTO run_tags (run_id, tag) VALUES (?, ?)', runId, tag);
      }
    });
    return getRun(runId);
  }

  function deleteRuns(runIds: readonly number[]): null {
    write(() => {
      for (const runId of runIds) {
        if (rowOf(runId).state === 'running') refuse('conflict', `run ${runId} is running; cancel it first`, { runId });
        run('UPDATE runs SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?', now(), runId);
      }
    });
    return null;
  }

  function restoreRuns(runIds: readonly number[]): null {
    write(() => {
      for (const runId of runIds) {
        if (rowOf(runId).deleted_at === null) refuse('conflict', `Run ${runId} is not in the bin.`, { runId });
        run('UPDATE runs SET deleted_at = NULL WHERE id = ?', runId);
      }
    });
    return null;
  }

  function loadRunColumns(runId: number): RunColumns {
    // One transaction reads chunks and columns of the same moment, even while others write.
    const { columns, rebuilt } = statements.db.transaction(() => {
      const row = rowOf(runId);
      if (row.best_wanted !== null) return { columns: predictions.loadBest(runId, row.valid_count), rebuilt: [] };
      return predictions.load(runId, row.enumerated_count, listChunks(runId));
    })();
    if (rebuilt.length > 0) write(() => predictions.pack(runId, columns, rebuilt));
    return columns;
  }

  return {
    ownRow,
    rowOf,
    createRun,
    savePredictionChunk,
    saveBestDesigns,
    saveMeasuringDevice,
    countResults,
    finishRun,
    resumeRun,
    listChunks,
    getRun,
    listRuns,
    listTags,
    renameRun,
    noteRun,
    tagRun,
    deleteRuns,
    restoreRuns,
    loadRunColumns,
  };
}

/** Design indices are 32-bit numbers; the last one means none. */
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
