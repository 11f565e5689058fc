import type { Attachment } from 'svelte/attachments';
import { on } from 'svelte/events';

interface Shown {
  readonly text: string;
  readonly keys: string;
  readonly anchor: DOMRect;
  readonly side: 'below' | 'right';
}

const FIRST_DELAY_MS = 450;
/** After a tooltip has disappeared, the next one appears without a delay for this time, ms. */
const WARM_MS = 400;

let shown = $state.raw<Shown | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;
let hiddenAt = -Infinity;

export const currentTooltip = {
  get value(): Shown | null {
    return shown;
  },
};

function hide(): void {
  clearTimeout(timer);
  if (shown) hiddenAt = performance.now();
  shown = null;
}

/** Shows a hint on hover and keyboard focus: `{@attach tooltip('Full name')}`. An empty text shows nothing. */
export function tooltip(
  text: string,
  { keys = '', side = 'below' }: { readonly keys?: string; readonly side?: Shown['side'] } = {},
): Attachment<HTMLElement> {
  return (element) => {
    if (!text) return;
    element.setAttribute('aria-description', text);
    const show = () => (shown = { text, keys, side, anchor: element.getBoundingClientRect() });
    const enter = () => {
      clearTimeout(timer);
      if (performance.now() - hiddenAt < WARM_MS) show();
      else timer = setTimeout(show, FIRST_DELAY_MS);
    };
    const focus = () => {
      if (element.matches(':focus-visible')) show();
    };
    // When a view is removed, its focused element loses the focus. At that time, only handlers of Svelte's own `on` may
    // set state.
    const off = [
      on(element, 'pointerenter', enter),
      on(element, 'pointerleave', hide),
      on(element, 'pointerdown', hide),
      on(element, 'focusin', focus),
      on(element, 'focusout', hide),
    ];
    return () => {
      hide();
      element.removeAttribute('aria-description');
      for (const stop of off) stop();
    };
  };
}
