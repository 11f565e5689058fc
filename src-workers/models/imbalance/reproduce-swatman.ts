import {
  reproductionRow,
  makeTables,
  type ReproductionRow,
  type ReproductionTable,
} from '../../domain/reproduction.ts';
import { unwrap } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { mersenneTwister } from '../../numeric/random.ts';
import { binomialLaw, geometricLaw, negativeBinomialLaw, poissonLaw, uniformLaw } from '../workload/laws.ts';
import { lossMoments } from './closed-form.ts';
import { sampledLoss } from './monte-carlo.ts';
import { PUBLIC_GROUP_COUNT, PUBLIC_GROUPS, TABLE_I } from './swatman-figures.ts';

const table = makeTables(
  'swatman',
  'Swatman, Varbanescu, Krasznahorkay, Pimentel: Modelling Performance Loss due to Thread Imbalance in Stochastic ' +
    'Variable-Length SIMT Workloads, MASCOTS 2022, doi:10.1109/MASCOTS56607.2022.00026',
);

const PRINTED_DIGIT = 0.0005;
const PAPER_GROUPS = 2 ** 18;
const SAMPLED_GROUPS = 2 ** 15;
const SEED = 2022;
/** Maximum deviation of a sampled figure from its expectation, in standard errors. */
const STANDARD_ERRORS = 4.5;
/** Claims of the paper (abstract, section IV-C): relative distance of the model from simulation and measurement. */
const SIMULATION_MARGIN = 0.001;
const MEASUREMENT_MARGIN = 0.02;
const MEASUREMENT_TOLERANCE = 0.03;

/** The paper truncates infinite supports at ε = 1e-6. */
const LAWS: Readonly<Record<string, () => LengthLaw>> = {
  'binomial(40,0.5)': () => unwrap(binomialLaw(40, 0.5)),
  'geometric(0.05)': () => unwrap(geometricLaw(0.05)),
  'poisson(30)': () => unwrap(poissonLaw(30)),
  'uniform(20,40)': () => unwrap(uniformLaw(20, 40)),
  'negative-binomial(5,0.3)': () => unwrap(negativeBinomialLaw(5, 0.3)),
};

interface Row {
  readonly workload: string;
  readonly n: number;
}

export function reproduceSwatman(): ReproductionTable[] {
  const moments = new Map<string, ReturnType<typeof lossMoments>[number]>();
  const key = ({ workload, n }: Row) => `${workload}, n = ${n}`;
  for (const [workload, law] of Object.entries(LAWS)) {
    for (const row of lossMoments(law(), [1, 2, 4, 8, 16, 32])) moments.set(key({ workload, n: row.n }), row);
  }
  const ours = (row: Row) => moments.get(key(row))!;
  const againstMean = <T extends Row>(
    rows: readonly T[],
    printed: (row: T) => number,
    tolerance: number,
    errorKind?: ReproductionRow['errorKind'],
  ) => rows.map((row) => reproductionRow(key(row), printed(row), ours(row).meanLoss, tolerance, errorKind));

  const modelled = againstMean(TABLE_I, (row) => row.modelled, PRINTED_DIGIT);
  const simulated = againstMean(TABLE_I, (row) => row.simulated, SIMULATION_MARGIN, 'relative');
  const measured = againstMean(TABLE_I, (row) => row.measured, MEASUREMENT_MARGIN, 'relative');
  const uniform = mersenneTwister(SEED);
  const sampled = TABLE_I.map((row) => {
    const estimate = sampledLoss(LAWS[row.workload](), row.n, SAMPLED_GROUPS, uniform);
    const spread = estimate.standardDeviationLoss * Math.sqrt(1 / SAMPLED_GROUPS + 1 / PAPER_GROUPS);
    const tolerance = STANDARD_ERRORS * spread + PRINTED_DIGIT;
    return reproductionRow(key(row), row.simulated, estimate.meanLoss.value, tolerance);
  });

  const publicMean = PUBLIC_GROUPS.map((row) => {
    const tolerance = (STANDARD_ERRORS * ours(row).standardDeviationLoss) / Math.sqrt(PUBLIC_GROUP_COUNT) + 1e-6;
    return reproductionRow(key(row), row.simulatedMean, ours(row).meanLoss, tolerance);
  });
  const publicAggregate = PUBLIC_GROUPS.map((row) =>
    reproductionRow(key(row), row.simulatedAggregate, ours(row).aggregateLoss, 0.002, 'relative'),
  );
  const publicMeasured = againstMean(PUBLIC_GROUPS, (row) => row.measuredMean, MEASUREMENT_TOLERANCE, 'relative');

  return [
    table('Table I, modelled mean loss', '1', modelled, ['Every printed digit must agree.']),
    table('Table I, simulated mean loss against the model', '1', simulated, [
      `The paper's claim, a relative error below ${percent(SIMULATION_MARGIN)}, ${claim(simulated, SIMULATION_MARGIN)}`,
    ]),
    table('Table I, simulated mean loss against our Monte Carlo', '1', sampled, [
      `Our sample has ${SAMPLED_GROUPS} groups per row (MT19937, seed ${SEED}). The tolerance is ${STANDARD_ERRORS} standard errors of both samples.`,
    ]),
    table('Table I, measured mean loss against the model', '1', measured, [
      `The paper's claim, a relative error below ${percent(MEASUREMENT_MARGIN)}, ${claim(measured, MEASUREMENT_MARGIN)}`,
    ]),
    table('Public data, simulated mean loss', '1', publicMean, [
      'These data are from the authors’ repository. They come from another run than Table I.',
    ]),
    table('Public data, simulated aggregate loss', '1', publicAggregate, [
      'The aggregate loss is total lockstep time divided by total work. It differs from the mean over groups, and the paper does not print it.',
    ]),
    table('Public data, measured mean loss against the model', '1', publicMeasured, [
      `On this run the paper's margin of ${percent(MEASUREMENT_MARGIN)} ${claim(publicMeasured, MEASUREMENT_MARGIN)}`,
      'Rows with n = 1 have no loss. They show the error of the measurement itself: up to ' +
        `${percent(largestMargin(publicMeasured.filter((_, i) => PUBLIC_GROUPS[i].n === 1)))}.`,
    ]),
  ];
}

/** As defined under Table I: the distance from the modelled mean, divided by that mean. */
function computeMargin(row: ReproductionRow): number {
  return Math.abs(row.paper / row.ours - 1);
}

function largestMargin(rows: readonly ReproductionRow[]): number {
  return Math.max(...rows.map(computeMargin));
}

function claim(rows: readonly ReproductionRow[], margin: number): string {
  const broken = rows.filter((row) => computeMargin(row) > margin);
  if (broken.length === 0) return `holds: the largest error is ${percent(largestMargin(rows))}.`;
  return `does not hold for ${broken.map((row) => `${row.label} (${percent(computeMargin(row))})`).join(' and ')}.`;
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(2)} %`;
}
