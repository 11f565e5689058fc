/**
 * Measures the accuracy of the predicted time against the event simulation for units in an order (some minutes): `node
 * test/bench/balancing.ts [--lengths laws|files] [--designs 400] [--seed 1] [--worst 10] [--balancing A …]
 * [--threads-per-unit 64 …]`.
 */
import { parseArgs } from 'node:util';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { formatLaunch } from '../../src-workers/predict/design/launch.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { playableDesign } from '../unit/designs.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { computeSetupIterations } from '../../src-workers/domain/provenance.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { seededRandom, type Random } from '../../src-workers/simulate/random.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { pick } from './composite-designs.ts';
import { printWorst, reportErrors, say, type Compared } from './report.ts';

const { values: options } = parseArgs({
  options: {
    lengths: { type: 'string', default: 'laws' },
    designs: { type: 'string', default: '400' },
    seed: { type: 'string', default: '1' },
    worst: { type: 'string', default: '10' },
    balancing: { type: 'string', multiple: true },
    'threads-per-unit': { type: 'string', multiple: true },
  },
});

/** Half width of the 95 % interval of the simulated mean, as a fraction: a standard error of 0.5 %. */
const HALF_WIDTH = 0.0098;
const MAX_REPLICATIONS = 400;

interface Row extends Compared {
  readonly label: string;
  readonly balancing: string;
  readonly regime: string;
  readonly waves: number;
}

const LAWS = ['geometric(0.05)', 'uniform(1, 100)', 'file:acts-propagation-steps.csv', 'zipf(1.6, 2000)'];
const MATRICES = '../../test/data/matrices';
const FILES = [
  ...['cage8', 'ca-GrQc', ...['lp_ship04l', '1138_bus', 'EVA'].map((name) => `${MATRICES}/${name}`)].map((path) => `mtx:${path}.mtx`), // prettier-ignore
  ...['collatz', 'collatz', 'mandelbrot', 'mandelbrot'].map((name) => `example:${name}`),
];
const isInOrder = options.lengths === 'files';
const [V100, A100, H100, RTX] = ['v100-sxm2-16gb', 'a100-sxm4-40gb', 'h100-sxm5-80gb', 'rtx-4090'].map((name) => `nvidia-${name}`); // prettier-ignore
const DEVICES = [V100, A100, A100, H100, RTX];
/** Returns a draw of a balancing whose argument is one of its usual values. */
const drawn =
  (name: string, values: readonly (number | string)[]) =>
  (random: Random): string =>
    `${name}(${pick(random, values)})`;
const WINDOWS = drawn('window-sort', [256, 1000, 1024, 4096, 4096, 5000, 16384]);
const FETCHES = ['dynamic-fetch', 'dynamic-fetch', 'dynamic-fetch(group)', 'dynamic-fetch(4)', 'dynamic-fetch(16)'];
const BALANCINGS: readonly ((random: Random) => string)[] = [
  ...(isInOrder ? Array.from({ length: 14 }, () => () => 'none') : []),
  ...[WINDOWS, WINDOWS, WINDOWS, WINDOWS, () => 'full-sort', () => 'full-sort'],
  drawn('quantile-buckets', [4, 8]),
  drawn('best-buckets', [3, 4]),
  (random) => pick(random, FETCHES),
  () => (isInOrder ? 'shuffle' : 'none'),
];

const chosenBalancings = options.balancing?.map((text) => () => text) ?? BALANCINGS;
const chosenThreads = options['threads-per-unit']?.map(Number) ?? [1, 1, 1, 1, 2, 4, 8, 32];
const LAW_UNITS = [65_536, 131_072, 131_072, 143_417, 143_417, 99_991, 250_000];
/** Numbers of units below, equal to and above the pixels of an image. Lengths repeat if there are more units. */
const FILE_UNITS = [65_536, 131_072, 143_417, 262_144, 262_144, 262_144, 524_288, 1_048_576];

async function randomPlan(random: Random): Promise<SweepPlan> {
  const threadsPerUnit = pick(random, chosenThreads);
  const blockThreads = pick(random, [32, 64, 128, 256, 256, 512, 1024, 96, 640]);
  const units = pick(random, isInOrder ? FILE_UNITS : LAW_UNITS);
  const study: StudyFile = {
    lockstep: 1,
    name: 'Balancing',
    workload: { lengths: pick(random, isInOrder ? FILES : LAWS), units },
    kernel: {
      name: 'k',
      registersPerThread: pick(random, [32, 64]),
      instructionsPerIteration: 40,
      unit: { instructions: 40 * pick(random, [0, 0, 3]) },
      lengthsKnownBeforeLaunch: true,
    },
    devices: [pick(random, DEVICES)],
    axes: {
      threadsPerUnit: [threadsPerUnit],
      loop: [random() < 0.5 ? 'nested' : 'flattened'],
      balancing: [pick(random, chosenBalancings)(random)],
      blockThreads: [blockThreads],
      ...(random() < 0.7
        ? { unitsPerThread: [Math.floor(33 ** random())] }
        : { blocksPerMultiprocessor: [Math.floor(17 ** random())] }),
    },
  };
  const plan = await planOf(study);
  // The knee ranges from deeply latency-bound to deeply issue-bound.
  const pipeline = { latencyCycles: 1500, issueCycles: 5 * 60 ** random(), kneeSoftness: 1 + 5 * random() };
  return { ...plan, pipeline: { [study.devices[0]]: pipeline } };
}

const random = seededRandom(Number(options.seed));
const rows: Row[] = [];
let predictedMs = 0;
for (let seed = 0; rows.length < Number(options.designs); seed += 1) {
  const plan = await randomPlan(random);
  const predictor = createPredictor(plan);
  const design = playableDesign(predictor, 0);
  if (!design) continue;
  const { axes, kernel } = plan;
  const balancing = axes.balancing[0];
  const waves = design.gridBlocks / (design.residentBlocks * design.device.multiprocessors);
  const { issueCycles, kneeSoftness } = plan.pipeline[design.device.id];
  const label =
    `${plan.law.label} ${balancing} ${axes.loop[0]} n=${design.unitsPerGroup} U=${plan.units} ` +
    `${formatLaunch(axes.launch[0])} m=${design.unitsPerThread} block=${axes.blockThreads[0]} Wb=${design.groupsPerBlock} ` +
    `R=${design.residentBlocks} G=${design.gridBlocks} waves=${waves.toFixed(2)} setup=${computeSetupIterations(kernel)} ` +
    `${design.device.id} c=${issueCycles.toFixed(1)} p=${kneeSoftness.toFixed(1)}`;
  const accuracy = { seed, halfWidth: HALF_WIDTH, maxReplications: MAX_REPLICATIONS };
  const simulated = unwrap(simulateDesign(predictor, 0, accuracy));
  const actual = simulated.meanMs - design.balancingMs;
  // An imprecise simulation cannot judge a prediction.
  if (!simulated.precise || !(actual > 0)) continue;
  const start = performance.now();
  const predicted = predictChunk(predictor, 0, 1).timeMs[0] - design.balancingMs;
  predictedMs += performance.now() - start;
  const regime = explainDesign(predictor, 0)!.regime.id;
  rows.push({ label, balancing, regime, waves, predicted, actual });
}

const isSorted = ({ balancing }: Row): boolean => balancing !== 'none' && !balancing.startsWith('dynamic-fetch');
const report = (name: string, of: (row: Row) => boolean): void => reportErrors(name, rows.filter(of));
report('all sorted', isSorted);
for (const name of new Set(rows.map(({ balancing }) => balancing.replace(/\(.*/, ''))))
  report(`  ${name}`, ({ balancing }) => balancing.startsWith(name));
report('  at most one wave', (row) => isSorted(row) && row.waves <= 1);
report('  1 to 4 waves', (row) => isSorted(row) && row.waves > 1 && row.waves <= 4);
report('  more waves', (row) => isSorted(row) && row.waves > 4);
for (const regime of new Set(rows.map((row) => row.regime))) report(`  ${regime}`, (row) => row.regime === regime);
say(`${((predictedMs / rows.length) * 1e3).toFixed(0)} µs a prediction, nothing shared`);
for (const name of ['dynamic-fetch', 'dynamic-fetch(group)', 'dynamic-fetch(4)', 'dynamic-fetch(16)'])
  report(`  ${name}`, ({ balancing }) => balancing === name);
const judged = options.balancing === undefined && !isInOrder ? rows.filter(isSorted) : rows;
printWorst(judged, Number(options.worst), ({ label }) => label);
