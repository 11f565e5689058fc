import {
  deviceStack,
  STACK_COSTS,
  stackCycles,
  type StackCosts,
} from '../../../../src-workers/models/divergence/costs.ts';
import { runLoops } from '../../../../src-workers/models/divergence/figures.ts';
import { DOUBLE_LOOP, SINGLE_LOOP } from '../../../../src-workers/models/divergence/program.ts';
import { count } from '../../../format/numbers.ts';
import { controls, curves, onDevice, gpuChoice, segmented, slider, type Demo, type ValuesOf } from '../demo.ts';
import { rows, type PageContent } from '../page.ts';

const CONTROLS = {
  kernel: segmented('Program', { single: 'One loop', double: 'Two nested loops' }, 'single'),
  lanes: slider('Divergent lanes', { symbol: 'n', min: 0, max: 31, step: 1, default: 20 }),
  /** The paper gives two costs of a divergent branch on Maxwell. */
  maxwell: segmented(
    'A divergent branch on Maxwell',
    { 'maxwell-fit': '26 cycles, by the fit', 'maxwell-summary': '24, by the summary' },
    'maxwell-fit',
    'Cycles of a divergent branch on Maxwell',
  ),
  device: gpuChoice('nvidia-gtx-770'),
}; // prettier-ignore

const demo: Demo<ValuesOf<typeof CONTROLS>, 'stackByLanes'> = {
  controls: CONTROLS,
  answer: {
    name: 'stackByLanes',
    input: ({ kernel }) => kernel,
    computing: 'Counting the branches and spills of 0 to 31 divergent lanes.',
    heightPx: 220,
  },
  figures: [
    ({ kernel, lanes }) => {
      const run = runLoops(kernel, lanes);
      const facts = { pushes: run.pushes, pops: run.pops, 'divergent branches': run.divergentBranches, spills: run.spills, loads: run.loads, deepest: run.maxDepth }; // prettier-ignore
      return {
        blocks: [
          controls('kernel', 'lanes'),
          { kind: 'facts', facts: Object.entries(facts).map(([label, value]) => [label, count(value)]) },
        ],
      };
    },
    ({ kernel, lanes }) => ({
      title: 'The stack, instruction by instruction',
      hint: kernel === 'single' ? 'Fig. 4' : 'Fig. 5',
      blocks: [
        { kind: 'stack', run: runLoops(kernel, lanes), program: kernel === 'single' ? SINGLE_LOOP : DOUBLE_LOOP },
      ],
    }),
    ({ kernel, lanes, maxwell }, _, answer) => {
      const cycles = (costs: StackCosts, spilling: boolean) =>
        (answer?.value ?? []).map(
          (each, n) => [n, stackCycles(costs, spilling ? each : { ...each, spills: 0 })] as const,
        );
      const first = answer?.value.findIndex(({ spills }) => spills > 0) ?? -1;
      return {
        title: 'Cost of the stack',
        hint: kernel === 'single' ? 'Fig. 1' : 'Figs. 2 and 7',
        waits: true,
        blocks: [
          controls('maxwell'),
          answer &&
            curves({
              label: 'Cost of the stack in cycles, by divergent lanes',
              name: 'divergence',
              xTitle: 'divergent lanes, n',
              yTitle: 'cycles on top of the loop itself',
              at: lanes,
              heightPx: 220,
              mark: first > 0 ? { x: first, text: 'first spill' } : null,
              curves: [
                { name: 'Maxwell', series: 2, points: cycles(STACK_COSTS[maxwell], true) },
                { name: 'Kepler', series: 1, points: cycles(STACK_COSTS.kepler, true) },
                { name: '… no spills', series: 1, dashed: true, points: cycles(STACK_COSTS.kepler, false) },
              ],
            }),
        ],
      };
    },
    onDevice((device, { kernel, lanes, maxwell }) => {
      const { costs, reason } = deviceStack(device, maxwell);
      const cycles = costs ? stackCycles(costs, runLoops(kernel, lanes)) : 0;
      return {
        title: 'On a device',
        blocks: [controls('device'), `**${count(cycles)} cycles** for the run above. ${reason}`],
      };
    }),
  ],
};

export const divergence: PageContent = {
  group: 'Lockstep',
  question: 'What does the reconvergence stack of older devices cost?',
  text: [
    'Before independent thread scheduling, a thread group kept a stack of the lanes that had left a loop. The stack has a few fast entries on chip; beyond them, chunks of the stack spill to memory and are loaded back. Each divergent branch and each spill costs cycles.',
    'A token on the stack states which lanes wait (its mask), why they wait (SYNC: to reconverge; DIV: they left by a branch) and where they continue. The last instruction of a loop carries a pop bit: it runs once for every token. These extra instructions can be counted.',
  ],
  equations: rows`
    \Delta t = c_d \, N_d + c_s \, N_s :: Cycles that the stack adds to a run.
    \mathrm{pushes}_1(n) = n + 1 :: A single loop that n lanes leave one after another.
    \mathrm{pushes}_2(n) = \tfrac{1}{2} n (65 - n) + 33 :: Two nested loops, as measured in the paper.
    N_s = \max \Bigl( 0, \Bigl\lceil \frac{n + 1 - 16}{4} \Bigr\rceil \Bigr) :: Spills of the single loop: sixteen entries on chip, moved four at a time.
    \mathbb{E}[N_d] = \sum_x \bigl( 1 - (1 - f(x))^n \bigr) - 1 :: Divergent branches when n lanes draw their lengths from a law: lanes of equal length leave together. Ours.
  `,
  symbols: rows`
    N_d, N_s :: divergent branches; chunks spilled and loaded
    c_d :: cost of a divergent branch: 32 on Kepler, from the paper :: cycles
    c_s :: cost of a spill and its load: 84 on Kepler, from the paper :: cycles
    n :: lanes that diverge
  `,
  validity: [
    'Kepler and Maxwell were measured. Pascal is assumed to cost what Maxwell costs. No costs were published for devices before Kepler.',
    'Devices with independent thread scheduling, Volta and later, have no such stack and pay none of this cost. Their lanes still wait for each other: that is the imbalance loss.',
    'The model covers loops that lanes leave at different times. Calls and switches push tokens of their own, which the emulator does not model.',
  ],
  contradictions: [
    'A divergent branch on Maxwell costs 26 cycles in the paper’s fit and 24 in its summary. Predictions use 26. Both can be chosen here.',
    'In the paper’s own comparison, the emulator differs from the measured double loop by up to 76 cycles, always at a spill. The cost of a spill depends on the spills before it, which one constant cannot describe.',
  ],
  sources: rows`
    Bialas, Strzelecki (2015). Benchmarking the cost of thread divergence in CUDA. arXiv:1504.01650.
  `,
  tables: { paper: 'bialas' },
  demo,
};
