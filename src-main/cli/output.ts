import { systemReason, type Failure } from '../../src-workers/domain/result.ts';
import { procedures } from '../contract/procedures.ts';
import { timeIn, timeUnit } from '../../src-workers/domain/times.ts';
import { messageText } from '../../src-workers/domain/text.ts';

/** Where a command writes: replaced by buffers in tests. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Resolves when what was written has left; absent if nothing waits. */
  drained?(): Promise<void>;
  /** True if standard error is a terminal a person watches. */
  readonly interactive: boolean;
  readonly columns: number;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

// A reader may stop early (… | head). That ends the command quietly, as it does for any other program.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_OK);
  const message = `Standard output cannot be written (${systemReason(error)}).`;
  process.exit(reportFailure(processTerminal, { code: 'storage', message }));
});
// No stream is left for a message, and the run is worth more than its progress.
process.stderr.on('error', () => {});

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  drained: () => new Promise((resolve) => process.stdout.write('', () => resolve())),
  interactive: Boolean(process.stderr.isTTY),
  columns: process.stderr.columns ?? 80,
};

/** Prints a failure as one line on standard error. The exit code is 2 for what a person typed wrong, else 1. */
export function reportFailure(terminal: Terminal, failure: Failure, usage = false): number {
  const [, procedure, text] = /^([\w.]+): ([^]*)$/.exec(failure.message) ?? [];
  // The names of procedures are for programs.
  const message = procedure && Object.hasOwn(procedures, procedure) ? text : failure.message;
  terminal.err(`lockstep: ${plain(messageText(message).replaceAll('\n', ' '))}\n`);
  return usage ? EXIT_USAGE : EXIT_FAILED;
}

/** Text that shows and does nothing: names may hold what moves a cursor, colours, or turns the direction of writing. */
export function plain(text: string): string {
  return text.replace(
    // eslint-disable-next-line no-control-regex -- control characters are exactly what must not reach a terminal
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** One line for a person. */
export function say(terminal: Terminal, line: string): void {
  terminal.out(`${plain(line)}\n`);
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value, null, 2)}\n`);
}

/** Writes a text part by part, each after the reader took the one before. */
export async function printParts(terminal: Terminal, parts: AsyncIterable<string>): Promise<void> {
  for await (const part of parts) {
    terminal.out(part);
    await terminal.drained?.();
  }
}

/** `0.123` as `12.3 %`; a dash if there is no number. */
export function percent(fraction: number, decimals = 1): string {
  return Number.isNaN(fraction) ? '–' : `${(100 * fraction).toFixed(decimals)} %`;
}

/**
 * Cells for the times of a table, ms: the unit of the smallest one, for the head, and a function that writes a time; a
 * missing one is an en dash.
 */
export function timeCells(timesMs: Iterable<number | null | undefined>): {
  readonly unit: string;
  readonly cell: (timeMs: number | null | undefined) => string;
} {
  const known = [...timesMs].filter((ms) => typeof ms === 'number').filter((ms) => ms > 0);
  const unit = timeUnit(known.reduce((least, ms) => Math.min(least, ms), Infinity));
  return { unit: unit.name, cell: (ms) => timeIn(unit, ms ?? NaN) };
}

/** A table with right-aligned numbers. */
export function printTable(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  const cells = [head, ...rows.map((row) => row.map((cell) => plain(String(cell))))];
  const numeric = head.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || /^[-+−]?[\d.,]+( ?%)?$|^–?$/.test(String(row[column]))),
  );
  const widths = head.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column].length), 0));
  for (const row of cells) {
    const line = row
      .map((cell, column) => (numeric[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ');
    terminal.out(`${line.trimEnd()}\n`);
  }
}

export interface ProgressBar {
  update(done: number, total: number, remainingMs: number | null, note: string): void;
  clear(): void;
}

/** A progress bar on a terminal, nothing when piped. */
export function progressBar(terminal: Terminal, label: string): ProgressBar {
  if (!terminal.interactive) return { update: () => {}, clear: () => {} };
  // The other columns take 56 characters, and a bar of a few characters says nothing.
  const room = Math.min(32, terminal.columns - 56);
  const width = room < 10 ? 0 : room;
  return {
    update(done, total, remainingMs, note) {
      const fraction = total > 0 ? done / total : 0;
      const filled = Math.round(fraction * width);
      const bar = width > 0 ? `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ` : '';
      const left = remainingMs === null ? '' : ` ${(remainingMs / 1000).toFixed(1)} s left`;
      const line = `${label} ${bar}${done.toLocaleString('en')} of ${total.toLocaleString('en')}${left}${note ? `, ${note}` : ''}`;
      // A line that wraps would stay where the next one is drawn.
      terminal.err(`\r\x1b[2K${line.slice(0, terminal.columns - 1)}`);
    },
    clear: () => terminal.err('\r\x1b[2K'),
  };
}

/** Parses `2,4,8`: whole numbers ≥ 1, or null. */
export function numberList(text: string): readonly number[] | null {
  const numbers = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
  return numbers.every((value) => Number.isSafeInteger(value) && value >= 1) ? numbers : null;
}
