/* eslint-disable no-console */
/**
 * Measures the accuracy of the composite prediction against the event simulation over random designs. It takes about ten
 * minutes on one core: `node test/bench/composite.ts [--designs 500] [--seeds 11,12,13,14] [--worst 10]`. The median
 * error must be at most 1 %, the 95th percentile at most 5 %, and Spearman's correlation at least 0.9995.
 */
import { parseArgs } from 'node:util';
import { prepareBlockLaw } from '../../src-workers/predict/time/block-law.ts';
import { makePlainLaunch, findRegime } from '../../src-workers/predict/time/regimes.ts';
import { makeResidency } from '../../src-workers/predict/time/residency.ts';
import { spearman } from '../../src-workers/numeric/statistics.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { replicate } from '../../src-workers/simulate/replicate.ts';
import { independentGroups } from '../../src-workers/simulate/samplers.ts';
import { randomDesign, type RandomDesign } from './composite-designs.ts';
import { percent, printWorst, summarise } from './differences.ts';

const { values: options } = parseArgs({
  options: {
    designs: { type: 'string', default: '500' },
    seeds: { type: 'string', default: '11,12,13,14' },
    worst: { type: 'string', default: '10' },
  },
});

/** Most simulated ends of groups for a design: over all its launches, and in one launch. */
const MAX_GROUP_ENDS = 2e7;
const LARGEST_LAUNCH = 5e5;

interface Row {
  readonly design: RandomDesign;
  readonly regime: string;
  readonly simulated: number;
  readonly standardError: number;
  readonly predicted: number;
  readonly difference: number;
}

function compare(design: RandomDesign, seed: number): Row & { readonly groupEnds: number } {
  const { label: _, depth, ...launch } = design;
  const { multiprocessors, residentBlocks, groupsPerBlock, gridBlocks, cyclesPerIteration, schedulers } = launch;
  const groups = gridBlocks * groupsPerBlock;
  const device = prepareDevice(launch, independentGroups(depth));
  const most = Math.min(50_000, Math.max(16, Math.ceil(MAX_GROUP_ENDS / groups)));
  const times = replicate(device, {
    seed,
    // The mean counts only after enough replications that a rare long unit is likely to have occurred.
    atLeast: Math.min(most, Math.max(8, Math.ceil(1e6 / groups))),
    atMost: most,
    relativeStandardError: 0.003,
  });
  const block = prepareBlockLaw(design.depth, groupsPerBlock);
  const residency = makeResidency(block, residentBlocks, cyclesPerIteration, schedulers);
  const launched = makePlainLaunch(residency, gridBlocks, multiprocessors);
  const regime = findRegime(launched);
  const predicted = regime.cycles(launched);
  return {
    design,
    regime: regime.id,
    simulated: times.meanCycles,
    standardError: times.standardErrorCycles / times.meanCycles,
    predicted,
    difference: predicted / times.meanCycles - 1,
    groupEnds: times.cycles.length * groups,
  };
}

const rows: Row[] = [];
let groupEnds = 0;
const start = process.cpuUsage().user;
for (const seed of options.seeds.split(',')) {
  const random = seededRandom(Number(seed));
  for (let i = 0; i < Number(options.designs); i++) {
    const row = compare(randomDesign(random, LARGEST_LAUNCH), i);
    groupEnds += row.groupEnds;
    rows.push(row);
  }
}
const seconds = (process.cpuUsage().user - start) / 1e6;
// An imprecise simulation cannot judge a prediction.
const known = rows.filter((row) => row.standardError <= 0.005);
summarise('all', known);
const ofRegime = (regime: string): readonly Row[] => known.filter((row) => row.regime === regime);
for (const regime of new Set(known.map((row) => row.regime))) summarise(`  ${regime}`, ofRegime(regime));
const times = (of: 'predicted' | 'simulated') => Float64Array.from(known, (row) => row[of]);
console.log(`Spearman ${spearman(times('predicted'), times('simulated')).toFixed(5)}`);
console.log(`simulator: ${(groupEnds / seconds / 1e6).toFixed(1)} M group ends/s`);
printWorst(known, Number(options.worst), (row) => `± ${percent(row.standardError)}  ${row.design.label}`);
