import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import * as v from 'valibot';
import { errorText, ok, type Result, unwrap, badInput } from '../../../src-workers/domain/result.ts';
import { validate } from '../../contract/parse.ts';
import { type EngineDoor, MAX_REQUEST_BYTES, serveConnection } from '../../contract/transport.ts';
import { writeFor } from '../../services/files/files.ts';
import { linesOf } from '../../services/files/lines.ts';
import { type CommandLine, databaseOption, type GlobalOptions } from '../command-line.ts';

export function addRpc(program: Command, cli: CommandLine): void {
  program
    .command('rpc')
    .description(
      'answer calls from programs in other languages: one JSON object per line on standard input, until the input ends',
    )
    .option('--events', 'also print events, such as the progress of runs')
    .addOption(databaseOption())
    .action((options: GlobalOptions & { events?: true }) =>
      cli.withEngine(options, async (engine) => {
        await serveLines(engine, process.stdin, process.stdout, { events: options.events ?? false });
      }),
    )
    .addHelpText(
      'after',
      `
  {"id": 1, "call": "models.loss", "arguments": {"workload": {"lengths": "geometric(0.05)"}, "n": [2, 4]}}     a request
  {"id": 1, "result": {"workload": …, "rows": […]}}                                                            its reply
  {"id": 1, "error": {"code": "bad-input", "message": "…", "context": {"field": "…"}}}                         or its error
src-main/contract/procedures.ts lists the calls with their arguments and results (out/main/library.d.ts in an installed
package). id is a whole number of your choice. Replies come when calls end, in any order. Error codes: bad-input, not-found,
conflict, unsupported, storage, cancelled, internal. An invalid line gets an error too; its id is null if the line has none.
Bytes are {"base64": "…"}, other arrays of numbers are lists, and a number that is not finite is null.
With --events: {"event": "run.progress", "payload": {…}}. A run continues after the reply to its start; runs.wait replies at
its end. Nothing else is written to standard output. When standard input ends, calls have 10 seconds to end; a run that has
not ended can be resumed.`,
    );
}

export function addPython(program: Command, cli: CommandLine): void {
  program
    .command('python')
    .description('write lockstep.py: losses, sweeps, rankings, recommendations and tuning as Python functions')
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .action(async ({ output }: { output?: string }) => {
      const text = await pythonModule(cli.places.root);
      if (output === undefined) return cli.terminal.out(text);
      unwrap(await writeFor(output, text));
      cli.terminal.say(`Wrote ${output}.`);
    })
    .addHelpText(
      'after',
      `
  import lockstep
  lockstep.loss([3, 1, 40, 7], n=[2, 4])
  run = lockstep.sweep("study.json")
  lockstep.rank(run, top=5)
Python 3.8 or newer and its standard library are enough. frame(…) makes DataFrames with pandas, and plot(…) draws with
matplotlib. The module keeps one lockstep rpc open: the command in the environment variable LOCKSTEP, else lockstep on the
PATH, else the program that wrote the module. An example: ${join(cli.places.root, 'db', 'examples', 'lockstep.ipynb')}`,
    );
}

const requestSchema = v.strictObject({
  id: v.pipe(v.number('must be a whole number'), v.safeInteger('must be a whole number')),
  call: v.pipe(v.string(), v.maxLength(100)),
  arguments: v.optional(v.unknown()),
});

async function pythonModule(root: string): Promise<string> {
  const program = [process.execPath, join(root, 'src-main', 'cli', 'lockstep.mjs')];
  const text = await readFile(join(root, 'db', 'python', 'lockstep.py'), 'utf8');
  return text.replace('_WRITTEN_BY: List[str] = []', () => `_WRITTEN_BY: List[str] = ${JSON.stringify(program)}`);
}

/** How long to wait for open calls after the last line, ms. Their caller may no longer exist. */
const LAST_CALLS_MS = 10_000;

interface RpcOptions {
  readonly events: boolean;
  readonly maxLineBytes?: number;
}

/** Resolves when `input` has ended and all calls are answered, at the latest 10 s after the end of `input`. */
export async function serveLines(
  engine: EngineDoor,
  input: AsyncIterable<unknown>,
  output: Writable,
  { events, maxLineBytes = MAX_REQUEST_BYTES }: RpcOptions,
): Promise<void> {
  let waiting = 0;
  let ended = false;
  const answered = Promise.withResolvers<void>();
  const write = (message: object): void => void output.write(`${JSON.stringify(message, jsonValue)}\n`);
  const connection = serveConnection(engine, (message) => {
    if ('event' in message) {
      // Progress is soon out of date, so it is not sent to a slow reader.
      if (events && !(message.event === 'run.progress' && output.writableNeedDrain)) write(message);
      return;
    }
    write(message.ok ? { id: message.id, result: message.value ?? null } : { id: message.id, error: message.error });
    waiting -= 1;
    if (ended && waiting === 0) answered.resolve();
  });
  for await (const line of linesOf(input, maxLineBytes, true)) {
    if (line?.trim() === '') continue;
    const value =
      line === null ? badInput(`The line has more than ${maxLineBytes} bytes, which is the limit.`) : parsed(line);
    const request = value.ok ? validate(requestSchema, value.value, 'The line') : value;
    if (request.ok) {
      const { id, call, arguments: given } = request.value;
      waiting += 1;
      connection.receive({ id, name: call, input: given });
    } else write({ id: value.ok ? readId(value.value) : null, error: request.error });
    if (output.writableNeedDrain) await once(output, 'drain');
  }
  ended = true;
  if (waiting > 0) await Promise.race([answered.promise, pause(LAST_CALLS_MS, undefined, { ref: false })]);
  connection.close();
}

function parsed(line: string): Result<unknown> {
  try {
    // Most lines contain no base64, so they skip the reviver, which takes longer than the parsing itself.
    return ok(line.includes('"base64"') ? JSON.parse(line, fromBase64) : JSON.parse(line));
  } catch (error) {
    return badInput(`The line is not JSON: ${errorText(error)}.`);
  }
}

function fromBase64(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'base64') return value;
  const { base64 } = value as { readonly base64: unknown };
  return typeof base64 === 'string' ? new Uint8Array(Buffer.from(base64, 'base64')) : value;
}

function jsonValue(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value;
}

/** Returns the id of an invalid request if it has one, because the sender waits for a reply to this id. */
function readId(value: unknown): number | null {
  const { id } = (value ?? {}) as { readonly id?: unknown };
  return Number.isSafeInteger(id) ? (id as number) : null;
}
