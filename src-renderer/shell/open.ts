import type { App } from '../state/app.svelte.ts';
import type { FieldName } from '../views/study/field-names.ts';
import type { ViewId } from './views.ts';

const WAIT_MS = 4000;
const LOOK_AGAIN_MS = 50;

/** Opens a view and repeats `act` until it succeeds. After 4 s without success, the text `otherwise` is shown. */
export function openAndAct(app: App, view: ViewId, act: () => boolean, otherwise: string): void {
  app.location.go(view);
  const until = performance.now() + WAIT_MS;
  const look = () => {
    if (act()) return;
    if (performance.now() < until) setTimeout(look, LOOK_AGAIN_MS);
    else app.notices.show(otherwise);
  };
  setTimeout(look);
}

export function openAndFocus(app: App, { control, label, advanced }: FieldName): void {
  if (advanced) app.preferences.setChoice('study.advanced', 'open');
  const act = () => {
    const input = document.querySelector<HTMLInputElement>(`#view input[aria-label="${CSS.escape(control)}"]`);
    input?.focus();
    return input !== null;
  };
  openAndAct(app, 'study', act, `${label} follows from other fields of this study`);
}
