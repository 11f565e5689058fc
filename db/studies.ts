import { refuse } from './failure.ts';
import type { StudyDraft, StudyRecord } from './records.ts';
import { type Statements, fromJson, now, toJson } from './statements.ts';
import type { StoreMethods } from './store-api.ts';

export function openStudies({ all, get, run, insert }: Statements) {
  function getStudy(id: number): StudyRecord {
    const row = get<StudyRow>(`SELECT ${STUDY} FROM studies WHERE id = ?`, id);
    return row ? readStudy(row) : refuse('not-found', `This database has no study ${id}.`, { studyId: id });
  }

  function insertStudy(draft: StudyDraft): number {
    checkStudy(draft);
    const time = now();
    const spec = toJson('spec', draft.spec);
    return insert('studies', { name: draft.name, spec, createdAt: time, updatedAt: time });
  }

  return {
    createStudy: (draft) => getStudy(insertStudy(draft)),
    updateStudy: (id, draft) => {
      checkStudy(draft);
      const spec = toJson('spec', draft.spec);
      run('UPDATE studies SET name = ?, spec = ?, updated_at = ? WHERE id = ?', draft.name, spec, now(), id);
      return getStudy(id);
    },
    getStudy,
    listStudies: () =>
      all<StudyRow>(`SELECT ${STUDY} FROM studies WHERE deleted_at IS NULL ORDER BY updated_at DESC, id DESC`).map(
        readStudy,
      ),
    deleteStudy: (id) => {
      getStudy(id);
      run('UPDATE studies SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?', now(), id);
      return null;
    },
    restoreStudy: (id) => {
      run('UPDATE studies SET deleted_at = NULL WHERE id = ?', id);
      return getStudy(id);
    },
  } satisfies Partial<StoreMethods>;
}

const STUDY = 'id, name, spec, created_at, updated_at';

type StudyRow = StudyRecord & { readonly spec: string };

const readStudy = (row: StudyRow): StudyRecord => ({ ...row, spec: fromJson(row.spec) });

function checkStudy({ name }: StudyDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a study must not be empty.');
}
