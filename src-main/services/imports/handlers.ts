import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { importFile, inspectImport } from './imports.ts';

export function importHandlers(context: Context): Handlers<ProceduresOf<'import'>> {
  return {
    'import.inspect': (input) => inspectImport(context, input),
    'import.file': async (input) => {
      const imported = await importFile(context, input);
      if (imported.ok) context.views.dropFindings();
      context.changed('runs');
      return imported;
    },
  };
}
