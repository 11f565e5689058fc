import type { Command } from 'commander';
import { defaultDatabaseFile } from '../../services/files/data-folder.ts';
import { doctorChecks } from '../../services/machine/doctor.ts';
import { command, type CommandLine, type GlobalOptions } from '../command-line.ts';
import { EXIT_FAILED, EXIT_OK } from '../output.ts';

export function addDoctor(program: Command, cli: CommandLine): void {
  const { terminal, places } = cli;
  command(program, 'doctor', 'show what Lockstep can use on this machine, and what is missing').action(
    async (options: GlobalOptions) => {
      const databaseFile = options.db ?? defaultDatabaseFile();
      const checks = await doctorChecks(databaseFile, places.root, places.engine.programs);
      if (options.json) terminal.json({ checks });
      else
        for (const check of checks) {
          terminal.say(
            `${check.state === 'ok' ? 'ok     ' : check.state === 'absent' ? 'absent ' : 'problem'}  ${check.label.padEnd(14)} ${check.found}`,
          );
          if (check.advice) terminal.say(`${' '.repeat(24)} ${check.advice}`);
        }
      cli.status = checks.some((check) => check.state === 'problem') ? EXIT_FAILED : EXIT_OK;
    },
  );
}
