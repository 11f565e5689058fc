import { join } from 'node:path';
import type { Command } from 'commander';
import { INVALID_REASONS, noneValidText } from '../../../src-workers/domain/design.ts';
import { type FailureError, unwrap } from '../../../src-workers/domain/result.ts';
import { listText } from '../../../src-workers/domain/text.ts';
import { assumedFacts, assumedPhrase, trafficPhrase } from '../../../src-workers/domain/provenance.ts';
import { simplerSentence, timeText } from '../../../src-workers/domain/times.ts';
import type { BestDesigns, BestRow, RunSummary } from '../../contract/api.ts';
import { countsText } from '../../contract/counts.ts';
import { MAX_BEST, MAX_DESIGNS, MAX_SPACE } from '../../contract/study.ts';
import type { Engine } from '../../services/engine.ts';
import { floorSentence } from '../../services/evidence/time-errors.ts';
import { counted, jsonParts } from '../../services/export/text.ts';
import { designWords } from '../../services/ranking/design-text.ts';
import { readStudyFile } from '../../services/studies/studies.ts';
import {
  allOf,
  bestOf,
  evidenceFields,
  invalidText,
  jsonRow,
  jsonRows,
  legendFor,
  type Options,
  printDesigns,
  sayUnmeasured,
} from '../best-designs.ts';
import {
  byAgents,
  command,
  type CommandLine,
  type GlobalOptions,
  positive,
  VERBOSE,
  wholeFrom,
} from '../command-line.ts';
import { followRun } from '../follow.ts';
import { failure, printParts, type Terminal } from '../output.ts';

export function addSweep(program: Command, { terminal, places, withEngine }: CommandLine): void {
  byAgents(command(program, 'sweep <study>', 'predict every design of a study and save the run'))
    .option('--top <count>', 'best designs to print', positive, 10)
    .option(
      '--best <count>',
      `keep only this many designs, the fastest of all devices together (at most ${MAX_BEST})`,
      (text: string) => wholeFrom(1, text, MAX_BEST),
    )
    .option(
      '--device <ids...>',
      "these devices instead of the study's devices; ID:66 means 66 multiprocessors of a device",
    )
    .option('--verbose', VERBOSE, false)
    .action((study: string, options: GlobalOptions & { top: number; best?: number; device?: string[] }) =>
      withEngine(options, (engine) => sweepCommand(engine, terminal, study, options), { predicts: true }),
    )
    .addHelpText(
      'after',
      `
A study is JSON: lengths of the units, kernel, devices and axes. Its schema explains every field; there are examples too:
  ${join(places.root, 'db', 'study.schema.json')}
  ${join(places.root, 'db', 'examples')}
To see how much of a GPU the work needs, compare several parts of it:
  lockstep sweep study.json --device nvidia-h100-sxm5-80gb:33 nvidia-h100-sxm5-80gb:66 nvidia-h100-sxm5-80gb
ID:66 is 66 multiprocessors with the whole memory and L2; ID:66:slice has a proportional share of both.
If no design is valid, the exit status is 1. The run is saved nevertheless, and --json prints its document.

--best 10000 keeps exactly the first 10000 designs of the whole ranking, and allows spaces of up to ${MAX_SPACE.toLocaleString('en')}
designs. It is fast because a design is not predicted if even its lower bound is slower than the last kept design.`,
    );
}

export async function reportSweep(
  engine: Engine,
  terminal: Terminal,
  { id: runId, enumerated, valid, invalid, kept }: RunSummary,
  elapsedMs: number,
  options: Options & { readonly top: number },
): Promise<void> {
  const found = unwrap(await bestOf(engine, { runId, limit: Math.min(options.top, MAX_DESIGNS) }));
  const { study, devices, ofDevices, ofImplementations, recommended, inputs } = found;
  if (options.json) {
    const document = jsonParts({
      runId,
      study,
      designs: { enumerated, valid, invalid, ...(kept && { kept: valid, predicted: kept.predicted }) },
      invalidReasons: found.invalid,
      elapsedMs,
      best: jsonRows(found),
      bestOfDevices: ofDevices.map(jsonRow),
      ...(ofImplementations.length > 0 && { bestOfImplementations: ofImplementations.map(jsonRow) }),
      recommended: recommended && { ...jsonRow(recommended.row), ties: recommended.ties, rule: recommended.rule },
      inputs,
      ...evidenceFields(found),
    });
    await printParts(terminal, document);
    if (!recommended) throw noneValid(runId, found);
    return;
  }
  const { rows, equal } = await allOf(found);
  if (recommended) {
    const fastest = ofDevices.find(({ deviceId }) => deviceId === recommended.row.deviceId);
    sayRecommended(terminal, recommended.row, fastest, assumedFacts(recommended.inputs).length);
  }
  terminal.say(
    `Run ${runId}, ${study}: ${countsText({ enumerated, valid, kept })}, in ${(elapsedMs / 1000).toFixed(2)} s.`,
  );
  if (invalid > 0 && (options.verbose || valid === 0)) terminal.say(`Not valid: ${invalidText(found.invalid)}.`);
  if (rows.length > 0) {
    terminal.say('');
    printDesigns(terminal, rows, { ...found, equal }, legendFor(options));
  }
  if (ofImplementations.length > 0) {
    terminal.say('');
    terminal.say('The best design of each implementation:');
    printDesigns(terminal, ofImplementations, found, 'none');
  }
  if (devices.length > 1 && rows.length > 0) {
    terminal.say('');
    terminal.say('The best design of each device:');
    printDesigns(terminal, ofDevices, found, 'none');
    const without = devices.filter(({ id }) => ofDevices.every(({ deviceId }) => deviceId !== id));
    const what = kept ? 'Devices without a design among the best' : 'Devices without a valid design';
    if (without.length > 0) terminal.say(`${what}: ${without.map(({ name }) => name).join(', ')}.`);
  }
  if (rows.length > 0) {
    terminal.say('');
    sayUnmeasured(terminal, found);
  }
  if (!recommended) throw noneValid(runId, found);
  const assumed = assumedFacts(recommended.inputs);
  if (!options.verbose) {
    if (assumed.length > 0)
      terminal.say(
        `${counted(assumed.length, 'input is', 'inputs are')} assumed. lockstep recommend STUDY finds a design that suits all likely values; --verbose lists the inputs.`,
      );
    return;
  }
  if (recommended.ties > 1) terminal.say(recommended.rule);
  const traffic = trafficPhrase(recommended.inputs, recommended.row);
  if (traffic !== null) terminal.say(`Traffic: ${traffic}.`);
  terminal.say(`Assumed for ${recommended.row.device}: ${assumedPhrase(recommended.inputs)}.`);
}

/** The run is saved, but the command fails, so that a script does not continue without a valid design. */
function noneValid(runId: number, { devices, invalid }: BestDesigns): FailureError {
  const tally = INVALID_REASONS.map(({ code }) => invalid.find(({ reason }) => reason === code)?.count ?? 0);
  const text = noneValidText(listText(devices.map(({ name }) => name)), tally);
  return failure('conflict', `${text} Run ${runId} is saved.`);
}

function sayRecommended(terminal: Terminal, row: BestRow, fastest: BestRow | undefined, assumed: number): void {
  terminal.say(
    `${assumed === 0 ? 'Recommended' : 'Best with usual values'} on ${row.device}: ${designWords(row.design)} (design ${row.designIndex}), predicted ${timeText(row.predictedMs)}.`,
  );
  const floor = floorSentence(row.predictedMs);
  if (floor !== null) terminal.say(floor);
  else if (fastest && fastest.designIndex !== row.designIndex)
    terminal.say(simplerSentence(row.predictedMs / fastest.predictedMs - 1, `design ${fastest.designIndex}`));
}

export async function sweepCommand(
  engine: Engine,
  terminal: Terminal,
  file: string,
  options: Options & { readonly top: number; readonly device?: readonly string[]; readonly best?: number },
): Promise<void> {
  const { study: written, folder } = unwrap(await readStudyFile(file));
  const study = { ...written, ...(options.device && { devices: [...options.device] }) };
  const start = performance.now();
  const started = await followRun(engine, terminal, 'Predicting', () =>
    engine.call('runs.start', { study, folder, best: options.best }),
  );
  return reportSweep(engine, terminal, unwrap(started), performance.now() - start, options);
}
