import { fail, ok } from '../../../src-workers/domain/result.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { inspectFile } from './inspect.ts';

export function inspectHandlers(context: Context): Handlers<ProceduresOf<'kernel'>> {
  const underWay = new Map<string, AbortController>();
  return {
    'kernel.inspect': async ({ client, ...input }) => {
      const cancel = new AbortController();
      const signal = AbortSignal.any([cancel.signal, context.closing]);
      if (client !== undefined) {
        underWay.get(client)?.abort();
        underWay.set(client, cancel);
      }
      try {
        return await inspectFile(context, input, signal);
      } catch (error) {
        if (signal.aborted) return fail('cancelled', `${input.fileName}: the inspection was cancelled.`);
        throw error;
      } finally {
        if (client !== undefined && underWay.get(client) === cancel) underWay.delete(client);
      }
    },
    'kernel.cancelInspect': async ({ client }) => {
      const cancel = underWay.get(client);
      cancel?.abort();
      return ok(cancel !== undefined);
    },
  };
}
