/** Calls of which a newer one takes the place of the older one of the same client. A call that names no client disturbs none. */
export class Turns {
  readonly #underWay = new Map<string, AbortController>();

  /** @param work gets a signal that fires when a newer call takes its place, or when it is cancelled */
  async take<T>(client: string | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const turn = new AbortController();
    if (client !== undefined) {
      this.cancel(client);
      this.#underWay.set(client, turn);
    }
    try {
      return await work(turn.signal);
    } finally {
      if (client !== undefined && this.#underWay.get(client) === turn) this.#underWay.delete(client);
    }
  }

  /** Whether a call of this client was under way. */
  cancel(client: string): boolean {
    const turn = this.#underWay.get(client);
    turn?.abort();
    return turn !== undefined;
  }
}
