import { onDestroy } from 'svelte';
import { keyOf, isPressing, isSettledField, isTyping, inOverlay } from './keys.ts';
import type { Icon } from './views.ts';

export const MENUS = ['File', 'Edit', 'View', 'Run', 'Help'] as const;
export type Menu = (typeof MENUS)[number];

export interface Command {
  readonly id: string;
  readonly label: string;
  readonly group?: 'Designs' | 'Go to' | 'Fields' | 'Glossary' | 'Devices' | 'Set' | undefined;
  readonly detail?: string | undefined;
  readonly keys?: string | undefined;
  readonly menu?: Menu | undefined;
  readonly section?: boolean | undefined;
  readonly icon?: Icon | undefined;
  readonly words?: string | undefined;
  readonly checked?: boolean | undefined;
  /** `false` hides the command from the palette and disables it in menus. */
  readonly enabled?: boolean | undefined;
  readonly run: () => void;
}

type Provider = () => readonly Command[];

const CHORD_WITHIN_MS = 1200;

export class Commands {
  // The list is not state, because a view that is being removed reads old state, and would write back a list without
  // the commands of the next view. `#changes` announces a change of the list.
  #providers: readonly Provider[] = [];
  #changeCount = 0;
  #changes = $state(0);
  readonly all = $derived.by(() => {
    void this.#changes;
    return this.#providers.flatMap((provider) => provider());
  });
  #chord = '';
  #chordAt = 0;

  /** Adds commands while a component lives. Call it while the component initialises. */
  provide(provider: Provider): void {
    this.#become([...this.#providers, provider]);
    onDestroy(() => this.#become(this.#providers.filter((other) => other !== provider)));
  }

  #become(providers: readonly Provider[]): void {
    this.#providers = providers;
    this.#changeCount += 1;
    this.#changes = this.#changeCount;
  }

  find(id: string): Command | undefined {
    return this.all.find((command) => command.id === id);
  }

  run(id: string): void {
    const command = this.find(id);
    if (command && command.enabled !== false) command.run();
  }

  /** Runs a command before the focused control takes its key: a button that opens a list would take Ctrl+Enter. */
  handleFirst(event: KeyboardEvent): void {
    if (!keyOf(event).startsWith('Mod+') || isTyping(event.target)) return;
    this.handle(event);
    if (event.defaultPrevented) event.stopPropagation();
  }

  /** Runs the command that belongs to a key, if any. The last provider wins, so a view can override a global key. */
  handle(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const key = keyOf(event);
    if (!key) return;
    const withMod = key.startsWith('Mod+');
    // Where nothing is being typed, the browser's undo would change the field edited last, as if a user typed there.
    const isUndo = /^Mod\+(Shift\+)?Z$|^Mod\+Y$/.test(key);
    if (isTyping(event.target)) {
      // The first Escape in a field undoes the typing, and the field stops that event. The next Escape leaves the
      // field, so that letters are commands again. Tab then continues from that field.
      if (key === 'Escape' && !inOverlay(event.target)) {
        event.preventDefault();
        (event.target as HTMLElement).blur();
        return;
      }
      if (isUndo && isSettledField(event.target)) event.preventDefault();
      // Text fields keep their own undo, clipboard and selection.
      else if (!withMod || /^Mod\+(Shift\+)?[ZXCVAY]$/.test(key)) return;
    } else if (isUndo) {
      event.preventDefault();
    } else if ((inOverlay(event.target) || isPressing(event)) && !withMod) return;
    const now = performance.now();
    const chord = now - this.#chordAt < CHORD_WITHIN_MS ? `${this.#chord} ${key}` : '';
    const command = (chord && this.#match(chord)) || this.#match(key);
    this.#chord = key;
    this.#chordAt = now;
    if (!command) return;
    event.preventDefault();
    this.#chordAt = 0;
    // The command ends the typing, so the field loses the focus and letters are commands again.
    if (key === 'Mod+Enter' && isTyping(event.target) && !inOverlay(event.target)) (event.target as HTMLElement).blur();
    command.run();
  }

  #match(keys: string): Command | undefined {
    return this.all.findLast((command) => command.keys === keys && command.enabled !== false);
  }
}
