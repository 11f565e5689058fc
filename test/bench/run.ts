/**
 * `npm run bench [NAME …]` runs the benchmarks, one process each, so that none warms the machine for another. `npm run
 * bench -- --against REV` compares a short one with another revision (`against.ts`).
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchAgainst } from './against.ts';

const BENCHES = [
  'composite',
  'balancing',
  'simulations',
  'sweep',
  'spmv',
  'cycle-sim',
  'h100',
  'advice',
  'evidence',
  'tuning',
  'chances',
];
/** Benchmarks that run more than once. */
const OPTIONS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  balancing: [[], ['--lengths', 'files', '--designs', '500', '--seed', '3']],
};
const { values: options, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' }, rounds: { type: 'string', default: '9' } },
});
const unknown = asked.find((name) => !BENCHES.includes(name));
const rounds = Number(options.rounds);
if (options.against !== undefined) {
  const isCount = Number.isInteger(rounds) && rounds > 0;
  if (!isCount) process.stderr.write(`--rounds is "${options.rounds}". Specify a whole number from 1.\n`);
  process.exitCode = isCount ? benchAgainst(options.against, rounds) : 2;
} else if (unknown !== undefined) {
  process.stderr.write(`No benchmark has the name "${unknown}". Specify some of ${BENCHES.join(', ')}.\n`);
  process.exitCode = 2;
} else
  for (const name of asked.length > 0 ? asked : BENCHES) {
    process.stdout.write(`\n${name}\n`);
    for (const args of OPTIONS[name] ?? [[]]) {
      const bench = join(import.meta.dirname, `${name}.ts`);
      const { status } = spawnSync(process.execPath, [bench, ...args], { stdio: 'inherit' });
      if (status !== 0) process.exitCode = 1;
    }
  }
