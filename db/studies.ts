import { refuse } from './failure.ts';
import type { StudyDraft, StudyRecord } from './records.ts';
import { type Statements, fromJson, now, toJson } from './statements.ts';
import type { StoreMethods } from './store-api.ts';

type StudyMethods = Pick<
  StoreMethods,
  'createStudy' | 'updateStudy' | 'getStudy' | 'listStudies' | 'deleteStudy' | 'restoreStudy'
>;

/** Functions for studies. They throw `FailureError`s, which the store turns into results. */
export function openStudies({ all, get, run, insert }: Statements): StudyMethods {
  function getStudy(id: number): StudyRecord {
    const row = get<StudyRow>(`SELECT ${STUDY} FROM studies WHERE id = ?`, id);
    return row ? readStudy(row) : refuse('not-found', `no study ${id}`, { studyId: id });
  }

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

  return {
    createStudy: (draft) => getStudy(insertStudy(draft)),
    updateStudy: (id, draft) => {
      checkStudy(draft);
      run(
        'UPDATE studies SET name = ?, spec = ?, updated_at = ? WHERE id = ?',
        draft.name,
        toJson('spec', draft.spec),
        now(),
        id,
      );
      return getStudy(id);
    },
    getStudy: getStudy,
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

function readStudy(row: StudyRow): StudyRecord {
  return { id: row.id, name: row.name, spec: fromJson(row.spec), createdAt: row.created_at, updatedAt: row.updated_at };
}

function checkStudy({ name }: StudyDraft): void {
  if (name.trim() === '') refuse('bad-input', 'The name of a study must not be empty.');
}
