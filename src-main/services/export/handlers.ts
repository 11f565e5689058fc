import { setImmediate } from 'node:timers/promises';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { renderExport } from './render.ts';

export function exportHandlers({ views }: Context): Handlers<ProceduresOf<'export'>> {
  // One at a time, and sent before the next: a document may have a hundred megabytes, and a page may ask for many at once.
  let before: Promise<unknown> = Promise.resolve();
  return {
    'export.render': (input) => {
      const document = before.then(() => views.read(input.runId, (view) => renderExport(view, input)));
      before = document.then(
        () => setImmediate(),
        () => {},
      );
      return document;
    },
  };
}
