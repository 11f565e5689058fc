/**
 * Collects what `kernel inspect` finds in a folder of PTX of public kernels, for the laws in `db/assumed.json`. `node
 * test/bench/public-kernels.ts FOLDER` prints eleven quantiles of each figure, from 5 to 95 %.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Inspection } from '../../src-workers/domain/inspection.ts';
import type { Phase } from '../../src-workers/domain/kernel.ts';
import { inspectKernel, sourceName } from '../../src-workers/inspect/inspect.ts';
import { say } from './report.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';

const [folder] = process.argv.slice(2);

/** Largest number of kernels of one file, whose variants are similar. Only loops whose end depends on data count. */
const MAX_OF_FILE = 3;
const found: Inspection[] = [];
let files = 0;
for (const name of readdirSync(folder).filter((one) => one.endsWith('.ptx'))) {
  const ptx = readFileSync(join(folder, name), 'utf8');
  files += 1;
  const seen = new Set<string>();
  for (const [, entry] of ptx.matchAll(/^\.visible \.entry (\w+)/gm)) {
    if (seen.size === MAX_OF_FILE || seen.has(sourceName(entry))) continue;
    const inspected = inspectKernel(name, { ptx }, { entry });
    if (!inspected.ok || !inspected.value.chosen) continue;
    if (!inspected.value.loops[inspected.value.chosen.loop].divergent) continue;
    seen.add(sourceName(entry));
    found.push(inspected.value);
  }
}
say(`${found.length} kernels of ${files} files`);

const loopOf = ({ loops, chosen }: Inspection) => loops[chosen!.loop];
const phase = (name: 'prologue' | 'unit' | 'combine' | 'refill', of: (one: Phase) => number) => (one: Inspection) =>
  one.phases[name] && one.phases[name].instructions > 0 ? of(one.phases[name]) : NaN;
const figures: Readonly<Record<string, (one: Inspection) => number>> = {
  instructionsPerIteration: (one) => loopOf(one).instructionsPerIteration,
  'chain / instructions': (one) => loopOf(one).chainInstructions / loopOf(one).instructionsPerIteration,
  dependentLoads: (one) => loopOf(one).dependentLoads,
  dependentExchanges: (one) => loopOf(one).dependentExchanges,
  bytes: (one) => one.accesses.reduce((sum, { elementBytes }) => sum + elementBytes, 0),
  'integer share': (one) => loopOf(one).byClass.integer / loopOf(one).instructionsPerIteration,
  split: (one) => Number(one.sharing === 'split'),
  ...Object.fromEntries(
    (['prologue', 'unit', 'combine', 'refill'] as const).flatMap((name) => [
      [`${name} instructions`, phase(name, ({ instructions }) => instructions)],
      [`${name} chain`, phase(name, ({ chainInstructions = NaN, instructions }) => chainInstructions / instructions)],
      [`${name} exchanges`, phase(name, ({ dependentExchanges = 0 }) => dependentExchanges)],
      [`${name} loads`, phase(name, ({ dependentLoads = 0 }) => dependentLoads)],
      [`${name} bytes`, phase(name, ({ bytes = 0 }) => bytes)],
    ]),
  ),
};
for (const [name, figure] of Object.entries(figures)) {
  const values = Float64Array.from(found, figure)
    .filter((value) => !Number.isNaN(value))
    .sort();
  if (values.length === 0) continue;
  const quantiles = Array.from({ length: 11 }, (_, at) =>
    Number(sortedQuantile(values, 0.05 + 0.09 * at).toPrecision(3)),
  );
  say(`${name.padEnd(26)} ${String(values.length).padStart(4)}  ${quantiles.join('  ')}`);
}
