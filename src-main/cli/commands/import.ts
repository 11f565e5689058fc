import { basename } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  axisName,
  DESIGN_FIELDS,
  fieldNamed,
  type DesignField,
  type FixedParameters,
  type NamedParameters,
} from '../../../src-workers/domain/design-names.ts';
import { ok, type Result, unwrap } from '../../../src-workers/domain/result.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { Engine } from '../../services/engine.ts';
import { counted } from '../../services/export/text.ts';
import { fileKind, readImportFile } from '../../services/imports/file-kind.ts';
import { IMPORTERS } from '../../services/imports/formats.ts';
import { readStudyFile } from '../../services/studies/studies.ts';
import { command, type CommandLine, type GlobalOptions, call } from '../command-line.ts';
import { runId } from '../follow.ts';
import { type Terminal, usage, failure } from '../output.ts';
import { saveDevice } from './devices.ts';

export function addImport(program: Command, { terminal, withEngine }: CommandLine): void {
  command(
    program,
    'import <file>',
    'import measurements from elsewhere, which become a run; also a study or a device (JSON)',
  )
    .option('--device <name>', 'device of the measurements, if the file does not name it')
    .option(
      '--run <run>',
      'the sweep whose designs were measured; their parameters are named as in exports or by --map',
    )
    .option(
      '--map <parameter=axis...>',
      'map a parameter or a column of the file to an axis, as in BLOCK=block_threads; later imports reuse this',
      takeNamedParameter,
    )
    .option(
      '--fixed <axis=value...>',
      'value of an axis in all configurations of a file without this axis, as in loop=nested',
      takeFixed,
    )
    .addOption(
      new Option('--time-unit <unit>', 'unit of the times in a file that does not state it (Optuna)').choices([
        's',
        'ms',
        'us',
        'ns',
      ]),
    )
    .option('--study <name>', 'name of the study, if an Optuna storage has several studies')
    .action((file: string, options: ImportOptions) =>
      withEngine(options, (engine) => importCommand(engine, terminal, file, options)),
    )
    .addHelpText(
      'after',
      `
The kind of FILE is detected from its content. It may be compressed (.gz):
${formatLines()}
Lengths of units (CSV, NPY, Parquet, …) and matrices (.mtx) are not measurements: a study refers to them as file:FILE or
mtx:FILE.`,
    );
}

function formatLines(): string {
  const kinds = [
    ...IMPORTERS.map(({ help }) => help),
    ['a study', 'JSON (lockstep sweep --help names its schema); saved among your studies'],
    ['a device', 'JSON (lockstep devices add --help); saved among your devices'],
  ];
  return kinds.map(([name, holds]) => `  ${name.padEnd(28)} ${holds}`).join('\n');
}

interface ImportOptions extends GlobalOptions {
  readonly device?: string;
  readonly run?: string;
  readonly map?: NamedParameters;
  readonly fixed?: FixedParameters;
  readonly timeUnit?: 's' | 'ms' | 'us' | 'ns';
  readonly study?: string;
}

/** A study is saved with the path of its folder, because paths in the study are relative to that folder. */
async function importCommand(engine: Engine, terminal: Terminal, file: string, options: ImportOptions): Promise<void> {
  const bytes = unwrap(await readImportFile(file));
  const { kind } = fileKind(bytes);
  const of = options.run === undefined ? undefined : usage(runId(options.run));
  if (kind === 'study' || kind === 'device') {
    if (of !== undefined)
      throw failure(
        'bad-input',
        `${basename(file)}: A ${kind} cannot hold measured designs of run ${of}. Import it without --run.`,
      );
    const saved = unwrap(await (kind === 'study' ? importStudy(engine, file) : importDevice(engine, file, bytes)));
    if (options.json) terminal.json(saved.json);
    else terminal.say(saved.text);
    return;
  }
  const start = performance.now();
  const imported = await call(engine, 'import.file', {
    fileName: basename(file),
    bytes,
    deviceName: options.device,
    runId: of,
    parameters: options.map,
    fixed: options.fixed,
    timeUnit: options.timeUnit,
    studyName: options.study,
  });
  if (options.json) return terminal.json(imported);
  const { cases, failed, linked, warnings } = imported;
  const seconds = ((performance.now() - start) / 1000).toFixed(2);
  const without = failed > 0 ? `, ${failed.toLocaleString('en')} of them failed` : '';
  terminal.say(`Run ${imported.runId}: ${counted(cases, 'case')}${without}, imported in ${seconds} s.`);
  const run = await engine.call('runs.get', { id: imported.runId });
  if (run.ok && run.value.bestTimeMs !== null)
    terminal.say(`Fastest: ${timeText(run.value.bestTimeMs)}, ${run.value.bestDesign}`);
  if (linked)
    terminal.say(
      `The cases cover ${counted(linked.designs, 'design')} of run ${linked.runId} on ${linked.deviceId}. bench --compare ${imported.runId} compares them with their predictions.`,
    );
  for (const warning of warnings) terminal.say(warning);
}

const axisOf = (name: string): DesignField | undefined => DESIGN_FIELDS.find((each) => each === fieldNamed(name));
const AXES = DESIGN_FIELDS.map(axisName).join(', ');

export function takeNamedParameter(text: string, known: NamedParameters = {}): NamedParameters {
  const [name, ...rest] = text.split('=');
  const axis = rest.join('=');
  const field = axisOf(axis);
  if (name !== '' && name !== '__proto__' && (field || axis === 'none')) return { ...known, [name]: field ?? null };
  throw new InvalidArgumentError(`It must be PARAMETER=AXIS. The axes are ${AXES}, or none.`);
}

function takeFixed(text: string, known: FixedParameters = {}): FixedParameters {
  const at = text.indexOf('=');
  const field = axisOf(text.slice(0, Math.max(0, at)));
  if (field) return { ...known, [field]: text.slice(at + 1) };
  throw new InvalidArgumentError(`It must be AXIS=VALUE. The axes are ${AXES}.`);
}

interface Saved {
  readonly json: unknown;
  readonly text: string;
}

async function importStudy(engine: Engine, file: string): Promise<Result<Saved>> {
  const read = await readStudyFile(file);
  if (!read.ok) return read;
  const stored = await engine.call('studies.save', read.value);
  if (!stored.ok) return stored;
  const { id, name } = stored.value;
  return ok({ json: { kind: 'study', studyId: id, name }, text: `Study ${id}: ${name}.` });
}

async function importDevice(engine: Engine, file: string, bytes: Uint8Array): Promise<Result<Saved>> {
  const saved = await saveDevice(engine, new TextDecoder().decode(bytes), file);
  if (!saved.ok) return saved;
  const { device, replaced } = saved.value;
  const { id, name } = device;
  const before = replaced === null ? '' : `, which replaces ${replaced}`;
  return ok({
    json: { kind: 'device', deviceId: id, name, replaced: replaced !== null },
    text: `Device ${id}: ${name}${before}.`,
  });
}
