import { refuse } from './failure.ts';
import type {
  DesignReference,
  MeasurementOfRun,
  MeasurementRecord,
  SimulationOfRun,
  SimulationRecord,
} from './records.ts';
import type { RunRows } from './run-rows.ts';
import { type Statements, fromJson, toJson } from './statements.ts';
import type { StoreMethods } from './store-api.ts';

interface ReferenceRow {
  readonly position: number;
  readonly source_run_id: number | null;
  readonly design_index: number | null;
  readonly device_id: string;
  readonly design: string;
  readonly predicted_ms: number | null;
  readonly detail: string;
}

interface SimulationRow extends ReferenceRow {
  readonly mean_ms: number;
  readonly standard_deviation_ms: number;
  readonly min_ms: number;
  readonly median_ms: number;
  readonly max_ms: number;
  readonly times_ms: string;
}

interface MeasuredRow extends ReferenceRow {
  readonly backend: string;
  readonly correct: 0 | 1 | null;
  readonly failure: string | null;
}

function readReference(row: ReferenceRow): DesignReference {
  return {
    sourceRunId: row.source_run_id,
    designIndex: row.design_index,
    deviceId: row.device_id,
    design: fromJson(row.design),
    predictedMs: row.predicted_ms,
  };
}

function checkTimes(timesMs: readonly number[], position: number): void {
  const wrong = timesMs.find((time) => !(time >= 0 && time < Infinity));
  if (wrong !== undefined)
    refuse('bad-input', `The times of record ${position} must be finite and ≥ 0, not ${wrong} ms.`);
}

/** The functions of runs that are needed to save results. */
interface Counting extends Pick<RunRows, 'rowOf' | 'ownRow'> {
  countResults(runId: number, validCount: number, invalidCount: number): void;
}

/** Simulated and measured designs of a run, in the order in which they were saved. */
export const resultsOf = (statements: Statements, runs: Counting): SimulationMethods & MeasurementMethods => ({
  ...openSimulations(statements, runs),
  ...openMeasurements(statements, runs),
});

type SimulationMethods = Pick<StoreMethods, 'saveSimulations' | 'listSimulations' | 'listSimulationsOf'>;

function openSimulations(
  { all, get, run, write }: Statements,
  { rowOf, ownRow, countResults }: Counting,
): SimulationMethods {
  function insertSimulations(runId: number, records: readonly SimulationRecord[]): void {
    const first = nextPosition(get, 'simulations', runId);
    records.forEach((record, index) => {
      if (record.timesMs.length === 0) refuse('bad-input', `Record ${index} must have at least one replication.`);
      checkTimes(record.timesMs, index);
      run(
        `INSERT INTO simulations (run_id, position, source_run_id, design_index, device_id, design, predicted_ms,
           replications, mean_ms, standard_deviation_ms, min_ms, median_ms, max_ms, times_ms, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        runId,
        first + index,
        record.sourceRunId,
        record.designIndex,
        record.deviceId,
        toJson('design', record.design),
        record.predictedMs,
        record.timesMs.length,
        record.meanMs,
        record.standardDeviationMs,
        record.minMs,
        record.medianMs,
        record.maxMs,
        toJson('timesMs', record.timesMs),
        toJson('detail', record.detail),
      );
    });
  }

  const saveSimulations: SimulationMethods['saveSimulations'] = (runId, records) =>
    write(() => {
      const { kind } = ownRow(runId);
      insertSimulations(runId, records);
      if (kind === 'simulate') countResults(runId, records.length, 0);
      return null;
    });

  function listSimulations(runId: number): readonly SimulationRecord[] {
    rowOf(runId);
    return all<SimulationRow>('SELECT * FROM simulations WHERE run_id = ? ORDER BY position', runId).map(
      readSimulation,
    );
  }

  function listSimulationsOf(sourceRunId: number): readonly SimulationOfRun[] {
    rowOf(sourceRunId);
    return all<SimulationRow & { run_id: number }>(
      `SELECT simulations.* FROM simulations JOIN runs ON runs.id = simulations.run_id
       WHERE simulations.source_run_id = ? AND deleted_at IS NULL ORDER BY run_id, position`,
      sourceRunId,
    ).map((row) => ({ ...readSimulation(row), runId: row.run_id }));
  }

  return { saveSimulations, listSimulations, listSimulationsOf };
}

type MeasurementMethods = Pick<StoreMethods, 'saveMeasurements' | 'listMeasurements' | 'listMeasurementsOf'>;

function openMeasurements(
  { all, get, run, write }: Statements,
  { rowOf, ownRow, countResults }: Counting,
): MeasurementMethods {
  function insertMeasurements(runId: number, records: readonly MeasurementRecord[]): void {
    const first = nextPosition(get, 'measured_designs', runId);
    records.forEach((record, index) => {
      checkTimes(record.timesMs, index);
      const position = first + index;
      run(
        `INSERT INTO measured_designs (run_id, position, source_run_id, design_index, device_id, design, backend,
           predicted_ms, correct, failure, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        runId,
        position,
        record.sourceRunId,
        record.designIndex,
        record.deviceId,
        toJson('design', record.design),
        record.backend,
        record.predictedMs,
        record.correct === null ? null : Number(record.correct),
        record.failure,
        toJson('detail', record.detail),
      );
      record.timesMs.forEach((timeMs, repeat) =>
        run(
          'INSERT INTO measurements (run_id, position, repeat_index, time_ms) VALUES (?, ?, ?, ?)',
          runId,
          position,
          repeat,
          timeMs,
        ),
      );
    });
  }

  const saveMeasurements: MeasurementMethods['saveMeasurements'] = (runId, records) =>
    write(() => {
      ownRow(runId);
      insertMeasurements(runId, records);
      const failed = records.filter((record) => record.failure !== null).length;
      countResults(runId, records.length - failed, failed);
      return null;
    });

  function listMeasurements(runId: number): readonly MeasurementRecord[] {
    rowOf(runId);
    const timesOf = repeatsOf('SELECT * FROM measurements WHERE run_id = ? ORDER BY position, repeat_index', runId);
    return all<MeasuredRow & { run_id: number }>(
      'SELECT * FROM measured_designs WHERE run_id = ? ORDER BY position',
      runId,
    ).map((row) => readMeasurement(row, timesOf(row)));
  }

  function listMeasurementsOf(sourceRunId: number): readonly MeasurementOfRun[] {
    rowOf(sourceRunId);
    const timesOf = repeatsOf(
      `SELECT measurements.* FROM measurements JOIN measured_designs USING (run_id, position)
       WHERE source_run_id = ? ORDER BY run_id, position, repeat_index`,
      sourceRunId,
    );
    return all<MeasuredRow & { run_id: number }>(
      `SELECT measured_designs.* FROM measured_designs JOIN runs ON runs.id = measured_designs.run_id
       WHERE measured_designs.source_run_id = ? AND deleted_at IS NULL ORDER BY run_id, position`,
      sourceRunId,
    ).map((row) => ({ ...readMeasurement(row, timesOf(row)), runId: row.run_id }));
  }

  /** The times that a query of `measurements` returns, by design. */
  function repeatsOf(sql: string, id: number) {
    const key = (row: { readonly run_id: number; readonly position: number }): string =>
      `${row.run_id} ${row.position}`;
    const repeats = all<{ run_id: number; position: number; time_ms: number }>(sql, id);
    const grouped = Map.groupBy(repeats, key);
    return (row: { readonly run_id: number; readonly position: number }): readonly number[] =>
      (grouped.get(key(row)) ?? []).map(({ time_ms: timeMs }) => timeMs);
  }

  return { saveMeasurements, listMeasurements, listMeasurementsOf };
}

function nextPosition(get: Statements['get'], table: 'simulations' | 'measured_designs', runId: number): number {
  const row = get<{ next: number }>(
    `SELECT coalesce(max(position) + 1, 0) AS next FROM ${table} WHERE run_id = ?`,
    runId,
  );
  return row?.next ?? 0;
}

function readSimulation(row: SimulationRow): SimulationRecord {
  return {
    ...readReference(row),
    meanMs: row.mean_ms,
    standardDeviationMs: row.standard_deviation_ms,
    minMs: row.min_ms,
    medianMs: row.median_ms,
    maxMs: row.max_ms,
    timesMs: fromJson(row.times_ms) as readonly number[],
    detail: fromJson(row.detail),
  };
}

function readMeasurement(row: MeasuredRow, timesMs: readonly number[]): MeasurementRecord {
  return {
    ...readReference(row),
    backend: row.backend,
    timesMs,
    correct: row.correct === null ? null : row.correct === 1,
    failure: row.failure,
    detail: fromJson(row.detail),
  };
}
