import type { Study } from '../../src-main/contract/study.ts';
import { isEqual, mergeEdits } from '../../src-main/contract/merge.ts';
import type { StudyRecord } from '../../src-main/contract/api.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import type { Engine } from './engine.svelte.ts';
import { draftOf, dropDraft, keepDraft } from './drafts.ts';

const AUTOSAVE_AFTER_MS = 600;
/** Edits of one field within this time, ms, are undone in one step: the movement of a slider, or a typed number. */
const SAME_STEP_MS = 1200;
const LONGEST_HISTORY = 200;

interface Step {
  readonly study: Study;
  readonly label: string;
}

export class StudyEditor {
  #engine: Engine;
  #onOverruled: (label: string) => void;
  #id = $state<number | null>(null);
  #wanted: number | null = null;
  #study = $state.raw<Study | null>(null);
  #example = $state(false);
  #past = $state.raw<readonly Step[]>([]);
  #future = $state.raw<readonly Step[]>([]);
  #reversals = $state(0);
  #saving = $state<'saved' | 'dirty' | 'saving' | 'failed'>('saved');
  #failure = $state.raw<Failure | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastField = '';
  #lastAt = 0;
  #stored: Study | null = null;

  /** @param onOverruled is called with the name of the last edit, if another window has changed the same field */
  constructor(engine: Engine, onOverruled: (label: string) => void) {
    this.#engine = engine;
    this.#onOverruled = onOverruled;
    window.addEventListener('beforeunload', () => {
      this.#keep();
      void this.save();
    });
    engine.on('store.changed', ({ what }) => {
      if (what === 'studies' || what === 'all') void this.follow();
    });
  }

  get id(): number | null {
    return this.#id;
  }
  get study(): Study | null {
    return this.#study;
  }
  get example(): boolean {
    return this.#example;
  }
  get saving(): 'saved' | 'dirty' | 'saving' | 'failed' {
    return this.#saving;
  }
  get failure(): Failure | null {
    return this.#failure;
  }
  get undoLabel(): string | null {
    return this.#past.at(-1)?.label ?? null;
  }
  get redoLabel(): string | null {
    return this.#future.at(-1)?.label ?? null;
  }

  /** How often an edit was undone or redone. */
  get reversals(): number {
    return this.#reversals;
  }

  async open(id: number): Promise<void> {
    this.#wanted = id;
    if (this.#id === id) return;
    await this.save();
    const result = await this.#engine.call('studies.get', { id });
    // Another study was requested in the meantime, or this one was already opened and perhaps edited.
    if (this.#wanted !== id || this.#id === id) return;
    if (result.ok) this.take(result.value);
    else this.#failure = result.error;
  }

  take(record: StudyRecord): void {
    this.#wanted = record.id;
    this.#id = record.id;
    this.#study = record.study;
    this.#stored = record.study;
    this.#example = record.example;
    this.#past = [];
    this.#future = [];
    this.#saving = 'saved';
    this.#failure = null;
    this.#lastField = '';
    const draft = draftOf(localStorage, record);
    if (draft) this.edit('draft', 'an edit that was not saved', () => draft);
  }

  /** Loads what another window saved. Unsaved edits of this window are merged with it when they are saved. */
  async follow(): Promise<void> {
    const id = this.#id;
    if (id === null || this.#saving !== 'saved') return;
    const result = await this.#engine.call('studies.get', { id });
    if (!result.ok || this.#id !== id || !this.#study || this.#saving !== 'saved') return;
    const [mine, theirs, last] = [this.#study, result.value.study, this.#past.at(-1)];
    this.#stored = theirs;
    this.#adopt(mine, theirs);
    if (!last || isEqual(mergeEdits(last.study, mine, theirs), mergeEdits(last.study, theirs, mine))) return;
    this.#onOverruled(last.label);
  }

  /** Takes what other windows have changed between two versions, as a step that can be undone. */
  #adopt(known: Study, stored: Study): void {
    if (!this.#study) return;
    const merged = mergeEdits(known, this.#study, stored);
    if (isEqual(merged, this.#study)) return;
    this.#past = [
      ...this.#past.slice(1 - LONGEST_HISTORY),
      { study: this.#study, label: 'a change in another window' },
    ];
    this.#future = [];
    this.#lastField = '';
    this.#study = merged;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#wanted = null;
    this.#id = null;
    this.#study = null;
  }

  /** Changes the study. Quick edits of one `field` (`kernel.serialFraction`) are one step of undo, named `label`. */
  edit(field: string, label: string, change: (study: Study) => Study): void {
    if (!this.#study) return;
    const next = change(this.#study);
    if (JSON.stringify(next) === JSON.stringify(this.#study)) return;
    const now = performance.now();
    if (field !== this.#lastField || now - this.#lastAt > SAME_STEP_MS)
      this.#past = [...this.#past.slice(1 - LONGEST_HISTORY), { study: this.#study, label }];
    this.#lastField = field;
    this.#lastAt = now;
    this.#future = [];
    this.#become(next);
  }

  undo(): void {
    const step = this.#past.at(-1);
    if (!step || !this.#study) return;
    this.#past = this.#past.slice(0, -1);
    this.#future = [...this.#future, { study: this.#study, label: step.label }];
    this.#lastField = '';
    this.#reversals += 1;
    this.#become(step.study);
  }

  redo(): void {
    const step = this.#future.at(-1);
    if (!step || !this.#study) return;
    this.#future = this.#future.slice(0, -1);
    this.#past = [...this.#past, { study: this.#study, label: step.label }];
    this.#lastField = '';
    this.#reversals += 1;
    this.#become(step.study);
  }

  async save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#id === null || !this.#study || this.#saving === 'saved') return this.#saving !== 'failed';
    const [id, sent, known] = [this.#id, this.#study, this.#stored];
    this.#saving = 'saving';
    // The engine saves in the order of the calls, so a save before this answer builds on `sent`.
    this.#stored = sent;
    const result = await this.#engine.call('studies.save', { id, study: sent, ...(known && { known }) });
    if (!result.ok) {
      if (this.#stored === sent) this.#stored = known;
      this.#saving = 'failed';
      this.#failure = result.error;
      this.#keep();
      return false;
    }
    dropDraft(localStorage, id);
    this.#failure = null;
    this.#saving = this.#study === sent ? 'saved' : 'dirty';
    if (this.#stored === sent) this.#stored = result.value.study;
    if (this.#id === id) this.#adopt(sent, result.value.study);
    return true;
  }

  #keep(): void {
    if (this.#id !== null && this.#study && this.#stored && this.#saving !== 'saved')
      keepDraft(localStorage, this.#id, this.#stored, this.#study);
  }

  #become(study: Study): void {
    this.#study = study;
    this.#saving = 'dirty';
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), AUTOSAVE_AFTER_MS);
  }
}
