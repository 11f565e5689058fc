import { type Command, Option } from 'commander';
import { MAX_DESIGNS } from '../../contract/study.ts';
import type { Engine } from '../../services/engine.ts';
import { jsonParts } from '../../services/export/text.ts';
import {
  allOf,
  bestOf,
  evidenceFields,
  jsonRow,
  jsonRows,
  type Options,
  printDesigns,
  sayUnmeasured,
} from '../best-designs.ts';
import { command, type CommandLine, type GlobalOptions, positive } from '../command-line.ts';
import { runId } from '../follow.ts';
import { EXIT_OK, printJson, printParts, reportFailure, type Terminal } from '../output.ts';

export function addRank(program: Command, { terminal, withRuns }: CommandLine): void {
  command(program, 'rank <run>', 'the best designs of a run')
    .option('--top <count>', 'designs to print', positive, 10)
    .option('--device <id>', 'only this device')
    .option('--groups', 'print one row for each group of equal designs', false)
    .addOption(
      new Option('--best-of <axis>', 'the best design of every device, or of every implementation').choices([
        'device',
        'implementation',
      ]),
    )
    .action(
      (run: string, options: GlobalOptions & { top: number; device?: string; groups: boolean; bestOf?: string }) =>
        withRuns(options, (engine) => rankCommand(engine, terminal, run, options)),
    );
}

async function rankCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: Options & {
    readonly top: number;
    readonly device?: string;
    readonly groups: boolean;
    readonly bestOf?: string;
  },
): Promise<number> {
  const id = runId(run);
  if (!id.ok) return reportFailure(terminal, id.error, true);
  const found = await bestOf(engine, {
    runId: id.value,
    limit: Math.min(options.top, MAX_DESIGNS),
    groups: options.groups,
    ...(options.device === undefined ? {} : { deviceId: options.device }),
  });
  if (!found.ok) return reportFailure(terminal, found.error);
  if (options.bestOf !== undefined) {
    const { ofDevices, ofImplementations } = found.value;
    const rows = options.bestOf === 'device' ? ofDevices : ofImplementations;
    if (options.bestOf === 'implementation' && rows.length === 0)
      return reportFailure(terminal, {
        code: 'unsupported',
        message: `The study of run ${id.value} names no implementations. Use --best-of device, or leave --best-of out.`,
      });
    if (options.json)
      printJson(terminal, {
        runId: id.value,
        bestOf: options.bestOf,
        rows: rows.map(jsonRow),
        ...evidenceFields(found.value),
      });
    else {
      printDesigns(terminal, rows, { ...found.value, equal: null }, 'whole');
      sayUnmeasured(terminal, found.value, options.device);
    }
    return EXIT_OK;
  }
  if (options.json)
    await printParts(
      terminal,
      jsonParts({ runId: id.value, rows: jsonRows(found.value), ...evidenceFields(found.value) }),
    );
  else {
    const { rows, equal } = await allOf(found.value);
    printDesigns(terminal, rows, { ...found.value, equal }, 'whole');
    sayUnmeasured(terminal, found.value, options.device);
  }
  return EXIT_OK;
}
