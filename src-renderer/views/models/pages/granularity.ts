import { granularityCurve } from '../../../../src-workers/models/granularity/granularity.ts';
import { counted, fixed } from '../../../format/numbers.ts';
import { controls, curves, lawChoice, segmented, slider, type Demo, type ValuesOf } from '../demo.ts';
import { lawOf } from '../laws.ts';
import { rows, type PageContent } from '../page.ts';

const CONTROLS = {
  law: lawChoice('geometric'),
  width: segmented('Lanes of a thread group', { 32: 'ω = 32', 64: 'ω = 64' }, '32'),
  serial: slider('Serial fraction', { symbol: 'σ', min: 0, max: 0.5, step: 0.005, default: 0.05 }),
  cooperation: slider('Cooperation step', { symbol: 'κ', min: 0, max: 0.2, step: 0.002, default: 0 }),
}; // prettier-ignore

const demo: Demo<ValuesOf<typeof CONTROLS>> = {
  controls: CONTROLS,
  figures: [
    ({ law, width, serial, cooperation }) => {
      const rows = granularityCurve(lawOf(law), Number(width), serial, cooperation);
      const best = rows.reduce((a, b) => (b.laneCostAggregate < a.laneCostAggregate ? b : a));
      return {
        blocks: [
          controls('law', 'width', 'serial', 'cooperation'),
          curves({
            label: 'Lane cost by threads per unit',
            name: 'lane-cost',
            xTitle: 'threads per unit, u',
            yTitle: 'lane cost',
            log2: true,
            yFrom: 1,
            at: best.threadsPerUnit,
            curves: [
              { name: 'aggregate', series: 2, points: rows.map((row) => [row.threadsPerUnit, row.laneCostAggregate]) },
              { name: 'mean', series: 1, dashed: true, points: rows.map((row) => [row.threadsPerUnit, row.laneCostMean]) },
            ],
          }),
          `Best: **${counted(best.threadsPerUnit, 'thread')} × ${counted(best.unitsPerGroup, 'unit')}**, lane cost ${fixed(best.laneCostAggregate, 3)}. Its groups have a loss of ${fixed(best.aggregateLoss, 3)}. Serial fraction and cooperation step are assumed: set those of your kernel.`,
        ],
      }; // prettier-ignore
    },
  ],
};

export const granularity: PageContent = {
  group: 'Lockstep',
  question: 'How many threads should share one unit?',
  text: [
    'When threads share a unit, a group holds fewer units, so its lanes wait less. But a part of each iteration stays serial, and the threads must combine their results. The lane cost counts both. The best number of threads has the smallest lane cost.',
  ],
  equations: rows`
    n = \omega / u :: Units per group, when u threads share one unit.
    \varphi(u) = \frac{1 - \sigma}{u} + \sigma + \kappa \log_2 u :: Time of an iteration that u threads share, relative to one thread.
    C(u) = L(\omega / u) \cdot u \, \varphi(u) :: Lane cost: lane iterations spent for each iteration of work.
  `,
  symbols: rows`
    u :: threads that share one unit, a power of two
    \omega :: lanes of a thread group
    \sigma :: part of an iteration that does not speed up
    \kappa :: cost of one cooperation step, in iterations
    L(n) :: loss of a group of n units
  `,
  validity: [
    'The serial part does not depend on u. A loop with too few independent steps for u threads is not covered.',
    'Cooperation is a tree of log₂ u equal steps.',
    'Registers and memory per thread are assumed not to change with u.',
  ],
  sources: rows`
    Swatman, Varbanescu, Krasznahorkay, Pimentel (2022). Modelling Performance Loss due to Thread Imbalance in Stochastic Variable-Length SIMT Workloads. MASCOTS. :: 10.1109/MASCOTS56607.2022.00026
    Lockstep. Cost of sharing a unit, after Amdahl (1967). :: 10.1145/1465482.1465560
  `,
  demo,
};
