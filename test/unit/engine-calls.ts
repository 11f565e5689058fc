import { join } from 'node:path';
import type { RunProgress, RunSummary } from '../../src-main/contract/api.ts';
import type { EventName, Events, ProcedureName, ProcedureOutput } from '../../src-main/contract/procedures.ts';
import { openEngine, type Engine, type EngineOptions, type OpenEngine } from '../../src-main/services/engine.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';

/** Opens the engine of a command on a database, with one worker. The caller closes the engine. */
export async function testEngine(databaseFile: string, more: Partial<EngineOptions> = {}): Promise<OpenEngine> {
  const resourceFolder = join(import.meta.dirname, '../..');
  return unwrap(await openEngine({ databaseFile, resourceFolder, host: 'cli', workers: 1, ...more }));
}

export async function call<Name extends ProcedureName>(
  engine: Engine,
  name: Name,
  input: unknown,
): Promise<ProcedureOutput<Name>> {
  return unwrap((await engine.dispatch(name, input)) as Result<ProcedureOutput<Name>>);
}

/** Returns the reason why a procedure refuses an input, or "ok". */
export async function refusal(engine: Engine, name: ProcedureName, input: unknown): Promise<string> {
  const result = await engine.dispatch(name, input);
  return result.ok ? 'ok' : result.error.message;
}

/** Procedures that begin or continue a run. */
export type StartName = {
  [Name in ProcedureName]: ProcedureOutput<Name> extends { readonly runId: number } ? Name : never;
}[ProcedureName];

/** Resolves with the first event `name` that `isWanted` accepts. */
export function heard<Name extends EventName>(
  engine: Engine,
  name: Name,
  isWanted: (payload: Events[Name]) => boolean = () => true,
): Promise<Events[Name]> {
  return new Promise((resolve) => {
    const off = engine.subscribe((event, payload) => {
      if (event !== name || !isWanted(payload as Events[Name])) return;
      off();
      resolve(payload as Events[Name]);
    });
  });
}

export const finished = (engine: Engine, runId: number): Promise<RunSummary> =>
  heard(engine, 'run.finished', ({ id }) => id === runId);

/** Resolves when a run has saved at least `designs` designs. */
export const progressed = (engine: Engine, designs = 1): Promise<RunProgress> =>
  heard(engine, 'run.progress', ({ done }) => done >= designs);

/** Starts a run by a procedure, and resolves with the run at its end, even if the run ends at once. */
export async function ended(engine: Engine, name: StartName, input: unknown): Promise<RunSummary> {
  const runs = new Map<number, RunSummary>();
  let wake = (): void => {};
  const off = engine.subscribe((event, payload) => {
    if (event !== 'run.finished') return;
    runs.set((payload as RunSummary).id, payload as RunSummary);
    wake();
  });
  const { runId } = await call(engine, name, input);
  while (!runs.has(runId)) await new Promise<void>((resolve) => (wake = resolve));
  off();
  return runs.get(runId)!;
}
