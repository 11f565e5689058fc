import type { Command } from 'commander';
import { isStandIn } from '../../../src-workers/domain/benchmark.ts';
import {
  calibratedValues,
  choiceText,
  isUnchanged,
  type CalibrationProfile,
} from '../../../src-workers/domain/calibration.ts';
import { ok, type Result, unwrap, badInput } from '../../../src-workers/domain/result.ts';
import type { SavedProfile } from '../../contract/measuring.ts';
import type { Study } from '../../contract/study.ts';
import type { Engine } from '../../services/engine.ts';
import { studyWithoutProfile, studyWithProfile } from '../../services/measuring/calibrations.ts';
import { command, type CommandLine, type GlobalOptions, call } from '../command-line.ts';
import { runId } from '../follow.ts';
import { percent, showSeconds, type Terminal, usage } from '../output.ts';
import { changeStudyFile, type WrittenStudy } from '../study-file.ts';

export function addCalibrate(program: Command, { terminal, withRuns }: CommandLine): void {
  command(program, 'calibrate <run>', "fit a device's parameters to the designs that a run measured")
    .option('--name <name>', 'save the parameters under this name')
    .option(
      '--into <study>',
      'write the parameters into this study file, so that its predictions use them (your own kernel only)',
    )
    .option(
      '--undo <study>',
      "remove from this study file what was calibrated from this run, and restore the kernel's earlier values",
    )
    .addHelpText(
      'after',
      `
With --json: {id, name, study, profile: {deviceId, deviceName, fingerprint, backend, parameters, identified, fit, fitInStudy, heldOut,
  before, choice, sourceRunIds}}; id and name are null if nothing was saved. choice.taken is what was fitted: "parameters", or "factor" (one
  for all times) or "unchanged" (nothing, and nothing is written into a study) if designs left out of the fit are predicted as well. fitInStudy leaves out the launch overhead, as the predictions of a
  study do, and is absent if none was found. With --undo: {study, deviceId}.`,
    )
    .action((run: string, options: CalibrateOptions) =>
      withRuns(options, (engine) => calibrateCommand(engine, terminal, run, options)),
    );
}

interface CalibrateOptions extends GlobalOptions {
  readonly name?: string;
  readonly into?: string;
  readonly undo?: string;
}

async function calibrateCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: CalibrateOptions,
): Promise<void> {
  const id = usage(runId(run));
  if (options.undo !== undefined) {
    const undone = unwrap(await undoInStudy(engine, options.undo, id));
    if (options.json) terminal.json({ study: options.undo, deviceId: undone });
    else terminal.say(`Removed the calibration of ${undone} from ${options.undo}.`);
    return;
  }
  const show = <T>(work: Promise<T>): Promise<T> => showSeconds(terminal, 'Fitting the parameters', work);
  const { name } = options;
  const saved = name === undefined ? null : await show(call(engine, 'calibration.save', { id, name }));
  const profile = saved?.profile ?? (await show(call(engine, 'calibration.fit', { id })));
  const { into = null } = options;
  const isWritten = into !== null && (!isUnchanged(profile) || isStandIn(profile.backend));
  if (isWritten) unwrap(await writeIntoStudy(into, profile));
  if (options.json)
    terminal.json({ id: saved?.id ?? null, name: saved?.name ?? null, study: isWritten ? into : null, profile });
  else printProfile(terminal, profile, saved, into);
}

function writeIntoStudy(file: string, profile: CalibrationProfile): Promise<Result<null>> {
  return changeStudyFile(file, (study, written) => {
    const after = studyWithProfile(study, profile.deviceId, profile);
    if (!after.ok) return after;
    return ok(withCalibrated(written, after.value));
  });
}

function withCalibrated(written: WrittenStudy, { kernel, pipeline }: Study): WrittenStudy {
  const { serialFraction, cooperationCost, unit, origins } = kernel;
  // In older studies, the cost of a unit had a field of its own. It is now a phase, so the older field is removed.
  const { setupIterationsPerUnit: _older, ...before } = written.kernel as Readonly<Record<string, unknown>>;
  return { ...written, kernel: { ...before, serialFraction, cooperationCost, unit, origins }, pipeline };
}

async function undoInStudy(engine: Engine, file: string, id: number): Promise<Result<string>> {
  const detail = await engine.call('bench.detail', { id });
  if (!detail.ok) return detail;
  const { deviceId } = detail.value.request;
  if (deviceId === null)
    return badInput(`Run ${id} measured no designs of a sweep. Specify the run that the study was calibrated from.`);
  const run = await engine.call('runs.get', { id });
  if (!run.ok) return run;
  const written = await changeStudyFile(file, (study, as) => {
    const after = studyWithoutProfile(study, deviceId, run.value.study);
    return after.ok ? ok(withCalibrated(as, after.value)) : after;
  });
  return written.ok ? ok(deviceId) : written;
}

function printProfile(
  terminal: Terminal,
  profile: CalibrationProfile,
  saved: SavedProfile | null,
  into: string | null,
): void {
  const { parameters, identified, fit, fitInStudy, heldOut, before, choice } = profile;
  const done = isUnchanged(profile) ? 'compared with' : 'fitted to';
  terminal.say(
    `The parameters of ${profile.deviceId} were ${done} ${fit.designs} designs, measured on ${profile.deviceName}.`,
  );
  const chosen = choiceText(profile, percent);
  if (chosen !== '') terminal.say(chosen);
  if (isStandIn(profile.backend))
    terminal.say(
      'The parameters were fitted to a stand-in loop. Only schedulers, divergentBranchCycles and launchOverheadMs describe the device; the other parameters describe the loop.',
    );
  terminal.table(
    ['parameter', 'value', '±', ''],
    Object.entries(parameters).map(([name, value]) => {
      const { standardError, held } = identified[name as keyof typeof identified];
      return [
        name,
        value === null ? '–' : String(Number(value.toPrecision(4))),
        standardError === null ? '–' : String(Number(standardError.toPrecision(2))),
        held
          ? choice && choice.taken !== 'parameters'
            ? 'kept'
            : 'kept, because the designs do not determine it'
          : '',
      ];
    }),
  );
  const error = (figures: { readonly medianError: number; readonly p95Error: number }): string =>
    `median ${percent(figures.medianError)}, 95th percentile ${percent(figures.p95Error)}`;
  terminal.say(`Error before: ${error(before)}. Fitted: ${error(fit)}.`);
  terminal.say(
    heldOut
      ? `On designs held out of the fit (${heldOut.folds} folds): ${error(heldOut)}.`
      : 'There are too few designs to hold some out of the fit, so the error on other designs is unknown.',
  );
  if (fitInStudy)
    terminal.say(`Without the launch overhead, which the predictions of a study leave out: ${error(fitInStudy)}.`);
  if (saved) terminal.say(`Saved as calibration ${saved.id}, "${saved.name}".`);
  if (into !== null && isUnchanged(profile)) terminal.say(`Did not change ${into}.`);
  else if (into !== null) {
    const found = Object.keys(calibratedValues(profile));
    const shared =
      found.length === 0 ? '' : `, and ${found.join(', ')} of its kernel, which apply to all devices of the study`;
    terminal.say(`Wrote the parameters of ${profile.deviceId} into ${into}${shared}.`);
    if ((fitInStudy ?? fit).medianError > before.medianError)
      terminal.say(
        `The study now predicts these times less well than before. To undo this: lockstep calibrate ${profile.sourceRunIds[0]} --undo ${into}`,
      );
  }
}
