/** `npm run verify [SECTION …] [-- --quick] [--seed N] [--amount N]` attacks the program, each section in a process. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE, processStreams, terminalOn } from '../../src-main/cli/output.ts';
import { inSeconds, openReport, type Report, type Section } from './report.ts';

const SECTIONS = 'supply files storage calls inputs memory trips host kills agents monkey flagship'.split(' ');
const USAGE = `npm run verify -- [${SECTIONS.join(' | ')}] … [--quick] [--seed N] [--amount N]`;

const terminal = terminalOn(processStreams);
const print = (line: string): void => terminal.out(`  ${line}\n`);
const sectionOf = async (name: string): Promise<Section> =>
  ((await import(`./${name}.ts`)) as { readonly section: Section }).section;

type Found = Pick<Report, 'figures' | 'failures'>;

async function runSection(name: string, amount: number, seed: number): Promise<void> {
  const report = openReport(seed, print);
  try {
    await (await sectionOf(name)).run(report, amount);
  } catch (error) {
    report.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const { figures, failures } = report;
  process.send!({ figures, failures } satisfies Found, () => process.exit());
}

function inProcess(name: string, amount: number, seed: number): Promise<Found> {
  const words = ['--as', name, '--amount', `${amount}`, '--seed', `${seed}`];
  const child = fork(join(import.meta.dirname, 'run.ts'), words, { execArgv: ['--expose-gc'] });
  return new Promise((resolve) => {
    child.on('message', (found) => resolve(found as Found));
    const ended = (how: unknown) => `The process of ${name} ended with ${String(how)} before it was done.`;
    child.on('exit', (code, signal) => resolve({ figures: [], failures: [ended(signal ?? code)] }));
  });
}

async function verify(names: readonly string[], quick: boolean, seed: number, amount: number | null): Promise<number> {
  const rows: string[][] = [];
  const failures: string[] = [];
  for (const name of names) {
    const { what, amount: usual } = await sectionOf(name);
    const count = amount ?? (quick ? usual.quick : usual.full);
    terminal.out(`\n${name}: ${what} (${count.toLocaleString('en')} ${usual.unit}, seed ${seed})\n`);
    const start = performance.now();
    const found = await inProcess(name, count, seed);
    const time = inSeconds(performance.now() - start);
    const verdict = found.failures.length === 0 ? 'ok' : `${found.failures.length} FAILED`;
    rows.push([name, 'result', verdict, time], ...found.figures.map(([figure, result]) => ['', figure, result, '']));
    failures.push(...found.failures.map((failure) => `${name}: ${failure}`));
  }
  terminal.out('\n');
  terminal.table(['section', 'figure', 'result', 'time'], rows);
  for (const failure of failures) terminal.out(`\nFAILED ${failure}\n`);
  if (failures.length > 0) terminal.out(`\nRepeat: npm run verify -- SECTION --seed ${seed}\n`);
  return failures.length === 0 ? EXIT_OK : EXIT_FAILED;
}

const wholeNumber = (text: string | undefined): number | null | undefined =>
  text === undefined ? null : /^\d{1,9}$/.test(text) ? Number(text) : undefined;

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, seed: { type: 'string' }, amount: { type: 'string' }, as: { type: 'string' } },
  allowPositionals: true,
});
const unknown = positionals.find((name) => !SECTIONS.includes(name));
const [seed, amount] = [wholeNumber(values.seed), wholeNumber(values.amount)];
const refuse = (message: string): void => {
  terminal.err(`${message} ${USAGE}\n`);
  process.exitCode = EXIT_USAGE;
};
if (values.as) await runSection(values.as, amount ?? 1, seed ?? 1);
else if (unknown !== undefined) refuse(`There is no section "${unknown}".`);
else if (seed === undefined || amount === undefined)
  refuse('--seed and --amount are whole numbers of at most nine digits.');
else {
  // The seed is new for each run, so that other values are tried. It is printed.
  const names = positionals.length > 0 ? positionals : SECTIONS;
  process.exitCode = await verify(names, values.quick ?? false, seed ?? Date.now() % 1e9, amount);
}
