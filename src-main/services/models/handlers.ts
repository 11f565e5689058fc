import { fail, ok } from '../../../src-workers/domain/result.ts';
import { resolveWorkload } from '../../../src-workers/parse/grammar.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { knownPaper } from './reproduction.ts';

export function modelHandlers({ pool }: Context): Handlers<ProceduresOf<'models'>> {
  return {
    'models.play': async ({ lengths, ...request }) => {
      const law = await resolveWorkload(lengths, {
        openFile: async (path) => fail('bad-input', `lengths: "${path}" is a file. Specify a distribution.`),
      });
      return law.ok ? pool.run('play', { law: law.value, request }) : law;
    },
    'models.reproduce': async ({ paper }) => {
      const known = knownPaper(paper);
      return known.ok ? ok(await pool.run('reproduce', { paper })) : known;
    },
  };
}
