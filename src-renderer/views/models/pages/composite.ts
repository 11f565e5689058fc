import { REGIME_INFO } from '../../../../src-workers/domain/regime.ts';
import { count, percent } from '../../../format/numbers.ts';
import { controls, curves, hint, lawChoice, slider, table, type Demo, type ValuesOf } from '../demo.ts';
import { lawOf } from '../laws.ts';
import { rows, type PageContent } from '../page.ts';
import { assumed, launchModel } from '../prediction.ts';

const MULTIPROCESSORS = 16;
const UNITS_PER_GROUP = 32;
const CONTROLS = {
  law: lawChoice('geometric'),
  resident: slider('Resident blocks', { symbol: 'R', min: 1, max: 16, step: 1, default: 8 }),
  groups: slider('Groups of a block', { symbol: 'W', min: 1, max: 8, step: 1, default: 4 }),
};

const demo: Demo<ValuesOf<typeof CONTROLS>> = {
  controls: CONTROLS,
  figures: [
    ({ law, resident, groups }) => {
      const slots = MULTIPROCESSORS * resident;
      const launch = launchModel({
        law: lawOf(law),
        unitsPerGroup: UNITS_PER_GROUP,
        groupsPerBlock: groups,
        residentBlocks: resident,
        multiprocessors: MULTIPROCESSORS,
      });
      const grids = Array.from({ length: 72 }, (_, i) => Math.max(1, Math.round(((i + 1) * slots) / 12)));
      const points = (cycles: (gridBlocks: number) => number) =>
        grids.map((grid) => [grid / slots, cycles(grid) / 1e3] as const);
      return {
        blocks: [
          controls('law', 'resident', 'groups'),
          curves({
            label: 'Time of a launch by waves of blocks',
            name: 'composite',
            xTitle: 'waves of blocks',
            yTitle: 'thousand cycles',
            mark: { x: 1, text: 'one wave' },
            curves: [
              { name: 'composite', series: 1, points: points(launch.cycles) },
              { name: 'whole waves', series: 2, dashed: true, steps: true, points: points(launch.wholeWavesCycles) },
            ],
          }),
          'A block slot takes its next block as soon as the previous one ends, so time grows smoothly. Whole waves would make steps. The last blocks leave the device half empty, which whole waves do not show.',
          hint(`${assumed(MULTIPROCESSORS)} Groups of ${UNITS_PER_GROUP} units.`),
        ],
      };
    },
    () => ({
      title: 'How a time is computed',
      blocks: [
        table(
          'Ways to compute the time of a launch',
          ['', 'Median', '95th percentile', 'Designs'],
          REGIME_INFO.map(({ label, method, accuracy }) => ({
            head: label,
            under: method,
            cells: accuracy
              ? [percent(accuracy.median), percent(accuracy.p95), count(accuracy.designs)]
              : ['–', '–', '–'],
          })),
        ),
        hint(
          'On a GPU, the first of the upper eight ways that fits the launch is used. If the longest unit alone, or the starts of the blocks, take longer, that time counts. On a CPU, the last way is used. Figures: absolute difference from the event simulation over random designs; – means that there is no comparison.',
        ),
      ],
    }),
  ],
};

export const composite: PageContent = {
  group: 'Whole',
  question: 'How long does a design take on a device?',
  text: [
    'This model combines all other models. All thread groups of a scheduler advance at one rate, so time can be counted in iterations. Then each block slot is a renewal process of block depths, whatever the rate. The number of active thread groups gives the rate at every moment, and the integral over it is the time.',
    'Units of a file, a matrix, an image or a generator have an order, and a launch that keeps this order is followed block by block: each block goes to the slot that is free first, and every scheduler has its own clock. A launch of more than 8,192 thread groups (4,096 in a flattened loop) is predicted by the law of its blocks if they run about equally long from its beginning to its end.',
  ],
  equations: rows`
    T = \int_0^{\infty} t \bigl( w(v) \bigr) \, \mathrm{d}v :: Time of a launch: cycles per iteration, integrated over virtual time.
    \Pr(B > v) = 1 - F(v)^{\, n W_b} :: Depth of a block: the longest of all its units.
    w(v) = R \, W_b \, S(v) \qquad \text{(one wave)} :: Active thread groups when all blocks start together; their variance is binomial.
    T \approx \Bigl( \frac{G}{M R} \, \mathbb{E}[B] - \mathbb{E}[B_{\mathrm{res}}] \Bigr) \mathbb{E}[t(w)] + T_{\mathrm{drain}} :: Many waves: a steady state, then a drain.
  `,
  symbols: rows`
    v :: virtual time :: iterations
    t(w) :: cycles of an iteration with w active thread groups :: cycles
    B, B_{\mathrm{res}} :: depth of a block, and what is left of it at a random moment :: iterations
    S(v) :: probability that a group still runs at v
    G, M, R, W_b :: blocks, multiprocessors, resident blocks, thread groups of a block
  `,
  validity: [
    'A thread group stays with one scheduler of its multiprocessor: it competes for issue with the groups of this scheduler, and for memory with all groups. So w counts the groups that compete, and the slowest scheduler ends the launch.',
    'Blocks go to free block slots in order. Such a slot is free when the last thread group of its block ends.',
    'The error of the model is given as a band. Designs whose times differ by less than the band count as equal.',
    'Caches, changes of the clock and other work on the device are not modelled. Measure before you rely on absolute times.',
  ],
  sources: rows`
    Lockstep. Renewal of block depths in virtual time, checked against an event simulation.
  `,
  demo,
};
