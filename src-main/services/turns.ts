import { fail, type Result } from '../../src-workers/domain/result.ts';

const SUPERSEDED: Result<never> = fail('cancelled', 'A newer call has replaced this call, or it was cancelled.');

/**
 * Cancels calls whose results are no longer needed. A newer call replaces the older one of the same client, and a call
 * ends with its page. A call without a client replaces no other call.
 */
export class Turns {
  readonly #underWay = new Map<string, AbortController>();

  /**
   * @param ends fire when the calling page is gone, or when the engine closes
   * @param work receives a signal. It fires if one of `ends` fires, if a newer call replaces this one, or if it is
   * cancelled. Whatever `work` throws after that becomes the failure `SUPERSEDED`.
   */
  async take<T>(
    client: string | undefined,
    ends: readonly (AbortSignal | undefined)[],
    work: (signal: AbortSignal) => Promise<Result<T>>,
  ): Promise<Result<T>> {
    const turn = new AbortController();
    const signal = AbortSignal.any([turn.signal, ...ends.filter((end) => end !== undefined)]);
    if (client !== undefined) {
      this.cancel(client);
      this.#underWay.set(client, turn);
    }
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted) return SUPERSEDED;
      throw error;
    } finally {
      if (client !== undefined && this.#underWay.get(client) === turn) this.#underWay.delete(client);
    }
  }

  cancel(client: string): boolean {
    const turn = this.#underWay.get(client);
    turn?.abort();
    return turn !== undefined;
  }
}
