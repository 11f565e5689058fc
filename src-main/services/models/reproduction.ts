import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { ReproductionTable } from '../../../src-workers/domain/reproduction.ts';
import { reproduce, REPRODUCTIONS } from '../../../src-workers/reproductions.ts';

/** Checks that there is such a paper. `undefined` means all papers. */
export function knownPaper(paper: string | undefined): Result<string | undefined> {
  if (paper === undefined || Object.hasOwn(REPRODUCTIONS, paper)) return ok(paper);
  return badInput(`paper must be one of ${Object.keys(REPRODUCTIONS).join(', ')}, not "${paper}".`);
}

/** Returns the tables of one paper, or of all papers. */
export function reproduction(paper?: string): Result<readonly ReproductionTable[]> {
  const known = knownPaper(paper);
  return known.ok ? ok(reproduce(known.value)) : known;
}
