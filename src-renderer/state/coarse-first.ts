import type { Result } from '../../src-workers/domain/result.ts';

/** How long an input must stay unchanged before the exact answer is requested, ms. */
const RESTS_AFTER_MS = 150;
/** How much longer the exact answer waits for the glance and the coarse answer, which it would cancel, ms. */
const EARLY_WITHIN_MS = 5000;

/** Which designs are examined: as many as a short time allows, a subset, all that could be the fastest, or all. */
export type Look = 'glance' | 'coarse' | 'fastest' | 'all';

export interface CoarseFirstCalls<In, Out> {
  ask(input: In, look: Look): Promise<Result<Out>>;
  /** Called with early answers, then with the exact answer or its failure, and then with the answer for all designs. */
  show(answer: Result<Out>, input: In, look: Look): void;
}

/**
 * Follows an input that may change with every frame. While it changes, one glance (see `Look`) at a time runs, for the
 * newest input. If the input did not change meanwhile, a coarse answer follows, which is better and has the thumbnails.
 * At rest, exact answers follow: first for the designs that could be the fastest, then for all. They may take minutes,
 * so they let the coarse answer arrive first. Answers for older inputs are dropped, except glances, which keep the
 * picture moving. A call may cancel an earlier call, which fails.
 */
export class CoarseFirst<In, Out> {
  readonly #calls: CoarseFirstCalls<In, Out>;
  #input: In | null = null;
  #version = 0;
  /** The newest version of the input whose exact answer was requested, and the newest whose exact answer arrived. */
  #exactly = 0;
  #settled = 0;
  #asking = false;
  /** Whether the glance or the coarse answer of the newest version is awaited. */
  #early = false;
  /** The newest version of the input that has rested, but waits for its early answers. */
  #rested = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #held = false;

  constructor(calls: CoarseFirstCalls<In, Out>) {
    this.#calls = calls;
  }

  follow(input: In): void {
    this.#input = input;
    this.#version += 1;
    this.#wait();
    if (!this.#asking) void this.#glance();
  }

  /** While the user holds a slider, its input counts as changing. */
  set held(held: boolean) {
    this.#held = held;
    if (this.#input !== null && this.#exactly !== this.#version) this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (!this.#held) this.#timer = setTimeout(() => this.#rest(), RESTS_AFTER_MS);
  }

  #rest(): void {
    if (!this.#early) return void this.#exact();
    this.#rested = this.#version;
    this.#timer = setTimeout(() => void this.#exact(), EARLY_WITHIN_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#input = null;
    this.#version += 1;
    this.#exactly = this.#version;
    this.#settled = this.#version;
  }

  async #glance(): Promise<void> {
    this.#asking = true;
    this.#early = true;
    for (let asked = 0; this.#input !== null && asked !== this.#version && this.#settled !== this.#version;) {
      asked = this.#version;
      await this.#first(this.#input, asked, 'glance');
    }
    this.#asking = false;
    const version = this.#version;
    if (this.#input !== null && this.#exactly !== version) await this.#first(this.#input, version, 'coarse');
    // A newer input has its own glance.
    if (version !== this.#version) return;
    this.#early = false;
    if (this.#rested === version && this.#exactly !== version && !this.#held) void this.#exact();
  }

  async #first(input: In, version: number, look: 'glance' | 'coarse'): Promise<void> {
    const answer = await this.#calls.ask(input, look);
    // A subset may have no valid design although the space has some, so a failure of an early look is ignored.
    const isWanted = look === 'glance' || version === this.#version;
    if (answer.ok && isWanted && this.#settled < version) this.#calls.show(answer, input, look);
  }

  async #exact(): Promise<void> {
    clearTimeout(this.#timer);
    const version = this.#version;
    const input = this.#input;
    if (input === null) return;
    this.#exactly = version;
    const answer = await this.#calls.ask(input, 'fastest');
    if (version !== this.#version) return;
    // A call for an earlier study has cancelled this one, so the exact answer is requested again.
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
