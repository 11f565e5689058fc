import { dirname, isAbsolute, resolve } from 'node:path';
import type { RunSummary, StudyRecord as StoredStudy } from '../../../db/records.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import { badInput, fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import { formatWorkload } from '../../../src-workers/parse/grammar.ts';
import { workloadWithFiles } from '../../../src-workers/parse/open-file.ts';
import type { StudyRecord } from '../../contract/api.ts';
import { parseStudy, validate } from '../../contract/parse.ts';
import { withZeros } from '../../contract/older-kernels.ts';
import { studySchema, type Study } from '../../contract/study.ts';
import { readText } from '../files/files.ts';

export interface LocatedStudy {
  readonly study: Study;
  /** Relative paths of the study start in this folder; `null` if the study did not come from a file. */
  readonly baseFolder: string | null;
  readonly example: boolean;
}

export interface RunStudy extends LocatedStudy {
  readonly workloadHash: string;
}

export async function readStudyFile(path: string): Promise<Result<{ readonly study: Study; readonly folder: string }>> {
  const text = await readText(path, 'a study file (JSON)');
  if (!text.ok) return text;
  const study = parseStudy(text.value, path);
  if (study.ok) return ok({ study: study.value, folder: dirname(resolve(path)) });
  const lengths = await workloadWithFiles({ text: formatWorkload({ kind: 'file', path }), folder: process.cwd() });
  return lengths.ok
    ? badInput(
        `${path} is a list of lengths, not a study. Make a study of it: lockstep new STUDY.json --lengths ${path}`,
      )
    : study;
}

export function locatedStudy(spec: unknown, what: string): Result<LocatedStudy> {
  if (typeof spec !== 'object' || spec === null || !('study' in spec))
    return fail('storage', `${what}: This is not a study that this version can read.`);
  const study = validate(studySchema, withZeros(spec.study, 'assumed'), what);
  if (!study.ok) return study;
  const baseFolder =
    'baseFolder' in spec && typeof spec.baseFolder === 'string' && isAbsolute(spec.baseFolder) ? spec.baseFolder : null;
  return ok({ study: study.value, baseFolder, example: 'example' in spec && spec.example === true });
}

export async function getStudy(store: StoreClient, id: number): Promise<Result<LocatedStudy>> {
  const stored = await store.getStudy(id);
  return stored.ok ? locatedStudy(stored.value.spec, `study ${id}`) : stored;
}

export async function saveStudy(store: StoreClient, located: LocatedStudy, id?: number): Promise<Result<StoredStudy>> {
  const draft = { name: located.study.name, spec: located };
  return id === undefined ? await store.createStudy(draft) : await store.updateStudy(id, draft);
}

export type { StoredStudy };

export function studyRecord(stored: StoredStudy, runs: readonly RunSummary[]): Result<StudyRecord> {
  const located = locatedStudy(stored.spec, `study ${stored.id}`);
  if (!located.ok) return located;
  const { study, example } = located.value;
  return ok({
    id: stored.id,
    name: study.name,
    description: study.description,
    example,
    updatedAt: stored.updatedAt,
    runs: runs.length,
    latestRunId: runs.find(({ kind }) => kind === 'sweep')?.id ?? null,
    study,
  });
}
