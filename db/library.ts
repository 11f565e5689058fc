import type { Device } from '../src-workers/domain/device.ts';
import { refuse } from './failure.ts';
import type { CalibrationDraft, CalibrationRecord, WorkloadRecord } from './records.ts';
import { type Statements, fromJson, now, toJson } from './statements.ts';
import type { StoreMethods } from './store-api.ts';

export function openLibrary({ all, get, run, insert }: Statements) {
  return {
    saveCalibration: (draft) => {
      checkCalibration(draft);
      const { name, deviceId, profile } = draft;
      const createdAt = now();
      const id = insert('calibrations', { name, deviceId, profile: toJson('profile', profile), createdAt });
      return { id, name, deviceId, profile, createdAt };
    },
    listCalibrations: (deviceId) =>
      all<CalibrationRecord & { profile: string }>(
        'SELECT * FROM calibrations WHERE device_id = coalesce(?, device_id) ORDER BY id DESC',
        deviceId ?? null,
      ).map((row) => ({ ...row, profile: fromJson(row.profile) })),
    deleteCalibration: (id) => {
      if (run('DELETE FROM calibrations WHERE id = ?', id) === 0)
        refuse('not-found', `This database has no calibration ${id}.`, { id });
      return null;
    },

    saveDevice: (device) => {
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
    },
    deleteDevice: (id) => {
      if (run('DELETE FROM devices WHERE id = ?', id) === 0)
        refuse('not-found', `"${id}" is not one of your own devices.`, { id });
      return null;
    },
    listDevices: () =>
      all<{ device: string }>('SELECT device FROM devices ORDER BY id').map(({ device }) => fromJson(device) as Device),

    saveWorkload: ({ hash, law, provenance }) => {
      run(
        `INSERT OR REPLACE INTO workloads (hash, label, support, probability, truncated_mass, provenance, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        hash,
        law.label,
        toBytes(law.support),
        toBytes(law.probability),
        law.truncatedMass,
        toJson('provenance', provenance),
        now(),
      );
      return null;
    },
    getWorkload: (hash) => {
      const row = get<WorkloadRow>('SELECT * FROM workloads WHERE hash = ?', hash);
      return row ? readWorkload(row) : null;
    },

    saveSetting: (key, value) => {
      run('INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)', key, toJson('value', value));
      return null;
    },
    listSettings: () => {
      const rows = all<{ key: string; value: string }>('SELECT key, value FROM settings ORDER BY key');
      return Object.fromEntries(rows.map(({ key, value }) => [key, fromJson(value)]));
    },
  } satisfies Partial<StoreMethods>;
}

function checkCalibration({ name }: CalibrationDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a calibration must not be empty.');
}

interface WorkloadRow {
  readonly hash: string;
  readonly label: string;
  readonly support: Buffer;
  readonly probability: Buffer;
  readonly truncatedMass: number;
  readonly provenance: string;
}

function readWorkload({ hash, label, support, probability, truncatedMass, provenance }: WorkloadRow): WorkloadRecord {
  const law = { label, support: toDoubles(support), probability: toDoubles(probability), truncatedMass };
  return { hash, law, provenance: fromJson(provenance) };
}

function toBytes(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function toDoubles(bytes: Buffer): Float64Array {
  const values = new Float64Array(bytes.length / Float64Array.BYTES_PER_ELEMENT);
  toBytes(values).set(bytes);
  return values;
}
