import type { MeasuringDetail, MeasuringProposal, MeasuringTarget } from '../../../src-main/contract/measuring.ts';
import type { RunSummary } from '../../../src-main/contract/api.ts';
import { startOf } from '../../../src-main/contract/probe.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { ok, type Failure, type Result } from '../../../src-workers/domain/result.ts';
import { saveFile } from '../../components/save.ts';
import { takeFile } from '../../shell/files/intake.ts';
import type { App, Refusal } from '../../state/app.svelte.ts';
import { chooseResults, importResults } from './import-results.ts';
import { pageSession } from './page-session.svelte.ts';
import { measuringInput, PAGE_TARGET, pageLimits, refusal, startLabel, type MeasuringSetup, type SweepDevice } from './setup.ts'; // prettier-ignore

interface Measured {
  readonly setup: MeasuringSetup;
  readonly target: MeasuringTarget | null;
  readonly sweepId: number | null;
  readonly devices: readonly SweepDevice[] | null;
  readonly runnable: number | null;
  readonly unsupported: string | null;
  readonly run: RunSummary | null;
  readonly detail: MeasuringDetail | null;
}

export class Measuring {
  #app: App;
  readonly now: () => Measured;
  #started: (runId: number) => void;
  #failure = $state.raw<Refusal | null>(null);
  #starting = $state(false);
  #probe = $state.raw<AbortController | null>(null);
  #bundled = $state<string | null>(null);

  readonly refused = $derived.by(() => {
    const { setup, target, sweepId, devices, runnable, unsupported } = this.now();
    return refusal(setup, target, sweepId, devices, runnable, unsupported);
  });
  readonly canStart = $derived.by(
    () => this.refused === null && this.#app.running === null && !this.#starting && pageSession.runId === null,
  );
  readonly label = $derived.by(() => (this.#starting ? 'Probing…' : startLabel(this.now().setup, this.now().runnable)));

  constructor(app: App, now: () => Measured, started: (runId: number) => void) {
    this.#app = app;
    this.now = now;
    this.#started = started;
  }

  get failure(): Refusal | null {
    return this.#failure;
  }
  get isProbing(): boolean {
    return this.#probe !== null;
  }
  get bundled(): string | null {
    return this.#bundled;
  }

  dismiss(): void {
    this.#failure = null;
  }
  cancelProbe(): void {
    this.#probe?.abort();
  }
  #fail(title: string, failure: Failure, again: () => unknown): void {
    this.#failure = { title, failure, retry: () => void again() };
  }

  /** `designs` replace the designs of the set-up. `whole` measures all units and repeats, however long that takes. */
  async start(designs?: readonly number[], whole = false): Promise<void> {
    if (!this.canStart) return;
    const app = this.#app;
    const { setup, target, sweepId, runnable } = this.now();
    this.#starting = true;
    this.dismiss();
    const setUp: MeasuringSetup = designs ? { ...setup, suite: 'designs', choose: 'named', designs } : setup;
    const asked = { target: setUp.target, ...(target && pageLimits(target)), ...measuringInput(setUp, sweepId) };
    const fitting = whole || setUp.suite !== 'designs' ? ok(null) : await this.#fittingTime(asked, setup.timeS);
    const result = fitting.ok
      ? await app.engine.call('bench.start', { ...asked, ...(fitting.value && startOf(fitting.value)) })
      : fitting;
    this.#starting = false;
    if (!result.ok && result.error.code === 'cancelled') return app.notices.show('Probe cancelled');
    if (!result.ok)
      return this.#fail('The measurement was not started', result.error, () => this.start(designs, whole));
    await app.library.load('runs');
    this.#started(result.value.runId);
    app.notices.announce(`${startLabel(setUp, runnable)}: started`);
    if (setUp.target === PAGE_TARGET) this.#measureHere(result.value.runId);
  }

  async #fittingTime(asked: ProcedureInput<'bench.start'>, timeS: number): Promise<Result<MeasuringProposal | null>> {
    const probe = new AbortController();
    this.#probe = probe;
    const input = { ...asked, timeLimitMs: Math.round(timeS * 1000) };
    const answer = await pageSession.probe(this.#app.engine, input, probe.signal);
    this.#probe = null;
    return answer;
  }

  #measureHere(runId: number): void {
    void pageSession.measure(this.#app.engine, runId, (stopped) =>
      this.#fail('This window stopped measuring', stopped, () => this.resume()),
    );
  }

  async resume(): Promise<void> {
    const { run, detail } = this.now();
    if (!run || !detail) return;
    this.dismiss();
    if (run.state !== 'running') {
      const result = await this.#app.engine.call('runs.resume', { id: run.id });
      if (!result.ok) return this.#fail('The measurement could not be resumed', result.error, () => this.resume());
      await this.#app.library.load('runs');
    }
    if (detail.request.target === PAGE_TARGET) this.#measureHere(run.id);
  }

  async bundle(): Promise<void> {
    const { setup, sweepId } = this.now();
    const result = await this.#app.engine.call('bench.bundle', measuringInput(setup, sweepId));
    if (!result.ok) return this.#fail('The bundle was not made', result.error, () => this.bundle());
    this.dismiss();
    const { fileName, files } = result.value;
    saveFile(fileName, new Blob([files[0].bytes as Uint8Array<ArrayBuffer>], { type: 'application/x-tar' }));
    this.#bundled = fileName;
    this.#app.notices.show(`Saved ${fileName}`);
  }

  /** Imports results. Any other file is imported as lengths (the user chooses the column) or as a study. */
  async take(file: File): Promise<void> {
    const result = await importResults(this.#app, file);
    if (!result.ok && result.error.code === 'unsupported') return takeFile(this.#app, file);
    if (result.ok) this.dismiss();
    else this.#fail('The file was not imported', result.error, () => this.choose());
  }
  choose(): void {
    chooseResults((file) => void this.take(file));
  }
}
