import { type Command, Option } from 'commander';
import { ok, type Result, unwrap, badInput } from '../../../src-workers/domain/result.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { TuningStep } from '../../contract/measuring.ts';
import { validate } from '../../contract/parse.ts';
import { procedures } from '../../contract/procedures.ts';
import { DESIGNS_PER_STEP, failureReasons, skillText, triedDesigns, tune } from '../../contract/tuning.ts';
import type { Engine } from '../../services/engine.ts';
import { counted } from '../../services/export/text.ts';
import { agentTarget } from '../agents.ts';
import { byAgents, command, type CommandLine, type GlobalOptions, parsedBy, positive, whole } from '../command-line.ts';
import { designColumns } from '../design-columns.ts';
import { followRun, runId } from '../follow.ts';
import { EXIT_FAILED, EXIT_OK, percent, type Terminal, timeCells, usage, failure } from '../output.ts';
import { type BenchOptions, launchInput, measuringTarget } from './bench.ts';

export function addTune(program: Command, { terminal, withRuns }: CommandLine): void {
  byAgents(command(program, 'tune <run>', 'find the fastest design of a sweep by measuring only a few of them'))
    .option('--target <target>', 'measure on cuda:0, hip:0, webgpu or cpu (bench --list prints the available ones)')
    .option('--exec <command>', 'measure with your own program instead (see bench --help)')
    .option('--build <command>', 'build the program of --exec first')
    .option('--kernel <file>', 'measure your own kernel on the target instead (see bench --help)')
    .option('--device <id>', 'the device to measure for, if the sweep has several devices')
    .addOption(
      new Option(
        '--budget <amount>',
        'how many designs to measure in all (40), or how long this command may take (60s, 5m)',
      )
        .argParser(parsedBy(parseBudget))
        .default({ designs: 40 }, '40'),
    )
    .addOption(
      new Option(
        '--within <percent>',
        'stop when, with a probability of 90 %, the best measured design is at most this much slower than the fastest of all',
      )
        .argParser(parsedBy(parseShare))
        .default(0.03, '3%'),
    )
    .option('--repeats <count>', 'timed launches of each design (default: 15)', positive)
    .option('--warm-ups <count>', 'launches of each design before the timed ones (default: 3)', whole)
    .option('--case-limit <seconds>', 'time limit for one design (default: 60)', positive)
    .addHelpText(
      'after',
      `
The first designs are spread over the sweep. Further designs are the most promising by all measurements and the prediction.
Tuning ends when, with a probability of 90 %, the best measured design is at most --within slower than the fastest design
of the sweep, or when the budget is spent. Each step is a measurement of the run. All measurements of the run on this
target and with this program count, so the same command continues a stopped tuning.
With --json: {runId, deviceId, considered, measured, failed, best: {designIndex, design, measuredMs, expectedMs, predictedMs}, expectedRegret,
  skill (rank correlation of predicted and measured times), within, stopped, elapsedMs, steps: [{runId, designs, measured, failed,
  best, expectedRegret}]}; with a probability of 90 %, best is at most the fraction expectedRegret slower than the fastest;
  stopped is within, budget, all-measured or all-failed; times include the predicted time of ordering the units.`,
    )
    .action((run: string, options: TuneOptions) =>
      withRuns(options, (engine) => tuneCommand(engine, terminal, run, options)),
    );
}

type TuningBudget = { readonly designs: number } | { readonly timeMs: number };

interface TuneOptions
  extends
    GlobalOptions,
    Pick<BenchOptions, 'target' | 'exec' | 'build' | 'kernel' | 'device' | 'repeats' | 'warmUps' | 'caseLimit'> {
  readonly budget: TuningBudget;
  readonly within: number;
}

async function tuneCommand(engine: Engine, terminal: Terminal, run: string, options: TuneOptions): Promise<number> {
  const { budget, within, device } = options;
  const id = usage(runId(run));
  const where = usage(measuringTarget(usage(await agentTarget(engine, options))));
  const sweep = { ...where, runId: id, deviceId: device };
  const asked = usage(validate(procedures['bench.next'].input, { ...sweep, count: DESIGNS_PER_STEP }, 'tune'));
  const how = { choose: 'named', ...launchInput(options) } as const;
  const start = usage(validate(procedures['bench.start'].input, { ...sweep, ...how, designs: [0] }, 'tune'));
  const began = performance.now();
  const steps: (Pick<TuningStep, 'measured' | 'failed' | 'best' | 'expectedRegret'> & {
    readonly runId: number;
    readonly designs: readonly number[];
  })[] = [];

  const { step, stopped } = unwrap(
    await tune({
      within,
      next: () => engine.call('bench.next', asked),
      async measure(designs) {
        return followRun(engine, terminal, `Step ${steps.length + 1}`, () =>
          engine.call('bench.start', { ...start, designs: [...designs] }),
        );
      },
      left: (step) =>
        'designs' in budget
          ? budget.designs - triedDesigns(step)
          : performance.now() - began < budget.timeMs
            ? step.next.length
            : 0,
      show(step, done) {
        const { measured, failed, best, expectedRegret } = step;
        if (done) steps.push({ ...done, measured, failed, best, expectedRegret });
        if (options.json || triedDesigns(step) === 0) return;
        const said = done ? `Step ${steps.length}, run ${done.runId}` : 'Measured before';
        terminal.say(`${said}: ${progressText(step)}`);
      },
    }),
  );
  if (stopped === 'other-device')
    throw failure(
      'unsupported',
      'The last step ran on another device than the earlier measurements, so it does not count. Predict a new run for this device.',
    );
  const { next: _next, ...last } = step;
  if (options.json) terminal.json({ ...last, within, stopped, elapsedMs: performance.now() - began, steps });
  else report(terminal, last, stopped, within);
  return last.best ? EXIT_OK : EXIT_FAILED;
}

function progressText({ measured, failed, best, expectedRegret }: TuningStep): string {
  const counts = `${counted(measured, 'design')}${failed > 0 ? ` (${failed} more failed)` : ''}`;
  return best === null || expectedRegret === null
    ? `${counts}.`
    : `${counts}; the best is design ${best.designIndex} with ${timeText(best.measuredMs)}, ${boundText(expectedRegret)}.`;
}

const boundText = (regret: number): string =>
  `with a probability of 90 % at most ${percent(regret)} slower than the fastest design of the sweep`;

const STOPPED = {
  within: (within: number) => `This is enough for --within ${percent(within)}.`,
  'all-measured': () => 'All designs were measured.',
  'all-failed': () => 'All designs of the last step failed. The same command tries further designs.',
  budget: () => 'The budget is spent. The same command with a larger --budget continues.',
} as const;

function report(
  terminal: Terminal,
  { best, measured, considered, expectedRegret, skill, history }: Omit<TuningStep, 'next'>,
  stopped: keyof typeof STOPPED,
  within: number,
): void {
  if (best === null || expectedRegret === null) {
    const [reason] = failureReasons({ history });
    terminal.say(
      `No design could be measured${reason ? `: ${reason.replace(/\.$/, '')}` : ''}. ${STOPPED[stopped](within)}`,
    );
    return;
  }
  const { unit, cell } = timeCells([best.predictedMs, best.measuredMs, best.expectedMs]);
  terminal.rows(
    [best],
    [
      ['design', ({ designIndex }) => designIndex],
      ...designColumns<typeof best>(),
      [`predicted, ${unit}`, ({ predictedMs }) => cell(predictedMs)],
      [`measured, ${unit}`, ({ measuredMs }) => cell(measuredMs)],
      [`expected, ${unit}`, ({ expectedMs }) => cell(expectedMs)],
    ],
  );
  terminal.say(
    `Measured ${measured} of ${counted(considered, 'design')}. ${STOPPED[stopped](within)} The design above is ${boundText(expectedRegret)}.`,
  );
  const note = skillText({ skill, measured });
  if (note) terminal.say(note);
}

function parseBudget(text: string): Result<TuningBudget> {
  const [, number, unit] = /^(\d{1,9})(s|m|h|)$/.exec(text) ?? [];
  const value = Number(number);
  if (number === undefined || value < 1)
    return badInput('It must be a time (60s, 5m, 1h) or a number of designs (40).');
  const seconds = { s: 1, m: 60, h: 3600 }[unit];
  return ok(seconds === undefined ? { designs: value } : { timeMs: value * seconds * 1000 });
}

function parseShare(text: string): Result<number> {
  const [, number] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  const share = Number(number) / 100;
  return share > 0 && share < 1 ? ok(share) : badInput('It must be a percentage between 0% and 100%, such as 3%.');
}
