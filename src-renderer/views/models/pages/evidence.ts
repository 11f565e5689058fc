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
import { controls, hint, type Choice, type Demo, type Figure, type Row, type ValuesOf } from '../demo.ts';
import { EVIDENCE_AXES, pointsTable, residualsChart, timesChart } from '../evidence-chart.ts';
import { rows, type ModelPage } from '../page.ts';

/** GPUs of all data sets, by `dataset gpu`. */
const GPUS = [
  ...SPMV_DATASETS.flatMap(({ id, gpus }) =>
    gpus.map(({ column, device, implementations }) => ({
      id,
      column,
      device,
      names: implementations.map(({ name }) => name),
      over: ['nonzeros', 'skewness'] as readonly EvidenceAxis[],
    })),
  ),
  ...LAUNCH_DATASETS.flatMap(({ id, gpus }) =>
    gpus.map(({ column, device, implementation }) => ({
      id,
      column,
      device,
      names: [implementation],
      over: ['blocks'] as readonly EvidenceAxis[],
    })),
  ),
].map((gpu) => ({ ...gpu, value: `${gpu.id} ${gpu.column}` }));
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
    options: (_, { gpu }) => gpuOf(String(gpu)).names.map((name) => ({ value: name, label: name.replace('_', ' ') })),
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
    row('Always the best one', ({ bestFixed }) =>
      bestFixed ? `${bestFixed.name.replace('_', ' ')} ${factor(bestFixed.regret)}` : '–',
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
    hint: 'time over that of the fastest measured',
    blocks: [
      {
        kind: 'table',
        label: 'Choice',
        columns: isMatrices ? ['Chosen by', 'All matrices', '≥ 10⁶ non-zeros'] : ['Chosen by', 'All kernels'],
        rows: isMatrices ? found : found.map((row) => ({ ...row, cells: row.cells.slice(0, 1) })),
      },
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
        label: `${implementation}: measured over predicted times, over ${axis.title}`,
        name: 'evidence-residuals',
        heightPx: 220,
        renderer: 'canvas' as const,
        build: (theme, size) => residualsChart(points, axis, theme, size),
        data: () => pointsTable(points),
      },
      isMatrices &&
        hint('Each matrix is predicted with parameters that were fitted without it and a fifth of the others.'),
      axis && hint('Points beyond a factor of 4 stand at the edge.'),
      ...(isMatrices ? [] : [hint(LAUNCH_DATASETS.find(({ id }) => id === gpuOf(chosen).id)!.notes.join(' '))]),
    ],
  };
}

const demo: Demo<Chosen, 'evidence.gpu'> = {
  controls: CONTROLS,
  answer: {
    name: 'evidence.gpu',
    input: ({ gpu, implementation }) => {
      const found = gpuOf(gpu);
      return { dataset: found.id, gpu: found.column, implementation };
    },
    failure: 'The evidence could not be judged',
    heightPx: 640,
  },
  figures: [
    () => ({ blocks: [controls('gpu', 'implementation')] }),
    (values, _, answer) =>
      answer ? times(answer.value, values) : { title: 'Predicted and measured', waits: true, blocks: [] },
    (_, __, answer) => (answer ? choiceFigure(answer.value) : null),
    (_, __, answer) =>
      answer?.value.points.over.nonzeros
        ? {
            title: 'All implementations',
            hint: 'median error',
            blocks: [
              {
                kind: 'table',
                label: 'Implementations',
                columns: ['Implementation', 'Model', 'Four numbers'],
                rows: answer.value.gpu.implementations.map(({ name, medianError, fourNumbers }) => ({
                  head: name.replace('_', ' '),
                  cells: [percent(medianError, 1), quiet(fourNumbers && percent(fourNumbers.medianError, 1))],
                })),
              },
            ],
          }
        : null,
    (_, __, answer) =>
      answer?.value.points.over.nonzeros
        ? {
            title: 'Rank correlation of times',
            hint: 'within an implementation',
            blocks: [
              {
                kind: 'table',
                label: 'Rank correlations',
                columns: ['Implementation', 'All', '≥ 10⁶ non-zeros', 'Nearest matrices'],
                rows: answer.value.gpu.implementations.map(({ name, spearman, large, nearest }) => ({
                  head: name.replace('_', ' '),
                  cells: [
                    fixed(spearman, 3),
                    large ? fixed(large.spearman, 3) : '–',
                    quiet(nearest && fixed(nearest.spearman, 3)),
                  ],
                })),
              },
              hint(
                'It is low where most matrices take little longer than a launch: neighbours in rank differ by less than the noise of the measurement. The measured times of the nearest matrices, without a model, order all matrices hardly better.',
              ),
            ],
          }
        : null,
    ({ implementation }, _, answer) => {
      const found = answer?.value.gpu.implementations.find(({ name }) => name === implementation);
      return found && found.parameters.length > 0
        ? {
            title: 'Fitted parameters',
            hint: implementation.replace('_', ' '),
            blocks: [
              {
                kind: 'table',
                label: 'Parameters',
                columns: ['Parameter', 'Value', '±', 'Range'],
                rows: found.parameters.map(({ label, meaning, unit, value, standardError, lower, upper }) => ({
                  head: label,
                  under: meaning,
                  ...(unit !== '1' && { note: unit }),
                  cells: [
                    plain(value, 3),
                    standardError === null
                      ? { text: 'not determined', tone: 'quiet' as const }
                      : plain(standardError, 2),
                    { text: `${plain(lower, 2)} to ${plain(upper, 2)}`, tone: 'quiet' as const },
                  ],
                })),
              },
            ],
          }
        : null;
    },
  ],
};

export const evidence = {
  id: 'evidence',
  label: 'Evidence',
  group: 'Measured',
  question: 'Does the model agree with real GPUs, where anyone can check it?',
  text: [
    'Public measurements judge the models. Sparse matrix-vector products judge the model of memory, of 1,389 matrices on seven GPUs in four to six implementations (Ginkgo, double precision), and of 1,174 matrices by three schedules (loops, single precision). Of a matrix the model knows its size, the quartiles and moments of its row lengths and, for Ginkgo, the depth of its slices in file order. The models of launches are judged by block sizes of a convolution (Kernel Tuner), launch shapes (Hasan), losses of groups (SMITE) and a software adapter.',
    'An implementation has at most six parameters per GPU that no data sheet gives, each with a meaning and a range. They are fitted to four fifths of the matrices and judged on the fifth that was left out. What counts is the choice: how much slower the implementation with the least predicted time is than the fastest measured.',
  ],
  equations: rows`
    T = t_0 + t_1 \min(B, M) + \bigl( T_{\mathrm{bytes}}^{\,p} + T_{\mathrm{chain}}^{\,p} + T_{\mathrm{flight}}^{\,p} + T_{\mathrm{atomics}}^{\,p} \bigr)^{1/p} :: Start of the launch and of each multiprocessor that gets a block, then whatever takes longest. What overlaps is hidden, but not entirely: p is 2.5.
    T_{\mathrm{bytes}} = \frac{b \, (1 - h/2)}{\varphi \, \beta} :: Bytes as they are moved over the achieved bandwidth. The level-2 cache is assumed to be twice as fast as memory.
    h = \frac{1}{1 + (f / C)^3} :: Share that is found in the level-2 cache: the footprint against its size.
    T_{\mathrm{chain}} = D \, \ell \, \bigl( 1 + (r - 1)(1 - h) \bigr) :: The longest chain of dependent iterations: the longest row, over the threads that share it.
    T_{\mathrm{flight}} = \frac{I \, \ell \, (1 + (r - 1)(1 - h))}{c \, M \, R} :: Iterations of all thread groups against those in flight. :: Little 1961
    g = 8 \min(N, Z) + \gamma \, s \, Z \, (1 - h_x) :: Bytes of the gathered vector: each element once, and a sector for each gather that finds it gone.
    \mathrm{regret} = \exp \operatorname*{mean}_i \ln \frac{T_i(\text{chosen})}{\min_k T_i(k)} :: What choosing by prediction costs.
  `,
  symbols: rows`
    T :: time of a product :: µs
    t_0, t_1 :: start of a launch; first block of one more multiprocessor :: µs
    B, M, R :: blocks, multiprocessors, resident thread groups of one
    b, f :: bytes moved, and footprint :: bytes
    \varphi, \beta :: achieved part of the bandwidth, and peak :: –, bytes/µs
    C :: size of the level-2 cache :: bytes
    h, h_x :: hits of the streams, and of the gathered vector
    D, I :: iterations of the longest chain, and of all thread groups
    \ell, r :: latency of an iteration in the cache, and that from memory over it :: µs, –
    c :: part of the resident thread groups with a load in flight
    \gamma, s :: gathers that miss, and bytes of a sector :: –, bytes
    N, Z :: columns, and non-zeros
  `,
  validity: [
    'The columns of a row decide how far gathers miss the cache. A summary of row lengths does not know them: of two large matrices with the same summary, one may take three times as long.',
    'The start of a launch as timed depends on driver and method, from 2 µs on the V100 to 38 µs on the Radeon VII. No data sheet gives it. For a GPU whose measurements are left out, times of small matrices are therefore wrong by half and more, while the choice is hardly worse.',
    'The loops data does not know the order of the rows. Schedules that give neighbouring rows to one thread group depend on it, and are predicted least well.',
    'Three columns have a larger median error than they should: csrc on the Titan V 13.8 % (at most 12), csr on the MI100 12.7 % (12), group_mapped of loops 19.1 % (15). What is missing is not in a summary of row lengths: times of the nearest matrices, without a model, err by 13.3, 11.8 and 15.5 %. Those of the Titan V and of loops err most on matrices from 10⁶ non-zeros on, where the columns that rows share decide how long a sector stays, and the order of the rows which of them run together. Other parameters of the same number (gathers that miss, loads in flight) change them by at most 0.7 percentage points.',
    'On the MI250X, even non-zeros take 45 µs longer from about 200,000 non-zeros on, whatever the matrix. The model has no such term.',
    'Block sizes of one kernel whose blocks all fit have one time in the model. Measured on an A100 and an MI250X they differ by 7 % (median), so that ties there are 18 and 24 % wide.',
    'The parameters belong to these kernels and their versions, not to all sparse products.',
  ],
  sources: rows`
    Ginkgo (2019–2023). ginkgo-project/ginkgo-data, CC-BY 4.0: measured times and summaries of the matrices.
    Osama, Porumbescu, Owens (2023). A Programming Model for GPU Load Balancing (loops; times under Apache-2.0). PPoPP. :: 10.1145/3572848.3577434
    Little (1961). A Proof for the Queuing Formula L = λW. Operations Research 9(3). :: 10.1287/opre.9.3.383
    Kernel Tuner (2023). AutoTuningAssociation/benchmark_hub, MIT: measured search spaces.
    Huber (1981). Robust Statistics (loss of the fits). Wiley. :: 10.1002/0471725250
  `,
  demo,
} as const satisfies ModelPage;
