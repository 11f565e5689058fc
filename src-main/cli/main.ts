import { Command, CommanderError } from 'commander';
import { messageText } from '../../src-workers/domain/text.ts';
import { APP_VERSION } from '../services/version.ts';
import { openCommandLine } from './command-line.ts';
import { addRecommend, addRobust, addSensitivity } from './commands/advice.ts';
import { addAgent } from './commands/agent.ts';
import { addBench } from './commands/bench.ts';
import { addCalibrate } from './commands/calibrate.ts';
import { addCompare } from './commands/compare.ts';
import { addDevices } from './commands/devices.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEmulate } from './commands/emulate.ts';
import { addEvidence } from './commands/evidence.ts';
import { addExport } from './commands/export.ts';
import { addImport } from './commands/import.ts';
import { addKernel } from './commands/kernel.ts';
import { addLoss } from './commands/loss.ts';
import { addNew } from './commands/new.ts';
import { addOccupancy } from './commands/occupancy.ts';
import { addPredict } from './commands/predict.ts';
import { addRank } from './commands/rank.ts';
import { addReproduce } from './commands/reproduce.ts';
import { addPython, addRpc } from './commands/rpc.ts';
import { addRuns } from './commands/runs.ts';
import { addServe } from './commands/serve.ts';
import { addSimulate } from './commands/simulate.ts';
import { addSweep } from './commands/sweep.ts';
import { addTrace } from './commands/trace.ts';
import { addTune } from './commands/tune.ts';
import { EXIT_OK, EXIT_USAGE, plain, processStreams, reportError, type Streams, terminalOn } from './output.ts';

/** Resolves to the exit status: 0, 1 (failed) or 2 (wrong usage). */
export async function main(args: readonly string[], terminal: Streams = processStreams): Promise<number> {
  const cli = openCommandLine(terminalOn(terminal));
  const program = new Command('lockstep')
    .description('Predict, rank and compare mappings of irregular work onto SIMT devices.')
    .version(APP_VERSION)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) =>
        write(`lockstep: ${plain(messageText(usageText(text, findListOption(program, args))))}\n`),
    });
  for (const add of [
    addLoss,
    addTrace,
    addEmulate,
    addOccupancy,
    addNew,
    addSweep,
    addRank,
    addRecommend,
    addSensitivity,
    addRobust,
    addPredict,
    addSimulate,
    addBench,
    addCompare,
    addTune,
    addCalibrate,
    addKernel,
    addRuns,
    addDevices,
    addImport,
    addExport,
    addRpc,
    addPython,
    addReproduce,
    addEvidence,
    addDoctor,
    addAgent,
    addServe,
  ])
    add(program, cli);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    return reportError(terminal, error);
  }
  return cli.status;
}

/** Finds a given option that takes every word up to the next option. */
function findListOption(program: Command, args: readonly string[]): string | undefined {
  const options = program.commands.find((command) => command.name() === args[0])?.options ?? [];
  return options.find(({ variadic, long }) => variadic && args.includes(long!))?.long;
}

function usageText(text: string, listOption: string | undefined): string {
  const line = text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ')
    .replace(/^missing required argument '(.*)'$/, (all, name: string) =>
      listOption ? `${all}: ${listOption} takes every word after it, so write the ${name} before it` : all,
    );
  return /It must be|allowed choices/i.test(line)
    ? line
    : `${line.replace(/\.$/, '')}. See lockstep --help, or COMMAND --help.`;
}
