import { cyclesPerIteration } from '../../../../src-workers/models/pipeline/soft-saturation.ts';
import { plain } from '../../../format/numbers.ts';
import { controls, curves, slider, type Demo, type ValuesOf } from '../demo.ts';
import { rows, type PageContent } from '../page.ts';

const CONTROLS = {
  latencyCycles: slider('Latency', { symbol: 'τ', unit: 'cycles', min: 100, max: 10000, step: 20, log: true, default: 2240 }),
  issueCycles: slider('Issue cost', { symbol: 'c', unit: 'cycles', min: 5, max: 1000, step: 5, log: true, default: 140 }),
  kneeSoftness: slider('Softness', { symbol: 'p', min: 1, max: 20, step: 0.1, default: 6.5 }),
  schedulers: slider('Schedulers', { symbol: 'q', min: 1, max: 8, step: 1, default: 4 }),
}; // prettier-ignore
const GROUPS = Array.from({ length: 65 }, (_, w) => w);

const demo: Demo<ValuesOf<typeof CONTROLS>> = {
  controls: CONTROLS,
  figures: [
    (values) => {
      const { latencyCycles, issueCycles, kneeSoftness, schedulers } = values;
      const parameters = { latencyCycles, issueCycles, kneeSoftness, schedulers };
      const knee = latencyCycles / issueCycles;
      const rate = (groups: number, digits: number) =>
        plain((1000 * groups) / cyclesPerIteration(parameters, groups), digits);
      return {
        blocks: [
          controls(...Object.keys(CONTROLS)),
          curves({
            label: 'Cycles of an iteration by active thread groups',
            name: 'soft-saturation',
            xTitle: 'active thread groups, w',
            yTitle: 'cycles of an iteration',
            mark: { x: knee, text: `knee ${plain(knee, 3)}` },
            curves: [
              { name: 'fu(w)', series: 1, points: GROUPS.map((w) => [w, cyclesPerIteration(parameters, w)]) },
              {
                name: 'max(τ, c w)',
                series: 3,
                dashed: true,
                points: GROUPS.map((w) => [w, Math.max(latencyCycles, issueCycles * w)]),
              },
            ],
          }),
          `Iterations finished per thousand cycles: ${rate(64, 4)} with 64 thread groups, ${rate(1, 3)} with one. The initial values are assumed, except the softness of 6.5: it is fitted on 5 of 16 rows of one table, measured on one device (Kepler K20).`,
        ],
      };
    },
  ],
};

export const softSaturation: PageContent = {
  group: 'Device',
  question: 'How fast is a multiprocessor with w active thread groups?',
  text: [
    'With few thread groups, an iteration takes its latency, whatever their number. With many, the multiprocessor issues instructions for each in turn, and the time grows with their number. The knee between the two is soft. Four numbers describe a kernel on a device. They are derived from data sheets or fitted to a measured grid of launches.',
  ],
  equations: rows`
    fu(w) = \Bigl( \tau^p + \bigl( c \, q \lceil w / q \rceil \bigr)^p \Bigr)^{1/p} :: Cycles in which each of w active thread groups advances by one iteration.
    w_{\mathrm{knee}} = \tau / c :: With more thread groups than this, the issue cost sets the pace.
  `,
  symbols: rows`
    w :: active thread groups of a multiprocessor
    \tau :: latency of one iteration executed alone :: cycles
    c :: issue cost of one iteration of one thread group :: cycles
    q :: schedulers, served in whole rounds
    p :: softness of the knee; infinite is a sharp knee
  `,
  validity: [
    'One kernel at a time, whose iterations are alike.',
    'Caches that thread groups share are not modelled, so more resident thread groups never cost time in this model.',
    'A derived τ assumes that instructions do not overlap. A fit, or a critical path in the profile, corrects this.',
  ],
  sources: rows`
    Lockstep. The law of the rate, with the waves of Kim’s block scheduler and the data of Hasan and others.
    Hasan, Chatterjee, Radhakrishnan, Antonio (2014). Performance Prediction Model and Analysis for Compute-Intensive Tasks on GPUs. NPC. :: 10.1007/978-3-662-44917-2_65
  `,
  tables: { paper: 'hasan', title: /soft saturation/ },
  demo,
};
