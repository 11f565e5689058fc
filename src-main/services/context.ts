import type { StoreClient } from '../../db/store-api.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import type { EventName, Events, ProcedureArguments, ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import type { Agents } from './agents/agents.ts';
import type { Catalogue } from './devices/catalogue.ts';
import type { MeasuringPrograms } from './measuring/programs.ts';
import type { Pool } from './pool.ts';
import type { RunViews } from './runs/run-view.ts';
import type { RunningRuns } from './runs/running.ts';
import type { LengthsCache } from './studies/lengths.ts';

export interface Context {
  readonly store: StoreClient;
  readonly pool: Pool;
  readonly agents: Agents;
  readonly catalogue: Catalogue;
  readonly lengths: LengthsCache;
  readonly views: RunViews;
  readonly running: RunningRuns;
  readonly resourceFolder: string;
  readonly databaseFile: string;
  readonly programs: MeasuringPrograms;
  readonly host: 'desktop' | 'serve' | 'cli';
  /** Fires when the engine closes. The programs that run for the engine then end. */
  readonly closing: AbortSignal;
  emit<Name extends EventName>(name: Name, payload: Events[Name]): void;
  changed(what: Events['store.changed']['what']): void;
}

export async function changing<T>(
  { changed }: Pick<Context, 'changed'>,
  what: Events['store.changed']['what'],
  work: Promise<Result<T>>,
): Promise<Result<T>> {
  const done = await work;
  if (done.ok) changed(what);
  return done;
}

export type Handlers<Names extends ProcedureName = ProcedureName> = {
  readonly [Name in Names]: (
    input: ProcedureArguments<Name>,
    gone?: AbortSignal,
  ) => Promise<Result<ProcedureOutput<Name>>>;
};

export type ProceduresOf<Area extends string> = Extract<ProcedureName, `${Area}.${string}`>;
