import { fail, type Result } from '../../src-workers/domain/result.ts';

export const SUPERSEDED: Result<never> = fail('cancelled', 'A newer call of the same client took its place.');

/**
 * Cancels calls that nobody waits for. A newer call replaces an older one of the same client, and a call ends with its
 * page. A call without a client replaces no other call.
 */
export class Turns {
  readonly #underWay = new Map<string, AbortController>();

  /**
   * @param ends fire when the calling page has gone, or the engine closes
   * @param work gets a signal that fires then, when a newer call replaces it, and when it is cancelled; what it throws
   * after that is the failure `SUPERSEDED`
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

  /** Cancels the call of this client. Returns whether one was running. */
  cancel(client: string): boolean {
    const turn = this.#underWay.get(client);
    turn?.abort();
    return turn !== undefined;
  }
}
