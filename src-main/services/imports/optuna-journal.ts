import { setImmediate as nextTurn } from 'node:timers/promises';
import { readChoice, type OptunaStudy } from '../../../db/optuna.ts';
import { isObject } from '../../../src-workers/domain/json.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';

/**
 * Reads a journal, which Optuna can use instead of a database (optuna/storages/journal/_storage.py). It has one line of
 * JSON for each operation, in order. Studies and trials are numbered as they are created.
 */

export const isJournal = (head: string): boolean => /^\{\s*"op_code"\s*:/.test(head);

type Configuration = Record<string, number | string | boolean>;
type Fields = Readonly<Record<string, unknown>>;
type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Trial = Writable<OptunaStudy['trials'][number]> & { state: number; readonly parameters: Configuration };
interface Study {
  readonly name: string;
  readonly minimised: readonly boolean[];
  names: readonly unknown[];
  mark: unknown;
  readonly trials: Trial[];
}

const [CREATE_STUDY, DELETE_STUDY, STUDY_USER, STUDY_SYSTEM, CREATE_TRIAL, PARAMETER, STATE, , TRIAL_USER] = [0, 1, 2, 3, 4, 5, 6, 7, 8]; // prettier-ignore
const [RUNNING, COMPLETE, PRUNED, FAILED] = [0, 1, 2, 3];
const MAX_LINES = 2 ** 22;

/** A stopped program may leave an incomplete last line, which is skipped. Any other incomplete line is refused. */
export async function readJournal(bytes: Uint8Array, label: string): Promise<Result<readonly OptunaStudy[]>> {
  const studies: (Study | null)[] = [];
  const trials: Trial[] = [];
  const lines = new TextDecoder().decode(bytes).split('\n');
  if (lines.length > MAX_LINES) return badInput(`${label}: It has more lines than the limit of ${MAX_LINES}`);
  const slice = new Slice();
  for (const [at, line] of lines.entries()) {
    if (slice.isOver) await nextTurn();
    if (line.trim() === '') continue;
    const operation = parsed(line);
    if (isObject(operation)) apply(operation, studies, trials);
    else if (at < lines.length - 1)
      return badInput(`${label}, line ${at + 1}: The line is not JSON. The file must be a journal of Optuna`);
  }
  return ok(
    studies.flatMap((study) => {
      if (!study) return [];
      const { name, minimised, names, mark } = study;
      const ended = study.trials.filter(({ state }) => state === COMPLETE || state === FAILED);
      return {
        name,
        objectives: minimised.map((one, at) => ({
          minimised: one,
          name: names[at] === undefined ? null : String(names[at]),
        })),
        trials: ended.map(({ state: _, ...trial }) => trial),
        incomplete: study.trials.length - ended.length,
        mark,
      };
    }),
  );
}

/** Python writes infinite numbers and NaN by name; these become null. */
function parsed(line: string): unknown {
  for (const text of [line, line.replace(/(?<=[[,:]\s*)(?:-?Infinity|NaN)(?=\s*[\],}])/g, 'null')]) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // The second text may be valid, because null replaces the names that JSON does not have.
    }
  }
  return undefined;
}

function apply(operation: Fields, studies: (Study | null)[], trials: Trial[]): void {
  const study = studies[Number(operation.study_id)];
  const trial = trials[Number(operation.trial_id)];
  switch (operation.op_code) {
    case CREATE_STUDY: {
      const directions = Array.isArray(operation.directions) ? operation.directions : [];
      const minimised = directions.map((direction) => direction !== 2);
      studies.push({ name: String(operation.study_name), minimised, names: [], mark: null, trials: [] });
      return;
    }
    case DELETE_STUDY:
      if (study) studies[Number(operation.study_id)] = null;
      return;
    case STUDY_USER:
      if (study && isObject(operation.user_attr) && 'lockstep' in operation.user_attr)
        study.mark = operation.user_attr.lockstep;
      return;
    case STUDY_SYSTEM: {
      const names = isObject(operation.system_attr) ? operation.system_attr['study:metric_names'] : null;
      if (study && Array.isArray(names)) study.names = names;
      return;
    }
    case CREATE_TRIAL: {
      const made: Trial = { number: study?.trials.length ?? 0, parameters: {}, values: [], failed: false, mark: null, state: RUNNING }; // prettier-ignore
      trials.push(made);
      study?.trials.push(made);
      const { params, distributions } = operation;
      if (isObject(params) && isObject(distributions))
        for (const [name, value] of Object.entries(params)) setParameter(made, name, value, distributions[name]);
      if (isObject(operation.user_attrs)) made.mark = operation.user_attrs.lockstep ?? null;
      if (typeof operation.state === 'number') setState(made, operation.state, operation.values ?? [operation.value]);
      return;
    }
    case PARAMETER:
      if (trial)
        setParameter(trial, String(operation.param_name), operation.param_value_internal, operation.distribution);
      return;
    case STATE:
      // If several workers end a trial, the first one counts.
      if (trial && ![COMPLETE, PRUNED, FAILED].includes(trial.state))
        setState(trial, Number(operation.state), operation.values);
      return;
    case TRIAL_USER:
      if (trial && isObject(operation.user_attr) && 'lockstep' in operation.user_attr)
        trial.mark = operation.user_attr.lockstep;
      return;
    default:
  }
}

function setState(trial: Trial, state: number, values: unknown): void {
  trial.state = state;
  trial.failed = state === FAILED;
  if (Array.isArray(values)) trial.values = values.map((value) => (typeof value === 'number' ? value : null));
}

function setParameter(trial: Trial, name: string, value: unknown, distribution: unknown): void {
  const chosen = readChoice(value, distribution);
  if (chosen !== null && name !== '__proto__') trial.parameters[name] = chosen;
}
