import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { ReproductionTable } from '../../src-workers/domain/reproduction.ts';
import { reproduce, REPRODUCTIONS } from '../../src-workers/reproduce.ts';

/** The tables of one paper, or of all papers. */
export function reproduction(paper?: string): Result<readonly ReproductionTable[]> {
  if (paper !== undefined && !Object.hasOwn(REPRODUCTIONS, paper))
    return fail('bad-input', `paper: got "${paper}", expected one of ${Object.keys(REPRODUCTIONS).join(', ')}`);
  return ok(reproduce(paper));
}
