import { constants } from 'node:os';
import { ok, type Result, badInput } from '../../domain/result.ts';
import { lastLine, shortened } from '../../domain/text.ts';
import type { ToolRun } from '../tool.ts';

export interface ProgramOutput {
  /** Empty only in an emulation. */
  readonly timesNs: readonly number[];
  readonly correct: boolean | null;
  readonly maxError: number | null;
  readonly digest: string | null;
  readonly device: string | null;
  readonly driver: string | null;
  readonly multiprocessors: number | null;
}

const EXPECTED = 'It must print the time of each launch as a line {"timeNs": 1234}';
const MAX_TIMES = 10_000;
const MAX_TEXT = 200;
const MAX_WORDS = 300;

const isText = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '' && value.length <= MAX_TEXT) || typeof value === 'number';
const isName = (value: unknown): boolean => typeof value === 'string' && isText(value);
const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const FIELDS = {
  timeNs: [isAmount, 'a number of nanoseconds, 0 or more'],
  correct: [(value: unknown) => typeof value === 'boolean', 'true or false'],
  maxError: [isAmount, 'a number, 0 or more'],
  digest: [isText, `text of 1 to ${MAX_TEXT} characters, or a number`],
  device: [isName, `text of 1 to ${MAX_TEXT} characters`],
  driver: [isName, `text of 1 to ${MAX_TEXT} characters`],
  multiprocessors: [
    (value: unknown) => isAmount(value) && Number.isInteger(value) && value >= 1,
    'a whole number, 1 or more',
  ],
} as const;

/**
 * Reads the JSON objects in a program's output, one per line. A later line replaces an earlier one, except that times
 * are added to the list, the largest `maxError` counts, and a wrong result stays wrong. Fails with `bad-input`.
 */
export function readOutput(stdout: string, stderr: string, timed = true): Result<ProgramOutput> {
  const timesNs: number[] = [];
  const said: Record<string, unknown> = {};
  for (const line of stdout.split('\n')) {
    const object = parseObject(line);
    if (!object) continue;
    for (const [name, [isValid, kind]] of Object.entries(FIELDS)) {
      if (!Object.hasOwn(object, name)) continue;
      const value = object[name];
      if (!isValid(value))
        return badInput(`The program printed ${name} ${shortened(JSON.stringify(value), MAX_WORDS)}, not ${kind}.`);
      if (name === 'timeNs') timesNs.push(value as number);
      else if (name === 'maxError') said[name] = Math.max(value as number, (said[name] as number | undefined) ?? 0);
      else if (name === 'correct') said[name] = value === true && said[name] !== false;
      else said[name] = value;
    }
    if (timesNs.length > MAX_TIMES)
      return badInput(`One run of the program printed more than ${MAX_TIMES} measured times.`);
  }
  if (timed && timesNs.length === 0)
    return badInput(`The program printed no time. ${EXPECTED}. ${lastWords(stderr, stdout)}`);
  const { correct = null, maxError = null, digest = null, device = null, driver = null, multiprocessors = null } = said;
  return ok({
    timesNs,
    correct: correct as boolean | null,
    maxError: maxError as number | null,
    digest: digest === null ? null : String(digest as string | number),
    device: device as string | null,
    driver: driver as string | null,
    multiprocessors: multiprocessors as number | null,
  });
}

function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  const text = line.trim();
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}

export function exitText({ code, stdout, stderr }: ToolRun): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return `The program ended with exit code ${code}${signal ? ` (${signal})` : ''}. ${lastWords(stderr, stdout)}`;
}

function lastWords(...texts: readonly string[]): string {
  const last = texts.map(lastLine).find((line) => line !== '');
  return last === undefined ? 'It printed nothing.' : `Its last line: ${shortened(last, MAX_WORDS)}`;
}
