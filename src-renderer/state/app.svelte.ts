import { createContext } from 'svelte';
import { BEST_DESIGNS, isMeasuring } from '../../src-main/contract/counts.ts';
import type { RunSummary, StudySummary } from '../../src-main/contract/api.ts';
import type { DesktopBridge } from '../../src-main/contract/bridge.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import type { GlossaryId } from '../../src-workers/domain/glossary.ts';
import type { ImportQuestions } from '../../src-main/contract/measuring.ts';
import type { TableSummary } from '../../src-workers/domain/table.ts';
import type { Engine } from './engine.svelte.ts';
import { Commands } from '../shell/commands.svelte.ts';
import type { ViewId } from '../shell/views.ts';
import { StudyEditor } from './editor.svelte.ts';
import { Library, newestStudy } from './library.svelte.ts';
import { Location } from './location.svelte.ts';
import { Notices } from './notices.svelte.ts';
import { Preferences } from './preferences.svelte.ts';

declare global {
  interface Window {
    readonly lockstep?: DesktopBridge;
  }
}

/** Below this width, the rail has only icons and inspectors are drawers. */
const NARROW_PX = 1180;

export interface Refusal {
  readonly title: string;
  readonly failure: Failure;
  readonly retry?: () => void;
}

export interface OpenFile {
  readonly fileName: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface OpenTable extends OpenFile {
  readonly summary: TableSummary;
}

export interface OpenResults extends OpenFile {
  readonly openRunId: number | null;
  readonly questions: ImportQuestions;
}

export class App {
  readonly engine: Engine;
  readonly preferences: Preferences;
  readonly location: Location;
  readonly library: Library;
  readonly editor: StudyEditor;
  readonly notices = new Notices();
  readonly commands = new Commands();
  readonly desktop: DesktopBridge | null = window.lockstep ?? null;

  overlay = $state<'palette' | 'keys' | 'settings' | 'about' | 'glossary' | 'guide' | null>(null);
  glossaryTerm = $state<GlossaryId | null>(null);
  table = $state.raw<OpenTable | null>(null);
  results = $state.raw<OpenResults | null>(null);
  kernelFile = $state.raw<OpenFile | null>(null);
  bestOnly = $state(false);
  #narrow = $state(false);
  readonly narrow = $derived(this.#narrow);
  #refusal = $state.raw<Refusal | null>(null);
  readonly refusal = $derived(this.#refusal);
  #selection = $state('');
  readonly selection = $derived(this.#selection);

  readonly study: StudySummary | null = $derived.by(
    () => this.library.studies.find(({ id }) => id === this.location.studyId) ?? null,
  );
  readonly runs: readonly RunSummary[] = $derived.by(() =>
    this.library.runs.filter(({ studyId }) => studyId === this.location.studyId),
  );
  readonly run: RunSummary | null = $derived.by(() => {
    const byId = (wanted: number) => this.library.runs.find(({ id }) => id === wanted) ?? null;
    const wanted = this.location.runId;
    if (wanted !== null) {
      const run = byId(wanted);
      if (run?.sourceRunId) return byId(run.sourceRunId);
      // Measurements without a sweep have no designs to rank. The Measure view shows them beside the newest prediction.
      if (run && !isMeasuring(run)) return run;
    }
    return this.runs.find(({ state, kind }) => state === 'complete' && kind === 'sweep') ?? null;
  });
  readonly runId: number | null = $derived.by(() => this.run?.id ?? this.location.runId);
  readonly running: RunSummary | null = $derived.by(
    () =>
      this.library.runs.find(
        ({ state, studyId }) => state === 'running' && (studyId === this.location.studyId || studyId === null),
      ) ?? null,
  );

  /** What `format/fields.ts` needs to name a field of a study. */
  readonly fieldWords = $derived.by(() => ({ say: this.preferences.term, devices: this.library.devices }));

  constructor(engine: Engine, views: readonly ViewId[]) {
    this.engine = engine;
    this.preferences = new Preferences(engine);
    this.location = new Location(views);
    this.library = new Library(engine);
    this.editor = new StudyEditor(engine, (label) =>
      this.notices.show(`Another window has replaced your last edit (${label})`, () => this.editor.undo()),
    );
    const narrow = window.matchMedia(`(max-width: ${NARROW_PX - 1}px)`);
    this.#narrow = narrow.matches;
    narrow.addEventListener('change', () => (this.#narrow = narrow.matches));
  }

  showSelection(text: () => string): void {
    $effect(() => {
      this.#selection = text();
      return () => (this.#selection = '');
    });
  }

  /** Loads what the first screen needs: the study in the address, otherwise the last open study or the newest study. */
  async start(): Promise<void> {
    await this.engine.connect();
    const resume = async () => {
      await this.preferences.load();
      const { lastAddress } = this.preferences;
      if (this.location.studyId === null && lastAddress) this.location.resume(lastAddress);
      if (this.location.studyId !== null) await this.editor.open(this.location.studyId);
    };
    await Promise.all([resume(), this.library.load()]);
    if (this.location.studyId === null) {
      this.location.openStudy(newestStudy(this.library.studies)?.id ?? null);
    }
  }

  async reload(): Promise<void> {
    await Promise.all([this.library.load(), this.editor.follow()]);
  }

  async predict(): Promise<void> {
    if (this.location.studyId === null || this.running) return;
    this.refuse(null);
    const refuse = (failure: Failure) =>
      this.refuse({ title: 'Nothing was predicted', failure, retry: () => void this.predict() });
    if (!(await this.editor.save())) {
      if (this.editor.failure) refuse(this.editor.failure);
      return;
    }
    const result = await this.engine.call('runs.start', {
      studyId: this.location.studyId,
      ...(this.bestOnly && { best: BEST_DESIGNS }),
    });
    if (!result.ok) return refuse(result.error);
    this.location.openRun(null);
    this.notices.announce('Prediction started');
    await this.library.load('runs');
  }

  openRun(run: RunSummary, view: ViewId): void {
    if (run.studyId !== null && run.studyId !== this.location.studyId) this.location.openStudy(run.studyId, view);
    if (isMeasuring(run)) {
      if (run.sourceRunId !== null && run.sourceRunId !== this.runId) this.location.openRun(run.sourceRunId, 'measure');
      this.location.go('measure', { measured: run.id, tab: null, design: null, profile: null });
      return;
    }
    this.location.openRun(run.sourceRunId ?? run.id, run.sourceRunId === null ? view : 'ranking');
    if (run.sourceRunId !== null) this.location.go('ranking', { sort: 'simulatedMs' });
  }

  openGlossary(term: GlossaryId | null = null): void {
    this.glossaryTerm = term;
    this.overlay = 'glossary';
  }

  refuse(refusal: Refusal | null): void {
    this.#refusal = refusal;
  }

  async importStudy({ fileName, text, folder }: { fileName: string; text: string; folder?: string }): Promise<void> {
    const result = await this.engine.call('studies.import', { text, ...(folder !== undefined && { folder }) });
    if (!result.ok) return this.refuse({ title: `${fileName} was not opened`, failure: result.error });
    this.refuse(null);
    await this.library.load('studies');
    this.location.openStudy(result.value.id, 'study');
  }

  async cancel(runId: number): Promise<void> {
    const result = await this.engine.call('runs.cancel', { id: runId });
    this.notices.show(result.ok ? `Run ${runId} cancelled` : result.error.message);
  }

  report(failure: Failure): void {
    this.notices.show(failure.message);
  }
}

export const [useApp, provideApp] = createContext<App>();
