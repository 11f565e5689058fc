/** `npm run bench [NAME …]`: the benchmarks, one process each, so that none warms the machine for another. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const BENCHES = [
  'imbalance',
  'composite',
  'balancing',
  'simulations',
  'store',
  'sweep',
  'renderer',
  'measured',
  'spmv',
  'estimates',
  'advice',
  'evidence',
  'tune',
  'python',
];
/** Benchmarks that run more than once. */
const OPTIONS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  balancing: [[], ['--lengths', 'files', '--designs', '500', '--seed', '3']],
};
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !BENCHES.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`No benchmark has the name "${unknown}". Specify some of ${BENCHES.join(', ')}.\n`);
  process.exitCode = 2;
} else
  for (const name of asked.length > 0 ? asked : BENCHES) {
    process.stdout.write(`\n${name}\n`);
    for (const options of OPTIONS[name] ?? [[]]) {
      const bench = join(import.meta.dirname, `${name}.ts`);
      const { status } = spawnSync(process.execPath, [bench, ...options], { stdio: 'inherit' });
      if (status !== 0) process.exitCode = 1;
    }
  }
