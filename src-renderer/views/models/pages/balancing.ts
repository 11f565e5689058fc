import type { WholeUnitBalancing } from '../../../../src-workers/domain/design.ts';
import { count, fixed } from '../../../format/numbers.ts';
import { controls, hint, lawChoice, slider, table, type Demo, type ValuesOf } from '../demo.ts';
import { lawOf } from '../laws.ts';
import { rows, type PageContent } from '../page.ts';
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
          table(
            'Loss by strategy',
            ['Strategy', { title: 'Loss above 1', barWidth: '34%' }, 'Aggregate loss'],
            strategies.map(([head], i) => ({
              head,
              note: i < 2 ? '' : 'lengths known',
              cells: [{ bar: (losses[i] - 1) / most, colour: 'part-imbalance' }, fixed(losses[i], 3)],
            })),
          ),
          hint(`Assumed: groups of ${UNITS_PER_GROUP} units; with dynamic fetch, ${FETCHED_UNITS_PER_LANE} units per lane.`),
        ],
      }; // prettier-ignore
    },
  ],
};

export const balancing: PageContent = {
  group: 'Lockstep',
  question: 'What does ordering the units before the launch save?',
  text: [
    'Groups of similar units wait less. With buckets, each group takes its units from one range of lengths. A window sort orders the units of each window; a full sort has one window for all units. Dynamic fetch has three forms: a lane takes its next unit as soon as it is done, or it takes several units at a time, or a thread group takes a unit for each of its lanes. Each strategy has a price, which the prediction adds: bytes moved and passes before the launch, or additions to a common counter during the launch.',
    'Other strategies change what a lane runs. Padding makes every lane as long as the longest unit of its slice, or of all units. An even share cuts units. Every slot takes the same number of iterations (non-zeros), or of iterations and units together (merge path). It searches for its first unit, and hands over the part of a unit that the end of its share cuts. The mixed strategy puts units in classes of length; each class has its own threads per unit and its own launch.',
  ],
  equations: rows`
    \mathbb{E}[M_i] = \sum_{x \ge 0} \Pr \bigl( \mathrm{Bin}(M, F(x)) < i \, n \bigr) :: Expected longest unit of the i-th group of a sorted window of M units.
    t_f(w) = t\Bigl(\tau + \frac{E}{D} \lambda,\; \max\bigl(c \, w, \frac{A}{D} \frac{G}{r}\bigr)\Bigr) :: Cycles of an iteration while there are units to fetch: the latency of the counter adds to that of an iteration, and the additions to it are one more resource. This counts for the D iterations until the units run out. The last round, in which no lane finds a unit, is counted in the same way over the iterations of the drain.
    T = T_p + \sum_{c} \bigl( T_c(u_c) + T_s \bigr) :: Mixed: the launches of the classes, one after another. For each number of classes, the limits between classes minimise the work, longest unit and start, summed over the launches.
    L_k = \frac{1}{\mathbb{E}[W]} \sum_{b=1}^{k} p_b \, \mathbb{E}\bigl[ W^{(b)}_{(n:n)} \bigr] :: Aggregate loss with k buckets: each bucket has its own, narrower law.
  `,
  symbols: rows`
    M :: units of a window
    k :: number of buckets
    p_b :: share of the units in bucket b
    W^{(b)} :: length of a unit of bucket b :: iterations
    T_c(u) :: time of the launch of class c with u threads per unit :: ms
    T_p, T_s :: the pass that makes the classes, and the start of a further launch, 0.003 ms, assumed :: ms
    D :: iterations of a group until the units run out :: iterations
    E, A :: number of the D iterations after which a lane fetches; additions of a group to the counter (A = E if the compiler merges the additions of the lanes: NVIDIA, AMD)
    r :: additions that the counter serves, assumed as on an H100 :: 0.68 per cycle
    \lambda :: latency of an addition, assumed to be half the latency of a load from device memory :: cycles
    G :: thread groups of the device
  `,
  validity: [
    'Sorting and buckets need lengths that are known before the launch. Dynamic fetch does not.',
    'The model of dynamic fetch is an approximation: it assumes that units end independently of each other. If the units have an order, the model knows which units each fetch takes and which are under way at the end. Only what the lanes then still have to run is assumed to be independent.',
    'Shuffled units count as independent draws. The shuffle writes and reads a permutation, and moves the units.',
    'One counter, which stays in the L2 cache, serves 0.68 additions per cycle for the whole device, as measured on an H100. Code that adds once for a whole thread group needs fewer additions.',
    'Passes are assumed to run at the full bandwidth of the memory, so their price is a lower bound.',
  ],
  sources: rows`
    Lockstep. The window sort is computed exactly, by binomial order statistics; the best buckets by dynamic programming.
    Lockstep (2026). Fetches from one counter on an H100 (test/data/measured). NVIDIA (2012). Kepler GK110 whitepaper: one atomic operation per clock on a common address.
    Adinets, Merrill (2022). Onesweep: a faster least significant digit radix sort for GPUs. arXiv:2206.01784.
  `,
  demo,
};
