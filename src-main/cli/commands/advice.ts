import { type Command, Option } from 'commander';
import { designText } from '../../../src-workers/domain/design.ts';
import { evidenceGaps, evidenceText, tieBandText } from '../../../src-workers/domain/evidence.ts';
import { assumedPhrase, VARIED_INPUTS, type VariedInput } from '../../../src-workers/domain/provenance.ts';
import { ok, type Result, unwrap, badInput } from '../../../src-workers/domain/result.ts';
import { timeRange, timeText } from '../../../src-workers/domain/times.ts';
import type {
  InputSensitivity,
  Recommendation,
  Sensitivity,
  UncertainDesign,
  Uncertainty,
} from '../../contract/advice.ts';
import { newerInput } from '../../contract/older-kernels.ts';
import type { ProcedureInput } from '../../contract/procedures.ts';
import type { Study } from '../../contract/study.ts';
import type { Engine } from '../../services/engine.ts';
import { floorSentence } from '../../services/evidence/time-errors.ts';
import { tiesText } from '../../services/export/code.ts';
import { designFields } from '../../services/export/tables.ts';
import { chanceText, lossText } from '../../services/export/text.ts';
import { designWords } from '../../services/ranking/design-text.ts';
import { readStudyFile } from '../../services/studies/studies.ts';
import { command, type CommandLine, type GlobalOptions, VERBOSE, whole, call } from '../command-line.ts';
import { runId, sayIfDeleted } from '../follow.ts';
import { percent, showSeconds, type Terminal, timeCells, usage } from '../output.ts';

function inputOption(): Option {
  const option = new Option('--input <fields...>', 'only these inputs, as in kernel.serialFraction');
  const known = option.choices(VARIED_INPUTS).parseArg!;
  return option.argParser((name: string, before: readonly VariedInput[]) => known(newerInput(name), before));
}

export function addRecommend(program: Command, { terminal, withEngine, withRuns }: CommandLine): void {
  command(
    program,
    'recommend <study-or-run>',
    'recommend one design for a study (a file) or a run (its number), and say why',
  )
    .option('--device <id>', 'use only this device; for a study, ID:66 means 66 multiprocessors of a device')
    .option('--verbose', VERBOSE, false)
    .action((what: string, options: GlobalOptions & { device?: string }) =>
      (runId(what).ok ? withRuns : withEngine)(options, (engine) => recommendCommand(engine, terminal, what, options), {
        reads: true,
      }),
    )
    .addHelpText(
      'after',
      `
With --json: {device, devices, designIndex, design, rank, implementationKind, hasEvidence,
  time: {ms, lowMs, highMs, basis}, ties: {count, fraction, band: {fraction, source, takenFrom, count}, rule, designs},
  baseline, causes: [{part, label, ms}], why, inputs: [{field, label, value, unit, origin, note, usual}], predicted, of, elapsedMs,
  robust: {designIndex, text, expectedRegret, chance, worst90, draws, lowMs, highMs}, point, designs: [{designIndex, text, timeMs,
  expectedRegret, chanceBest, worst90}], unknown: [{input, range, source}], worthKnowing: [{input, label, gain, how, sentence}], separation,
  measured: {designIndex, text, medianMs, sentence}, which is the fastest measured design of a run, if it is another one}
expectedRegret, worst90 and gain are natural logarithms of ratios of times: 0.1548 is 16.7 %, because e^0.1548 is 1.167.
The recommended design (robust) is the simplest whose expected regret over draws of the assumed inputs is within 1.5 % of
the least. A sweep predicts with the middle value of each assumed input; point is the best design for these values.`,
    );
}

export function addSensitivity(program: Command, { terminal, withEngine, withRuns }: CommandLine): void {
  command(
    program,
    'sensitivity <study-or-run>',
    'vary each number of the kernel and the workload over its usual range, and show what changes the recommendation',
  )
    .option('--device <id>', 'only this device')
    .option('--design <number>', 'examine this design instead of the recommended one', whole)
    .addOption(inputOption())
    .action(
      (what: string, options: GlobalOptions & { device?: string; design?: number; input?: readonly VariedInput[] }) =>
        (runId(what).ok ? withRuns : withEngine)(
          options,
          (engine) => sensitivityCommand(engine, terminal, what, options),
          { reads: true },
        ),
    )
    .addHelpText(
      'after',
      `
Inputs of the device and the fraction of gathers that miss are not varied; recommend says what knowing them would save.

With --json: {device, designIndex, design, timeMs, tieFraction, tieBand, inputs: [{input, values, bestMs, recommendedMs, designs,
  holds: [from, to], below, above: {at, designIndex, text, gain}, sentence}], elapsedMs}`,
    );
}

export function addRobust(program: Command, { terminal, withRuns }: CommandLine): void {
  command(
    program,
    'robust <runs...>',
    'find the one design with the least worst-case regret over runs, devices and inputs',
  )
    .option('--device <ids...>', 'only these devices')
    .option(
      '--vary <field=values...>',
      'replace an input by each of these values, as in kernel.serialFraction=0.01,0.05,0.2',
    )
    .action((runs: string[], options: GlobalOptions & { device?: string[]; vary?: string[] }) =>
      withRuns(options, (engine) => robustCommand(engine, terminal, runs, options), { reads: true }),
    )
    .addHelpText(
      'after',
      `
Designs of different runs and devices are the same if they have the same values of all axes.
With --json: {scenarios: [{id, label, bestMs, best, tieBand, device, evidence}], designs: [{design, text, worst, mean, regret, timeMs}], ownBest, common};
  regret is the time divided by the best time of the scenario, minus 1.`,
    );
}

interface Options {
  readonly json?: boolean;
  readonly device?: string;
  readonly verbose?: boolean;
}

/**
 * Returns a run (if `what` is a number) or a study (a file). A part of a device, such as `ID:66` with 66
 * multiprocessors, replaces the study's devices.
 */
export async function advised(
  engine: Engine,
  terminal: Terminal,
  what: string,
  device: string | undefined,
): Promise<Result<{ readonly runId: number } | { readonly study: Study; readonly folder: string }>> {
  const run = runId(what);
  if (run.ok) {
    await sayIfDeleted(engine, terminal, run.value);
    return ok({ runId: run.value });
  }
  const read = await readStudyFile(what);
  if (!read.ok) return read;
  const { study, folder } = read.value;
  const isPart = device?.includes(':') === true;
  return ok({ study: isPart ? { ...study, devices: [device] } : study, folder });
}

async function recommendCommand(engine: Engine, terminal: Terminal, what: string, options: Options): Promise<void> {
  const input = unwrap(await advised(engine, terminal, what, options.device));
  const asked = { ...input, deviceId: options.device };
  const found = await showSeconds(
    terminal,
    'Comparing designs',
    call(engine, 'advice.recommend', { ...asked, robust: true }),
  );
  const { row, landscape: _landscape, uncertainty, ...rest } = found;
  const { robust, point, draws, designs, worthKnowing, separation, unknown } = uncertainty!;
  if (options.json)
    terminal.json({
      ...rest,
      design: designFields(row.design),
      rank: row.rank,
      implementationKind: row.kind,
      hasEvidence: row.hasEvidence,
      robust: { ...listedDesign(robust), chance: robust.chanceBest, draws },
      point: listedDesign(point),
      designs: designs.map(listedDesign),
      unknown,
      worthKnowing: worthKnowing.map((one) => ({ ...one, input: one.input.field, label: one.input.label })),
      separation,
    });
  else sayRecommendation(terminal, found, uncertainty!, options);
}

const listedDesign = (one: UncertainDesign) => ({ ...one, design: designFields(one.design) });

function sayRecommendation(
  terminal: Terminal,
  advice: Recommendation,
  uncertain: Uncertainty,
  { verbose = false }: Options,
): void {
  const { device, row, designIndex, time, ties, baseline, why, inputs, measured } = advice;
  const { draws, unknown, point, designs, worthKnowing, separation, within } = uncertain;
  terminal.say(`${device.name}: ${designWords(row.design)} (design ${designIndex}: ${designText(row.design)})`);
  const ratio = baseline ? baseline.ms / time.ms : 1;
  const against = baseline ? `, ${ratio.toPrecision(3)} × as fast as ${baseline.text} (${timeText(baseline.ms)})` : '';
  terminal.say(`Predicted ${timeText(time.ms)}${against}; 90 % range ${timeRange(time.lowMs, time.highMs)}.`);
  const floor = floorSentence(time.ms);
  if (floor !== null) terminal.say(floor);
  const shown = designs.find((one) => one.designIndex === designIndex);
  if (draws > 1 && shown) {
    terminal.say(
      `The chance that this design is within ${percent(within)} of the best is ${chanceText(shown.chanceBest)}. On average it is ${lossText(shown.expectedRegret)} slower than the best (${draws} draws of the assumed inputs and of the model's own errors).`,
    );
    for (const { sentence } of worthKnowing.slice(0, verbose ? Infinity : MAX_WORTH)) terminal.say(sentence);
  }
  if (separation) terminal.say(separation.sentence);
  if (measured) terminal.say(measured.sentence);
  if (!verbose) return;
  terminal.say(why);
  terminal.say(time.basis);
  if (draws > 1) {
    terminal.say(`Not known: ${unknown.map(({ input }) => input.label).join(', ')}.`);
    if (point.designIndex !== designIndex)
      terminal.say(
        `If every unknown input has its middle value, ${point.text} is fastest. On average over all draws, that design is ${lossText(point.expectedRegret)} slower than the best.`,
      );
  }
  if (ties.count !== null && ties.count > 1)
    terminal.say(`${tiesText(ties.count, ties.band)}${draws === 1 ? ` ${ties.rule}` : ''}`);
  terminal.say(evidenceText(device.evidence, [row.kind]));
  terminal.say(`Assumed: ${assumedPhrase(inputs)}.`);
}

const MAX_WORTH = 3;

async function sensitivityCommand(
  engine: Engine,
  terminal: Terminal,
  what: string,
  options: Options & { readonly design?: number; readonly input?: readonly VariedInput[] },
): Promise<void> {
  const input = unwrap(await advised(engine, terminal, what, options.device));
  const asked = call(engine, 'advice.sensitivity', {
    ...input,
    deviceId: options.device,
    designIndex: options.design,
    inputs: options.input && [...options.input],
  });
  const found = await showSeconds(terminal, 'Varying inputs', asked);
  if (options.json) terminal.json(found);
  else saySensitivity(terminal, found);
}

const figure = (value: number): string =>
  value.toLocaleString('en', Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 });

function saySensitivity(terminal: Terminal, { device, design, timeMs, tieBand, inputs }: Sensitivity): void {
  terminal.say(`${device.name}: ${design}, ${timeText(timeMs)}.`);
  const most = ({ below, above }: InputSensitivity): number => Math.max(below?.gain ?? 0, above?.gain ?? 0);
  terminal.table(
    ['input', 'value', 'tried', 'holds', 'time', 'costs up to'],
    inputs.map((one) => {
      const { input, values, holds, recommendedMs } = one;
      const times = recommendedMs.filter((time) => !Number.isNaN(time));
      const [from, to] = [holds[0] ?? values[0], holds[1] ?? values.at(-1)!];
      return [
        input.label,
        typeof input.value === 'number' ? figure(input.value) : input.value,
        `${figure(values[0])} to ${figure(values.at(-1)!)}`,
        one.sentence === '' ? 'throughout' : `${figure(from)} to ${figure(to)}`,
        timeRange(Math.min(...times), Math.max(...times)),
        one.sentence === '' ? '' : most(one) === 1 ? 'cannot run' : `${(100 * most(one)).toFixed(1)} %`,
      ];
    }),
  );
  terminal.say(`The recommendation holds as long as the design's time is near the best: ${tieBandText(tieBand)}.`);
  for (const { sentence } of inputs) if (sentence !== '') terminal.say(sentence);
}

async function robustCommand(
  engine: Engine,
  terminal: Terminal,
  runs: readonly string[],
  options: { readonly json?: boolean; readonly device?: readonly string[]; readonly vary?: readonly string[] },
): Promise<void> {
  const runIds = runs.map((run) => usage(runId(run)));
  const vary = usage(variations(options.vary ?? []));
  const asked = call(engine, 'advice.robust', { runIds, vary, deviceIds: options.device && [...options.device] });
  const found = await showSeconds(terminal, 'Comparing designs', asked);
  const { scenarios, designs, ownBest, common } = found;
  if (options.json) return terminal.json(found);
  const everywhere = scenarios.length === 1 ? 'this scenario' : `all ${scenarios.length} scenarios`;
  if (designs.length === 0) terminal.say(`No design is valid in ${everywhere}.`);
  else {
    terminal.say(`Designs that are valid in ${everywhere}: ${common.toLocaleString('en')}.`);
    terminal.table(
      ['worst regret', 'mean', 'design'],
      designs.map(({ worst, mean, text }) => [percent(worst), percent(mean), text]),
    );
  }
  const { unit, cell } = timeCells(scenarios.map(({ bestMs }) => bestMs));
  terminal.table(
    ['scenario', `best, ${unit}`, 'best design', 'its worst regret'],
    scenarios.map(({ label, bestMs, best }, i) => [label, cell(bestMs), best, percent(ownBest[i])]),
  );
  const devices = new Map(scenarios.map(({ device, evidence }) => [device.id, { ...device, evidence, kinds: [] }]));
  const gaps = evidenceGaps([...devices.values()]);
  if (gaps) terminal.say(gaps.text);
}

function variations(texts: readonly string[]): Result<NonNullable<ProcedureInput<'advice.robust'>['vary']>> {
  const out: { input: VariedInput; values: number[] }[] = [];
  for (const text of texts) {
    const [, name, list = ''] = /^([^=]*)=?(.*)$/s.exec(text)!;
    const input = VARIED_INPUTS.find((one) => one === newerInput(name));
    if (!input) return badInput(`--vary must begin with one of ${VARIED_INPUTS.join(', ')}, not "${name}".`);
    const values = list.split(',').map((value) => (value.trim() === '' ? NaN : Number(value)));
    if (!values.every(Number.isFinite))
      return badInput(`--vary ${name} must have numbers, as in ${name}=1,2, not "${list}".`);
    out.push({ input, values });
  }
  return ok(out);
}
