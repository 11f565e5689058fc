import type { Database } from 'better-sqlite3';

import type { Device } from '../src-workers/domain/device.ts';
import type { Result } from '../src-workers/domain/result.ts';
import { attempt, refuse } from './failure.ts';
import type { OpenOptions } from './open.ts';
import { openDatabase, storedBytes } from './open.ts';
import { ownershipOf } from './ownership.ts';
import type {
  CalibrationDraft,
  CalibrationRecord,
  DiskUse,
  StudyDraft,
  StudyRecord,
  WorkloadRecord,
} from './records.ts';
import { resultsOf } from './results.ts';
import { runsOf } from './runs.ts';
import { fromJson, now, statementsOf, toJson } from './statements.ts';
import type { Store } from './store-api.ts';

/** Measured bytes of one row of `predictions`, for estimates. */
const PREDICTION_ROW_BYTES = 63;

/** An open store: the functions for its callers, and the maintenance by its thread. */
export interface OpenStore {
  readonly store: Store;
  /** Writes the heartbeat, and marks runs of dead stores. The thread calls it every `HEARTBEAT_MS`. */
  beat(): Result<null>;
  /** A number that changes whenever another connection commits. */
  dataVersion(): number;
  /** Marks its own running runs as interrupted and closes the file. */
  close(): void;
}

/** Opens the store on the calling thread. Fails with `storage` as `openDatabase` does. */
export function openStore(options: OpenOptions): Result<OpenStore> {
  const opened = openDatabase(options);
  return opened.ok ? attempt(options.file, () => storeOn(opened.value, options.file)) : opened;
}

/** The store on an open database. */
export function storeOn(db: Database, file: string): OpenStore {
  const statements = statementsOf(db);
  const { all, get, run, insert, write } = statements;
  const ownership = ownershipOf(statements);
  const runs = runsOf(statements, ownership);
  const results = resultsOf(statements);
  ownership.markInterrupted();

  function method<Args extends readonly unknown[], T>(body: (...args: Args) => T): (...args: Args) => Result<T> {
    return (...args) => attempt(file, () => body(...args));
  }

  const store: Store = {
    createStudy: method((draft) => getStudy(insertStudy(draft))),
    updateStudy: method((id, draft) => {
      checkStudy(draft);
      run(
        'UPDATE studies SET name = ?, spec = ?, updated_at = ? WHERE id = ?',
        draft.name,
        toJson('spec', draft.spec),
        now(),
        id,
      );
      return getStudy(id);
    }),
    getStudy: method(getStudy),
    listStudies: method(() =>
      all<StudyRow>(`SELECT ${STUDY} FROM studies WHERE deleted_at IS NULL ORDER BY updated_at DESC, id DESC`).map(
        studyOf,
      ),
    ),
    deleteStudy: method((id) => {
      getStudy(id);
      run('UPDATE studies SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?', now(), id);
      return null;
    }),
    restoreStudy: method((id) => {
      run('UPDATE studies SET deleted_at = NULL WHERE id = ?', id);
      return getStudy(id);
    }),

    createRun: method(runs.createRun),
    savePredictionChunk: method(runs.savePredictionChunk),
    saveBestDesigns: method(runs.saveBestDesigns),
    saveSimulations: method((runId, records) =>
      write(() => {
        const { kind } = runs.ownRow(runId);
        results.insertSimulations(runId, records);
        if (kind === 'simulate') runs.countResults(runId, records.length, 0);
        return null;
      }),
    ),
    saveMeasurements: method((runId, records) =>
      write(() => {
        runs.ownRow(runId);
        results.insertMeasurements(runId, records);
        const failed = records.filter((record) => record.failure !== null).length;
        runs.countResults(runId, records.length - failed, failed);
        return null;
      }),
    ),
    saveMeasuringDevice: method(runs.saveMeasuringDevice),
    finishRun: method(runs.finishRun),
    resumeRun: method(runs.resumeRun),
    listChunks: method(runs.listChunks),
    getRun: method(runs.getRun),
    listRuns: method(runs.listRuns),
    listTags: method(runs.listTags),
    renameRun: method(runs.renameRun),
    noteRun: method(runs.noteRun),
    tagRun: method(runs.tagRun),
    deleteRuns: method(runs.deleteRuns),
    restoreRuns: method(runs.restoreRuns),
    purgeDeleted: method((before = now()) =>
      write(() => {
        run('DELETE FROM studies WHERE deleted_at <= ?', before);
        return run('DELETE FROM runs WHERE deleted_at <= ?', before);
      }),
    ),
    loadRunColumns: method(runs.loadRunColumns),
    listSimulations: method((runId) => {
      runs.rowOf(runId);
      return results.listSimulations(runId);
    }),
    listSimulationsOf: method((sourceRunId) => {
      runs.rowOf(sourceRunId);
      return results.listSimulationsOf(sourceRunId);
    }),
    listMeasurements: method((runId) => {
      runs.rowOf(runId);
      return results.listMeasurements(runId);
    }),
    listMeasurementsOf: method((sourceRunId) => {
      runs.rowOf(sourceRunId);
      return results.listMeasurementsOf(sourceRunId);
    }),

    saveCalibration: method((draft) => {
      checkCalibration(draft);
      const { name, deviceId, profile } = draft;
      const createdAt = now();
      const id = insert(
        'INSERT INTO calibrations (name, device_id, profile, created_at) VALUES (?, ?, ?, ?)',
        name,
        deviceId,
        toJson('profile', profile),
        createdAt,
      );
      return { id, name, deviceId, profile, createdAt };
    }),
    listCalibrations: method((deviceId) =>
      all<CalibrationRow>(
        'SELECT * FROM calibrations WHERE device_id = coalesce(?, device_id) ORDER BY id DESC',
        deviceId ?? null,
      ).map(calibrationOf),
    ),
    deleteCalibration: method((id) => {
      if (run('DELETE FROM calibrations WHERE id = ?', id) === 0)
        refuse('not-found', `no calibration ${id} in this database`, { id });
      return null;
    }),

    saveDevice: method((device) => {
      const time = now();
      run(
        `INSERT INTO devices (id, device, created_at, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET device = excluded.device, updated_at = excluded.updated_at`,
        device.id,
        toJson('device', device),
        time,
        time,
      );
      return null;
    }),
    deleteDevice: method((id) => {
      if (run('DELETE FROM devices WHERE id = ?', id) === 0)
        refuse('not-found', `"${id}" is not one of your own devices.`, { id });
      return null;
    }),
    listDevices: method(() =>
      all<{ device: string }>('SELECT device FROM devices ORDER BY id').map(({ device }) => fromJson(device) as Device),
    ),

    saveWorkload: method(({ hash, law, provenance }) => {
      run(
        `INSERT OR REPLACE INTO workloads (hash, label, support, probability, truncated_mass, provenance, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        hash,
        law.label,
        bytesOf(law.support),
        bytesOf(law.probability),
        law.truncatedMass,
        toJson('provenance', provenance),
        now(),
      );
      return null;
    }),
    getWorkload: method((hash) => {
      const row = get<WorkloadRow>('SELECT * FROM workloads WHERE hash = ?', hash);
      return row ? workloadOf(row) : null;
    }),

    saveSetting: method((key, value) => {
      run('INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)', key, toJson('value', value));
      return null;
    }),
    listSettings: method(() => {
      const rows = all<{ key: string; value: string }>('SELECT key, value FROM settings ORDER BY key');
      return Object.fromEntries(rows.map(({ key, value }) => [key, fromJson(value)]));
    }),

    diskUse: method(diskUse),
    vacuum: method(() => {
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
      return null;
    }),
    checkIntegrity: method(() => {
      const lines = (db.pragma('integrity_check') as { integrity_check: string }[]).map((row) => row.integrity_check);
      const broken = db.pragma('foreign_key_check') as readonly unknown[];
      const references = broken.length > 0 ? [`${broken.length} rows refer to missing ones`] : [];
      return [...lines.filter((line) => line !== 'ok'), ...references];
    }),
  };

  function insertStudy(draft: StudyDraft): number {
    checkStudy(draft);
    const time = now();
    return insert(
      'INSERT INTO studies (name, spec, created_at, updated_at) VALUES (?, ?, ?, ?)',
      draft.name,
      toJson('spec', draft.spec),
      time,
      time,
    );
  }

  function getStudy(id: number): StudyRecord {
    const row = get<StudyRow>(`SELECT ${STUDY} FROM studies WHERE id = ?`, id);
    return row ? studyOf(row) : refuse('not-found', `no study ${id}`, { studyId: id });
  }

  function diskUse(): DiskUse {
    const pageBytes = db.pragma('page_size', { simple: true }) as number;
    const freePages = db.pragma('freelist_count', { simple: true }) as number;
    const perRun = all<{ runId: number; bytes: number }>(
      `SELECT
         id AS runId,
         octet_length(study) + octet_length(machine)
           + ? * iif(kind = 'sweep', valid_count + invalid_count, 0)
           + (SELECT coalesce(sum(octet_length(data)), 0) FROM run_columns WHERE run_id = runs.id)
           + (SELECT coalesce(sum(octet_length(design) + octet_length(times_ms) + octet_length(detail)), 0) FROM simulations WHERE run_id = runs.id)
           + (SELECT coalesce(sum(octet_length(design) + octet_length(detail)), 0) FROM measured_designs WHERE run_id = runs.id)
           AS bytes
       FROM runs ORDER BY id`,
      PREDICTION_ROW_BYTES,
    );
    return { fileBytes: storedBytes(file), freeBytes: pageBytes * freePages, runs: perRun };
  }

  return {
    store,
    beat: method(() => {
      ownership.beat();
      ownership.markInterrupted();
      return null;
    }),
    dataVersion: () => db.pragma('data_version', { simple: true }) as number,
    close() {
      // A database that can no longer be written is closed nevertheless. The next process to open it will find this
      // owner dead.
      attempt(file, () => ownership.release());
      db.close();
    },
  };
}

const STUDY = 'id, name, spec, created_at, updated_at';

interface StudyRow {
  readonly id: number;
  readonly name: string;
  readonly spec: string;
  readonly created_at: string;
  readonly updated_at: string;
}

function studyOf(row: StudyRow): StudyRecord {
  return { id: row.id, name: row.name, spec: fromJson(row.spec), createdAt: row.created_at, updatedAt: row.updated_at };
}

function checkStudy({ name }: StudyDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a study must not be empty.');
}

interface CalibrationRow {
  readonly id: number;
  readonly name: string;
  readonly device_id: string;
  readonly profile: string;
  readonly created_at: string;
}

function calibrationOf(row: CalibrationRow): CalibrationRecord {
  const { id, name, device_id: deviceId, profile, created_at: createdAt } = row;
  return { id, name, deviceId, profile: fromJson(profile), createdAt };
}

function checkCalibration({ name }: CalibrationDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a calibration must not be empty.');
}

interface WorkloadRow {
  readonly hash: string;
  readonly label: string;
  readonly support: Buffer;
  readonly probability: Buffer;
  readonly truncated_mass: number;
  readonly provenance: string;
}

function workloadOf(row: WorkloadRow): WorkloadRecord {
  return {
    hash: row.hash,
    law: {
      label: row.label,
      support: doublesOf(row.support),
      probability: doublesOf(row.probability),
      truncatedMass: row.truncated_mass,
    },
    provenance: fromJson(row.provenance),
  };
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function doublesOf(bytes: Buffer): Float64Array {
  const values = new Float64Array(bytes.length / Float64Array.BYTES_PER_ELEMENT);
  bytesOf(values).set(bytes);
  return values;
}
