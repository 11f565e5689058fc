import { MODEL_NAMES, type ModelName } from './names.ts';
import type { ModelPage, PageContent } from './page.ts';
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

const CONTENTS: Readonly<Record<ModelName['id'], PageContent>> = {
  imbalance, granularity, balancing, divergence, occupancy, hasan, kim, 'soft-saturation': softSaturation,
  contention, composite, simulator, measuring, agreement, evidence,
}; // prettier-ignore
export const MODEL_PAGES: readonly ModelPage[] = MODEL_NAMES.map((name) => ({ ...name, ...CONTENTS[name.id] }));
