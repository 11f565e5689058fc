import type { StudyRecord } from '../../src-main/contract/api.ts';
import type { Study } from '../../src-main/contract/study.ts';

/** Keeps unsaved edits in the browser's storage, because the server may be gone when a page is closed. */

type Drafts = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const keyOf = (id: number): string => `draft.${id}`;

export function keepDraft(drafts: Drafts, id: number, saved: Study, draft: Study): void {
  try {
    drafts.setItem(keyOf(id), JSON.stringify({ saved, draft }));
  } catch {
    // The storage is full or forbidden, so the draft is not kept.
  }
}

export function dropDraft(drafts: Drafts, id: number): void {
  drafts.removeItem(keyOf(id));
}

/** Returns the unsaved edit of a study; null if there is none, or the study has changed since. */
export function draftOf(drafts: Drafts, { id, study }: Pick<StudyRecord, 'id' | 'study'>): Study | null {
  const text = drafts.getItem(keyOf(id));
  if (text === null) return null;
  try {
    const { saved, draft } = JSON.parse(text) as { readonly saved: unknown; readonly draft: Study };
    const now = JSON.stringify(study);
    return JSON.stringify(saved) === now && JSON.stringify(draft) !== now ? draft : null;
  } catch {
    return null;
  }
}
