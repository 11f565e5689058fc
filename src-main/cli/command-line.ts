import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PASSWORD_VARIABLE } from '../../src-workers/domain/program.ts';
import { type Result, unwrap } from '../../src-workers/domain/result.ts';
import type { ProcedureInput, ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import { type Places, programPlaces } from '../hosts/places.ts';
import { type Engine, type EngineOptions, openEngine } from '../services/engine.ts';
import { defaultDatabaseFile } from '../services/files/data-folder.ts';
import { type RedisOptions, redisSettings } from './agents.ts';
import { EXIT_OK, failure, numberList, plain, reportError, type Terminal } from './output.ts';

export interface GlobalOptions extends RedisOptions {
  readonly json?: boolean;
  readonly db?: string;
}

export const wholeFrom = (min: number, text: string, max = Infinity): number => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new InvalidArgumentError(
      `It must be a whole number ${max === Infinity ? `≥ ${min}` : `from ${min} to ${max}`}.`,
    );
  return value;
};

export const whole = (text: string): number => wholeFrom(0, text);

export const positive = (text: string): number => wholeFrom(1, text);

export const parsedBy =
  <T>(parse: (text: string) => Result<T>) =>
  (text: string): T => {
    const parsed = parse(text);
    if (!parsed.ok) throw new InvalidArgumentError(parsed.error.message);
    return parsed.value;
  };

export const sizes = (text: string): readonly number[] => {
  const list = numberList(text);
  if (!list) throw new InvalidArgumentError('It must be a list of whole numbers ≥ 1, such as 2,4,8.');
  return list;
};

export const databaseOption = (): Option =>
  new Option('--db <file>', 'database to use instead of the one in your data folder').argParser((file) => {
    if (file === ':memory:')
      throw new InvalidArgumentError('Runs are saved in a file. Specify a file, such as /tmp/runs.db.');
    return resolve(file);
  });

export const command = (parent: Command, signature: string, summary: string): Command =>
  withCommonOptions(parent.command(signature).description(summary));

const withCommonOptions = (command: Command): Command =>
  command.option('--json', 'print one JSON document, and nothing else, on standard output').addOption(databaseOption());

/** The common options may stand before or after the name of the command. */
export const group = (program: Command, name: string, summary: string): Command =>
  withCommonOptions(program.command(name).description(summary)).hook('preAction', (before, command) => {
    for (const [option, value] of Object.entries(before.opts()))
      if (command.getOptionValue(option) === undefined) command.setOptionValue(option, value);
  });

export const byAgents = (command: Command): Command =>
  command
    .option('--redis <url>', 'give the work to agents that use this Redis: redis://HOST:PORT, or rediss:// for TLS')
    .option('--redis-prefix <name>', 'prefix of the keys in the Redis (default: lockstep)')
    .option(
      '--redis-password-file <file>',
      `file with the password of the Redis (default: ${PASSWORD_VARIABLE} in the environment)`,
    );

export interface CommandLine {
  readonly terminal: Terminal;
  readonly places: Places;
  status: number;
  readonly withEngine: (
    options: GlobalOptions,
    body: (engine: Engine) => Promise<number | void>,
    uses?: Pick<EngineOptions, 'predicts' | 'reads'>,
  ) => Promise<void>;
  /** Like `withEngine`, but fails if there is no database yet, instead of creating one. */
  readonly withRuns: CommandLine['withEngine'];
}

export function openCommandLine(terminal: Terminal): CommandLine {
  const places = programPlaces();
  const withEngine: CommandLine['withEngine'] = async (options, body, uses = {}) => {
    const redis = redisSettings(options);
    const engine = unwrap(
      await openEngine({
        databaseFile: options.db ?? defaultDatabaseFile(),
        host: 'cli',
        ...places.engine,
        ...uses,
        ...(redis && { redis }),
      }),
    );
    try {
      cli.status = (await body(engine)) ?? cli.status;
    } catch (error) {
      cli.status = reportError(terminal, error);
    } finally {
      const silent = await engine.close();
      if (silent !== null) terminal.err(`lockstep: ${plain(silent)}\n`);
    }
  };
  const withRuns: CommandLine['withEngine'] = async (options, body, uses) => {
    const file = options.db ?? defaultDatabaseFile();
    if (existsSync(file)) return withEngine(options, body, uses);
    throw failure(
      'not-found',
      `There is no database at ${file}. Make a database with a sweep, or name another database with --db.`,
    );
  };
  const cli: CommandLine = { terminal, places, status: EXIT_OK, withEngine, withRuns };
  return cli;
}

export async function call<Name extends ProcedureName>(
  engine: Engine,
  name: Name,
  input: ProcedureInput<Name>,
): Promise<ProcedureOutput<Name>> {
  return unwrap(await engine.call(name, input));
}

export const VERBOSE = 'also print what the answer is based on';
