import type { CpuDevice } from '../../../../src-workers/domain/device.ts';
import { maxRateCurve, saturatingCores } from '../../../../src-workers/models/contention/bandwidth.ts';
import { coreSweep } from '../../../../src-workers/models/contention/cores.ts';
import { amdahlLoads, indivisibleTaskLoads, triangularLoads } from '../../../../src-workers/models/contention/loads.ts';
import {
  LANGGUTH_AMDAHL,
  LANGGUTH_CPUS,
  LANGGUTH_TRIANGULAR,
} from '../../../../src-workers/models/contention/langguth-figures.ts';
import { regimeMap, type RegimeMap } from '../../../../src-workers/models/contention/regimes.ts';
import {
  CONTENTION_MODELS,
  contentionMs,
  effectiveBandwidthGbS,
  staircaseSteps,
} from '../../../../src-workers/models/contention/time.ts';
import { loadImbalance } from '../../../../src-workers/models/partition/partition.ts';
import { change, commonUnit, counted, fixed, percent, plain, timeIn, timeText } from '../../../format/numbers.ts';
import {
  controls,
  curves,
  deviceOf,
  hint,
  segmented,
  slider,
  table,
  type Choice,
  type Demo,
  type DemoContext,
  type Row,
  type ValuesOf,
} from '../demo.ts';
import { rows, type PageContent } from '../page.ts';
import { regimesChart, regimesTable } from '../regimes-chart.ts';
import { timedCurves } from '../../../charts/curves.ts';
import { staircaseChart, staircaseTable } from '../staircase-chart.ts'; // prettier-ignore

const TOTAL_BYTES = 10e9;
const CONTROLS = {
  cpu: {
    kind: 'select',
    label: 'CPU',
    options: ({ cpus }) =>
      cpus.map(({ id, vendor, name, cores }) => ({ value: id, label: `${vendor} ${name}`, detail: counted(cores, 'core') })),
    default: 'nvidia-grace-gh200',
  } satisfies Choice as Choice,
  work: segmented(
    'Work',
    { triangular: 'Triangular', amdahl: 'Amdahl', task: 'One task' },
    'triangular',
  ),
  taskPart: slider('Part in one task', { min: 0.02, max: 0.9, step: 0.01, default: 0.1 }),
  cores: slider('Cores in use', {
    symbol: 'P',
    min: 1,
    max: ({ cpus }, { cpu }) => deviceOf(cpus, String(cpu))?.cores ?? 1,
    step: 1,
    default: Infinity,
  }),
}; // prettier-ignore
type Chosen = ValuesOf<typeof CONTROLS>;

const WORK: Readonly<Record<Chosen['work'], { text: string; loads: (cores: number, taskPart: number) => Float64Array }>> = {
  triangular: {
    text: 'Core i moves 2i − 1 parts of 10 GB, as in a triangular matrix cut into even rows.',
    loads: (cores) => triangularLoads(TOTAL_BYTES, cores),
  },
  amdahl: {
    text: 'One core moves half of 10 GB and its share of the rest, as in Amdahl’s law.',
    loads: (cores) => amdahlLoads(TOTAL_BYTES, cores),
  },
  task: {
    text: 'One task cannot be divided. The other cores share the rest of 10 GB evenly.',
    loads: (cores, part) => indivisibleTaskLoads(part * TOTAL_BYTES, (1 - part) * TOTAL_BYTES, cores),
  },
}; // prettier-ignore

/** Returns the bandwidth that the slides print for a CPU. The slides have ten CPUs, each with all cores in use. */
function findPublished(cpu: CpuDevice, { work, cores }: Chosen): { readonly measuredGbS: number } | null {
  if (cores !== cpu.cores || work === 'task') return null;
  const at = LANGGUTH_CPUS.findIndex(({ cpu: name }) => name === `${cpu.vendor} ${cpu.name}`);
  return (work === 'triangular' ? LANGGUTH_TRIANGULAR : LANGGUTH_AMDAHL)[at] ?? null;
}

/** For each CPU, which simple model is closest. The answer does not depend on the work, so it is computed once. */
const maps = new WeakMap<CpuDevice, RegimeMap>();
function computeMap(cpu: CpuDevice): RegimeMap {
  const coresPerColumn = Math.ceil(cpu.cores / 40);
  const columns = Array.from({ length: Math.ceil(cpu.cores / coresPerColumn) }, (_, i) => 1 + i * coresPerColumn);
  const imbalances = Array.from({ length: 32 }, (_, i) => cpu.cores ** (i / 31));
  const map = maps.get(cpu) ?? regimeMap(cpu, columns, imbalances);
  maps.set(cpu, map);
  return map;
}

const figure =
  (make: (cpu: CpuDevice, loads: Float64Array, values: Chosen) => ReturnType<Demo<Chosen>['figures'][number]>) =>
  (values: Chosen, { cpus }: DemoContext) => {
    const cpu = deviceOf(cpus, values.cpu);
    return cpu && make(cpu, WORK[values.work].loads(values.cores, values.taskPart), values);
  };

const demo: Demo<Chosen> = {
  controls: CONTROLS,
  figures: [
    figure((cpu, _, { work }) => ({
      blocks: [
        controls('cpu', 'work', ...(work === 'task' ? ['taskPart'] : []), 'cores'),
        `${WORK[work].text} One core reaches ${plain(cpu.singleCoreBandwidthGbS)} GB/s, all cores ${plain(cpu.fullBandwidthGbS)} GB/s: ${saturatingCores(cpu)} cores use the whole bandwidth.`,
      ],
    })),
    figure((cpu, loads, { cores }) => {
      const input = { steps: staircaseSteps(maxRateCurve(cpu, cores), loads), cores, fullBandwidthGbS: cpu.fullBandwidthGbS };
      return {
        title: 'Cores and bandwidth over time',
        hint: 'staircase',
        blocks: [
          {
            kind: 'chart',
            label: `Active cores and bandwidth over ${timeText(input.steps.at(-1)?.toMs ?? 0)}`,
            name: 'staircase',
            heightPx: 240,
            build: (theme, size) => staircaseChart(input, theme, size),
            data: () => staircaseTable(input),
          },
        ],
      };
    }), // prettier-ignore
    figure((cpu, loads, values) => {
      const published = findPublished(cpu, values);
      const measuredMs = published ? TOTAL_BYTES / (published.measuredGbS * 1e6) : 0;
      const times = CONTENTION_MODELS.map(({ id }) => contentionMs(id, cpu, loads));
      const most = Math.max(...times, measuredMs);
      const unit = commonUnit(times);
      const row = (head: string, timeMs: number, gbS: number, colour: string, toMeasured: string): Row => ({
        head,
        cells: [
          { bar: timeMs / most, colour },
          timeIn(unit, timeMs),
          fixed(gbS, 2),
          ...(published ? [{ text: toMeasured, tone: 'quiet' as const }] : []),
        ],
      });
      return {
        title: 'The models side by side',
        blocks: [
          table(
            'The models side by side',
            ['Model', { title: 'Time', barWidth: '26%' }, unit.name, 'GB/s', ...(published ? ['To measured, %'] : [])],
            [
              ...CONTENTION_MODELS.map(({ label, formula }, i) => {
                const gbS = effectiveBandwidthGbS(loads, times[i]);
                const toMeasured = published ? change(gbS, published.measuredGbS) : '';
                return { ...row(label, times[i], gbS, 'series-1', toMeasured), title: formula };
              }),
              ...(published ? [{ ...row('Measured', measuredMs, published.measuredGbS, 'text-2', '–'), strong: true }] : []),
            ],
          ),
          !published && values.work !== 'task' && hint(`The slides print measured results only for all ${cpu.cores} cores.`),
        ],
      };
    }), // prettier-ignore
    figure((cpu, _, { work, taskPart, cores }) => {
      const { timeMs, bestCores, enoughCores } = coreSweep(maxRateCurve(cpu, cpu.cores), (count) =>
        WORK[work].loads(count, taskPart),
      );
      const timed = timedCurves([
        { name: 'staircase', series: 1, points: Array.from(timeMs, (ms, i) => [i + 1, ms] as const) },
      ]);
      return {
        title: 'Time by cores in use',
        blocks: [
          curves({
            label: 'Time by cores in use',
            name: 'cores',
            xTitle: 'cores in use',
            yTitle: timed.unit,
            heightPx: 200,
            at: cores,
            yFrom: 0,
            mark: { x: bestCores, text: `best: ${bestCores}` },
            curves: timed.curves,
          }),
          bestCores < cpu.cores
            ? `Best: **${counted(bestCores, 'core')}**. All ${cpu.cores} take ${percent(timeMs.at(-1)! / timeMs[bestCores - 1] - 1)} longer: more cores only take bandwidth from the core with the most work.`
            : `All cores are best here, but **${enoughCores}** come within 1 %. Fewer cores are faster where one task cannot be divided.`,
        ],
      };
    }),
    figure((cpu, loads, { cores }) => {
      const input = { map: computeMap(cpu), maxCores: cpu.cores, cores, imbalance: loadImbalance(loads) };
      return {
        title: 'Which simple model is enough',
        blocks: [
          {
            kind: 'chart',
            label: 'Which simple model comes closest, by cores and imbalance',
            name: 'regimes',
            heightPx: 246,
            build: (theme, size) => regimesChart(input, theme, size),
            data: () => regimesTable(input.map),
          },
          hint('Colour: the simple model closest to the two-phase time. With P cores, no core has more than P times the mean work, so no launch is above the diagonal.'),
        ],
      };
    }), // prettier-ignore
  ],
};

export const contention: PageContent = {
  group: 'Device',
  question: 'What does uneven work cost when cores share one memory?',
  text: [
    'Cores with little work end early and leave the bandwidth to the other cores, but one core alone cannot use all of it. The core with the most work therefore takes less time than under full contention, and more than without contention. Fewer cores can be faster.',
  ],
  equations: rows`
    K = \lceil \rho / \beta \rceil :: Cores that use the whole bandwidth.
    T = \frac{\sum_{i > K} M_i + K M_K}{\rho} + \frac{M_1 - M_K}{\beta} :: Two phases: cores first use the whole bandwidth, then the core with the most work continues at its own bandwidth.
    T = \sum_{i=1}^{P} \frac{i \, (M_i - M_{i+1})}{\mathrm{BW}_i} :: Staircase: while i cores are active, each moves an even share of the bandwidth of i cores.
    T_{\mathrm{tab}} = \frac{\sum M - (M_1 - M_K)}{\rho} + \frac{M_1 - M_K}{\beta} :: The formula behind the printed table of triangular work.
    T_{\mathrm{full}} = M_1 P / \rho, \quad T_{\mathrm{none}} = M_1 / \beta, \quad T_{\mathrm{even}} = \textstyle \sum M / \rho :: The simpler bounds.
  `,
  symbols: rows`
    M_i :: bytes that core i moves, largest first :: bytes
    \beta, \rho :: bandwidth of one core, and of all :: GB/s
    \mathrm{BW}_i :: bandwidth of i active cores together :: GB/s
    P :: cores
  `,
  validity: [
    'Memory-bound loops on multicore CPUs whose active cores share the bandwidth evenly.',
    'The bandwidth of i cores is assumed to be min(iβ, ρ) unless it was measured. With this curve, staircase and two-phase are the same.',
    'One memory: cores on different sockets with memories of their own are not covered.',
  ],
  contradictions: [
    'The printed column of the triangular workload does not follow the printed formula. In the first phase, it also counts how much more cores 2 to K move than core K. Lockstep computes both formulas. Its tables use the one that gives the printed numbers.',
    'For the Epyc 7302P, the slides list K = 5, but ρ/β rounds up to 4. The printed bandwidth follows from K = 5. Its printed error and the share of the first phase follow from K = 4.',
  ],
  sources: rows`
    Langguth, Cai, Trotter (undated). Modelling Load Imbalance in Shared Memory Multicore Systems. Slides, Simula.
  `,
  tables: { paper: 'langguth' },
  demo,
};
