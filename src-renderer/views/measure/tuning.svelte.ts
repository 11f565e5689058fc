import type { TuningStep } from '../../../src-main/contract/measuring.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { DESIGNS_PER_STEP, triedDesigns, tune, type TuningStop } from '../../../src-main/contract/tuning.ts';
import { fail, ok, type Failure, type Result } from '../../../src-workers/domain/result.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { App } from '../../state/app.svelte.ts';
import { pageSession } from './page-session.svelte.ts';
import { PAGE_TARGET } from './setup.ts';

export interface TuningRequest {
  readonly asked: Omit<ProcedureInput<'bench.next'>, 'count'>;
  readonly how: Pick<ProcedureInput<'bench.start'>, 'repeats' | 'warmUps' | 'caseTimeLimitMs'>;
  readonly budget: number;
  readonly within: number;
}

/** Tunings of the same sweep, device and target continue one another. */
export const tuningKey = ({ runId, deviceId, target }: TuningRequest['asked']): string =>
  `${runId} ${deviceId ?? ''} ${target}`;

/** The only tuning of the page outlives the view, so that the user can open other views. */
class Tuning {
  #key = $state<string | null>(null);
  #running = $state(false);
  #cancelled = false;
  #step = $state.raw<TuningStep | null>(null);
  #runId = $state<number | null>(null);
  #stopped = $state<TuningStop | 'cancelled' | null>(null);
  #failure = $state.raw<Failure | null>(null);

  readonly running = $derived(this.#running);
  readonly key = $derived(this.#key);
  readonly step = $derived(this.#step);
  readonly runId = $derived(this.#runId);
  readonly stopped = $derived(this.#stopped);
  readonly failure = $derived(this.#failure);

  dismiss(): void {
    this.#failure = null;
  }

  /** Measures until little is left to gain, the budget is spent, or the user cancels. A later start continues. */
  async start(app: App, { asked, how, budget, within }: TuningRequest): Promise<void> {
    if (this.#running) return;
    const key = tuningKey(asked);
    if (this.#key !== key) this.#step = null;
    this.#key = key;
    [this.#running, this.#cancelled, this.#stopped, this.#failure] = [true, false, null, null];
    const done = await tune({
      within,
      next: async () =>
        this.#cancelled ? CANCELLED : app.engine.call('bench.next', { ...asked, count: DESIGNS_PER_STEP }),
      measure: (designs) => this.#measure(app, { ...asked, ...how, choose: 'named', designs: [...designs] }),
      left: (step) => budget - triedDesigns(step),
      show: (step) => {
        this.#step = step;
        app.notices.announce(
          `${step.measured} of ${step.considered} designs measured${step.best ? `, best ${timeText(step.best.measuredMs)}` : ''}`,
        );
      },
    });
    this.#running = false;
    if (done.ok) this.#stopped = done.value.stopped;
    else if (done.error.code === 'cancelled') this.#stopped = 'cancelled';
    else this.#failure = done.error;
  }

  async #measure(app: App, input: ProcedureInput<'bench.start'>): Promise<Result<{ readonly id: number }>> {
    if (this.#cancelled) return CANCELLED;
    const started = await app.engine.call('bench.start', input);
    if (!started.ok) return started;
    const { runId } = started.value;
    this.#runId = runId;
    if (this.#cancelled) void app.cancel(runId);
    await app.library.load('runs');
    let stopped: Failure | null = null;
    if (input.target === PAGE_TARGET)
      void pageSession.measure(app.engine, runId, (failure) => {
        stopped = failure;
        void app.cancel(runId);
      });
    const ended = await app.engine.call('runs.wait', { id: runId });
    this.#runId = null;
    if (stopped) return { ok: false, error: stopped };
    if (!ended.ok) return ended;
    return ended.value.state === 'cancelled' ? CANCELLED : ok({ id: runId });
  }

  cancel(app: App): void {
    this.#cancelled = true;
    if (this.#runId !== null) void app.cancel(this.#runId);
  }
}

const CANCELLED = fail('cancelled', 'The tuning was cancelled.');

export const tuning = new Tuning();
