import type { Result } from '../../src-workers/domain/result.ts';

/** An input that has not changed for so long is asked for exactly. */
const RESTS_AFTER_MS = 120;

export interface CoarseFirstCalls<In, Out> {
  ask(input: In, coarse: boolean): Promise<Result<Out>>;
  /** Of each input that rests, the exact answer or its failure; before it, coarse answers of inputs that still change. */
  show(answer: Result<Out>, input: In, coarse: boolean): void;
}

/**
 * Follows an input that may change with every frame. One coarse call is under way at a time, always of the newest input; an
 * input that rests is asked for exactly. Answers of inputs that were left behind are dropped, but for coarse ones while
 * nothing newer is known: they keep what is shown moving.
 */
export class CoarseFirst<In, Out> {
  readonly #calls: CoarseFirstCalls<In, Out>;
  #input: In | null = null;
  #version = 0;
  /** The newest version that has an exact answer. */
  #settled = 0;
  #asking = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(calls: CoarseFirstCalls<In, Out>) {
    this.#calls = calls;
  }

  follow(input: In): void {
    this.#input = input;
    this.#version += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#exact(), RESTS_AFTER_MS);
    if (!this.#asking) void this.#coarse();
  }

  /** Forgets the input: what is still under way is dropped. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#input = null;
    this.#version += 1;
    this.#settled = this.#version;
  }

  async #coarse(): Promise<void> {
    this.#asking = true;
    for (let asked = 0; this.#input !== null && asked !== this.#version && this.#settled !== this.#version;) {
      asked = this.#version;
      const input = this.#input;
      const answer = await this.#calls.ask(input, true);
      // A subset may hold no valid design where the whole does: whether that is a failure, the exact answer says.
      if (answer.ok && this.#settled < asked) this.#calls.show(answer, input, true);
    }
    this.#asking = false;
  }

  async #exact(): Promise<void> {
    const version = this.#version;
    const input = this.#input;
    if (input === null) return;
    const answer = await this.#calls.ask(input, false);
    if (version !== this.#version) return;
    this.#settled = version;
    this.#calls.show(answer, input, false);
  }
}
