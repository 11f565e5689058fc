import type { Command } from 'commander';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { countsText, isMeasuring } from '../../contract/counts.ts';
import type { Engine } from '../../services/engine.ts';
import { counted } from '../../services/export/text.ts';
import { bestOf, invalidText, type Options } from '../best-designs.ts';
import { byAgents, command, type CommandLine, type GlobalOptions, group, positive, call } from '../command-line.ts';
import { followRun, runId } from '../follow.ts';
import { failure, type Terminal, timeCells, usage } from '../output.ts';
import { checkResumable, reportMeasurement } from './bench.ts';
import { reportSimulations } from './simulate.ts';
import { reportSweep } from './sweep.ts';

export function addRuns(program: Command, { terminal, withEngine, withRuns }: CommandLine): void {
  const runs = group(program, 'runs', 'saved runs');
  command(runs, 'list', 'runs, newest first')
    .option('--deleted', 'the runs in the bin instead', false)
    .action((options: GlobalOptions & { deleted: boolean }) =>
      withEngine(options, (engine) => runsList(engine, terminal, options), { reads: true }),
    );
  command(runs, 'show <run>', 'one run').action((run: string, options: GlobalOptions) =>
    withRuns(options, (engine) => runsShow(engine, terminal, run, options), { reads: true }),
  );
  for (const [name, procedure, text] of [
    [
      'delete',
      'runs.delete',
      'put a run into the bin (runs list --deleted shows the bin, runs restore takes a run out of it, runs purge empties it)',
    ],
    ['restore', 'runs.restore', 'take a run out of the bin'],
  ] as const)
    command(runs, `${name} <run>`, text).action((run: string, options: GlobalOptions) =>
      withRuns(options, async (engine) => {
        const id = usage(runId(run));
        await call(engine, procedure, { id });
        if (options.json) terminal.json({ runId: id, [`${name}d`]: true });
        else terminal.say(`Run ${id} ${name}d.`);
      }),
    );

  command(runs, 'purge', 'remove the runs and studies in the bin for good, and give their space back')
    .option('--dry-run', 'only say what would be removed', false)
    .option('--yes', 'do not ask; without a terminal or with --json, nothing is asked anyway', false)
    .action((options: PurgeOptions) => withRuns(options, (engine) => runsPurge(engine, terminal, options)));
  byAgents(command(runs, 'resume <run>', 'continue a run that stopped before its end'))
    .option('--top <count>', 'best designs to print', positive, 10)
    .action((run: string, options: GlobalOptions & { top: number }) =>
      withRuns(options, (engine) => resumeCommand(engine, terminal, run, options)),
    );
}

async function resumeCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: Options & { readonly top: number },
): Promise<number | void> {
  const id = usage(runId(run));
  unwrap(await checkResumable(engine, terminal, id));
  const start = performance.now();
  const done = unwrap(await followRun(engine, terminal, 'Continuing', () => engine.call('runs.resume', { id })));
  if (done.kind === 'bench') return reportMeasurement(engine, terminal, done.id, options);
  if (done.kind === 'simulate') return reportSimulations(engine, terminal, done, options);
  return reportSweep(engine, terminal, done, performance.now() - start, options);
}

interface PurgeOptions extends GlobalOptions {
  readonly dryRun: boolean;
  readonly yes: boolean;
}

const MAX_NAMED = 1000;

async function runsPurge(engine: Engine, terminal: Terminal, options: PurgeOptions): Promise<void> {
  const { json, dryRun, yes } = options;
  // A run that is deleted while the user answers is not removed.
  const before = new Date().toISOString();
  const { bin } = await call(engine, 'app.info', {});
  const textOf = ({ runs, studies }: Pick<typeof bin, 'runs' | 'studies'>): string =>
    `${counted(runs, 'run')} and ${counted(studies, 'study', 'studies')}`;
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  if (!json) {
    const named = await call(engine, 'runs.list', { deleted: true, limit: MAX_NAMED });
    for (const { id, kind, name } of named) terminal.say(`Run ${id}, ${name} (${kind})`);
    if (bin.runs > named.length) terminal.say(`and ${counted(bin.runs - named.length, 'other run')}`);
  }
  if (dryRun) {
    const { runs, studies, bytes } = bin;
    if (json) terminal.json({ runs, studies, freedBytes: bytes, dryRun });
    else if (runs + studies === 0) terminal.say('The bin is empty.');
    else terminal.say(`Would remove ${textOf(bin)}; the database would be about ${megabytes(bytes)} smaller.`);
    return;
  }
  if (terminal.ask && !yes && !json && bin.runs + bin.studies > 0) {
    const answer = await terminal.ask(`Remove ${textOf(bin)} for good? [y/N] `);
    if (!/^y(es)?$/i.test(answer)) throw failure('cancelled', 'Nothing was removed.');
  }
  const purged = await call(engine, 'runs.purge', { before });
  const { runs, studies, freedBytes } = purged;
  if (json) terminal.json(purged);
  else if (runs + studies === 0 && freedBytes === 0) terminal.say('The bin is empty.');
  else terminal.say(`Removed ${textOf(purged)}; the database is ${megabytes(freedBytes)} smaller.`);
}

async function runsList(
  engine: Engine,
  terminal: Terminal,
  options: Options & { readonly deleted: boolean },
): Promise<void> {
  const { deleted } = options;
  const runs = await call(engine, 'runs.list', { deleted });
  if (options.json) terminal.json({ runs });
  else if (runs.length === 0 && deleted) terminal.say('The bin is empty.');
  else if (runs.length === 0) terminal.say('There are no runs yet. lockstep sweep STUDY.json makes one.');
  else {
    const { unit, cell } = timeCells(runs.map(({ bestTimeMs }) => bestTimeMs));
    terminal.table(
      ['run', 'kind', 'state', 'name', 'started', 'designs', 'valid', `best, ${unit}`, 'best design'],
      runs.map((row) => [
        row.id,
        row.kind,
        row.state,
        row.name,
        row.startedAt,
        row.enumerated,
        row.valid,
        cell(row.bestTimeMs),
        row.bestDesign ?? '',
      ]),
    );
  }
}

async function runsShow(engine: Engine, terminal: Terminal, run: string, options: Options): Promise<void> {
  const id = usage(runId(run));
  const value = await call(engine, 'runs.get', { id });
  const hasReasons = value.kind === 'sweep' && !value.kept && value.invalid > 0;
  const ranked = hasReasons ? await bestOf(engine, { runId: id, limit: 1 }) : null;
  const invalidReasons = ranked?.ok ? ranked.value.invalid : [];
  if (options.json) return terminal.json({ ...value, invalidReasons });
  const lines: [string, string][] = [
    ['Run', `${value.id}, ${value.name}`],
    ...(value.study ? [['Study', value.study.name] as [string, string]] : []),
    ['Kind', value.sourceRunId === null ? value.kind : `${value.kind} of run ${value.sourceRunId}`],
    ['State', value.error ? `${value.state}: ${value.error}` : value.state],
    ...(value.deletedAt === null
      ? []
      : [
          ['Deleted', `${value.deletedAt}; lockstep runs restore ${value.id} takes it out of the bin`] as [
            string,
            string,
          ],
        ]),
    ['Started', value.startedAt],
    ['Took', `${(value.elapsedMs / 1000).toFixed(2)} s`],
    [
      isMeasuring(value) ? 'Cases' : 'Designs',
      value.kept
        ? countsText(value)
        : `${value.enumerated.toLocaleString('en')}, ${value.valid.toLocaleString('en')} valid, ${value.invalid.toLocaleString('en')} invalid`,
    ],
    ...(invalidReasons.length === 0 ? [] : [['Not valid', invalidText(invalidReasons)] as [string, string]]),
    ['Devices', value.devices.map((device) => device.name).join(', ') || '–'],
    ['Versions', [`Lockstep ${value.appVersion}`, value.modelVersion, `seed ${value.seed}`].filter(Boolean).join(', ')],
    ['Machine', value.machine || '–'],
    ['Tags', value.tags.join(', ') || '–'],
    ['Note', value.note || '–'],
    ['Size', `${(value.bytes / 1e6).toFixed(1)} MB`],
  ];
  for (const [label, text] of lines) terminal.say(`${label.padEnd(9)} ${text}`);
}
