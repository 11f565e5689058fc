import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import type {
  AxisValue,
  RunAxes,
  RunKind,
  RunPage,
  RunQuery,
  RunRecord,
  RunState,
  RunSummary,
  StoredAxis,
} from './records.ts';
import { type SqlValue, type Statements, fromJson } from './statements.ts';

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

const DEFAULT_ROWS = 100;
const MAX_ROWS = 1000;

function readSummary(row: SummaryRow): RunSummary {
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

/** Reads runs. Functions throw `FailureError`s; the store turns them into results. */
export function runRows({ all, get }: Statements, ownership: Ownership) {
  function rowOf(runId: number): RunRow {
    const row = get<RunRow>(`SELECT *, ${TAGS} FROM runs WHERE id = ?`, runId);
    return row ?? refuse('not-found', `This database has no run ${runId}.`, { runId });
  }

  /** Returns a running run of this store; throws otherwise. */
  function ownRow(runId: number): RunRow {
    const row = rowOf(runId);
    if (row.state !== 'running') refuse('conflict', `Run ${runId} is ${row.state}, not running.`, { runId });
    if (row.owner_token !== ownership.token)
      refuse('conflict', `Run ${runId} is running in another program.`, { runId });
    return row;
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
      ...readSummary(row),
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

  /** The newest runs that are not deleted. */
  function listRuns({ studyId, kind, state, limit = DEFAULT_ROWS }: RunQuery): RunPage {
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_ROWS) {
      refuse('bad-input', `limit must be from 1 to ${MAX_ROWS} runs, not ${limit}.`);
    }
    const conditions = ['deleted_at IS NULL'];
    const values: SqlValue[] = [];
    for (const [column, value] of Object.entries({ study_id: studyId, kind, state })) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const filter = conditions.join(' AND ');
    const total = get<{ total: number }>(`SELECT count(*) AS total FROM runs WHERE ${filter}`, ...values)?.total ?? 0;
    const rows = all<SummaryRow>(
      `SELECT ${SUMMARY} FROM runs WHERE ${filter} ORDER BY id DESC LIMIT ?`,
      ...values,
      limit,
    );
    return { total, rows: rows.map(readSummary) };
  }

  return { rowOf, ownRow, getRun, listRuns };
}

export type RunRows = ReturnType<typeof runRows>;
