/**
 * `npm run bench [NAME …]` runs each benchmark in its own process, so that none warms the machine for the next. A
 * single name may have arguments: `npm run bench -- advice acts --fields lengths`. `--against REV`: see `against.ts`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ENGINE_ARGUMENTS, engineEnvironment } from '../../src-main/hosts/runtimes.mjs';
import { benchAgainst } from './against.ts';

const BENCHES = 'composite balancing sweep spmv cycle-sim h100 advice evidence tuning chances'.split(' ');
/** Benchmarks that run several times, each time with other arguments. */
const OPTIONS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  balancing: [[], ['--lengths', 'files', '--designs', '500', '--seed', '3']],
};
const words = process.argv.slice(2);
const other = words.findIndex((word) => !BENCHES.includes(word));
const [asked, others] = other === -1 ? [words, []] : [words.slice(0, other), words.slice(other)];

function compare(): void {
  const { values: options } = parseArgs({
    options: { against: { type: 'string' }, rounds: { type: 'string', default: '9' } },
  });
  const rounds = Number(options.rounds);
  const isCount = Number.isInteger(rounds) && rounds > 0;
  if (!isCount) process.stderr.write(`--rounds is "${options.rounds}". Specify a whole number from 1.\n`);
  process.exitCode = isCount && options.against ? benchAgainst(options.against, rounds) : 2;
}

if (others.some((word) => /^--against(=|$)/.test(word))) compare();
else if (others.length > 0 && asked.length !== 1) {
  process.stderr.write(`No benchmark has the name "${others[0]}". Specify some of ${BENCHES.join(', ')}.\n`);
  process.exitCode = 2;
} else
  for (const name of asked.length > 0 ? asked : BENCHES) {
    process.stdout.write(`\n${name}\n`);
    for (const args of others.length > 0 ? [others] : (OPTIONS[name] ?? [[]])) {
      const bench = join(import.meta.dirname, `${name}.ts`);
      // The benchmark of the Study view's answers uses the engine's settings of the desktop application.
      const env = name === 'advice' ? engineEnvironment(process.env) : process.env;
      const settings = name === 'advice' ? ENGINE_ARGUMENTS : [];
      const { status } = spawnSync(process.execPath, [...settings, bench, ...args], { stdio: 'inherit', env });
      if (status !== 0) process.exitCode = 1;
    }
  }
