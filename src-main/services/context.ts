import type { StoreClient } from '../../db/store-api.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import type { EventName, Events, ProcedureArguments, ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import type { Agents } from './agents/agents.ts';
import type { Catalogue } from './devices/catalogue.ts';
import type { MeasuringPrograms } from './measuring/programs.ts';
import type { Pool } from './pool.ts';
import type { RunViews } from './runs/run-view.ts';
import type { RunningRuns } from './runs/running.ts';

/** Objects that every service receives. */
export interface Context {
  readonly store: StoreClient;
  readonly pool: Pool;
  readonly agents: Agents;
  readonly catalogue: Catalogue;
  /** Runs opened for reading. */
  readonly views: RunViews;
  /** Runs that execute in this engine. */
  readonly running: RunningRuns;
  /** Holds `db/`: the catalogue, migrations and examples. */
  readonly resourceFolder: string;
  readonly databaseFile: string;
  readonly programs: MeasuringPrograms;
  readonly host: 'desktop' | 'serve' | 'cli';
  /** Fires when the engine closes: programs that still run for it end. */
  readonly closing: AbortSignal;
  emit<Name extends EventName>(name: Name, payload: Events[Name]): void;
  /** Says that something in the store changed. */
  changed(what: Events['store.changed']['what']): void;
}

/** Handlers for the procedures of these names. */
export type Handlers<Names extends ProcedureName = ProcedureName> = {
  /** `gone` fires when the page that asks has gone away. */
  readonly [Name in Names]: (
    input: ProcedureArguments<Name>,
    gone?: AbortSignal,
  ) => Promise<Result<ProcedureOutput<Name>>>;
};

/** The procedures of an area: those whose names begin with it. */
export type ProceduresOf<Area extends string> = Extract<ProcedureName, `${Area}.${string}`>;
