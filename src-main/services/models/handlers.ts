import { ok, badInput } from '../../../src-workers/domain/result.ts';
import { resolveWorkload } from '../../../src-workers/parse/grammar.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { resolveLengths } from '../studies/workloads.ts';
import { lengthsInOrder, withNote } from './loss.ts';
import { knownPaper } from './reproduction.ts';

export function modelHandlers(context: Context): Handlers<ProceduresOf<'models'>> {
  const { pool } = context;
  return {
    'models.play': async ({ lengths, ...request }) => {
      const law = await resolveWorkload(lengths, {
        openFile: async (path) => badInput(`lengths: "${path}" is a file. Specify a distribution.`),
      });
      return law.ok ? ok(await pool.run('play', { law: law.value, request })) : law;
    },
    'models.loss': async ({ workload: { lengths, truncation }, n: groupSizes, quantiles, folder = null }) => {
      const found =
        typeof lengths === 'string'
          ? await resolveLengths(context, lengths, folder, truncation)
          : lengthsInOrder(lengths);
      if (!found.ok) return found;
      const { law, order, note } = found.value;
      const given = order?.given ? order.iterations : null;
      return ok(withNote(await pool.run('loss', { law, lengths: given, groupSizes, quantiles }), note));
    },
    'models.reproduce': async ({ paper }) => {
      const known = knownPaper(paper);
      return known.ok ? ok(await pool.run('reproduce', { paper })) : known;
    },
  };
}
