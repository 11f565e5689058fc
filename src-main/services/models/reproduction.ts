import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { ReproductionTable } from '../../../src-workers/domain/reproduction.ts';
import { reproduce, REPRODUCTIONS } from '../../../src-workers/reproductions.ts';

export function knownPaper(paper: string | undefined): Result<string | undefined> {
  if (paper === undefined || Object.hasOwn(REPRODUCTIONS, paper)) return ok(paper);
  return badInput(`paper must be one of ${Object.keys(REPRODUCTIONS).join(', ')}, not "${paper}".`);
}

export function reproduction(paper?: string): Result<readonly ReproductionTable[]> {
  const known = knownPaper(paper);
  return known.ok ? ok(reproduce(known.value)) : known;
}
