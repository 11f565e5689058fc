import { refuse } from './failure.ts';
import type { DesignReference, MeasurementRecord, SimulationRecord } from './records.ts';
import type { RunRows } from './run-rows.ts';
import { type Statements, fromJson, toJson } from './statements.ts';
import type { StoreMethods } from './store-api.ts';

type StoredRow<Record extends DesignReference & { readonly detail: unknown }> = Omit<Record, 'timesMs'> & {
  readonly runId: number;
  readonly position: number;
  readonly design: string;
  readonly detail: string;
};

interface SimulationRow extends StoredRow<SimulationRecord> {
  readonly timesMs: string;
}

interface MeasuredRow extends Omit<StoredRow<MeasurementRecord>, 'correct'> {
  readonly correct: 0 | 1 | null;
}

function readReference({
  sourceRunId,
  designIndex,
  deviceId,
  design,
  predictedMs,
  detail,
}: StoredRow<SimulationRecord> | MeasuredRow) {
  return { sourceRunId, designIndex, deviceId, design: fromJson(design), predictedMs, detail: fromJson(detail) };
}

function referenceColumns(record: SimulationRecord | MeasurementRecord, runId: number, position: number) {
  const { sourceRunId, designIndex, deviceId, predictedMs } = record;
  const design = toJson('design', record.design);
  const detail = toJson('detail', record.detail);
  return { runId, position, sourceRunId, designIndex, deviceId, design, predictedMs, detail };
}

function checkTimes(timesMs: readonly number[], position: number): void {
  const wrong = timesMs.find((time) => !(time >= 0 && time < Infinity));
  if (wrong !== undefined)
    refuse('bad-input', `The times of record ${position} must be finite and ≥ 0, not ${wrong} ms.`);
}

interface Counting extends Pick<RunRows, 'rowOf' | 'ownRow'> {
  countResults(runId: number, validCount: number, invalidCount: number): void;
}

export function resultsOf({ all, get, insert, write }: Statements, { rowOf, ownRow, countResults }: Counting) {
  const nextPosition = (table: 'simulations' | 'measured_designs', runId: number): number =>
    get<{ next: number }>(`SELECT coalesce(max(position) + 1, 0) AS next FROM ${table} WHERE run_id = ?`, runId)!.next;

  function repeatsOf(sql: string, id: number) {
    type Place = Pick<MeasuredRow, 'runId' | 'position'>;
    const key = ({ runId, position }: Place): string => `${runId} ${position}`;
    const grouped = Map.groupBy(all<Place & { timeMs: number }>(sql, id), key);
    return (row: Place): readonly number[] => (grouped.get(key(row)) ?? []).map(({ timeMs }) => timeMs);
  }

  return {
    saveSimulations: (runId, records) =>
      write(() => {
        const { kind } = ownRow(runId);
        const first = nextPosition('simulations', runId);
        records.forEach((record, index) => {
          if (record.timesMs.length === 0) refuse('bad-input', `Record ${index} must have at least one replication.`);
          checkTimes(record.timesMs, index);
          const { meanMs, standardDeviationMs, minMs, medianMs, maxMs, timesMs } = record;
          insert('simulations', {
            ...referenceColumns(record, runId, first + index),
            replications: timesMs.length,
            meanMs,
            standardDeviationMs,
            minMs,
            medianMs,
            maxMs,
            timesMs: toJson('timesMs', timesMs),
          });
        });
        if (kind === 'simulate') countResults(runId, records.length, 0);
        return null;
      }),

    listSimulations(runId) {
      rowOf(runId);
      return all<SimulationRow>('SELECT * FROM simulations WHERE run_id = ? ORDER BY position', runId).map(
        readSimulation,
      );
    },

    listSimulationsOf(sourceRunId) {
      rowOf(sourceRunId);
      return all<SimulationRow>(
        `SELECT simulations.* FROM simulations JOIN runs ON runs.id = simulations.run_id
         WHERE simulations.source_run_id = ? AND deleted_at IS NULL ORDER BY run_id, position`,
        sourceRunId,
      ).map((row) => ({ ...readSimulation(row), runId: row.runId }));
    },

    saveMeasurements: (runId, records) =>
      write(() => {
        ownRow(runId);
        const first = nextPosition('measured_designs', runId);
        records.forEach((record, index) => {
          checkTimes(record.timesMs, index);
          const { backend, correct, failure, timesMs } = record;
          const columns = referenceColumns(record, runId, first + index);
          const stored = correct === null ? null : Number(correct);
          insert('measured_designs', { ...columns, backend, correct: stored, failure });
          const { position } = columns;
          timesMs.forEach((timeMs, repeatIndex) => insert('measurements', { runId, position, repeatIndex, timeMs }));
        });
        const failed = records.filter((record) => record.failure !== null).length;
        countResults(runId, records.length - failed, failed);
        return null;
      }),

    listMeasurements(runId) {
      rowOf(runId);
      const timesOf = repeatsOf('SELECT * FROM measurements WHERE run_id = ? ORDER BY position, repeat_index', runId);
      return all<MeasuredRow>('SELECT * FROM measured_designs WHERE run_id = ? ORDER BY position', runId).map((row) =>
        readMeasurement(row, timesOf(row)),
      );
    },

    listMeasurementsOf(sourceRunId) {
      rowOf(sourceRunId);
      const timesOf = repeatsOf(
        `SELECT measurements.* FROM measurements JOIN measured_designs USING (run_id, position)
         WHERE source_run_id = ? ORDER BY run_id, position, repeat_index`,
        sourceRunId,
      );
      return all<MeasuredRow>(
        `SELECT measured_designs.* FROM measured_designs JOIN runs ON runs.id = measured_designs.run_id
         WHERE measured_designs.source_run_id = ? AND deleted_at IS NULL ORDER BY run_id, position`,
        sourceRunId,
      ).map((row) => ({ ...readMeasurement(row, timesOf(row)), runId: row.runId }));
    },
  } satisfies Partial<StoreMethods>;
}

function readSimulation(row: SimulationRow): SimulationRecord {
  const { meanMs, standardDeviationMs, minMs, medianMs, maxMs } = row;
  const timesMs = fromJson(row.timesMs) as readonly number[];
  return { ...readReference(row), meanMs, standardDeviationMs, minMs, medianMs, maxMs, timesMs };
}

function readMeasurement(row: MeasuredRow, timesMs: readonly number[]): MeasurementRecord {
  const { backend, correct, failure } = row;
  return { ...readReference(row), backend, timesMs, correct: correct === null ? null : correct === 1, failure };
}
