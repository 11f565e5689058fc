/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are replaced whole or are not state */
import type {
  AppInfo,
  Device,
  ExportFormat,
  RunProgress,
  RunSummary,
  StudySummary,
} from '../../src-main/contract/api.ts';
import type { Events } from '../../src-main/contract/procedures.ts';
import type { DeviceEvidence, ImplementationKind, TimedDevice } from '../../src-workers/domain/evidence.ts';
import type { Engine } from './engine.svelte.ts';
import { deviceOf } from '../format/devices.ts';
import { savedProgress } from '../format/runs.ts';

export type CatalogueDevice = Device & { readonly own: boolean };

/** The parts of the store that several views show: studies, runs, devices. It follows every change, from any client. */
export class Library {
  #engine: Engine;
  #studies = $state.raw<readonly StudySummary[]>([]);
  readonly studies = $derived(this.#studies);
  #runs = $state.raw<readonly RunSummary[]>([]);
  readonly runs = $derived(this.#runs);
  #devices = $state.raw<readonly CatalogueDevice[]>([]);
  readonly devices = $derived(this.#devices);
  #evidence = $state.raw<Readonly<Record<string, DeviceEvidence>> | null>(null);
  #formats = $state.raw<readonly ExportFormat[]>([]);
  readonly formats = $derived(this.#formats);
  #info = $state.raw<AppInfo | null>(null);
  readonly info = $derived(this.#info);
  #progress = $state.raw<ReadonlyMap<number, RunProgress>>(new Map());
  #loaded = $state(false);
  readonly loaded = $derived(this.#loaded);

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.on('store.changed', ({ what }) => void this.load(what));
    engine.on('run.progress', (progress) => {
      this.#progress = new Map(this.#progress).set(progress.runId, progress);
      if (!this.#runs.some((run) => run.id === progress.runId)) void this.load('runs');
    });
    engine.on('run.finished', (run) => {
      const left = new Map(this.#progress);
      left.delete(run.id);
      this.#progress = left;
      this.#runs = [run, ...this.#runs.filter(({ id }) => id !== run.id)].sort((a, b) => b.id - a.id);
      void this.load('studies');
      void this.#readInfo();
    });
  }

  progressOf(run: RunSummary): RunProgress | null {
    return this.#progress.get(run.id) ?? savedProgress(run);
  }

  /** Returns a device with its evidence and the given kinds of kernel, as a list; empty until the evidence is known. */
  timedDevice(id: string, kinds: readonly ImplementationKind[] = []): readonly TimedDevice[] {
    if (this.#evidence === null) return [];
    const name = deviceOf(this.#devices, id)?.name ?? id;
    return [{ id, name, evidence: this.#evidence[id] ?? null, kinds }];
  }

  async load(what: Events['store.changed']['what'] = 'all'): Promise<void> {
    const all = what === 'all';
    let isLost = false;
    await Promise.all([
      (all || what === 'studies' || what === 'runs') &&
        this.#engine.call('studies.list', {}).then((result) => {
          if (result.ok) this.#studies = result.value;
          else isLost = result.error.code === 'cancelled';
        }),
      (all || what === 'runs') &&
        this.#engine.call('runs.list', {}).then((result) => result.ok && (this.#runs = result.value)),
      (all || what === 'devices') &&
        this.#engine.call('devices.list', {}).then((result) => result.ok && (this.#devices = result.value)),
      (all || what === 'devices') &&
        this.#engine.call('evidence.devices', {}).then((result) => result.ok && (this.#evidence = result.value)),
      (all || what === 'studies' || what === 'runs') && this.#readInfo(),
      all && this.#engine.call('export.formats', {}).then((result) => result.ok && (this.#formats = result.value)),
    ]);
    // If the engine was lost, everything is read again when it is back.
    if (all && !isLost) this.#loaded = true;
  }

  async #readInfo(): Promise<void> {
    const result = await this.#engine.call('app.info', {});
    if (result.ok) this.#info = result.value;
  }
}

export function newestStudy(studies: readonly StudySummary[]): StudySummary | undefined {
  return studies.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))[0];
}
