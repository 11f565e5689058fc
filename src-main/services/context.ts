import type { StoreClient } from '../../db/store-api.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import type { EventName, Events, ProcedureArguments, ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import type { MeasuringPrograms } from './measuring/targets.ts';
import type { Catalogue } from './devices/catalogue.ts';
import type { Pool } from './pool.ts';

/** What every service is given. */
export interface Context {
  readonly store: StoreClient;
  readonly pool: Pool;
  readonly catalogue: Catalogue;
  /** Holds `db/`: the catalogue, migrations and examples. */
  readonly resourceFolder: string;
  readonly databaseFile: string;
  readonly programs: MeasuringPrograms;
  readonly host: 'desktop' | 'serve' | 'cli';
  /** Fires when the engine closes: programs that still run for it end. */
  readonly closing: AbortSignal;
  emit<Name extends EventName>(name: Name, payload: Events[Name]): void;
}

/** What answers the procedures of these names. */
export type Handlers<Names extends ProcedureName = ProcedureName> = {
  readonly [Name in Names]: (input: ProcedureArguments<Name>) => Promise<Result<ProcedureOutput<Name>>>;
};
