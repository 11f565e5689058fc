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

  /** Copies a text and shows `line`, or says that the clipboard refused the text. */
  async copy(text: string, line: string): Promise<void> {
    let said = line;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      said = 'Nothing was copied: this page may not use the clipboard. Allow it in the browser, then copy again';
    }
    this.show(said);
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
