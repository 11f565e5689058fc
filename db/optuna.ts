import { closeSync, openSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { ok, type Result, badInput } from '../src-workers/domain/result.ts';

/** A study from a storage of Optuna (https://optuna.org), with the trials that are complete or failed. */
export interface OptunaStudy {
  readonly name: string;
  readonly objectives: readonly { readonly minimised: boolean; readonly name: string | null }[];
  readonly trials: readonly OptunaTrial[];
  readonly incomplete: number;
  /** Lockstep's description of the sweep, if Lockstep wrote the file: any JSON value. */
  readonly mark: unknown;
}
export interface OptunaTrial {
  readonly number: number;
  readonly parameters: Readonly<Record<string, number | string | boolean>>;
  /** One value for each objective; `null` if the value is infinite. */
  readonly values: readonly (number | null)[];
  readonly failed: boolean;
  readonly mark: unknown;
}

const MAGIC = 'SQLite format 3\0';
export const isSqlite = (head: Uint8Array): boolean =>
  Buffer.from(head.subarray(0, MAGIC.length)).toString('latin1') === MAGIC;

const TABLES = ['studies', 'study_directions', 'trials', 'trial_params', 'trial_values'] as const;
const MAX_ROWS = 2 ** 22;

interface ParameterRow {
  trial_id: number;
  param_name: string;
  param_value: number;
  distribution_json: string;
}

/** Number of rows to read between two pauses. Reading them takes less than a millisecond. */
const ROWS_OF_STEP = 100;

/**
 * Reads all studies of a storage. It yields often, so that the caller can do other work. Only plain tables are read,
 * because a view of an untrusted file could run a query of its own.
 * @param file a storage without a log; the function changes its header to say that there is none
 */
export function* readOptuna(file: string, label: string): Generator<void, Result<readonly OptunaStudy[]>> {
  let database: Database.Database | null = null;
  try {
    withoutLog(file);
    database = new Database(file, { readonly: true });
    database.pragma('trusted_schema = OFF');
    return yield* readStudies(database, label);
  } catch (error) {
    if (!(error instanceof Database.SqliteError || error instanceof TypeError)) throw error;
    return badInput(`${label}: the database cannot be read (${error.message})`);
  } finally {
    database?.close();
  }
}

/** Sets the two version numbers in the file's header to "no log" (https://www.sqlite.org/fileformat.html, 1.3.3). */
function withoutLog(file: string): void {
  const open = openSync(file, 'r+');
  try {
    writeSync(open, Uint8Array.of(1, 1), 0, 2, 18);
  } finally {
    closeSync(open);
  }
}

function* readStudies(database: Database.Database, label: string): Generator<void, Result<readonly OptunaStudy[]>> {
  const plain = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    .pluck()
    .all();
  const missing = TABLES.filter((name) => !plain.includes(name));
  if (missing.length > 0)
    return badInput(
      `${label}: the database has no table ${missing.join(', ')}. It must be a storage of Optuna 3 or newer (sqlite:///FILE)`,
    );
  let rows = 0;
  function* eachRow<Row>(query: string, take: (row: Row) => void): Generator<void, void> {
    for (const row of database.prepare(query).iterate()) {
      rows += 1;
      if (rows > MAX_ROWS) throw new TypeError(`it has more than the limit of ${MAX_ROWS} rows`);
      take(row as Row);
      if (rows % ROWS_OF_STEP === 0) yield;
    }
  }
  const studies = new Map<
    number,
    { name: string; minimised: boolean[]; names: string[]; incomplete: number; trials: OptunaTrial[]; mark: unknown }
  >();
  yield* eachRow<{ study_id: number; study_name: string }>(
    'SELECT study_id, study_name FROM studies ORDER BY study_id',
    (row) =>
      studies.set(row.study_id, {
        name: String(row.study_name),
        minimised: [],
        names: [],
        incomplete: 0,
        trials: [],
        mark: null,
      }),
  );
  yield* eachRow<{ study_id: number; direction: string }>(
    'SELECT study_id, direction FROM study_directions ORDER BY objective',
    (row) => studies.get(row.study_id)?.minimised.push(row.direction !== 'MAXIMIZE'),
  );
  if (plain.includes('study_system_attributes'))
    yield* eachRow<{ study_id: number; value_json: string }>(
      "SELECT study_id, value_json FROM study_system_attributes WHERE key = 'study:metric_names'",
      (row) => {
        const names = json(row.value_json);
        if (Array.isArray(names)) for (const name of names) studies.get(row.study_id)?.names.push(String(name));
      },
    );
  const trials = new Map<
    number,
    OptunaTrial & { parameters: Record<string, number | string | boolean>; values: (number | null)[]; mark: unknown }
  >();
  yield* eachRow<{ trial_id: number; number: number; study_id: number; state: string }>(
    'SELECT trial_id, number, study_id, state FROM trials ORDER BY trial_id',
    (row) => {
      const study = studies.get(row.study_id);
      if (!study) return;
      if (row.state !== 'COMPLETE' && row.state !== 'FAIL') study.incomplete += 1;
      else {
        const trial = { number: row.number, parameters: {}, values: [], failed: row.state === 'FAIL', mark: null };
        study.trials.push(trial);
        trials.set(row.trial_id, trial);
      }
    },
  );
  for (const [table, owner, owners] of [
    ['study_user_attributes', 'study_id', studies],
    ['trial_user_attributes', 'trial_id', trials],
  ] as const) {
    if (plain.includes(table))
      yield* eachRow<{ id: number; value_json: string }>(
        `SELECT ${owner} AS id, value_json FROM ${table} WHERE key = 'lockstep'`,
        (row) => {
          const marked: { mark: unknown } | undefined = owners.get(row.id);
          if (marked) marked.mark = json(row.value_json);
        },
      );
  }
  const choices = new Map<string, unknown>();
  yield* eachRow<ParameterRow>(
    'SELECT trial_id, param_name, param_value, distribution_json FROM trial_params ORDER BY param_id',
    (row) => {
      const trial = trials.get(row.trial_id);
      const value = readValue(row, choices);
      if (trial && value !== null && row.param_name !== '__proto__') trial.parameters[String(row.param_name)] = value;
    },
  );
  const hasType = database.prepare("SELECT 1 FROM pragma_table_info('trial_values') WHERE name = 'value_type'").get();
  const finite = hasType ? "CASE value_type WHEN 'FINITE' THEN value END" : 'value';
  yield* eachRow<{ trial_id: number; objective: number; value: number | null }>(
    `SELECT trial_id, objective, ${finite} AS value FROM trial_values`,
    (row) => {
      const trial = trials.get(row.trial_id);
      if (trial && Number.isInteger(row.objective) && row.objective >= 0 && row.objective < 64)
        trial.values[row.objective] = typeof row.value === 'number' ? row.value : null;
    },
  );
  return ok(
    [...studies.values()].map(({ name, minimised, names, incomplete, trials: ended, mark }) => ({
      name,
      objectives: minimised.map((one, at) => ({ minimised: one, name: names[at] ?? null })),
      incomplete,
      trials: ended,
      mark,
    })),
  );
}

function readValue(
  { param_value: value, distribution_json: text }: ParameterRow,
  known: Map<string, unknown>,
): number | string | boolean | null {
  if (typeof text !== 'string') return null;
  if (!known.has(text)) known.set(text, json(text));
  return readChoice(value, known.get(text));
}

/** Returns the stored number, or the choice with this number if the distribution `of` is categorical. */
export function readChoice(value: unknown, of: unknown): number | string | boolean | null {
  if (typeof value !== 'number') return null;
  const distribution = (typeof of === 'string' ? json(of) : of) as {
    readonly name?: unknown;
    readonly attributes?: { readonly choices?: unknown };
  } | null;
  if (distribution?.name !== 'CategoricalDistribution') return value;
  const choices = distribution.attributes?.choices;
  const choice: unknown = Array.isArray(choices) ? choices[value] : null;
  return typeof choice === 'number' || typeof choice === 'string' || typeof choice === 'boolean' ? choice : null;
}

function json(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
