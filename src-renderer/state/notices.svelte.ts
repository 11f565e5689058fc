const UNDO_FOR_MS = 10_000;

interface Notice {
  readonly text: string;
  readonly undo: (() => unknown) | null;
}

export class Notices {
  #notice = $state.raw<Notice | null>(null);
  readonly current = $derived(this.#notice);
  #spoken = $state('');
  readonly spoken = $derived(this.#spoken);
  #timer: ReturnType<typeof setTimeout> | undefined;

  announce(text: string): void {
    // A screen reader does not repeat an unchanged text. A no-break space at its end makes it different.
    this.#spoken = text === this.#spoken ? `${text}\u00a0` : text;
  }

  show(text: string, undo: (() => unknown) | null = null): void {
    clearTimeout(this.#timer);
    this.#notice = { text, undo };
    this.announce(undo ? `${text}. Undo is available in the status bar.` : text);
    this.#timer = setTimeout(() => (this.#notice = null), UNDO_FOR_MS);
  }

  async copy(text: string, line: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    this.show(line);
  }

  undo(): boolean {
    const { undo } = this.#notice ?? {};
    if (!undo) return false;
    clearTimeout(this.#timer);
    this.#notice = null;
    this.announce('Undone');
    undo();
    return true;
  }
}
