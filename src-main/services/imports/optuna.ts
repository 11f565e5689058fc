import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSqlite, readOptuna, type OptunaStudy } from '../../../db/optuna.ts';
import { NOTHING_MEASURED, type CaseResult } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, systemReason, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { readSweep } from '../../../src-workers/parse/kernel-tuner.ts';
import { TIME, TO_MS } from '../../../src-workers/parse/measured-times.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import { shown } from '../../../src-workers/parse/source.ts';
import { inTemporaryFolder } from '../files/temporary-folder.ts';
import type { Imported, TimeUnit } from './importer.ts';
import { SWEEP_PARAMETER } from './numbered.ts';
import { readJournal } from './optuna-journal.ts';

type Configuration = OptunaStudy['trials'][number]['parameters'];
const isConfiguration = (mark: unknown): mark is Configuration =>
  typeof mark === 'object' &&
  mark !== null &&
  SWEEP_PARAMETER in mark &&
  Object.values(mark).every((value) => ['number', 'string', 'boolean'].includes(typeof value));

/** A database is written to a file, because SQLite would copy a buffer as a whole. */
export async function readOptunaStudies(bytes: Uint8Array, label: string): Promise<Result<readonly OptunaStudy[]>> {
  if (!isSqlite(bytes)) return readJournal(bytes, label);
  return inTemporaryFolder(async (folder) => {
    const file = join(folder, 'storage.db');
    try {
      await writeFile(file, bytes);
    } catch (error) {
      return fail('storage', `${label} needs ${bytes.length} bytes in the temporary folder: ${systemReason(error)}.`);
    }
    const reading = readOptuna(file, label);
    const slice = new Slice();
    for (;;) {
      const { done, value } = reading.next();
      if (done) return value;
      if (slice.isOver) await slice.next();
    }
  });
}

/**
 * Reads a study of Optuna as measured configurations, from its complete and failed trials. Trials with the same
 * parameters are repeats. A trial that Lockstep exported names its design.
 */
export async function readOptunaStudy(
  bytes: Uint8Array,
  label: string,
  studyName: string | undefined,
  timeUnit: TimeUnit | undefined,
): Promise<Result<Pick<Imported, 'cases' | 'sweep' | 'head' | 'warnings'>>> {
  const studies = await readOptunaStudies(bytes, label);
  if (!studies.ok) return studies;
  if (studies.value.length === 0) return badInput(`${label}: The storage has no studies.`);
  const names = studies.value.map(({ name }) => shown(name)).join(', ');
  const study =
    studyName === undefined && studies.value.length === 1
      ? studies.value[0]
      : studies.value.find(({ name }) => name === studyName);
  if (!study)
    return badInput(
      `${label}: ${studyName === undefined ? `The storage has ${studies.value.length} studies` : `No study is named ${shown(studyName)}`}. Specify one of ${names} (import --study NAME).`,
    );
  const objective = findObjective(study, label, timeUnit);
  if (!objective.ok) return objective;
  const { at, unit } = objective.value;
  const timesOf = new Map<string, { readonly configuration: Configuration; readonly timesMs: number[] }>();
  const slice = new Slice();
  let without = 0;
  for (const { parameters, values, failed, mark } of study.trials) {
    if (slice.isOver) await slice.next();
    const value = values[at];
    const isTime = !failed && typeof value === 'number' && value > 0 && value < Infinity;
    const configuration = isConfiguration(mark) ? mark : parameters;
    if (!isTime && (!failed || Object.keys(configuration).length === 0)) {
      without += 1;
      continue;
    }
    const key = JSON.stringify(Object.entries(configuration).sort());
    let known = timesOf.get(key);
    if (!known) timesOf.set(key, (known = { configuration, timesMs: [] }));
    if (isTime) known.timesMs.push(TO_MS[unit](value));
  }
  const cases = [...timesOf.values()].map(({ configuration, timesMs }, position): CaseResult => ({
    ...NOTHING_MEASURED,
    case: { id: `c${position}`, benchmark: 'external', parameters: { kernel: study.name, configuration } },
    timesMs,
    failure: timesMs.length === 0 ? 'its trial failed in Optuna' : null,
  }));
  const left = study.incomplete + without;
  return ok({
    cases,
    sweep: readSweep(study.mark),
    head: { study: study.name, objective: study.objectives[at]?.name ?? null, unit },
    warnings:
      left === 0
        ? []
        : [
            `Trials left out: ${left} of ${study.trials.length + study.incomplete}. They were pruned, are still running, or have no time > 0 or no parameters.`,
          ],
  });
}

function findObjective(
  { name, objectives }: OptunaStudy,
  label: string,
  timeUnit: TimeUnit | undefined,
): Result<{ readonly at: number; readonly unit: string }> {
  const named = objectives.findIndex((one) => one.minimised && TIME.test(one.name ?? ''));
  const at = named >= 0 ? named : objectives.length === 1 ? 0 : -1;
  if (at < 0)
    return badInput(
      `${label}: The study ${shown(name)} has ${objectives.length} objectives, and none has the name of a time. Name the time in Optuna (study.set_metric_names), for example time_ms.`,
    );
  if (!objectives[at].minimised)
    return badInput(
      `${label}: The study ${shown(name)} maximises its objective, so the objective is not a time. Import a study that minimises a time.`,
    );
  const unit = timeUnit ?? TIME.exec(objectives[at].name ?? '')?.[1]?.toLowerCase();
  if (unit === undefined)
    return badInput(
      `${label}: The values in an Optuna storage have no unit. Specify the unit of the times: s, ms, us or ns (import --time-unit ms).`,
      { needs: 'timeUnit' },
    );
  return ok({ at, unit });
}
