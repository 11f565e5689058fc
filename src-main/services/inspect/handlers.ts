import { fail, ok } from '../../../src-workers/domain/result.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { Turns } from '../turns.ts';
import { inspectFile } from './inspect.ts';

export function inspectHandlers(context: Context): Handlers<ProceduresOf<'kernel'>> {
  const turns = new Turns();
  return {
    'kernel.inspect': ({ client, ...input }) =>
      turns.take(client, async (turn) => {
        const signal = AbortSignal.any([turn, context.closing]);
        try {
          return await inspectFile(context, input, signal);
        } catch (error) {
          if (signal.aborted) return fail('cancelled', `${input.fileName}: the inspection was cancelled.`);
          throw error;
        }
      }),
    'kernel.cancelInspect': async ({ client }) => ok(turns.cancel(client)),
  };
}
