/**
 * Measures the accuracy of the composite prediction against the event simulation over random designs. It takes about ten
 * minutes on one core: `node test/bench/composite.ts [--designs 500] [--seeds 11,12,13,14] [--worst 10]`. The median
 * error must be at most 1 %, the 95th percentile at most 5 %, and Spearman's correlation at least 0.9995.
 */
import { parseArgs } from 'node:util';
import { findRegime } from '../../src-workers/predict/time/regimes.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { prepareLaunch, randomDesign, simulateCycles, type RandomDesign } from './composite-designs.ts';
import { percent, printWorst, reportErrors, say, type Compared } from './report.ts';

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

interface Row extends Compared {
  readonly design: RandomDesign;
  readonly regime: string;
  readonly standardError: number;
  readonly groupEnds: number;
}

function compare(design: RandomDesign, seed: number): Row {
  const groups = design.gridBlocks * design.groupsPerBlock;
  const most = Math.min(50_000, Math.max(16, Math.ceil(MAX_GROUP_ENDS / groups)));
  const { meanCycles, standardDeviationCycles, cycles } = simulateCycles(design, {
    seed,
    // The mean counts only after enough replications that a rare long unit is likely to have occurred.
    atLeast: Math.min(most, Math.max(8, Math.ceil(1e6 / groups))),
    atMost: most,
    relativeHalfWidth: 0.0058,
  });
  const launch = prepareLaunch(design);
  const regime = findRegime(launch);
  const standardError = standardDeviationCycles / Math.sqrt(cycles.length) / meanCycles;
  const groupEnds = cycles.length * groups;
  return { design, regime: regime.id, predicted: regime.cycles(launch), actual: meanCycles, standardError, groupEnds };
}

const start = process.cpuUsage().user;
const rows = options.seeds.split(',').flatMap((seed) => {
  const random = seededRandom(Number(seed));
  return Array.from({ length: Number(options.designs) }, (_, i) => compare(randomDesign(random, LARGEST_LAUNCH), i));
});
const seconds = (process.cpuUsage().user - start) / 1e6;
// An imprecise simulation cannot judge a prediction.
const known = rows.filter((row) => row.standardError <= 0.005);
reportErrors('all', known);
for (const [regime, some] of Map.groupBy(known, (row) => row.regime)) reportErrors(`  ${regime}`, some);
const groupEnds = rows.reduce((sum, row) => sum + row.groupEnds, 0);
say(`simulator: ${(groupEnds / seconds / 1e6).toFixed(1)} M group ends/s`);
printWorst(known, Number(options.worst), (row) => `± ${percent(row.standardError, 2)}  ${row.design.label}`);
