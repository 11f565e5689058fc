import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import { AXIS_ORDER, type AxisName } from '../src-workers/domain/space.ts';
import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import type { AxisValue, RunAxes, RunPage, RunQuery, RunRecord, RunSummary, StoredAxis } from './records.ts';
import { type SqlValue, type Statements, fromJson } from './statements.ts';

interface SummaryRow extends Omit<RunSummary, 'tags' | 'kept' | 'best'> {
  readonly tags: string;
  readonly bestWanted: number | null;
  readonly predictedCount: number | null;
  readonly pickedDesign: number | null;
  readonly bestTimeMs: number | null;
  readonly bestDesign: string | null;
}

interface RunRow extends SummaryRow {
  readonly study: string;
  readonly modelVersions: string;
  readonly seed: number | null;
  readonly machine: string;
  readonly failure: string | null;
  readonly measuringDevice: string | null;
  readonly ownerToken: string | null;
}

const TAGS =
  '(SELECT json_group_array(tag) FROM (SELECT tag FROM run_tags WHERE run_id = runs.id ORDER BY tag)) AS tags';
const SUMMARY = `id, study_id, kind, state, name, note, ${TAGS}, app_version, started_at, finished_at, elapsed_ms, source_run_id,
  enumerated_count, valid_count, invalid_count, best_wanted, predicted_count, picked_design, best_time_ms, best_design, deleted_at`;
const DETAIL = 'study, model_versions, seed, machine, failure, measuring_device, owner_token';

/** The values of the two other axes are stored only in the study. */
export const isStoredAxis = (axis: AxisName): axis is StoredAxis => axis !== 'implementation' && axis !== 'blockWidth';

const DEFAULT_ROWS = 100;
const MAX_ROWS = 1000;

function readSummary({
  tags,
  bestWanted,
  predictedCount,
  pickedDesign,
  bestTimeMs,
  bestDesign,
  ...row
}: SummaryRow): RunSummary {
  return {
    ...row,
    tags: fromJson(tags) as readonly string[],
    kept: bestWanted === null ? null : { wanted: bestWanted, predicted: predictedCount, picked: pickedDesign },
    best: bestTimeMs === null ? null : { timeMs: bestTimeMs, design: bestDesign ?? '' },
  };
}

export function runRows({ all, get }: Statements, ownership: Ownership) {
  function rowOf(runId: number): RunRow {
    const row = get<RunRow>(`SELECT ${SUMMARY}, ${DETAIL} FROM runs WHERE id = ?`, runId);
    return (
      row ??
      refuse(
        'not-found',
        `This database has no run ${runId}. lockstep runs list, or Runs in the app, shows its runs.`,
        { runId },
      )
    );
  }

  function ownRow(runId: number): RunRow {
    const row = rowOf(runId);
    if (row.state !== 'running') refuse('conflict', `Run ${runId} is ${row.state}, not running.`, { runId });
    if (row.ownerToken !== ownership.token)
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
    return Object.fromEntries(
      AXIS_ORDER.filter(isStoredAxis).map((axis) => [axis, values(axis)]),
    ) as unknown as RunAxes;
  }

  function getRun(runId: number): RunRecord {
    const { study, modelVersions, machine, failure, measuringDevice, ownerToken: _, ...row } = rowOf(runId);
    const devices = all<{ device: string }>('SELECT device FROM run_devices WHERE run_id = ? ORDER BY position', runId);
    return {
      ...readSummary(row),
      seed: row.seed,
      study: fromJson(study),
      modelVersions: fromJson(modelVersions) as RunRecord['modelVersions'],
      machine: fromJson(machine),
      failure: failure === null ? null : (fromJson(failure) as Failure),
      devices: devices.map(({ device }) => fromJson(device) as Device),
      axes: axesOf(runId),
      measuringDevice: measuringDevice === null ? null : fromJson(measuringDevice),
    };
  }

  function listRuns({ studyId, kind, state, deleted = false, limit = DEFAULT_ROWS }: RunQuery): RunPage {
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_ROWS)
      refuse('bad-input', `limit must be from 1 to ${MAX_ROWS} runs, not ${limit}.`);
    const conditions = [deleted ? 'deleted_at IS NOT NULL' : 'deleted_at IS NULL'];
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
