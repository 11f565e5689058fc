import type { ReproductionTable } from './domain/reproduction.ts';
import { reproduceLangguth } from './models/contention/reproduce-langguth.ts';
import { reproduceBialas } from './models/divergence/reproduce-bialas.ts';
import { reproduceSwatman } from './models/imbalance/reproduce-swatman.ts';
import { reproduceHasan, reproduceKim } from './models/pipeline/reproduce-hasan-kim.ts';

export const REPRODUCTIONS: Readonly<Record<string, () => readonly ReproductionTable[]>> = {
  swatman: reproduceSwatman,
  hasan: reproduceHasan,
  kim: reproduceKim,
  langguth: reproduceLangguth,
  bialas: reproduceBialas,
};

/** Reproduces the tables of one paper, or of all papers. Throws on a name that is not in `REPRODUCTIONS`. */
export function reproduce(paper?: string): readonly ReproductionTable[] {
  const names = paper === undefined ? Object.keys(REPRODUCTIONS) : [paper];
  return names.flatMap((name) => REPRODUCTIONS[name]());
}
