import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { renderExport } from './render.ts';

export function exportHandlers({ views }: Context): Handlers<ProceduresOf<'export'>> {
  return { 'export.render': (input) => views.read(input.runId, (view) => renderExport(view, input)) };
}
