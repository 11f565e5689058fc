/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are replaced whole or are not state */
import { connectEngine, type Client, type PageLike } from '../../src-main/contract/transport.ts';
import type {
  EventName,
  Events,
  ProcedureInput,
  ProcedureName,
  ProcedureOutput,
} from '../../src-main/contract/procedures.ts';
import { fail, type Result } from '../../src-workers/domain/result.ts';

export type Api = Pick<Engine, 'call' | 'on'>;

export type EngineState = 'connecting' | 'ready' | 'lost';

/** Names this page in calls that have a `client`. A newer call of a client replaces its older call. */
export const PAGE_ID = `page ${performance.timeOrigin} ${Math.round(performance.now() * 1000)}`;

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;

export class Engine {
  #client: Client | null = null;
  #state = $state<EngineState>('connecting');
  readonly state = $derived(this.#state);
  #reason = $state('');
  readonly reason = $derived(this.#reason);
  #unknown = $state(false);
  /** Whether the server does not accept this page. Trying again is then useless. */
  readonly unknown = $derived(this.#unknown);
  /** Increases with every connection, so that queries repeat their calls. */
  #generation = $state(0);
  readonly generation = $derived(this.#generation);
  #listeners = new Map<EventName, Set<(payload: never) => void>>();
  #page: PageLike;

  constructor(page: PageLike) {
    this.#page = page;
  }

  /** Connects, and keeps trying. Resolves at the first connection. */
  async connect(retryMs = FIRST_RETRY_MS): Promise<void> {
    const result = await connectEngine(this.#page);
    if (!result.ok) {
      this.#reason = result.error.message;
      this.#unknown = result.error.code === 'conflict';
      if (this.#state === 'connecting') this.#state = 'lost';
      await new Promise((resolve) => setTimeout(resolve, retryMs));
      return this.connect(Math.min(2 * retryMs, LONGEST_RETRY_MS));
    }
    this.#client = result.value;
    for (const [event, set] of this.#listeners)
      for (const listener of set) result.value.on(event, listener as (payload: Events[typeof event]) => void);
    result.value.on('engine.lost', ({ message }) => {
      if (this.#client !== result.value) return;
      this.#client = null;
      this.#state = 'lost';
      this.#reason = message;
      void this.connect();
    });
    this.#state = 'ready';
    this.#reason = '';
    this.#unknown = false;
    this.#generation += 1;
  }

  call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<Result<ProcedureOutput<Name>>> {
    if (!this.#client) return Promise.resolve(fail('cancelled', 'The engine cannot be reached; reconnecting'));
    return this.#client.call(name, input);
  }

  /** Listens to an event until the returned function is called. Listening survives the loss of the engine. */
  on<Name extends EventName>(event: Name, listener: (payload: Events[Name]) => void): () => void {
    const set = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, set);
    set.add(listener);
    const off = this.#client?.on(event, listener);
    return () => {
      set.delete(listener);
      off?.();
    };
  }
}
