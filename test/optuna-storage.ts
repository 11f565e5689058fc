import Database from 'better-sqlite3';
import { dataText } from './data.ts';

export interface OptunaTrial {
  readonly state?: string;
  readonly values: readonly number[];
  readonly parameters: Readonly<Record<string, number | string>>;
}
interface StoredStudy {
  readonly name: string;
  readonly direction?: string;
  readonly metrics?: readonly string[];
  readonly trials: readonly OptunaTrial[];
}

const CHOICES = ['none', 'dynamic-fetch'];
/** Makes a database like a storage of Optuna 4 (optuna/storages/_rdb/models.py). Choices are saved as their index. */
export function optunaStorage(studies: readonly StoredStudy[], more = ''): Uint8Array {
  const database = new Database(':memory:');
  database.exec(dataText('optuna/storage.sql'));
  let id = 0;
  for (const [at, { name, direction = 'MINIMIZE', metrics, trials }] of studies.entries()) {
    database.prepare('INSERT INTO studies VALUES (?, ?)').run(at, name);
    const objectives = metrics?.length ?? 1;
    for (let objective = 0; objective < objectives; objective++)
      database
        .prepare('INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)')
        .run(direction, at, objective);
    if (metrics)
      database
        .prepare('INSERT INTO study_system_attributes (study_id, "key", value_json) VALUES (?, ?, ?)')
        .run(at, 'study:metric_names', JSON.stringify(metrics));
    for (const [number, { state = 'COMPLETE', values, parameters }] of trials.entries()) {
      id++;
      database
        .prepare('INSERT INTO trials (trial_id, number, study_id, state) VALUES (?, ?, ?, ?)')
        .run(id, number, at, state);
      for (const [objective, value] of values.entries())
        database
          .prepare('INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?)')
          .run(id, objective, Number.isFinite(value) ? value : null, Number.isFinite(value) ? 'FINITE' : 'INF_POS');
      for (const [parameter, value] of Object.entries(parameters)) {
        const categorical = typeof value === 'string';
        const distribution = categorical
          ? { name: 'CategoricalDistribution', attributes: { choices: CHOICES } }
          : { name: 'IntDistribution', attributes: { log: false, step: 1, low: 1, high: 4096 } };
        database
          .prepare(
            'INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)',
          )
          .run(id, parameter, categorical ? CHOICES.indexOf(value) : value, JSON.stringify(distribution));
      }
    }
  }
  if (more !== '') database.exec(more);
  const bytes = new Uint8Array(database.serialize());
  database.close();
  return bytes;
}
