import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { csvCell, separatorOf, withPoint } from '../../../src-workers/domain/csv.ts';
import type { NamedParameters } from '../../../src-workers/domain/design-names.ts';
import { isObject } from '../../../src-workers/domain/json.ts';
import { ok, systemReason, type Result, unwrap, badInput } from '../../../src-workers/domain/result.ts';
import type { AskedTimes } from '../../contract/advice.ts';
import type { Engine } from '../../services/engine.ts';
import { linesOf } from '../../services/files/lines.ts';
import { command, type CommandLine, type GlobalOptions } from '../command-line.ts';
import { showSeconds, type Terminal, failure } from '../output.ts';
import { advised } from './advice.ts';
import { takeNamedParameter } from './import.ts';

interface PredictOptions extends GlobalOptions {
  readonly device?: string;
  readonly map?: NamedParameters;
}

export function addPredict(program: Command, { terminal, withEngine }: CommandLine): void {
  command(
    program,
    'predict <study-or-run> <file>',
    'predict the times of the designs in a file: JSON lines or CSV; - is standard input',
  )
    .option('--device <id>', 'the device, if the study has several devices')
    .option(
      '--map <parameter=axis...>',
      'map a parameter of the file to an axis, as in BX=block_threads',
      takeNamedParameter,
    )
    .action((what: string, file: string, options: PredictOptions) =>
      withEngine(options, (engine) => predictCommand(engine, terminal, what, file, options), { reads: true }),
    )
    .addHelpText(
      'after',
      `
A line of FILE is a design: a JSON object, or CSV (also with semicolons or tabs) after a header. Parameters are named
as in exports: threads_per_unit, block_threads, units_per_thread or grid_blocks, loop, balancing, register_cap, implementation.
Their values need not be on the axes of the study. Only a parameter with a single value in the study can be left out. An empty cell means no value.
Other names are ignored. Each line is printed again with predicted_ms and reason, which says why there is no time: for
example, "one block needs more registers than a multiprocessor has".
With --json: {device, designs: [{…, predicted_ms, reason}]}.
  lockstep predict study.json designs.csv > predicted.csv
  echo '{"threads_per_unit": 4, "block_threads": 128, "units_per_thread": 1}' | lockstep predict study.json -`,
    );
}

/** The designs of a call share laws, so larger calls are faster, but the first results must appear soon. */
const LINES_PER_CALL = 10_000;
const MAX_LINE_BYTES = 65_536;

type Design = Readonly<Record<string, unknown>>;
interface Line {
  readonly number: number;
  readonly text: string;
}

async function predictCommand(
  engine: Engine,
  terminal: Terminal,
  what: string,
  file: string,
  options: PredictOptions,
): Promise<void> {
  const about = unwrap(await advised(engine, terminal, what, options.device));
  const label = file === '-' ? 'standard input' : file;
  const all: Design[] = [];
  let device: AskedTimes['device'] | null = null;
  let read: Reader | null = null;
  const predict = async (lines: readonly Line[]): Promise<Result<null>> => {
    const designs: Design[] = [];
    for (const line of lines) {
      const one = read!.design(line);
      if (!one.ok) return one;
      designs.push(one.value);
    }
    const parameters = options.map;
    const work = engine.call('advice.predict', { ...about, designs, parameters, deviceId: options.device });
    const asked = await showSeconds(terminal, 'Predicting', work);
    if (!asked.ok) return { ok: false, error: { ...asked.error, message: atLine(asked.error.message, label, lines) } };
    if (device === null && !options.json && read!.header !== null) terminal.out(`${read!.header}\n`);
    ({ device } = asked.value);
    for (const [at, design] of designs.entries()) {
      const time = { predicted_ms: asked.value.timesMs[at], reason: asked.value.reasons[at] };
      if (options.json) all.push({ ...design, ...time });
      else terminal.out(`${read!.text(lines[at], design, time)}\n`);
    }
    return ok(null);
  };

  let [number, lines]: [number, Line[]] = [0, []];
  try {
    for await (const text of linesOf(file === '-' ? process.stdin : createReadStream(file), MAX_LINE_BYTES, true)) {
      number += 1;
      if (text === null)
        throw failure(
          'bad-input',
          `${label}, line ${number}: The line has more than ${MAX_LINE_BYTES} bytes. Write one design per line.`,
        );
      if (text.trim() === '') continue;
      if (read === null) {
        read = text
          .replace(/^\uFEFF/, '')
          .trimStart()
          .startsWith('{')
          ? jsonLines(label)
          : csvLines(label, text);
        if (read.header !== null) continue;
      }
      lines.push({ number, text });
      if (lines.length < LINES_PER_CALL) continue;
      unwrap(await predict(lines));
      lines = [];
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw failure(
        'not-found',
        `${label} cannot be read (${systemReason(error)}). Specify JSON lines or CSV of designs.`,
      );
    throw error;
  }
  if (lines.length === 0 && device === null) throw failure('bad-input', `${label} has no designs.`);
  if (lines.length > 0) unwrap(await predict(lines));
  if (options.json) terminal.json({ device, designs: all });
}

/** Replaces the number of a design in a message by its line, because the user knows only the line. */
function atLine(message: string, label: string, lines: readonly Line[]): string {
  return message.replace(/^designs\[(\d+)\]:/, (_, at: string) => `${label}, line ${lines[Number(at)].number}:`);
}

interface Time {
  readonly predicted_ms: number | null;
  readonly reason: string | null;
}

interface Reader {
  readonly header: string | null;
  design(line: Line): Result<Design>;
  text(line: Line, design: Design, time: Time): string;
}

function jsonLines(label: string): Reader {
  return {
    header: null,
    design({ number, text }) {
      try {
        const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
        if (isObject(value)) return ok(value);
      } catch {
        // Text that is not JSON gets the message below.
      }
      return badInput(
        `${label}, line ${number}: Expected a JSON object of parameters, not ${JSON.stringify(text.slice(0, 80))}.`,
      );
    },
    text: (_, design, time) => JSON.stringify({ ...design, ...time }),
  };
}

function csvLines(label: string, header: string): Reader {
  const delimiter = separatorOf(header);
  const cells = (text: string): readonly string[] =>
    parse(text, { bom: true, trim: true, relax_column_count: true, delimiter })[0] ?? [];
  const joined = (values: readonly (string | number)[]): string =>
    values.map((value) => csvCell(value, delimiter)).join(delimiter);
  const names = cells(header);
  return {
    header: joined([...names, 'predicted_ms', 'reason']),
    design({ number, text }) {
      try {
        const values = cells(text);
        if (values.length > names.length)
          return badInput(
            `${label}, line ${number}: The line has ${values.length} cells, but the header has ${names.length}.`,
          );
        // In exported tables, an empty cell means "no value": no register cap, or a grid that follows from the units.
        const given = names.map((name, at): [string, string | number | null] => {
          const cell = values[at] ?? '';
          const value = delimiter === ',' ? cell : withPoint(cell);
          return [name, value === '' ? null : Number.isNaN(Number(value)) ? value : Number(value)];
        });
        return ok(Object.fromEntries(given));
      } catch (error) {
        if (!(error instanceof CsvError)) throw error;
        return badInput(`${label}, line ${number}: ${error.message}`);
      }
    },
    text: ({ text }, _, { predicted_ms: ms, reason }) =>
      joined([...names.map((_name, at) => cells(text)[at] ?? ''), ms ?? '', reason ?? '']),
  };
}
