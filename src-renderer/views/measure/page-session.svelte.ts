import type { MeasuringTarget } from '../../../src-main/contract/measuring.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { measureWebGpu } from '../../../src-workers/bench/webgpu/measure.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { PAGE_ID, type Api } from '../../state/engine.svelte.ts';
import { measureInPage, pageTarget, probeInPage } from './page-gpu.ts';

/** The page's GPU and the run on it outlive the view, so that the user can open other views. */
class PageSession {
  #target = $state.raw<MeasuringTarget | null>(null);
  #runId = $state<number | null>(null);
  #abort: AbortController | null = null;

  readonly target = $derived(this.#target);
  readonly runId = $derived(this.#runId);

  async ask(): Promise<void> {
    this.#target = await pageTarget(navigator.gpu);
  }

  /** Fails with `cancelled` when `signal` ends the probe. */
  probe(engine: Api, asked: ProcedureInput<'bench.probe'>, signal: AbortSignal): ReturnType<typeof probeInPage> {
    signal.addEventListener('abort', () => void engine.call('bench.cancelProbe', { client: PAGE_ID }));
    return probeInPage(engine, { ...asked, client: PAGE_ID }, navigator.gpu, measureWebGpu, signal);
  }

  async measure(engine: Api, runId: number, report: (failure: Failure) => void): Promise<void> {
    if (this.#runId !== null) return;
    const abort = new AbortController();
    this.#abort = abort;
    this.#runId = runId;
    const off = engine.on('run.finished', (run) => {
      if (run.id === runId) abort.abort();
    });
    // The engine asks whether the page still exists. An empty batch of records answers yes.
    const offPing = engine.on('bench.ping', (asked) => {
      if (asked.runId === runId) void engine.call('bench.record', { id: runId, records: [] });
    });
    const result = await measureInPage(engine, runId, navigator.gpu, measureWebGpu, abort.signal);
    off();
    offPing();
    this.#abort = null;
    this.#runId = null;
    if (result.ok || abort.signal.aborted) return;
    // A cancelled run refuses records, perhaps before `run.finished` arrives. Such a refusal is no failure.
    const isOver = result.error.code === 'conflict' && (await engine.call('runs.wait', { id: runId })).ok;
    if (!isOver) report(result.error);
  }

  stop(): void {
    this.#abort?.abort();
  }
}

export const pageSession = new PageSession();
