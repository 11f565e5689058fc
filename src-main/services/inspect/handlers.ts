import { ok } from '../../../src-workers/domain/result.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { Turns } from '../turns.ts';
import { inspectFile } from './inspect.ts';

export function inspectHandlers(context: Context): Handlers<ProceduresOf<'kernel'>> {
  const turns = new Turns();
  return {
    'kernel.inspect': ({ client, ...input }, gone) =>
      turns.take(client, [gone, context.closing], (signal) => inspectFile(context, input, signal)),
    'kernel.cancelInspect': async ({ client }) => ok(turns.cancel(client)),
  };
}
