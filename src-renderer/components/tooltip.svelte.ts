import type { Attachment } from 'svelte/attachments';
import { on } from 'svelte/events';

interface Shown {
  readonly text: string;
  readonly keys: string;
  readonly anchor: DOMRect;
  readonly side: 'below' | 'right';
}

const FIRST_DELAY_MS = 450;
/** If the pointer reaches another element within this time, its tooltip appears at once. */
const WARM_MS = 400;

let shown = $state.raw<Shown | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;
let hiddenAt = -Infinity;

/** The only tooltip of the page, which TooltipLayer draws. */
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

/** `{@attach tooltip('Registers per thread')}`: a hint on hover and keyboard focus. An empty text shows nothing. */
export function tooltip(
  text: string,
  options: { readonly keys?: string; readonly side?: Shown['side'] } = {},
): Attachment<HTMLElement> {
  return (element) => {
    if (!text) return;
    element.setAttribute('aria-description', text);
    const show = () => {
      shown = {
        text,
        keys: options.keys ?? '',
        anchor: element.getBoundingClientRect(),
        side: options.side ?? 'below',
      };
    };
    const enter = () => {
      clearTimeout(timer);
      if (performance.now() - hiddenAt < WARM_MS) show();
      else timer = setTimeout(show, FIRST_DELAY_MS);
    };
    const focus = () => {
      if (element.matches(':focus-visible')) show();
    };
    // A removed view's focused element loses the focus, and only handlers of Svelte's own `on` may set state then.
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
