import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TimeRatio, Verdict } from '../../../src-workers/domain/benchmark.ts';
import type { RunsComparison } from '../../contract/measuring.ts';
import type { Engine } from '../../services/engine.ts';
import { command, type CommandLine, type GlobalOptions } from '../command-line.ts';
import { runId } from '../follow.ts';
import { EXIT_FAILED, EXIT_OK, percent, type Terminal, timeCells, usage, badUsage } from '../output.ts';

function percentage(text: string): number {
  const number = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  const fraction = Number(number) / 100;
  if (fraction >= 0 && fraction <= 1) return fraction;
  throw new InvalidArgumentError('It must be a percentage from 0% to 100%, such as 2%.');
}

export function addCompare(program: Command, { terminal, withRuns }: CommandLine): void {
  command(
    program,
    'compare <runs...>',
    'compare measured runs with the first one, for example runs on other devices or of other versions of a kernel',
  )
    .addOption(
      new Option('--threshold <percentage>', 'ignore differences up to this size')
        .argParser(percentage)
        .default(0.02, '2%'),
    )
    .option('--best', 'compare only the fastest design of each run')
    .addHelpText(
      'after',
      `
RUN is a measurement on this machine (bench) or an imported one (import). Each design gets a verdict against the first run:
same, faster, slower or cannot tell. The verdict uses the 95 % interval of the ratio of the medians, which needs 7 repeats
on both sides. Exit status: 0 if nothing is slower; 1 if a design (with --best: the fastest) is slower, failed, or gave
wrong results; 2 if a run cannot be compared.
With --json: {threshold, runs: [{runId, name, device, startedAt, designs, best, againstFirst, lost}], designs: [{label, times, against}], cross,
oneForAll, common, warnings, slower}; best and oneForAll.design are indexes into designs, cross[i][j] is the time of the fastest design
of run i in run j, and a comparison is {ratio, interval: {low, high}, verdict}.`,
    )
    .action((runs: string[], options: CompareOptions) =>
      withRuns(options, (engine) => compareRunsCommand(engine, terminal, runs, options), { reads: true }),
    );
}

const MAX_ROWS = 40;

const VERDICT_TEXT: Readonly<Record<Verdict, string>> = {
  same: 'same',
  faster: 'faster',
  slower: 'slower',
  'cannot-tell': 'cannot tell',
};

interface CompareOptions extends GlobalOptions {
  readonly threshold: number;
  readonly best?: boolean;
}

/** The exit status is 1 if designs became slower (without `best`, also if any failed), so that a build script stops. */
async function compareRunsCommand(
  engine: Engine,
  terminal: Terminal,
  runs: readonly string[],
  { threshold, best = false, json = false }: CompareOptions,
): Promise<number> {
  if (runs.length < 2) throw badUsage('Specify at least two runs to compare.');
  const ids = runs.map((text) => usage(runId(text)));
  const compared = usage(await engine.call('bench.compareRuns', { ids, threshold }));
  const ofFastest = verdictsOf(compared.runs.map((run) => run.againstFirst));
  const ofDesigns = best ? [] : verdictsOf(compared.designs.flatMap(({ against }) => against));
  const slower = [...ofFastest, ...ofDesigns].includes('slower');
  if (json) terminal.json({ ...compared, slower });
  else {
    print(terminal, compared, best);
    const shared = ofDesigns.length > 0;
    const counts = countsText(shared ? ofDesigns : ofFastest);
    terminal.say(
      `${shared ? 'Designs' : 'Fastest designs'}: ${counts}; differences up to ${percent(threshold)} are ignored.`,
    );
    for (const warning of compared.warnings) terminal.say(warning);
  }
  const lost = !best && compared.runs.some((run) => run.lost > 0);
  return slower || lost ? EXIT_FAILED : EXIT_OK;
}

const verdictsOf = (ratios: readonly (TimeRatio | null | undefined)[]): readonly Verdict[] =>
  ratios.flatMap((one) => (one ? [one.verdict] : []));

const countsText = (verdicts: readonly Verdict[]): string =>
  (Object.keys(VERDICT_TEXT) as Verdict[])
    .map((verdict) => `${verdicts.filter((one) => one === verdict).length} ${VERDICT_TEXT[verdict]}`)
    .join(', ');

const signed = (ratio: number): string => `${ratio < 1 ? '−' : '+'}${percent(Math.abs(ratio - 1))}`;

const changeText = (one: TimeRatio | null): string => (one ? signed(one.ratio) : '–');

const intervalText = (one: TimeRatio | null): string =>
  one?.interval ? `${signed(one.interval.low)} to ${signed(one.interval.high)}` : '–';

const verdictText = (one: TimeRatio | null): string => (one ? VERDICT_TEXT[one.verdict] : '–');

function print(terminal: Terminal, { runs, designs, cross, oneForAll, common }: RunsComparison, best: boolean): void {
  const [first, ...others] = runs;
  for (const { runId: id, name, device, designs: count } of runs)
    terminal.say(
      `Run ${id}: ${name}, ${device}, ${count.toLocaleString('en')} designs${id === first.runId ? '; the reference' : ''}.`,
    );
  terminal.say('');
  const bestOf = (at: number) => designs[runs[at].best];
  const fastest = timeCells(runs.map((_, at) => bestOf(at).times[at]!.medianMs));
  terminal.table(
    ['run', `fastest, ${fastest.unit}`, 'change', '95 % interval', 'verdict', 'design'],
    runs.map(({ runId: id, againstFirst }, at) => [
      id,
      fastest.cell(bestOf(at).times[at]!.medianMs),
      at === 0 ? '' : changeText(againstFirst),
      at === 0 ? '' : intervalText(againstFirst),
      at === 0 ? 'reference' : verdictText(againstFirst),
      bestOf(at).label,
    ]),
  );
  if (!best && common > 0) {
    terminal.say('');
    const shown = designs
      .filter(({ times }) => times[0] !== null && times.some((time, at) => at > 0 && time !== null))
      .toSorted((a, b) => a.times[0]!.medianMs - b.times[0]!.medianMs);
    const listed = shown.slice(0, MAX_ROWS);
    const { unit, cell } = timeCells(listed.flatMap(({ times }) => times.map((time) => time?.medianMs)));
    terminal.table(
      [
        `run ${first.runId}, ${unit}`,
        ...others.flatMap((run) => [`run ${run.runId}, ${unit}`, 'change', '95 % interval', 'verdict']),
        'design',
      ],
      listed.map(({ label, times, against }) => [
        cell(times[0]!.medianMs),
        ...others.flatMap((_, at) => {
          const time = times[at + 1];
          const one = against[at + 1];
          return [cell(time?.medianMs), changeText(one), intervalText(one), verdictText(one)];
        }),
        label,
      ]),
    );
    if (shown.length > MAX_ROWS)
      terminal.say(`These are the fastest ${MAX_ROWS} of ${shown.length} designs. --json has all of them.`);
  }
  terminal.say('');
  terminal.say(
    'Each row is the fastest design of a run. A cell says how much slower it is, in the run of the column, than the fastest design there.',
  );
  terminal.table(
    ['', ...runs.map((run) => `run ${run.runId}`)],
    runs.map((run, row) => [
      `run ${run.runId}`,
      ...cross[row].map((timeMs, column) => (timeMs === null ? '–' : percent(timeMs / cross[column][column]! - 1))),
    ]),
  );
  if (oneForAll)
    terminal.say(
      `One design for all runs: ${designs[oneForAll.design].label}, at worst ${percent(oneForAll.worst - 1)} slower than the fastest design of a run.`,
    );
}
