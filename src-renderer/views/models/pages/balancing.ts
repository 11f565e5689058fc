import type { WholeUnitBalancing } from '../../../../src-workers/domain/design.ts';
import { count, fixed } from '../../../format/numbers.ts';
import { controls, hint, lawChoice, slider, type Demo, type ValuesOf } from '../demo.ts';
import { lawOf } from '../laws.ts';
import { rows, type ModelPage } from '../page.ts';
import { orderedLoss } from '../prediction.ts';

const UNITS_PER_GROUP = 32;
const FETCHED_UNITS_PER_LANE = 8;
const CONTROLS = {
  law: lawChoice('geometric'),
  buckets: slider('Buckets', { symbol: 'k', min: 1, max: 16, step: 1, default: 4 }),
  window: slider('Window', { symbol: 'M', unit: 'units', min: 32, max: 4096, step: 32, default: 1024 }),
};

const demo: Demo<ValuesOf<typeof CONTROLS>> = {
  controls: CONTROLS,
  figures: [
    ({ law: id, buckets, window }) => {
      const strategies: readonly (readonly [label: string, balancing: WholeUnitBalancing])[] = [
        ['None', { kind: 'none' }],
        ['Dynamic fetch', { kind: 'dynamic-fetch' }],
        [`${buckets} buckets at quantiles`, { kind: 'quantile-buckets', k: buckets }],
        [`${buckets} best buckets`, { kind: 'best-buckets', k: buckets }],
        [`Sorted windows of ${count(window)}`, { kind: 'window-sort', units: window }],
        ['Full sort', { kind: 'full-sort' }],
      ];
      const law = lawOf(id);
      const losses = strategies.map(([, balancing]) =>
        orderedLoss(law, UNITS_PER_GROUP, balancing, balancing.kind === 'dynamic-fetch' ? FETCHED_UNITS_PER_LANE : 1),
      );
      const most = Math.max(...losses.map((loss) => loss - 1), 1e-9);
      return {
        blocks: [
          controls('law', 'buckets', 'window'),
          {
            kind: 'table',
            label: 'Loss by strategy',
            columns: ['Strategy', { title: 'Loss above 1', barWidth: '34%' }, 'Aggregate loss'],
            rows: strategies.map(([head], i) => ({
              head,
              note: i < 2 ? '' : 'lengths known',
              cells: [{ bar: (losses[i] - 1) / most, colour: 'part-imbalance' }, fixed(losses[i], 3)],
            })),
          },
          hint(`Assumed: groups of ${UNITS_PER_GROUP} units; with dynamic fetch, ${FETCHED_UNITS_PER_LANE} units per lane.`),
        ],
      }; // prettier-ignore
    },
  ],
};

export const balancing = {
  id: 'balancing',
  label: 'Balancing',
  group: 'Lockstep',
  question: 'What does ordering the units before the launch save?',
  text: [
    'Groups of similar units wait less. With buckets, each group takes its units from one range of lengths. A window sort puts neighbouring units in order; a full sort is its limit. With dynamic fetch, a lane takes its next unit as soon as it is done. Each strategy has a price in bytes moved, in passes or in atomic operations, which the prediction adds.',
  ],
  equations: rows`
    \mathbb{E}[M_i] = \sum_{x \ge 0} \Pr \bigl( \mathrm{Bin}(M, F(x)) < i \, n \bigr) :: Expected longest unit of the i-th group of a sorted window of M units.
    L_k = \frac{1}{\mathbb{E}[W]} \sum_{b=1}^{k} p_b \, \mathbb{E}\bigl[ W^{(b)}_{(n:n)} \bigr] :: Aggregate loss with k buckets: each bucket has its own, narrower law.
  `,
  symbols: rows`
    M :: units of a window
    k :: number of buckets
    p_b :: share of the units in bucket b
    W^{(b)} :: length of a unit of bucket b :: iterations
  `,
  validity: [
    'Sorting and buckets need lengths that are known before the launch. Dynamic fetch does not.',
    'The model of dynamic fetch is an approximation: it assumes that units end independently of each other.',
    'Passes are assumed to run at the full bandwidth of the memory, so their price is a lower bound.',
  ],
  sources: rows`
    Lockstep. Window sort exactly by binomial order statistics; best buckets by dynamic programming.
    Adinets, Merrill (2022). Onesweep: a faster least significant digit radix sort for GPUs. arXiv:2206.01784.
  `,
  demo,
} as const satisfies ModelPage;
