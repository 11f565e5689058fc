import type { Result } from '../../src-workers/domain/result.ts';

/** The exact answer is requested when an input has not changed for this time. */
const RESTS_AFTER_MS = 150;

/** A subset of the designs, all that could equal the fastest, or all. */
export type Look = 'coarse' | 'fastest' | 'all';

export interface CoarseFirstCalls<In, Out> {
  ask(input: In, look: Look): Promise<Result<Out>>;
  /** Shows a coarse answer while the input changes, then the exact answer or its failure, then the whole one. */
  show(answer: Result<Out>, input: In, look: Look): void;
}

/**
 * Follows an input that may change with every frame. One coarse call runs at a time, always for the newest input. When
 * the input stops changing, exact answers are requested, first for only the fastest designs. Answers for older inputs
 * are dropped, except coarse ones while nothing newer is known, because they keep the picture moving. A call may
 * replace any earlier one, which then fails.
 */
export class CoarseFirst<In, Out> {
  readonly #calls: CoarseFirstCalls<In, Out>;
  #input: In | null = null;
  #version = 0;
  /** The newest version with an exact request, and the newest with an exact answer. */
  #exactly = 0;
  #settled = 0;
  #asking = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #held = false;

  constructor(calls: CoarseFirstCalls<In, Out>) {
    this.#calls = calls;
  }

  follow(input: In): void {
    this.#input = input;
    this.#version += 1;
    this.#wait();
    if (!this.#asking) void this.#coarse();
  }

  /** While the user holds a slider, its input counts as changing. */
  set held(held: boolean) {
    this.#held = held;
    if (this.#input !== null && this.#exactly !== this.#version) this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (!this.#held) this.#timer = setTimeout(() => void this.#exact(), RESTS_AFTER_MS);
  }

  /** Forgets the input and drops running calls. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#input = null;
    this.#version += 1;
    this.#exactly = this.#version;
    this.#settled = this.#version;
  }

  async #coarse(): Promise<void> {
    this.#asking = true;
    for (let asked = 0; this.#input !== null && asked !== this.#version && this.#settled !== this.#version;) {
      asked = this.#version;
      const input = this.#input;
      const answer = await this.#calls.ask(input, 'coarse');
      // A subset may have no valid design although the space has one, so only the exact answer decides about failure.
      if (answer.ok && this.#settled < asked) this.#calls.show(answer, input, 'coarse');
    }
    this.#asking = false;
  }

  async #exact(): Promise<void> {
    const version = this.#version;
    const input = this.#input;
    if (input === null) return;
    this.#exactly = version;
    const answer = await this.#calls.ask(input, 'fastest');
    if (version !== this.#version) return;
    // Another call of the page replaced it, for a study that is no longer shown.
    if (!answer.ok && answer.error.code === 'cancelled') return this.#wait();
    this.#settled = version;
    this.#calls.show(answer, input, 'fastest');
    if (!answer.ok) return;
    const whole = await this.#calls.ask(input, 'all');
    if (version !== this.#version) return;
    if (whole.ok) this.#calls.show(whole, input, 'all');
    else if (whole.error.code === 'cancelled') this.#wait();
  }
}
