import type { Result } from '../../src-workers/domain/result.ts';
import type { ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import type { Engine } from '../services/engine.ts';

/** Calls a procedure of the contract: checked there as any host's call is, typed here. */
export async function called<Name extends ProcedureName>(
  engine: Engine,
  name: Name,
  input: unknown,
): Promise<Result<ProcedureOutput<Name>>> {
  return await engine.call(name, input);
}
