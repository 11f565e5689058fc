import {
  reproductionRow,
  makeTables,
  type ReproductionRow,
  type ReproductionTable,
} from '../../domain/reproduction.ts';
import { saturatingCores } from './bandwidth.ts';
import { amdahlLoads, triangularLoads } from './loads.ts';
import {
  LANGGUTH_AMDAHL,
  LANGGUTH_CPUS,
  LANGGUTH_TRIANGULAR,
  type PublishedCpu,
  type PublishedPrediction,
} from './langguth-figures.ts';
import { contentionMs, effectiveBandwidthGbS, twoPhases, type ContentionModel, type TwoPhaseForm } from './time.ts';

const table = makeTables(
  'langguth',
  'Langguth, Cai, Trotter, Modelling Load Imbalance in Shared Memory Multicore Systems, slides, Simula',
);

/** Relative tolerance. β, ρ and most results are printed to 0.01 GB/s. */
const BANDWIDTH_TOLERANCE = 0.001;

/** Half a unit of the last printed digit, plus the effect of rounding the measurement. */
const TRIANGULAR_ERROR_TOLERANCE_POINTS = 0.6;
const AMDAHL_ERROR_TOLERANCE_POINTS = 0.2;
/** Half a unit of the last printed digit (0.1 points), plus the effect of rounding β and ρ. */
const PHASE_TOLERANCE_POINTS = 0.06;

const TOTAL_BYTES = 1e9;

const COLUMNS = [
  { what: 'full contention', model: 'full-contention', column: 'fullContention' },
  { what: 'no contention', model: 'no-contention', column: 'noContention' },
  { what: 'no imbalance', model: 'no-imbalance', column: 'noImbalance' },
  { what: 'two-phase', model: 'two-phase', column: 'twoPhase' },
] as const;

type Loads = (totalBytes: number, cores: number) => Float64Array;

function bandwidth(cpu: PublishedCpu, loads: Loads, model: ContentionModel): number {
  const bytes = loads(TOTAL_BYTES, cpu.cores);
  return effectiveBandwidthGbS(bytes, contentionMs(model, cpu, bytes));
}

function twoPhaseBandwidth(cpu: PublishedCpu, form: TwoPhaseForm, knee: number): number {
  const bytes = triangularLoads(TOTAL_BYTES, cpu.cores);
  return effectiveBandwidthGbS(bytes, twoPhases(cpu, bytes, form, knee).timeMs);
}

export function reproduceLangguth(): ReproductionTable[] {
  return [...triangular(), ...amdahl()];
}

function makeRows(
  ours: (cpu: PublishedCpu) => number,
  paper: (position: number) => number,
  tolerance: number = BANDWIDTH_TOLERANCE,
  errorKind: ReproductionRow['errorKind'] = 'relative',
): ReproductionRow[] {
  return LANGGUTH_CPUS.map((cpu, i) => reproductionRow(cpu.cpu, paper(i), ours(cpu), tolerance, errorKind));
}

function errorRows(
  what: string,
  ours: (cpu: PublishedCpu) => number,
  results: readonly { readonly measuredGbS: number }[],
  printed: (position: number) => PublishedPrediction,
  tolerance: number,
): ReproductionRow[] {
  return LANGGUTH_CPUS.map((cpu, i) =>
    reproductionRow(`${cpu.cpu}, ${what}`, printed(i)[1], 100 * (ours(cpu) / results[i].measuredGbS - 1), tolerance),
  );
}

function triangular(): ReproductionTable[] {
  const results = LANGGUTH_TRIANGULAR;
  const tabulated = (cpu: PublishedCpu) => twoPhaseBandwidth(cpu, 'tabulated', cpu.kneeCores);
  const tabulatedAtCeiling = (cpu: PublishedCpu) => twoPhaseBandwidth(cpu, 'tabulated', saturatingCores(cpu));
  const derived = (cpu: PublishedCpu) => twoPhaseBandwidth(cpu, 'derived', saturatingCores(cpu));
  const phase1 = (cpu: PublishedCpu) => {
    const phases = twoPhases(cpu, triangularLoads(TOTAL_BYTES, cpu.cores), 'tabulated');
    return (100 * phases.phase1Ms) / phases.timeMs;
  };

  const oddKnee = LANGGUTH_CPUS.filter((cpu) => saturatingCores(cpu) !== cpu.kneeCores);
  const formGaps = LANGGUTH_CPUS.map((cpu) => derived(cpu) / tabulated(cpu) - 1);
  const beyond = LANGGUTH_CPUS.filter((cpu, i) => results[i].staircase[0] > derived(cpu));
  const twoPhaseNotes = [
    `The printed column follows (ΣM − (M₁ − M_K))/ρ + (M₁ − M_K)/β with the listed K. The formula that the slides print, (Σ_{i>K} M_i + K·M_K)/ρ + (M₁ − M_K)/β, gives up to ${percent(Math.max(...formGaps))} more bandwidth.`,
    ...oddKnee.map(
      (cpu) =>
        `${cpu.cpu}: the slides list K = ${cpu.kneeCores}, but ⌈ρ/β⌉ = ${saturatingCores(cpu)}. The printed bandwidth follows from the listed K, but its printed error and the share of phase 1 follow from ⌈ρ/β⌉. So the printed bandwidth and its error contradict each other.`,
    ),
  ];
  const staircaseNotes = [
    'The staircase needs the bandwidth by active cores, which the slides show only as a plot. On the max-rate curve min(iβ, ρ), the staircase equals the two-phase formula. So this formula is an upper bound of the printed column, as long as no measured bandwidth lies above the curve.',
    ...beyond.map(
      (cpu) =>
        `${cpu.cpu}: the printed ${results[LANGGUTH_CPUS.indexOf(cpu)].staircase[0]} GB/s are above the bound of ${derived(cpu).toFixed(2)} GB/s, so one of the measured bandwidths must exceed min(iβ, ρ).`,
    ),
  ];

  const ours = (model: ContentionModel) => (cpu: PublishedCpu) =>
    model === 'two-phase' ? tabulatedAtCeiling(cpu) : bandwidth(cpu, triangularLoads, model);
  const errors = COLUMNS.flatMap(({ what, model, column }) =>
    errorRows(what, ours(model), results, (i) => results[i][column], TRIANGULAR_ERROR_TOLERANCE_POINTS),
  );
  return [
    ...COLUMNS.slice(0, 3).map(({ what, model, column }) =>
      table(
        `Triangular workload, ${what}`,
        'GB/s',
        makeRows(ours(model), (i) => results[i][column][0]),
      ),
    ),
    table(
      'Triangular workload, two-phase as tabulated',
      'GB/s',
      makeRows(tabulated, (i) => results[i].twoPhase[0]),
      twoPhaseNotes,
    ),
    table(
      'Triangular workload, share of phase 1',
      '%',
      makeRows(phase1, (i) => results[i].phase1Percent, PHASE_TOLERANCE_POINTS, 'absolute'),
      ['Our values follow the formula of the printed bandwidths, with K = ⌈ρ/β⌉.', ...twoPhaseNotes.slice(1)],
    ),
    table('Triangular workload, staircase: upper bound', 'GB/s', staircaseRows(derived), staircaseNotes),
    table('Triangular workload, error against the measurement', '%', errors, [
      'The two-phase rows follow the formula of the printed bandwidths, with K = ⌈ρ/β⌉.',
      ...twoPhaseNotes.slice(1),
    ]),
  ];
}

/** The largest fraction by which a measured bandwidth exceeds `maxRateCurve`, read from the plots. */
const STAIRCASE_EXCESS = 0.005;

/** Checks that the printed staircase bandwidth is at most `bound`. If so, both values of a row are the printed one. */
function staircaseRows(bound: (cpu: PublishedCpu) => number): ReproductionRow[] {
  return LANGGUTH_CPUS.map((cpu, i) => {
    const printed = LANGGUTH_TRIANGULAR[i].staircase[0];
    const label = `${cpu.cpu}, at most ${bound(cpu).toFixed(2)}`;
    return reproductionRow(label, printed, Math.min(printed, bound(cpu)), STAIRCASE_EXCESS, 'relative');
  });
}

function amdahl(): ReproductionTable[] {
  const results = LANGGUTH_AMDAHL;
  const ours = (model: ContentionModel) => (cpu: PublishedCpu) => bandwidth(cpu, amdahlLoads, model);
  const sameForms =
    'For the Amdahl workload, both two-phase forms agree with the staircase on the max-rate curve, for every K.';
  const errors = COLUMNS.flatMap(({ what, model, column }) =>
    errorRows(what, ours(model), results, (i) => results[i][column], AMDAHL_ERROR_TOLERANCE_POINTS),
  );
  return [
    ...COLUMNS.map(({ what, model, column }) => {
      const rows = makeRows(ours(model), (i) => results[i][column][0]);
      return table(`Amdahl workload, ${what}`, 'GB/s', rows, model === 'two-phase' ? [sameForms] : []);
    }),
    table('Amdahl workload, error against the measurement', '%', errors),
  ];
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}
