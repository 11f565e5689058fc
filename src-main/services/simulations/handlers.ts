import { ok } from '../../../src-workers/domain/result.ts';
import { Turns } from '../turns.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import {
  ownSimulations,
  simulatedRows,
  simulationRequest,
  simulationTimeline,
  startSimulations,
} from './simulations.ts';

export function simulationHandlers(context: Context): Handlers<ProceduresOf<'simulations'>> {
  const { store, views, running } = context;
  const turns = new Turns();
  return {
    'simulations.start': (input) => running.start(startSimulations(context, input)),
    'simulations.list': async ({ runId }) => {
      const run = await store.getRun(runId);
      if (!run.ok) return run;
      if (run.value.kind !== 'simulate') return views.read(runId, (view) => ok(simulatedRows(view, view.simulated)));
      const request = simulationRequest(run.value);
      if (!request.ok) return request;
      const own = await ownSimulations(context, runId);
      return own.ok ? views.read(request.value.sourceRunId, (view) => ok(simulatedRows(view, own.value))) : own;
    },
    'simulations.timeline': ({ client, ...asked }, gone) =>
      turns.take(client, [gone], (signal) =>
        views.read(asked.runId, (view) => simulationTimeline(context, view, asked, signal)),
      ),
  };
}
