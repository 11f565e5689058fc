import type { Events, ProcedureInput, ProcedureName, ProcedureOutput } from '../../src-main/contract/procedures.ts';
import type { Failure, Result } from '../../src-workers/domain/result.ts';
import type { Engine } from './engine.svelte.ts';

type StorePart = Events['store.changed']['what'];

interface QueryOptions {
  /** The time from the last change of the input to the call, ms. The first call is immediate. */
  readonly debounceMs?: number;
  readonly refreshOn?: readonly StorePart[];
}

const SLOW_AFTER_MS = 200;

/** An input of `null` makes no call. Only the answer to the newest call is kept. */
export class Query<Name extends ProcedureName> {
  #value = $state.raw<ProcedureOutput<Name> | null>(null);
  #failure = $state.raw<Failure | null>(null);
  #pending = $state(false);
  #slow = $state(false);
  #newest: Promise<Result<ProcedureOutput<Name>>> | null = null;
  #asked = 0;
  #engine: Engine;
  #name: Name;
  #input: () => ProcedureInput<Name> | null;

  constructor(engine: Engine, name: Name, input: () => ProcedureInput<Name> | null, options: QueryOptions = {}) {
    this.#engine = engine;
    this.#name = name;
    this.#input = input;
    let written = '';
    $effect(() => {
      const next = input();
      const text = `${engine.generation} ${JSON.stringify(next)}`;
      if (text === written) return;
      written = text;
      if (next === null || engine.state !== 'ready') return;
      let left = false;
      const ask = () => {
        if (left) return;
        asked = true;
        void this.#ask(next);
      };
      let asked = false;
      if (options.debounceMs === undefined || this.#asked === 0) queueMicrotask(ask);
      else setTimeout(ask, options.debounceMs);
      return () => {
        left = true;
        if (!asked) written = '';
      };
    });
    const { refreshOn } = options;
    if (refreshOn)
      $effect(() =>
        engine.on('store.changed', ({ what }) => {
          if (what === 'all' || refreshOn.includes(what)) void this.refresh();
        }),
      );
  }

  get value(): ProcedureOutput<Name> | null {
    return this.#value;
  }
  get failure(): Failure | null {
    return this.#failure;
  }
  get pending(): boolean {
    return this.#pending;
  }
  get slow(): boolean {
    return this.#slow;
  }

  /** The answer to the newest call, which may be pending; `null` if nothing was asked. */
  get newest(): Promise<Result<ProcedureOutput<Name>>> | null {
    return this.#newest;
  }

  async refresh(): Promise<void> {
    const input = this.#input();
    if (input !== null) await this.#ask(input);
  }

  async #ask(input: ProcedureInput<Name>): Promise<void> {
    const mine = ++this.#asked;
    this.#pending = true;
    const timer = setTimeout(() => (this.#slow = true), SLOW_AFTER_MS);
    this.#newest = this.#engine.call(this.#name, input);
    const result = await this.#newest;
    clearTimeout(timer);
    if (mine !== this.#asked) return;
    this.#pending = false;
    this.#slow = false;
    if (result.ok) {
      this.#value = result.value;
      this.#failure = null;
    } else {
      this.#failure = result.error;
    }
  }
}
