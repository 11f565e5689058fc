/* eslint-disable svelte/prefer-svelte-reactivity -- these maps are caches; `#version` says when they changed */
import { untrack } from 'svelte';
import type { RankColumn, RankPage, RankRow } from '../../../src-main/contract/api.ts';
import type { RankFilter } from '../../../src-main/contract/procedures.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import type { Engine } from '../../state/engine.svelte.ts';
import { wantedPages } from './paging.ts';

export interface ListInput {
  readonly runId: number;
  readonly filter: RankFilter;
  readonly sort: { readonly column: RankColumn; readonly descending: boolean };
  /** Designs without a relevant difference share one row. The groups in `opened` list all their designs. */
  readonly opened: readonly number[];
}

export interface ListedRow extends RankRow {
  readonly equal: number;
}

/** The engine needs a fraction of a millisecond for each row's breakdown and slices, so pages of details are small. */
const KINDS = {
  plain: { rows: 100, kept: 120, inFlight: 2, detail: false },
  detail: { rows: 25, kept: 160, inFlight: 1, detail: true },
} as const;
type Kind = keyof typeof KINDS;
type Cache = Map<number, readonly ListedRow[]>;
/** Details are requested when scrolling has paused for this time, ms. */
const SETTLED_AFTER_MS = 70;
const SLOW_AFTER_MS = 200;

const listedRows = ({ rows, equal }: RankPage): readonly ListedRow[] =>
  rows.map((row, at) => ({ ...row, equal: equal[at] ?? 1 }));
const asked = ({ opened, ...list }: ListInput) => ({ ...list, groups: true, opened: [...opened] });
const isSameList = ({ opened: _a, ...a }: ListInput, { opened: _b, ...b }: ListInput): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** All pages keep the order that the list had when it was opened, even if designs are simulated or measured later. */
export class RankPages {
  #engine: Engine;
  #pages: Readonly<Record<Kind, Cache>> = { plain: new Map(), detail: new Map() };
  #asked = new Set<string>();
  #inFlight = 0;
  #list: ListInput | null = null;
  /** The list asked for last, which may not have been answered yet. */
  #wanted: ListInput | null = null;
  #order: number | null = null;
  #generation = 0;
  #readings = 0;
  #viewport = { first: 0, last: 0, down: true };
  #withDetail: () => boolean;
  #find: () => number | null;
  #onlist: (foundAt: number | null) => void;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #settled = true;
  #version = $state(0);
  #summary = $state.raw<RankPage | null>(null);
  #failure = $state.raw<Failure | null>(null);
  #slow = $state(false);
  #kept = false;
  #shown = $state(0);

  /** For each new list, `onlist` receives the position of the design that `find` returns. */
  constructor(
    engine: Engine,
    input: () => ListInput | null,
    withDetail: () => boolean,
    onlist: (foundAt: number | null) => void,
    find: () => number | null,
  ) {
    this.#engine = engine;
    this.#withDetail = withDetail;
    this.#find = find;
    this.#onlist = onlist;
    let written = '';
    $effect(() => {
      const list = input();
      const text = `${engine.generation} ${JSON.stringify(list)}`;
      if (text === written || engine.state !== 'ready') return;
      written = text;
      if (list) untrack(() => void this.#open(list));
    });
    $effect(() => {
      if (withDetail()) untrack(() => this.#pump());
    });
    $effect(() => () => clearTimeout(this.#settle));
  }

  get summary(): RankPage | null {
    return this.#summary;
  }
  get failure(): Failure | null {
    return this.#failure;
  }
  get slow(): boolean {
    return this.#slow;
  }
  get shown(): number {
    return this.#shown;
  }
  /** Whether the same list was read again, as when a row opens, so that the visible rows do not move. */
  get kept(): boolean {
    return this.#kept;
  }
  get standing(): { readonly order?: number } {
    return this.#order === null ? {} : { order: this.#order };
  }

  row(place: number): ListedRow | null {
    void this.#version;
    const read = (kind: Kind) => {
      const { rows } = KINDS[kind];
      return this.#pages[kind].get(Math.floor(place / rows))?.[place % rows];
    };
    return read('detail') ?? read('plain') ?? null;
  }

  look(first: number, last: number): void {
    const down = first >= this.#viewport.first;
    this.#viewport = { first, last, down };
    this.#settled = false;
    this.#pump();
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#pumpSettled(), SETTLED_AFTER_MS);
  }

  /** Reads the list anew: after a failure, or to sort by new times. */
  async again(): Promise<void> {
    if (this.#wanted) await this.#open(this.#wanted);
  }

  /** Reads the visible rows in the same order. Old pages stay visible until new pages arrive. */
  async refresh(): Promise<void> {
    const list = this.#list;
    if (!list) return;
    const mine = this.#generation;
    const { first, last } = this.#viewport;
    const kind = this.#withDetail() ? 'detail' : 'plain';
    const { rows: size, detail } = KINDS[kind];
    const from = Math.floor(first / size);
    const to = Math.floor(Math.max(first, last - 1) / size);
    const fresh: [page: number, rows: readonly ListedRow[]][] = [];
    let summary = this.#summary;
    for (let page = from; page <= to; page += 1) {
      const result = await this.#engine.call('ranking.page', {
        ...asked(list),
        ...this.standing,
        offset: page * size,
        limit: size,
        detail,
      });
      if (mine !== this.#generation || !result.ok) return;
      // Another list may have opened since, if its answer was already under way.
      if (list !== this.#list) return this.refresh();
      if (result.value.order !== this.#order) return this.again();
      fresh.push([page, listedRows(result.value)]);
      summary = result.value;
    }
    this.#pages = { plain: new Map(), detail: new Map(), [kind]: new Map(fresh) };
    // Answers under way are ignored, because they read the rows before the change.
    this.#readings += 1;
    this.#asked.clear();
    this.#inFlight = 0;
    this.#summary = summary;
    this.#version += 1;
    this.#pumpSettled();
  }

  async #open(list: ListInput): Promise<void> {
    const mine = ++this.#generation;
    this.#wanted = list;
    const find = this.#find();
    const kept = this.#list !== null && isSameList(list, this.#list) && this.#failure === null;
    const { rows: size } = KINDS.plain;
    const first = kept ? Math.floor(this.#viewport.first / size) : 0;
    const timer = setTimeout(() => (this.#slow = mine === this.#generation), SLOW_AFTER_MS);
    const result = await this.#engine.call('ranking.page', {
      ...asked(list),
      offset: first * size,
      limit: size,
      ...(find === null ? {} : { find }),
    });
    clearTimeout(timer);
    if (mine !== this.#generation) return;
    this.#slow = false;
    if (!result.ok) {
      this.#failure = result.error;
      return;
    }
    const { order, foundAt } = result.value;
    this.#failure = null;
    this.#list = list;
    this.#order = order;
    this.#pages = { plain: new Map([[first, listedRows(result.value)]]), detail: new Map() };
    this.#asked = new Set();
    this.#inFlight = 0;
    this.#kept = kept;
    if (!kept) this.#viewport = { first: 0, last: Math.max(1, this.#viewport.last - this.#viewport.first), down: true };
    this.#summary = result.value;
    this.#version += 1;
    this.#shown += 1;
    this.#onlist(foundAt);
    this.#pumpSettled();
  }

  #pumpSettled(): void {
    this.#settled = true;
    this.#pump();
  }

  #pump(): void {
    const summary = this.#summary;
    if (!summary || !this.#list) return;
    const { first, last, down } = this.#viewport;
    for (const kind of this.#settled && this.#withDetail() ? (['plain', 'detail'] as const) : (['plain'] as const)) {
      const { rows, inFlight } = KINDS[kind];
      for (const page of wantedPages(first, last, summary.listed, rows, down)) {
        if (this.#inFlight >= inFlight) return;
        if (!this.#pages[kind].has(page)) this.#fetch(kind, page);
      }
    }
  }

  #fetch(kind: Kind, page: number): void {
    const key = `${kind} ${page}`;
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    this.#inFlight += 1;
    const [mine, reading, list] = [this.#generation, this.#readings, this.#list!];
    const { rows, kept, detail } = KINDS[kind];
    void this.#engine
      .call('ranking.page', {
        ...asked(list),
        ...this.standing,
        offset: page * rows,
        limit: rows,
        detail,
      })
      .then((result) => {
        if (mine !== this.#generation || reading !== this.#readings || list !== this.#list) return;
        this.#asked.delete(key);
        this.#inFlight -= 1;
        if (!result.ok) {
          this.#failure = result.error;
          return;
        }
        // The engine no longer knows the order, so the whole list is read again.
        if (result.value.order !== this.#order) return void this.again();
        keep(this.#pages[kind], kept, page, listedRows(result.value));
        this.#version += 1;
        this.#pump();
      });
  }
}
