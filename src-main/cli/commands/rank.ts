import { type Command, Option } from 'commander';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { BestDesigns, BestRow } from '../../contract/api.ts';
import { MAX_DESIGNS } from '../../contract/study.ts';
import type { Engine } from '../../services/engine.ts';
import { jsonParts } from '../../services/export/text.ts';
import { allOf, bestOf, evidenceFields, jsonRow, jsonRows, printDesigns, sayUnmeasured } from '../best-designs.ts';
import { command, type CommandLine, type GlobalOptions, positive } from '../command-line.ts';
import { runId, sayIfDeleted } from '../follow.ts';
import { printParts, type Terminal, usage, failure } from '../output.ts';

export function addRank(program: Command, { terminal, withRuns }: CommandLine): void {
  command(program, 'rank <run>', 'print the best designs of a run')
    .option('--top <count>', 'designs to print', positive, 10)
    .option('--device <id>', 'only this device')
    .option('--groups', 'print one row for each group of equal designs', false)
    .addOption(
      new Option('--best-of <axis>', 'the best design of every device, or of every implementation').choices([
        'device',
        'implementation',
      ]),
    )
    .action((run: string, options: RankOptions) =>
      withRuns(options, (engine) => rankCommand(engine, terminal, run, options), { reads: true }),
    );
}

interface RankOptions extends GlobalOptions {
  readonly top: number;
  readonly device?: string;
  readonly groups: boolean;
  readonly bestOf?: string;
}

async function rankCommand(engine: Engine, terminal: Terminal, run: string, options: RankOptions): Promise<void> {
  const id = usage(runId(run));
  await sayIfDeleted(engine, terminal, id);
  const found = unwrap(
    await bestOf(engine, {
      runId: id,
      limit: Math.min(options.top, MAX_DESIGNS),
      groups: options.groups,
      deviceId: options.device,
    }),
  );
  const print = (rows: readonly BestRow[], equal: BestDesigns['equal']): void => {
    printDesigns(terminal, rows, { ...found, equal }, 'whole');
    sayUnmeasured(terminal, found, options.device);
  };
  if (options.bestOf !== undefined) {
    const { ofDevices, ofImplementations } = found;
    const rows = options.bestOf === 'device' ? ofDevices : ofImplementations;
    if (options.bestOf === 'implementation' && rows.length === 0)
      throw failure(
        'unsupported',
        `The study of run ${id} names no implementations. Use --best-of device, or leave --best-of out.`,
      );
    if (options.json)
      terminal.json({ runId: id, bestOf: options.bestOf, rows: rows.map(jsonRow), ...evidenceFields(found) });
    else print(rows, null);
  } else if (options.json)
    await printParts(terminal, jsonParts({ runId: id, rows: jsonRows(found), ...evidenceFields(found) }));
  else {
    const { rows, equal } = await allOf(found);
    print(rows, equal);
  }
}
