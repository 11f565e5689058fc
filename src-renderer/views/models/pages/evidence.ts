import type {
  ChoiceEvidence,
  EvidenceAxis,
  GpuDetail,
  GpuEvidence,
  UnseenEvidence,
} from '../../../../src-workers/domain/evidence.ts';
import { LAUNCH_DATASETS } from '../../../../src-workers/models/launches/datasets.ts';
import { SPMV_DATASETS } from '../../../../src-workers/models/spmv/datasets.ts';
import { count, fixed, percent, plain } from '../../../format/numbers.ts';
import {
  controls,
  hint,
  table,
  type Choice,
  type Demo,
  type Figure,
  type MakeFigure,
  type Row,
  type ValuesOf,
} from '../demo.ts';
import { EVIDENCE_AXES, pointsTable, residualsChart, timesChart } from '../evidence-chart.ts';
import { rows, type PageContent } from '../page.ts';

const readGpu = (id: string, column: string, device: string, names: readonly string[], over: readonly EvidenceAxis[]) => ({
  value: `${id} ${column}`,
  id,
  column,
  device,
  names,
  over,
}); // prettier-ignore
const GPUS = [
  ...SPMV_DATASETS.flatMap(({ id, gpus }) =>
    gpus.map(({ column, device, implementations }) => {
      const names = implementations.map(({ name }) => name);
      return readGpu(id, column, device, names, ['nonzeros', 'skewness']);
    }),
  ),
  ...LAUNCH_DATASETS.flatMap(({ id, gpus }) =>
    gpus.map(({ column, device, implementation }) => readGpu(id, column, device, [implementation], ['blocks'])),
  ),
];
const gpuOf = (value: string) => GPUS.find((one) => one.value === value) ?? GPUS[0];
const FIRST = 'ginkgo V100-SXM2';

const CONTROLS = {
  gpu: {
    kind: 'select',
    label: 'Measured on',
    options: ({ gpus }) =>
      GPUS.map(({ id: dataset, column, device, value }) => ({
        value,
        label:
          column === 'unnamed' ? 'A GPU that is not named' : (gpus.find(({ id }) => id === device)?.name ?? column),
        detail: dataset,
      })),
    default: FIRST,
  } satisfies Choice,
  implementation: {
    kind: 'segmented',
    label: '',
    name: 'Implementation',
    options: (_, { gpu }) => gpuOf(String(gpu)).names.map((name) => ({ value: name, label: spaced(name) })),
    default: 'csr',
  } satisfies Choice,
  over: {
    kind: 'segmented',
    label: 'Errors over',
    options: (_, { gpu }) =>
      EVIDENCE_AXES.filter(({ id }) => gpuOf(String(gpu)).over.includes(id)).map(({ id, label }) => ({
        value: id,
        label,
      })),
    default: 'nonzeros',
  } satisfies Choice,
};
type Chosen = ValuesOf<typeof CONTROLS>;

const quiet = (text: string | null) => ({ text: text ?? '–', tone: 'quiet' as const });
const spaced = (name: string) => name.replace('_', ' ');
const factor = (regret: number | null): string => (regret === null ? '–' : fixed(regret, 3));

function choiceRows({ choice, choiceLarge }: GpuEvidence, unseen: UnseenEvidence | null): readonly Row[] {
  const row = (head: string, read: (choice: ChoiceEvidence) => string, under?: string): Row => ({
    head,
    ...(under !== undefined && { under }),
    cells: [choice, choiceLarge].map((one) => (one ? read(one) : '–')),
  });
  return [
    { ...row('Least predicted time', ({ regret }) => factor(regret)), strong: true },
    row('95 % below', ({ regretP95 }) => factor(regretP95)),
    row('Best fixed choice', ({ bestFixed }) =>
      bestFixed ? `${spaced(bestFixed.name)} ${factor(bestFixed.regret)}` : '–',
    ),
    row('Fit of four numbers', ({ fourNumbersRegret }) => factor(fourNumbersRegret), 'start, bytes, longest row, rows'),
    ...(unseen
      ? [
          {
            head: 'Parameters of other GPUs',
            cells: [factor(unseen.regret), factor(unseen.regretLarge)],
            under: 'its own measurements left out',
          },
        ]
      : []),
  ];
}

function choiceFigure({ gpu, unseen, points }: GpuDetail): Figure | null {
  if (!gpu.choice) return null;
  const isMatrices = points.over.nonzeros !== undefined;
  const found = choiceRows(gpu, unseen).filter(({ cells }) => cells.some((cell) => cell !== '–'));
  return {
    title: isMatrices ? 'Choice of an implementation' : 'Choice of a launch',
    hint: 'time divided by the shortest measured time',
    blocks: [
      isMatrices
        ? table('Choice', ['Chosen by', 'All matrices', '≥ 10⁶ non-zeros'], found)
        : table(
            'Choice',
            ['Chosen by', 'All kernels'],
            found.map((row) => ({ ...row, cells: row.cells.slice(0, 1) })),
          ),
    ],
  };
}

function times({ points, gpu }: GpuDetail, { gpu: chosen, implementation, over }: Chosen): Figure {
  const found = gpu.implementations.find(({ name }) => name === implementation);
  if (!found) return { blocks: [] };
  const isMatrices = points.over.nonzeros !== undefined;
  const what = isMatrices ? 'matrices' : points.unit === '' ? 'losses' : 'launches';
  const label = `${implementation}: measured against predicted times of ${count(points.names.length)} ${what}`;
  const axes = EVIDENCE_AXES.filter(({ id }) => points.over[id]);
  const axis = axes.find(({ id }) => id === over) ?? axes[0];
  return {
    title: 'Predicted and measured',
    waits: true,
    blocks: [
      `${found.takes.charAt(0).toUpperCase()}${found.takes.slice(1)}.`,
      {
        kind: 'facts',
        facts: [
          ['median error', percent(found.medianError, 1)],
          ['90 % of errors below', percent(found.p90Error, 0)],
          ['rank correlation', fixed(found.spearman, 3)],
          [what, count(found.count)],
        ],
      },
      {
        kind: 'chart',
        label,
        name: 'evidence-times',
        heightPx: 300,
        renderer: 'canvas',
        build: (theme, size) => timesChart(points, theme, size),
        data: () => pointsTable(points),
      },
      axes.length > 1 && controls('over'),
      axis && {
        kind: 'chart' as const,
        label: `${implementation}: ratio of measured to predicted time, by ${axis.title}`,
        name: 'evidence-residuals',
        heightPx: 220,
        renderer: 'canvas' as const,
        build: (theme, size) => residualsChart(points, axis, theme, size),
        data: () => pointsTable(points),
      },
      isMatrices &&
        hint(
          'Each matrix is predicted with parameters that were fitted to four fifths of the matrices, without this one.',
        ),
      axis && hint('Points beyond a factor of 4 are drawn at the edge.'),
      ...(isMatrices ? [] : [hint(LAUNCH_DATASETS.find(({ id }) => id === gpuOf(chosen).id)!.notes.join(' '))]),
    ],
  };
}

const ofMatrices =
  (make: (gpu: GpuEvidence) => Figure): MakeFigure<Chosen, 'evidence.gpu'> =>
  (_, __, answer) =>
    answer?.value.points.over.nonzeros ? make(answer.value.gpu) : null;

const demo: Demo<Chosen, 'evidence.gpu'> = {
  controls: CONTROLS,
  answer: {
    name: 'evidence.gpu',
    input: ({ gpu, implementation }) => {
      const found = gpuOf(gpu);
      return { dataset: found.id, gpu: found.column, implementation };
    },
    failure: 'The predictions could not be compared with the evidence',
    computing: 'Predicting every measured launch of this GPU. The first time, this takes some seconds.',
    heightPx: 640,
  },
  figures: [
    () => ({ blocks: [controls('gpu', 'implementation')] }),
    (values, _, answer) =>
      answer ? times(answer.value, values) : { title: 'Predicted and measured', waits: true, blocks: [] },
    (_, __, answer) => (answer ? choiceFigure(answer.value) : null),
    ofMatrices(({ implementations }) => ({
      title: 'All implementations',
      hint: 'median error',
      blocks: [
        table(
          'Implementations',
          ['Implementation', 'Model', 'Four numbers'],
          implementations.map(({ name, medianError, fourNumbers }) => ({
            head: spaced(name),
            cells: [percent(medianError, 1), quiet(fourNumbers && percent(fourNumbers.medianError, 1))],
          })),
        ),
      ],
    })),
    ofMatrices(({ implementations }) => ({
      title: 'Rank correlation of times',
      hint: 'within an implementation',
      blocks: [
        table(
          'Rank correlations',
          ['Implementation', 'All', '≥ 10⁶ non-zeros', 'Nearest matrices'],
          implementations.map(({ name, spearman, large, nearest }) => ({
            head: spaced(name),
            cells: [
              fixed(spearman, 3),
              large ? fixed(large.spearman, 3) : '–',
              quiet(nearest && fixed(nearest.spearman, 3)),
            ],
          })),
        ),
        hint(
          'The rank correlation is low if most matrices take little longer than an empty launch: neighbours in rank then differ by less than the noise of the measurement. An order by the measured times of the nearest matrices, without a model, is hardly better.',
        ),
      ],
    })),
    ({ implementation }, _, answer) => {
      const parameters =
        answer?.value.gpu.implementations.find(({ name }) => name === implementation)?.parameters ?? [];
      if (parameters.length === 0) return null;
      const rows = parameters.map(({ label, meaning, unit, value, standardError, lower, upper }) => ({
        head: label,
        under: meaning,
        ...(unit !== '1' && { note: unit }),
        cells: [
          plain(value, 3),
          standardError === null ? quiet('not determined') : plain(standardError, 2),
          quiet(`${plain(lower, 2)} to ${plain(upper, 2)}`),
        ],
      }));
      return {
        title: 'Fitted parameters',
        hint: spaced(implementation),
        blocks: [table('Parameters', ['Parameter', 'Value', '±', 'Range'], rows)],
      };
    },
  ],
};

export const evidence: PageContent = {
  group: 'Measured',
  question: 'Does the model agree with real GPUs, where anyone can check it?',
  text: [
    'Public measurements test the predicted times by which designs are ranked. The sparse matrix-vector products are of 1,389 matrices on seven GPUs in four to six implementations (Ginkgo, double precision), and of 1,174 matrices with three schedules (gunrock/loops, single precision). The prediction knows the size of a matrix, the quartiles and moments of its row lengths and, for Ginkgo, the depth of its slices in file order.',
    'Other public measurements are of block sizes of a convolution (Kernel Tuner), launch shapes (Hasan), losses of groups (SMITE) and a software GPU.',
    'Our own measurements on an H100 (loops and sparse products) are not public. They were also used to build the model: seven of its terms were found or checked in them, so they are no independent test.',
    'Each sparse product is predicted as a design: the arrays it reads, how it takes the rows, and its library’s launch. Four or five inputs that no data sheet gives are fitted for each GPU and implementation, on some of the matrices. The matrices are divided into fifths, and each is judged by a fit that leaves out its fifth. What counts is the choice: how much slower the implementation with the shortest predicted time is than the fastest in the measurements.',
  ],
  equations: rows`
    T = t_0 + \max \bigl( T_{\mathrm{predicted}}(\varphi, \lambda, \gamma), \; a \, n_a \bigr) :: Start of the launch, plus the longer of two times: the predicted time of the design, and the time of the additions to the result of the longest row, one after another.
    B = \varphi \, \beta :: Bandwidth in the prediction.
    \tau = k \, \tau_1 + \lambda \, \tau_m \sum_i \bigl( 0.6 f_i + 0.42 (m_i - f_i) + 0.07 (1 - m_i) \bigr) :: Latency of an iteration: its chain of arithmetic, and its loads one after another. A load takes the latency of the level at which the slowest active lane finds its data: the first-level cache, the level-2 cache or device memory.
    h = \bigl( 1 + (f / C)^3 \bigr)^{-1/3} :: Share of random reads that hit a cache of size C, with a footprint f.
    g = s \, \gamma \, (1 - h_1)(1 - h_2) :: Bytes of a gather: a sector, times the share that misses the sectors of neighbours and both caches. Device memory delivers them at 0.35 of its peak at most, as on an H100.
    \mathrm{regret} = \exp \operatorname*{mean}_i \ln \frac{T_i(\text{chosen})}{\min_k T_i(k)} :: How much slower the choice by prediction is than the fastest.
  `,
  symbols: rows`
    T, t_0 :: time of a product; start and end of a launch, as timed :: µs
    \varphi, \beta :: achieved share of the peak bandwidth (fitted), and the peak :: –, bytes/µs
    \lambda, \tau_m :: latency of memory relative to the catalogue’s (fitted), and the catalogue’s :: –, cycles
    \gamma, s :: share of gathers that miss the sectors of neighbours (fitted), and bytes of a sector :: –, bytes
    a, n_a :: time of an addition to a place to which others add too (fitted), and number of shares that add to the longest row :: µs, –
    k, \tau_1 :: arithmetic instructions on the chain, and latency of one :: –, cycles
    m_i, f_i :: loads that miss the first-level cache, and both caches
    f, C, h :: footprint of an array, size of a cache, hits :: bytes, bytes, –
  `,
  validity: [
    'The columns of the non-zeros decide how many gathers miss the cache. A summary of row lengths does not contain these columns: of two large matrices with the same summary, one may take three times as long.',
    'The timed start of a launch depends on driver and method, from 2 µs on the V100 to 54 µs on the Radeon VII. No data sheet gives it. For a GPU whose measurements are left out, times of small matrices are therefore wrong by half or more, but the choice is hardly worse.',
    'The loops data does not contain the order of the rows. Schedules that give neighbouring rows to one thread group depend on this order, and are predicted least well.',
    'On the MI250X, the schedule of even non-zeros takes 45 µs longer for any matrix with more than about 200,000 non-zeros. The model has no such term.',
    'On the H100, the code of a sparse product shows neither the size of the vector nor that the columns are random. Products with more than ten million columns take up to 3 times the predicted time.',
    'If all blocks of a kernel are resident at once, the model predicts the same time for all its block sizes. On an A100 and an MI250X, the measured times then differ by 7 % (median). Designs therefore count as tied if their predictions differ by less than 18 % (A100) or 24 % (MI250X), which covers 80 % of the errors.',
    'The parameters belong to these kernels and their versions, not to all sparse products.',
  ],
  sources: rows`
    Ginkgo (2019–2023). ginkgo-project/ginkgo-data, CC-BY 4.0: measured times and summaries of the matrices.
    Osama, Porumbescu, Owens (2023). A Programming Model for GPU Load Balancing (loops; times under Apache-2.0). PPoPP. :: 10.1145/3572848.3577434
    Kernel Tuner (2023). AutoTuningAssociation/benchmark_hub, MIT: measured search spaces.
    Huber (1981). Robust Statistics (loss of the fits). Wiley. :: 10.1002/0471725250
  `,
  demo,
};
