import { lossMoments } from '../../../../src-workers/models/imbalance/closed-form.ts';
import { count, fixed } from '../../../format/numbers.ts';
import { controls, curves, draw, lawChoice, segmented, type Demo, type ValuesOf } from '../demo.ts';
import { lawOf } from '../laws.ts';
import { lossDistributionChart, lossDistributionTable, type ObservedLoss } from '../loss-distribution-chart.ts';
import { rows, type PageContent } from '../page.ts';
import { PUBLISHED_GROUPS } from '../published-groups.ts';

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const CONTROLS = {
  law: lawChoice('rare'),
  drawnLaw: lawChoice('geometric', undefined, 'Lengths in the distribution'),
  drawnSize: segmented('Units per group', { 2: '2', 4: '4', 8: '8', 16: '16', 32: '32' }, '32'),
  seed: draw('Draw again'),
}; // prettier-ignore

const demo: Demo<ValuesOf<typeof CONTROLS>, 'lossDistribution'> = {
  controls: CONTROLS,
  answer: {
    name: 'lossDistribution',
    input: ({ drawnLaw, drawnSize, seed }) => ({ law: drawnLaw, n: Number(drawnSize), seed }),
    computing: 'Computing the distribution, and simulating groups beside it.',
    heightPx: 290,
  },
  figures: [
    ({ law }) => {
      const rows = lossMoments(lawOf(law), SIZES);
      const at = (n: number) => rows.find((row) => row.n === n)!;
      return {
        blocks: [
          controls('law'),
          curves({
            label: 'Mean and aggregate loss by group size',
            name: 'loss',
            xTitle: 'units per group, n',
            yTitle: 'loss',
            log2: true,
            yFrom: 1,
            at: 32,
            curves: [
              { name: 'aggregate', series: 2, points: rows.map(({ n, aggregateLoss }) => [n, aggregateLoss]) },
              { name: 'mean', series: 1, points: rows.map(({ n, meanLoss }) => [n, meanLoss]) },
            ],
          }),
          law === 'rare'
            ? `Here the two averages disagree. A unit has 1 iteration with probability 0.9, else 100. With groups of 32 units the mean loss is **${fixed(at(32).meanLoss, 2)}**, with 256 units only **${fixed(at(256).meanLoss, 2)}**: larger groups seem to waste less. They do not. A group with one long unit among few short ones has a very large loss, and such groups dominate the mean over groups; in larger groups they are less extreme. The aggregate loss is the time spent divided by the work done, and it only grows: ${fixed(at(32).aggregateLoss, 2)}, then ${fixed(at(256).aggregateLoss, 2)}.`
            : `At n = 32 the mean loss is **${fixed(at(32).meanLoss, 3)}** and the aggregate loss **${fixed(at(32).aggregateLoss, 3)}**. Choose the last law of the list to see the two losses disagree.`,
        ],
      };
    },
    ({ drawnLaw, drawnSize }, _, answer) => {
      const published = PUBLISHED_GROUPS.find(({ law, n }) => law === drawnLaw && n === Number(drawnSize));
      const part = (counts: readonly number[]) => counts.map((each) => each / published!.groups);
      const observed: ObservedLoss[] = [];
      if (answer) observed.push({ name: 'simulated here', probability: answer.value.observed[0] });
      if (published && !answer?.pending)
        observed.push(
          { name: 'simulated by the authors', probability: part(published.simulated) },
          { name: 'measured on a GPU', probability: part(published.measured) },
        );
      return {
        title: 'Distribution of the loss',
        hint: 'as in Fig. 2',
        waits: true,
        blocks: [
          controls('drawnLaw', 'drawnSize'),
          answer && {
            kind: 'chart',
            label: 'Distribution of the loss of a group: model and observations',
            name: 'loss-distribution',
            heightPx: 262,
            build: (theme, size) => lossDistributionChart({ ...answer.value, observed }, theme, size),
            data: () => lossDistributionTable({ ...answer.value, observed }),
          },
          answer && {
            kind: 'controls',
            ids: ['seed'],
            note: `Mean **${fixed(answer.value.modelledMean, 4)}** by the model, ${fixed(answer.value.simulatedMean, 4)} over ${count(answer.value.groups)} simulated groups`,
          },
          published
            ? `The authors’ marks show ${count(published.groups)} of their public groups. Measured losses scatter more than the model, because cycles contain more than iterations. The first and the last bin also count the losses beyond them.`
            : 'The chart compares with the authors’ own groups only for geometric(0.05) and uniform(20, 40) with 32 units per group. The data behind their Figure 3 is not public.',
        ],
      };
    },
  ],
};

export const imbalance: PageContent = {
  group: 'Lockstep',
  question: 'How much time do lanes spend waiting for the longest unit of their group?',
  text: [
    'Units that run in lockstep all take as long as the longest of them. The loss of a group is that time divided by the time that its units need one by one; 1 means no loss.',
    'Two averages of the loss are in use, and they answer different questions. The mean loss is the average over groups: a short group counts as much as a long one. The aggregate loss is all lockstep time divided by all work. A long launch pays the aggregate loss, and the predicted times use it.',
  ],
  equations: rows`
    H(w) = \frac{n \, \max(w)}{\sum_{i=1}^{n} w_i} :: Loss of one group of n units. :: Eq. 5
    \mathbb{E}[X_W(n)] = n \int_0^\infty \sum_{a < A} \bigl[ H_A(s) - H_a(s) \bigr] \, \mathrm{d}s, \qquad H_a(s) = \Bigl( \sum_{j \le a} f(j) \, e^{-js} \Bigr)^{n} :: Mean loss without computing its distribution: one over the sum is written as an integral, in which the distribution of the maximum factorises. This form is ours; the paper uses convolutions.
    L_{\mathrm{agg}}(n) = \frac{\mathbb{E}[W_{(n:n)}]}{\mathbb{E}[W]} = \frac{\sum_{v \ge 0} \bigl( 1 - F(v)^n \bigr)}{\mathbb{E}[W]} :: Aggregate loss: expected longest unit divided by expected unit.
  `,
  symbols: rows`
    W :: length of a unit of work, a random number of iterations :: iterations
    f, F :: probability of a length, and of at most that length
    n :: units that run in lockstep
    A :: largest length of the law :: iterations
    X_W(n) :: loss of a group of n independent units
  `,
  validity: [
    'Units are independent draws from one law. If a workload has an order, the Study view also shows its exact loss: neighbours of similar length lose less, sorted units far less.',
    'Every iteration costs the same, and lanes reconverge after every unit.',
    'Infinite laws are cut where a probability of one millionth is left. The cut is reported.',
    'The samples behind the paper’s Figure 3 are not public, so that comparison cannot be repeated. The samples behind Figure 2 are public in part.',
  ],
  sources: rows`
    Swatman, Varbanescu, Krasznahorkay, Pimentel (2022). Modelling Performance Loss due to Thread Imbalance in Stochastic Variable-Length SIMT Workloads. MASCOTS. :: 10.1109/MASCOTS56607.2022.00026
  `,
  tables: { paper: 'swatman' },
  demo,
};
