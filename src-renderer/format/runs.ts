import type { RunKind } from '../../src-main/contract/api.ts';

/** What a run does, as a verb: `predict`, `measure`. */
export const RUN_VERBS: Readonly<Record<RunKind, string>> = {
  sweep: 'predict',
  simulate: 'simulate',
  bench: 'measure',
  import: 'import',
};

/** Runs that hold measured times: of this machine, or of a file. */
export function isMeasuring({ kind }: { readonly kind: RunKind }): boolean {
  return kind === 'bench' || kind === 'import';
}
