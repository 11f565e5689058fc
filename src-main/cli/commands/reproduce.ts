import type { Command } from 'commander';
import { reproduction } from '../../services/models/reproduction.ts';
import type { Options } from '../best-designs.ts';
import { command, type CommandLine, type GlobalOptions } from '../command-line.ts';
import { type Terminal, usage, failure } from '../output.ts';

export function addReproduce(program: Command, { terminal }: CommandLine): void {
  command(
    program,
    'reproduce [paper]',
    "compare the papers' tables with ours; fail if a value is outside its tolerance",
  ).action((paper: string | undefined, options: GlobalOptions) => reproduceCommand(terminal, paper, options));
}

function reproduceCommand(terminal: Terminal, paper: string | undefined, options: Options): void {
  const tables = usage(reproduction(paper));
  if (options.json) terminal.json({ tables });
  else
    for (const table of tables) {
      const unit = table.unit === '1' ? '' : `, ${table.unit}`;
      terminal.say(table.citation);
      terminal.say(`${table.table}${unit}: ${table.passed ? 'reproduced' : 'NOT reproduced'}`);
      terminal.table(
        ['', 'paper', 'ours', 'error', 'tolerance', ''],
        table.rows.map((row) => [
          row.label,
          row.paper,
          Number(row.ours.toPrecision(7)),
          row.errorKind === 'relative' ? `${(row.error * 100).toFixed(3)} %` : row.error.toPrecision(3),
          row.errorKind === 'relative' ? `${(row.tolerance * 100).toFixed(3)} %` : row.tolerance,
          row.passed ? 'ok' : 'FAILED',
        ]),
      );
      for (const note of table.notes) terminal.say(`  ${note}`);
      terminal.say('');
    }
  const failed = tables.filter((table) => !table.passed).map((table) => `${table.paper} ${table.table}`);
  if (failed.length > 0) throw failure('conflict', `${failed.join(', ')}: outside tolerance`);
}
