const UNDO_FOR_MS = 10_000;
const REFUSED = 'Nothing was copied: this page may not use the clipboard. Allow it in the browser, then copy again';

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
    this.show((await wasCopied(text)) ? line : REFUSED);
  }

  /**
   * Copies a text that is still being made, and shows `meanwhile` until it is there.
   * @param text `null` if it could not be made. The caller then says why.
   */
  async copyMade(text: Promise<string | null>, meanwhile: string, line: (text: string) => string): Promise<void> {
    clearTimeout(this.#timer);
    const waiting = { text: meanwhile, undo: null };
    this.#notice = waiting;
    this.announce(meanwhile);
    const copied = await wasCopied(text);
    const made = await text;
    if (made !== null) this.show(copied ? line(made) : REFUSED);
    else if (this.#notice === waiting) this.#notice = null;
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

/**
 * Browsers other than Chromium allow the clipboard only for seconds after a click, so they get a promise of the text.
 */
async function wasCopied(text: string | Promise<string | null>): Promise<boolean> {
  try {
    if (typeof text === 'string') await navigator.clipboard.writeText(text);
    else if (typeof ClipboardItem === 'undefined') await navigator.clipboard.writeText(neverNull(await text));
    else {
      const blob = text.then((made) => new Blob([neverNull(made)], { type: 'text/plain' }));
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
    }
    return true;
  } catch {
    return false;
  }
}

function neverNull(text: string | null): string {
  if (text === null) throw new Error('There is nothing to copy.');
  return text;
}
