import { createInterface } from 'node:readline';
import {
  FailureError,
  systemReason,
  type Failure,
  type FailureCode,
  type Result,
} from '../../src-workers/domain/result.ts';
import { procedures } from '../contract/procedures.ts';
import { commonUnit, timeIn } from '../../src-workers/domain/times.ts';
import { messageText } from '../../src-workers/domain/text.ts';

export interface Streams {
  out(text: string): void;
  err(text: string): void;
  /** Resolves when all written text has left the process. It is absent if writing is never delayed. */
  drained?(): Promise<void>;
  /** Resolves to the user's answer, which is empty if there is none. It is absent if no user can answer. */
  ask?(question: string): Promise<string>;
  readonly interactive: boolean;
  readonly columns: number;
}

export interface Terminal extends Streams {
  say(line: string): void;
  json(value: unknown): void;
  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void;
  rows<Row>(rows: readonly Row[], columns: readonly (Column<Row> | false)[]): void;
}

type Cell = string | number;

export type Column<Row> = readonly [head: string, cell: (row: Row, at: number) => Cell];

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

// The program that reads the output may stop early (`… | head`). The command then ends quietly, as other programs do.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_OK);
  const message = `Standard output cannot be written (${systemReason(error)}).`;
  process.exit(reportFailure(processStreams, { code: 'storage', message }));
});
// This failure cannot be reported anywhere, and lost progress lines must not end the run.
process.stderr.on('error', () => {});

export const processStreams: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  drained: () => new Promise((resolve) => process.stdout.write('', () => resolve())),
  interactive: Boolean(process.stderr.isTTY),
  columns: process.stderr.columns ?? 80,
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask: askUser }),
};

function askUser(question: string): Promise<string> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    // Ctrl+C and Ctrl+D close the input.
    const giveUp = (): void => {
      process.stderr.write('\n');
      resolve('');
    };
    lines.once('close', giveUp);
    lines.question(question, (answer) => {
      lines.off('close', giveUp);
      lines.close();
      resolve(answer.trim());
    });
  });
}

function reportFailure(terminal: Streams, failure: Failure, usage = false): number {
  const [, procedure, text] = /^([\w.]+): ([^]*)$/.exec(failure.message) ?? [];
  // The name of a procedure means nothing to a user of the command line, so the message leaves it out.
  const message = procedure && Object.hasOwn(procedures, procedure) ? text : failure.message;
  terminal.err(`lockstep: ${plain(messageText(message).replaceAll('\n', ' '))}\n`);
  return usage ? EXIT_USAGE : EXIT_FAILED;
}

class UsageError extends FailureError {}

export const failure = (code: FailureCode, message: string): FailureError => new FailureError({ code, message });
export const badUsage = (message: string): UsageError => new UsageError({ code: 'bad-input', message });

export function usage<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new UsageError(result.error);
}

export function reportError(terminal: Streams, error: unknown): number {
  if (error instanceof FailureError) return reportFailure(terminal, error.failure, error instanceof UsageError);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return reportFailure(terminal, { code: 'internal', message: `This is a bug in Lockstep: ${text}` });
}

/** Writes control characters as escapes. They could move the cursor, or change colours or the direction of text. */
export function plain(text: string): string {
  return text.replace(
    // eslint-disable-next-line no-control-regex -- control characters are exactly what must not reach a terminal
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function terminalOn(streams: Streams): Terminal {
  return {
    ...streams,
    say: (line) => streams.out(`${plain(line)}\n`),
    json: (value) => streams.out(`${JSON.stringify(value, null, 2)}\n`),
    table: (head, rows) => streams.out(tableText(head, rows)),
    rows(rows, columns) {
      const shown = columns.filter((column) => column !== false);
      const cells = rows.map((row, at) => shown.map(([, cell]) => cell(row, at)));
      streams.out(
        tableText(
          shown.map(([head]) => head),
          cells,
        ),
      );
    },
  };
}

export async function printParts(terminal: Streams, parts: AsyncIterable<string>): Promise<void> {
  for await (const part of parts) {
    terminal.out(part);
    await terminal.drained?.();
  }
}

export function percent(fraction: number, decimals = 1): string {
  return Number.isNaN(fraction) ? '–' : `${(100 * fraction).toFixed(decimals)} %`;
}

/** A value that rounds to zero has no sign. */
export function signedPercent(fraction: number, decimals = 1): string {
  const text = percent(Math.abs(fraction), decimals);
  return Number.parseFloat(text) === 0 ? text : `${fraction < 0 ? '-' : '+'}${text}`;
}

/** Formats times in the unit that suits the smallest. A missing time is shown as an en dash. */
export function timeCells(timesMs: Iterable<number | null | undefined>): {
  readonly unit: string;
  readonly cell: (timeMs: number | null | undefined) => string;
} {
  const known = [...timesMs].filter((ms) => typeof ms === 'number');
  const unit = commonUnit(known);
  return { unit: unit.name, cell: (ms) => timeIn(unit, ms ?? NaN) };
}

function tableText(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = [head, ...rows.map((row) => row.map((cell) => plain(String(cell))))];
  const numeric = head.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || /^[-+−]?[\d.,]+( ?%)?$|^–?$/.test(String(row[column]))),
  );
  const widths = head.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column].length), 0));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => (numeric[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join('');
}

export interface ProgressBar {
  update(done: number, total: number, remainingMs: number | null, note: string): void;
  clear(): void;
}

const CLEAR_LINE = '\r\x1b[2K';

export function progressBar(terminal: Streams, label: string): ProgressBar {
  if (!terminal.interactive) return { update: () => {}, clear: () => {} };
  // The rest of the line takes 56 characters. If too little room is left, the bar is empty.
  const room = Math.min(32, terminal.columns - 56);
  const width = room < 10 ? 0 : room;
  return {
    update(done, total, remainingMs, note) {
      const fraction = total > 0 ? done / total : 0;
      const filled = Math.round(fraction * width);
      const bar = width > 0 ? `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ` : '';
      const left = remainingMs === null ? '' : ` ${(remainingMs / 1000).toFixed(1)} s left`;
      const line = `${label} ${bar}${done.toLocaleString('en')} of ${total.toLocaleString('en')}${left}${note ? `, ${note}` : ''}`;
      // A longer line would wrap, and the next update would not overwrite all of it.
      terminal.err(`${CLEAR_LINE}${line.slice(0, terminal.columns - 1)}`);
    },
    clear: () => terminal.err(CLEAR_LINE),
  };
}

const PATIENCE_S = 2;

/** On a terminal, shows the elapsed seconds if the call takes more than two. */
export async function showSeconds<T>(terminal: Streams, label: string, work: Promise<T>): Promise<T> {
  if (!terminal.interactive) return work;
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += 1;
    if (seconds >= PATIENCE_S) terminal.err(`${CLEAR_LINE}${label}, ${seconds} s`);
  }, 1000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (seconds >= PATIENCE_S) terminal.err(CLEAR_LINE);
  }
}

export function numberList(text: string): readonly number[] | null {
  const numbers = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
  return numbers.every((value) => Number.isSafeInteger(value) && value >= 1) ? numbers : null;
}
