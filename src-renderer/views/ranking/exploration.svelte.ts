/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are memory, not state */
import { untrack } from 'svelte';
import type { RankRow } from '../../../src-main/contract/api.ts';
import type { RankFilter } from '../../../src-main/contract/procedures.ts';
import type { App } from '../../state/app.svelte.ts';
import { Query } from '../../state/query.svelte.ts';
import type { ViewId } from '../../shell/views.ts';
import { deviceInView } from '../../state/location.svelte.ts';
import { explorationAddress, type Narrowing } from './address.ts';
import { passingText } from './narrowing.ts';
import { pinnedOn, readBaselines, type StoredBaselines } from '../../state/baselines.ts';

const FIELDS = ['design', 'baseline', 'filter'] as const;
type Shared = Record<(typeof FIELDS)[number], unknown>;

interface Memory {
  readonly runId: number;
  shared: Shared;
  readonly seen: Map<ViewId, Shared>;
  /** `null`: all devices; undefined: no device was shown yet. */
  device?: string | null;
}
let memory: Memory | null = null;

const NOTHING: Shared = { design: null, baseline: null, filter: {} };

/**
 * What the user explores in a run: device, selection, baseline and filter. The address of the current view holds it,
 * and views that open later take over its changes. Create it while a view initialises.
 */
export class Exploration {
  readonly app: App;
  readonly axes;
  /** A query whose `rows` hold the best design of the shown devices. */
  readonly best;
  readonly selected;
  readonly baselineRow;
  readonly #view: ViewId;
  readonly #plain;
  readonly #fastest;
  #stored = $state.raw<StoredBaselines | null>(null);

  readonly address = $derived.by(() => this.app.location.read(explorationAddress));
  readonly run = $derived.by(() => this.app.run);
  readonly runId = $derived.by(() =>
    this.app.run && this.app.run.kind === 'sweep' && this.app.run.state !== 'running' ? this.app.run.id : null,
  );
  readonly devices: readonly { readonly id: string; readonly name: string }[] = $derived.by(() => {
    const axis = this.axes.value?.find(({ id }) => id === 'device');
    return axis?.values.map((id, at) => ({ id, name: axis.texts[at] ?? id })) ?? [];
  });
  readonly #designs = $derived.by(() =>
    (this.axes.value ?? []).reduce((product, { values }) => product * values.length, 1),
  );
  /** The chosen device, else the device of the selected design, else of the fastest design (see `deviceInView`). */
  readonly deviceId: string | null | undefined = $derived.by(() =>
    deviceInView(
      this.devices,
      this.app.location.device,
      this.deviceOf(this.address.design) ?? this.#fastest.value?.rows[0]?.deviceId,
    ),
  );
  readonly readyId = $derived.by(() => (this.deviceId === undefined ? null : this.runId));
  readonly whole: RankFilter = $derived.by(() => {
    const { deviceId } = this;
    return this.devices.length > 1 && typeof deviceId === 'string' ? { deviceId } : {};
  });
  readonly filter: RankFilter = $derived.by(() => ({ ...this.address.filter, ...this.whole }));
  /** The address's baseline, or else the one pinned for the shown device (for the fastest, if several are shown). */
  readonly #pinnedIndex: number | null = $derived.by(() => {
    const { deviceId } = this;
    const isHere = (design: number | null) =>
      design !== null && (deviceId === null || this.deviceOf(design) === deviceId);
    if (isHere(this.address.baseline)) return this.address.baseline;
    const wanted = deviceId ?? this.#fastest.value?.rows[0]?.deviceId;
    const place = this.devices.findIndex(({ id }) => id === wanted);
    return pinnedOn(this.#stored, this.run?.enumerated ?? 0, this.devices.length, place);
  });
  readonly baselineIndex: number | null = $derived.by(
    () => this.#pinnedIndex ?? this.#plain.value?.designIndex ?? null,
  );
  readonly pinned = $derived.by(() => this.#pinnedIndex !== null);
  readonly baseline: RankRow | null = $derived.by(() =>
    this.baselineRow.value && this.baselineRow.value.designIndex === this.baselineIndex ? this.baselineRow.value : null,
  );

  constructor(app: App, view: ViewId) {
    this.app = app;
    this.#view = view;
    const { engine } = app;
    this.axes = new Query(engine, 'landscape.axes', () => (this.runId === null ? null : { runId: this.runId }));
    this.#fastest = new Query(engine, 'ranking.page', () =>
      this.runId === null || this.devices.length < 2 ? null : { runId: this.runId, limit: 1 },
    );
    this.#plain = new Query(engine, 'ranking.plain', () => {
      const { readyId: runId, deviceId } = this;
      if (runId === null) return null;
      return typeof deviceId === 'string' ? { runId, deviceId } : { runId };
    });
    this.best = new Query(engine, 'ranking.page', () =>
      this.readyId === null ? null : { runId: this.readyId, filter: this.whole, limit: 1 },
    );
    const design = (designIndex: number | null) =>
      this.readyId === null || designIndex === null ? null : { runId: this.readyId, designIndex, filter: this.whole };
    this.selected = new Query(engine, 'ranking.design', () => design(this.address.design));
    this.baselineRow = new Query(engine, 'ranking.design', () => design(this.baselineIndex));

    $effect(() => {
      const studyId = app.location.studyId;
      if (studyId === null) return;
      void engine
        .call('settings.get', { key: `baseline.${studyId}` })
        .then((result) => (this.#stored = result.ok ? readBaselines(result.value) : null));
    });
    // A view that opens takes over the changes that other views made, unless its own address has new values.
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
      const { runId, deviceId, address } = this;
      if (runId !== null && deviceId !== undefined && memory?.runId === runId)
        untrack(() => this.#follow(runId, deviceId, address.design));
    });
    app.showSelection(() => {
      const row = this.address.design === null ? null : this.selected.value;
      return row && row.rank > 0 ? `Rank ${row.rank} selected` : '';
    });
  }

  passingText(matching: number, total: number): string {
    const { filter } = this.address;
    const validity = filter.invalidReason ? 'invalid' : filter.validity;
    const bestOf = this.run?.kept ? this.run.enumerated : null;
    return passingText(matching, validity, {
      total,
      valid: this.run?.valid ?? total,
      bestOf,
      devices: this.devices.length,
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

  deviceOf(design: number | null): string | null {
    const { devices } = this;
    if (design === null || devices.length === 0) return null;
    return devices[Math.floor(design / (this.#designs / devices.length))]?.id ?? null;
  }

  /** Makes device and selection agree: whichever changed last decides. */
  #follow(runId: number, deviceId: string | null, design: number | null): void {
    const before = memory!.device;
    memory!.device = deviceId;
    const isChosen = before !== undefined && before !== deviceId;
    if (isChosen && Object.keys(this.address.filter).length > 0) void this.#dropEmptyFilter(runId);
    const own = this.deviceOf(design);
    if (design === null || own === null || deviceId === null || own === deviceId) return;
    if (!isChosen) this.app.location.chooseDevice(own);
    // The ranking shows the new device's first designs. Other views select the same design on it, or its best.
    else if (this.#view === 'ranking') this.select(null);
    else void this.#carry(runId, design, deviceId);
  }
  async #carry(runId: number, design: number, deviceId: string): Promise<void> {
    const stride = this.#designs / this.devices.length;
    const there = (design % stride) + stride * this.devices.findIndex(({ id }) => id === deviceId);
    this.select(there);
    const found = await this.app.engine.call('ranking.design', { runId, designIndex: there });
    if (!found.ok || found.value.invalid === null || this.address.design !== there) return;
    const best = await this.app.engine.call('ranking.page', { runId, filter: { deviceId }, limit: 1 });
    if (best.ok && best.value.rows[0] && this.address.design === there) this.select(best.value.rows[0].designIndex);
  }
  async #dropEmptyFilter(runId: number): Promise<void> {
    const { filter } = this.address;
    const page = await this.app.engine.call('ranking.page', { runId, filter: this.filter, limit: 1 });
    if (!page.ok || page.value.matching > 0 || JSON.stringify(this.address.filter) !== JSON.stringify(filter)) return;
    this.clearFilter();
    const name = this.devices.find(({ id }) => id === this.deviceId)?.name;
    this.app.notices.show(`No design of ${name ?? 'these devices'} passes the filter, so the filter was cleared`, () =>
      this.app.location.set(explorationAddress, { filter }),
    );
  }

  isCpu({ deviceId }: RankRow): boolean {
    return this.app.library.devices.find(({ id }) => id === deviceId)?.kind === 'cpu';
  }
  select(design: number | null): void {
    this.app.location.set(explorationAddress, { design });
  }
  narrow(change: { readonly [Key in keyof Narrowing]?: Narrowing[Key] | undefined }): void {
    const next = Object.fromEntries(
      Object.entries({ ...this.address.filter, ...change }).filter(([, value]) => value !== undefined),
    ) as Narrowing;
    this.app.location.set(explorationAddress, { filter: next });
  }
  clearFilter(): void {
    this.app.location.set(explorationAddress, { filter: {} });
  }
  pin(design: number): void {
    const { studyId } = this.app.location;
    const before = { stored: this.#stored, baseline: this.address.baseline };
    const unpin = this.pinned && design === this.baselineIndex;
    const enumerated = this.run?.enumerated ?? 0;
    const others = (before.stored?.enumerated === enumerated ? before.stored.designs : []).filter(
      (other) => this.deviceOf(other) !== this.deviceOf(design),
    );
    const write = (value: StoredBaselines | null, baseline: number | null) => {
      this.#stored = value;
      this.app.location.set(explorationAddress, { baseline });
      if (studyId !== null) void this.app.engine.call('settings.set', { key: `baseline.${studyId}`, value });
    };
    write({ enumerated, designs: unpin ? others : [...others, design] }, unpin ? null : design);
    this.app.notices.show(
      unpin ? 'Baseline unpinned: differences are now relative to the plain design' : 'Baseline pinned',
      () => write(before.stored, before.baseline),
    );
  }
  show(view: ViewId): void {
    this.app.location.go(view);
  }
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
