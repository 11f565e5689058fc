/** Keys are written as `Mod+Enter`, `Shift+S`, `?`, `G R` (a sequence), `ArrowDown`. Mod is Ctrl, or ⌘ on a Mac. */

const IS_MAC = /mac/i.test(navigator.platform);

export function keyOf(event: KeyboardEvent): string {
  const { key } = event;
  if (key === 'Control' || key === 'Shift' || key === 'Alt' || key === 'Meta') return '';
  const mod = IS_MAC ? event.metaKey : event.ctrlKey;
  const letter = /^[a-z]$/i.test(key);
  const parts = [];
  if (mod) parts.push('Mod');
  if (event.altKey) parts.push('Alt');
  // A sign such as ? already includes the shift key, so Shift is not added.
  if (event.shiftKey && (letter || key.length > 1)) parts.push('Shift');
  parts.push(letter ? key.toUpperCase() : key === ' ' ? 'Space' : key);
  return parts.join('+');
}

const NAMES: Readonly<Record<string, string>> = {
  Mod: IS_MAC ? '⌘' : 'Ctrl',
  Alt: IS_MAC ? '⌥' : 'Alt',
  Shift: IS_MAC ? '⇧' : 'Shift',
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Delete: 'Del',
};

export function keyCaps(keys: string): string[] {
  return keys.split(/[+ ](?=.)/).map((key) => NAMES[key] ?? key);
}

export function ariaKeys(keys: string): string {
  return keys.replace('Mod', IS_MAC ? 'Meta' : 'Control');
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'range', 'button'].includes(target.type);
}

/** Whether Enter or the space bar presses the focused control, so that it is no command of a view. */
export function isPressing({ key, target }: KeyboardEvent): boolean {
  return (
    (key === 'Enter' || key === ' ') && target instanceof HTMLElement && target.matches('button, a[href], summary')
  );
}

/** Whether an element is a field of the study, and shows what the study holds: nothing typed in it waits for Enter. */
export function isSettledField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('[data-settled]') && !target.closest('[data-own-undo]');
}

export function inOverlay(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('[role=menu],[role=menubar],[role=listbox],[role=dialog]') !== null
  );
}
