import { moments } from '../../../../src-workers/models/workload/laws.ts';
import { change, count, fixed } from '../../../format/numbers.ts';
import { controls, draw, hint, lawChoice, segmented, slider, table, type Demo, type ValuesOf } from '../demo.ts';
import { LAWS, lawOf, lawText } from '../laws.ts';
import { rows, type PageContent } from '../page.ts';
import { PLAYED_PLOT_PX, playedChart, playedHeightPx, playedTable } from '../played-chart.ts';
import { ASSUMED_PIPELINE, assumed, idealCycles, launchModel } from '../prediction.ts';

const MULTIPROCESSORS = 4;
const CONTROLS = {
  law: lawChoice('geometric', LAWS.filter(({ text }) => text !== null)),
  size: segmented('Units per {threadGroup}', { 1: '1', 8: '8', 32: '32' }, '32'),
  groups: slider('{ThreadGroups} per {block}', { symbol: 'W', min: 1, max: 8, step: 1, default: 4 }),
  resident: slider('Resident {blocks}', { symbol: 'R', min: 1, max: 8, step: 1, default: 4 }),
  grid: slider('{Blocks} launched', { symbol: 'G', min: 1, max: 320, step: 1, default: 72 }),
  seed: draw('Draw another launch'),
}; // prettier-ignore
type Chosen = ValuesOf<typeof CONTROLS>;

function predicted({ law: id, size, groups, resident, grid }: Chosen) {
  const law = lawOf(id);
  const shape = {
    law,
    unitsPerGroup: Number(size),
    groupsPerBlock: groups,
    residentBlocks: resident,
    multiprocessors: MULTIPROCESSORS,
  };
  return { composite: launchModel(shape).cycles(grid), ideal: idealCycles(shape, moments(law).mean, grid) };
}

const demo: Demo<Chosen, 'models.play'> = {
  controls: CONTROLS,
  answer: {
    name: 'models.play',
    input: ({ law, size, groups, resident, grid, seed }) => ({
      lengths: lawText(law)!,
      unitsPerGroup: Number(size),
      groupsPerBlock: groups,
      residentBlocks: resident,
      multiprocessors: MULTIPROCESSORS,
      gridBlocks: grid,
      pipeline: ASSUMED_PIPELINE,
      seed,
    }),
    failure: 'The launch could not be simulated',
    computing: 'Simulating the launch event by event.',
    heightPx: 446,
  },
  figures: [
    () => ({ blocks: [controls('law', 'size', 'groups', 'resident', 'grid')] }),
    (values, { term, say }, answer) => {
      const title = say(`A launch on ${MULTIPROCESSORS} {multiprocessors}`);
      if (!answer) return { title, waits: true, blocks: [] };
      const { composite, ideal } = predicted(values);
      const input = {
        played: answer.value,
        endCycles: 1.03 * Math.max(answer.value.replicationCycles[0], composite, ideal),
        marks: [
          { cycles: ideal, text: 'ideal', dashed: true },
          { cycles: composite, text: 'predicted', dashed: false },
        ],
        term,
      };
      const slots = MULTIPROCESSORS * answer.value.residentBlocks;
      return {
        title,
        waits: true,
        blocks: [
          {
            kind: 'chart',
            label: say(
              `${answer.value.blockSlot.length} {blocks} on ${slots} slots over ${count(answer.value.replicationCycles[0])} cycles`,
            ),
            name: 'simulated-launch',
            heightPx: playedHeightPx(slots),
            zoom: {
              hint: say('Bars are {blocks}, rows the slots of each {multiprocessor}.'),
              plotPx: PLAYED_PLOT_PX,
            },
            build: (theme, size, zoom) => playedChart(input, theme, size, zoom),
            data: () => playedTable(answer.value),
          },
        ],
      };
    },
    (values, _, answer) => {
      if (!answer) return null;
      const { composite, ideal } = predicted(values);
      const { replicationCycles: cycles, meanHighCycles, meanLowCycles } = answer.value;
      const mean = cycles.reduce((sum, each) => sum + each, 0) / cycles.length;
      const row = (head: string, value: number, text = change(value, mean)) => ({
        head,
        cells: [fixed(value / 1e3, 1), { text, tone: 'quiet' as const }],
      });
      return {
        title: 'Times',
        hint: `${count(cycles.length)} launches simulated`,
        blocks: [
          table(
            'Times',
            ['Time', 'Thousand cycles', 'Against the mean, %'],
            [
              {
                ...row('Simulated, mean', mean, `± ${fixed((50 * (meanHighCycles - meanLowCycles)) / mean, 1)}`),
                strong: true,
              },
              row('Ideal: nothing waits', ideal),
              row('Composite prediction', composite),
              row('The launch drawn', cycles[0]),
              row('Shortest of all', Math.min(...cycles)),
              row('Longest of all', Math.max(...cycles)),
            ],
          ),
          { kind: 'controls', ids: ['seed'], note: '±: the 95 % confidence interval of the mean.' },
          hint(assumed(MULTIPROCESSORS)),
        ],
      };
    },
  ],
};

export const simulator: PageContent = {
  group: 'Whole',
  question: 'What does a launch do, block by block?',
  text: [
    'The simulator checks the composite prediction. It simulates a launch event by event: blocks are dispatched in order to free slots, the resident thread groups of a multiprocessor share its pace, and a slot is free again only when the last group of its block has ended.',
    'The simulator averages nothing. Depths are drawn at random, so the time of a launch is random too. A simulation therefore shows what the prediction cannot: how much single launches vary. A simulation takes milliseconds, a prediction less than one millisecond.',
  ],
  equations: rows`
    \frac{\mathrm{d} v_m}{\mathrm{d} t} = \frac{1}{t(w_m)} :: The virtual time of a multiprocessor, in iterations: with w active groups, one iteration of all of them takes t(w) cycles.
    v_{\mathrm{end}} = v_{\mathrm{start}} + D, \qquad \Pr(D > v) = 1 - F(v)^{\, n} :: In virtual time a group ends D iterations after it started, whatever other groups do. Between two ends of blocks, multiprocessors do not affect each other.
    v_{\mathrm{free}} = \max_{i \le W_b} v_{\mathrm{end}, i}, \qquad T = \max_m t_{\mathrm{end}, m} :: A slot is free when the last group of its block ends. The launch ends with the last group of all.
    T_{\mathrm{ideal}} = \max \Bigl( 1, \frac{G}{M R} \Bigr) \, \mathbb{E}[W] \; t \bigl( W_b \min(R, \lceil G / M \rceil) \bigr) :: The ideal time, drawn beside it: no lane waits for another, and no usable slot is ever empty.
  `,
  symbols: rows`
    v_m :: virtual time of multiprocessor m :: iterations
    w_m :: active thread groups of multiprocessor m
    t(w) :: cycles of an iteration with w active thread groups :: cycles
    D :: depth of a thread group: its longest unit :: iterations
    n, F :: units of a thread group, and the law of their lengths
    G, M, R, W_b :: blocks, multiprocessors, resident blocks, thread groups of a block
  `,
  validity: [
    'Block slots that become free together are filled together, one per multiprocessor in turn. Work without imbalance therefore runs in whole waves, distributed evenly.',
    'Dispatch takes no time. Caches, clocks and other work on the device are not simulated.',
    'With heavy tails a few launches prove nothing: the rare long unit may not have occurred yet. The interval of the mean states how well the mean is known.',
  ],
  sources: rows`
    Lockstep. Event simulation of a device in the virtual time of each multiprocessor.
    Blackman, Vigna (2021). Scrambled linear pseudorandom number generators (the streams of random numbers). ACM Transactions on Mathematical Software 47. :: 10.1145/3460772
  `,
  demo,
};
