import type { ModelPage } from './page.ts';
import { agreement } from './pages/agreement.ts';
import { balancing } from './pages/balancing.ts';
import { composite } from './pages/composite.ts';
import { contention } from './pages/contention.ts';
import { divergence } from './pages/divergence.ts';
import { evidence } from './pages/evidence.ts';
import { granularity } from './pages/granularity.ts';
import { hasan } from './pages/hasan.ts';
import { imbalance } from './pages/imbalance.ts';
import { kim } from './pages/kim.ts';
import { measuring } from './pages/measuring.ts';
import { occupancy } from './pages/occupancy.ts';
import { simulator } from './pages/simulator.ts';
import { softSaturation } from './pages/soft-saturation.ts';

/** The pages in the order of the list. */
export const MODEL_PAGES = [
  imbalance, granularity, balancing, divergence, occupancy, hasan, kim, softSaturation, contention, composite, simulator, measuring, agreement, evidence,
] as const satisfies readonly ModelPage[]; // prettier-ignore

export type ModelPageId = (typeof MODEL_PAGES)[number]['id'];
