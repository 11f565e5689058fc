/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are memory, not state */
import { untrack } from 'svelte';
import type { RankRow } from '../../../src-main/contract/api.ts';
import type { RankFilter } from '../../../src-main/contract/procedures.ts';
import type { App } from '../../state/app.svelte.ts';
import { Query } from '../../state/query.svelte.ts';
import type { ViewId } from '../../shell/views.ts';
import { explorationAddress, type Narrowing } from './address.ts';

const FIELDS = ['design', 'baseline', 'device', 'filter'] as const;
type Shared = Record<(typeof FIELDS)[number], unknown>;

interface Memory {
  readonly runId: number;
  shared: Shared;
  /** What each view's address held when it was last on screen. */
  readonly seen: Map<ViewId, Shared>;
}
let memory: Memory | null = null;

const NOTHING: Shared = { design: null, baseline: null, device: null, filter: {} };

/** How a pinned baseline is kept: with enough to notice that the space has changed. */
interface StoredBaseline {
  readonly designIndex: number;
  readonly enumerated: number;
}

function readStored(value: unknown): StoredBaseline | null {
  if (value === null || typeof value !== 'object') return null;
  const { designIndex, enumerated } = value as Record<string, unknown>;
  return typeof designIndex === 'number' && typeof enumerated === 'number' ? { designIndex, enumerated } : null;
}

/**
 * What is being looked at in a run: selection, baseline, device, filter. The address of the view on screen is the truth;
 * what changes in one view holds in the others. Create it while a view initialises.
 */
export class Exploration {
  readonly app: App;
  readonly axes;
  readonly selected;
  readonly baselineRow;
  #plain;
  #stored = $state.raw<StoredBaseline | null>(null);

  readonly address = $derived.by(() => this.app.location.read(explorationAddress));
  readonly run = $derived.by(() => this.app.run);
  /** Runs that can be looked at: sweeps that have ended. */
  readonly runId = $derived.by(() =>
    this.app.run && this.app.run.kind === 'sweep' && this.app.run.state !== 'running' ? this.app.run.id : null,
  );
  readonly filter: RankFilter = $derived.by(() => ({
    ...this.address.filter,
    ...(this.address.device === null ? {} : { deviceId: this.address.device }),
  }));
  readonly baselineIndex: number | null = $derived.by(() => {
    if (this.address.baseline !== null) return this.address.baseline;
    const stored = this.#stored;
    if (stored && stored.enumerated === this.run?.enumerated) return stored.designIndex;
    return this.#plain.value?.designIndex ?? null;
  });
  /** Whether the baseline was chosen by a person. */
  readonly pinned = $derived.by(
    () => this.address.baseline !== null || (this.#stored !== null && this.#stored.enumerated === this.run?.enumerated),
  );
  readonly baseline: RankRow | null = $derived.by(() =>
    this.baselineRow.value && this.baselineRow.value.designIndex === this.baselineIndex ? this.baselineRow.value : null,
  );

  constructor(app: App, view: ViewId) {
    this.app = app;
    const { engine } = app;
    this.#plain = new Query(engine, 'ranking.plain', () => {
      const { runId } = this;
      if (runId === null) return null;
      return this.address.device === null ? { runId } : { runId, deviceId: this.address.device };
    });
    this.axes = new Query(engine, 'landscape.axes', () => (this.runId === null ? null : { runId: this.runId }));
    const design = (designIndex: number | null) =>
      this.runId === null || designIndex === null ? null : { runId: this.runId, designIndex, filter: this.filter };
    this.selected = new Query(engine, 'ranking.design', () => design(this.address.design));
    this.baselineRow = new Query(engine, 'ranking.design', () => design(this.baselineIndex));

    $effect(() => {
      const studyId = app.location.studyId;
      if (studyId === null) return;
      void engine
        .call('settings.get', { key: `baseline.${studyId}` })
        .then((result) => (this.#stored = result.ok ? readStored(result.value) : null));
    });
    // On arrival: what another view changed meanwhile is taken over, unless the address itself says something new.
    $effect.pre(() => {
      const { runId } = this;
      if (runId === null) return;
      untrack(() => this.#arrive(runId, view));
    });
    $effect(() => {
      const { runId, address } = this;
      if (runId === null || memory?.runId !== runId) return;
      const now = Object.fromEntries(FIELDS.map((field) => [field, address[field]])) as Shared;
      memory.shared = now;
      memory.seen.set(view, now);
    });
    $effect(() => {
      const row = this.address.design === null ? null : this.selected.value;
      app.selection = row && row.rank > 0 ? `Rank ${row.rank} selected` : '';
      return () => (app.selection = '');
    });
  }

  #arrive(runId: number, view: ViewId): void {
    if (memory?.runId !== runId) {
      memory = { runId, shared: { ...NOTHING, ...this.address }, seen: new Map() };
      return;
    }
    const seen = memory.seen.get(view) ?? NOTHING;
    const change: Partial<Shared> = {};
    for (const field of FIELDS)
      if (JSON.stringify(this.address[field]) === JSON.stringify(seen[field])) change[field] = memory.shared[field];
    this.app.location.set(explorationAddress, change as never);
  }

  /** Whether a design is of a CPU, which has cores, and neither blocks nor thread groups. */
  isCpu({ deviceId }: RankRow): boolean {
    return this.app.library.devices.find(({ id }) => id === deviceId)?.kind === 'cpu';
  }
  select(design: number | null): void {
    this.app.location.set(explorationAddress, { design });
  }
  setDevice(device: string | null): void {
    this.app.location.set(explorationAddress, { device });
  }
  /** Changes parts of the filter; `undefined` removes a part. */
  narrow(change: { readonly [Key in keyof Narrowing]?: Narrowing[Key] | undefined }): void {
    const next = Object.fromEntries(
      Object.entries({ ...this.address.filter, ...change }).filter(([, value]) => value !== undefined),
    ) as Narrowing;
    this.app.location.set(explorationAddress, { filter: next });
  }
  clearFilter(): void {
    this.app.location.set(explorationAddress, { filter: {} });
  }
  /** Makes a design the baseline of the study; the baseline itself: back to the plain mapping. */
  pin(design: number): void {
    const { studyId } = this.app.location;
    const before = { stored: this.#stored, baseline: this.address.baseline };
    const unpin = this.pinned && design === this.baselineIndex;
    const stored = unpin ? null : { designIndex: design, enumerated: this.run?.enumerated ?? 0 };
    const write = (value: StoredBaseline | null, baseline: number | null) => {
      this.#stored = value;
      this.app.location.set(explorationAddress, { baseline });
      if (studyId !== null) void this.app.engine.call('settings.set', { key: `baseline.${studyId}`, value });
    };
    write(stored, unpin ? null : design);
    this.app.notices.show(unpin ? 'Baseline unpinned: differences are to the plain mapping' : 'Baseline pinned', () =>
      write(before.stored, before.baseline),
    );
  }
  show(view: ViewId): void {
    this.app.location.go(view);
  }
  /** Hands designs of one device over to the Measure view, set up to measure them. */
  measure(designs: readonly number[], deviceId: string): void {
    this.app.location.go('measure', {
      suite: null,
      choose: 'named',
      designs: designs.join(','),
      device: deviceId,
      tab: 'setup',
    });
  }
}
