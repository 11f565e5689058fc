import {
  HASAN_IDEAL_TIME_MS,
  HASAN_TABLE_2,
  HASAN_THREADS_PER_BLOCK,
  hasanEfficiency,
} from '../../../../src-workers/models/pipeline/hasan.ts';
import { hasanMeasuredSurfaces, hasanModelSurfaces } from '../../../../src-workers/models/pipeline/hasan-surfaces.ts';
import {
  fitHasan,
  HASAN_FITTED_BLOCKS,
  hasanWaveLaunch,
} from '../../../../src-workers/models/pipeline/reproduce-hasan-kim.ts';
import { wavesTime } from '../../../../src-workers/models/pipeline/soft-saturation.ts';
import { fixed, NBSP, percent, signed, timeText } from '../../../format/numbers.ts';
import { controls, curves, segmented, type ChartBlock, type Demo, type ValuesOf } from '../demo.ts';
import { launchMapsChart, launchMapsTable, type LaunchMaps } from '../../../charts/launch-maps.ts';
import { rows, type PageContent } from '../page.ts';

const CONTROLS = {
  threads: {
    ...segmented('Threads per block', Object.fromEntries(HASAN_THREADS_PER_BLOCK.map((each) => [each, String(each)])), '128'),
    kind: 'select' as const,
  },
  shown: segmented('Shown', { efficiency: 'Efficiency', time: 'Time' }, 'efficiency', 'Quantity'),
}; // prettier-ignore

let known: ReturnType<typeof computeSurfaces> | null = null;
const surfaces = () => (known ??= computeSurfaces());
function computeSurfaces() {
  const fitted = fitHasan();
  return { fitted, modelled: hasanModelSurfaces(fitted), measured: hasanMeasuredSurfaces(fitted) };
}
const FITTED = `fitted on ${HASAN_FITTED_BLOCKS.length} of ${HASAN_TABLE_2.length} rows`;
const BLOCKS = Array.from({ length: 160 }, (_, i) => 4 + 4 * i);
const meanSize = (values: Float64Array) => values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;
const largestSize = (values: Float64Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const efficiencyPercent = (timeMs: number) => (100 * HASAN_IDEAL_TIME_MS) / timeMs;

function maps(label: string, name: string, input: LaunchMaps): ChartBlock {
  return {
    kind: 'chart',
    label,
    name,
    heightPx: 226,
    renderer: 'canvas',
    build: (theme, size) => launchMapsChart(input, theme, size),
    data: () => launchMapsTable(input),
  };
}

const demo: Demo<ValuesOf<typeof CONTROLS>> = {
  controls: CONTROLS,
  figures: [
    ({ threads }) => {
      const threadsPerBlock = Number(threads);
      const column = HASAN_THREADS_PER_BLOCK.findIndex((each) => each === threadsPerBlock);
      const printed = BLOCKS.map((each) => [each, 100 * hasanEfficiency(each, threadsPerBlock)] as const);
      const soft = BLOCKS.map(
        (each) =>
          [each, efficiencyPercent(wavesTime(surfaces().fitted, hasanWaveLaunch(each, threadsPerBlock)))] as const,
      );
      const measured = HASAN_TABLE_2.map(({ blocks, timeMs }) => [blocks, efficiencyPercent(timeMs[column])] as const);
      return {
        blocks: [
          controls('threads'),
          curves({
            label: 'Execution efficiency by number of blocks',
            name: 'hasan',
            xTitle: 'blocks',
            yTitle: 'efficiency, %',
            curves: [
              { name: 'as printed', series: 2, points: printed },
              { name: 'soft waves', series: 1, points: soft },
              { name: 'measured', series: 4, dots: true, points: measured },
            ],
          }),
          `The dots are the paper’s Table 2, measured on a Kepler K20. The printed equations show the step of the table at every 208 blocks. They miss the plateau that latency causes while threads are few. Soft waves are our model, ${FITTED} of that table.`,
        ],
      }; // prettier-ignore
    },
    ({ shown }) => {
      const { modelled } = surfaces();
      const longest = Math.max(...modelled.softTimeMs.values);
      return {
        title: 'Both models over all launches',
        hint: 'Fig. 1, 2,496 launches',
        blocks: [
          controls('shown'),
          shown === 'efficiency'
            ? maps('Efficiency by blocks and threads per block: equations and soft waves', 'hasan-efficiency', {
                maps: [
                  { title: 'Equations', surface: modelled.equationEfficiency },
                  { title: 'Soft waves', surface: modelled.softEfficiency },
                ],
                from: 1,
                to: 0,
                ends: [`100${NBSP}%`, `0${NBSP}%`],
                format: (value) => percent(value),
              })
            : maps('Time by blocks and threads per block: equations and soft waves', 'hasan-time', {
                maps: [
                  { title: 'Equations', surface: modelled.equationTimeMs },
                  { title: 'Soft waves', surface: modelled.softTimeMs },
                ],
                from: 14,
                to: longest,
                ends: [timeText(14), `${timeText(longest)} and more`],
                format: timeText,
              }),
        ],
      };
    },
    () => {
      const { equationErrorPoints, softErrorPoints } = surfaces().measured;
      const spread = Math.ceil(Math.max(largestSize(equationErrorPoints.values), largestSize(softErrorPoints.values)));
      return {
        title: 'Errors of both models in the printed table',
        hint: 'Table 2 and Fig. 2, 160 launches',
        blocks: [
          maps('Error of the efficiency by blocks and threads per block: equations and soft waves', 'hasan-error', {
            maps: [
              { title: 'Equations', surface: equationErrorPoints },
              { title: 'Soft waves', surface: softErrorPoints },
            ],
            from: spread,
            to: -spread,
            diverging: true,
            ends: [`+${spread} points, predicted too fast`, `−${spread} points, too slow`],
            format: (value) => `${signed(value)} points`,
          }),
          `Predicted minus measured efficiency. Equations: **${fixed(meanSize(equationErrorPoints.values), 1)} points** on average, at most ${fixed(largestSize(equationErrorPoints.values), 0)}. Soft waves (${FITTED}): **${fixed(meanSize(softErrorPoints.values), 1)}** on average, at most ${fixed(largestSize(softErrorPoints.values), 0)}. Of the measured launches, the paper prints only these 160.`,
        ],
      };
    },
  ],
};

export const hasan: PageContent = {
  group: 'Device',
  question: 'How does efficiency fall when there are more blocks than can be resident?',
  text: [
    'This published model computes execution efficiency from the numbers of blocks and threads alone. It is kept as printed, although it disagrees with the table that is printed beside it: the equations are off by 7.9 points of efficiency on average.',
  ],
  equations: rows`
    \xi_{rb} = \max \Bigl( 1, \Bigl\lceil \frac{B}{\rho_b \, \rho_{sm}} \Bigr\rceil \Bigr) \, \tau :: Time from the waves of resident blocks. :: Eq. 1
    \xi_{rw} = \frac{B \, T}{\rho_w \, \sigma_w \, \rho_{sm}} \, \tau :: Time from the resident thread groups; no ceiling is printed. :: Eq. 2
    \kappa = \frac{\tau}{\xi_{rb} + \xi_{rw}} :: Execution efficiency. While all threads are resident at once, the first term is τ. :: Eq. 3
  `,
  symbols: rows`
    B, T :: blocks, and threads of a block
    \rho_{sm} :: multiprocessors
    \rho_b, \rho_w :: max. resident blocks and thread groups of a multiprocessor
    \sigma_w :: lanes of a thread group
    \tau :: time of the launch when nothing waits :: ms
  `,
  validity: [
    'Compute-bound kernels with equal blocks, on the one device of the paper, a Kepler K20.',
    'Predictions do not use this model, but soft saturation (see its page). Fitted on 5 of the 16 rows of the same table, soft saturation predicts the other 11 with a mean error of 1.4 %.',
  ],
  contradictions: [
    'The paper states an error of 0.13 to 5.69 %. Its printed equations differ from its printed table by 7.9 points of efficiency on average and by 32 at most.',
    'The second equation is printed without a ceiling, although the number of thread groups is an integer. As printed, efficiency falls from the first thread on, while the table is flat there.',
    'The caption of the paper’s Figure 2 swaps the ranges of the two axes: no block has 1,248 threads.',
  ],
  sources: rows`
    Hasan, Chatterjee, Radhakrishnan, Antonio (2014). Performance Prediction Model and Analysis for Compute-Intensive Tasks on GPUs. NPC. :: 10.1007/978-3-662-44917-2_65
  `,
  tables: { paper: 'hasan', title: /as printed/ },
  demo,
};
