import { ok } from '../../../src-workers/domain/result.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';

export function agentHandlers({ agents }: Context): Handlers<ProceduresOf<'agents'>> {
  return { 'agents.state': async () => ok(await agents.state()) };
}
