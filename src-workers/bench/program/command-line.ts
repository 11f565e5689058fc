import type { ProgramTask } from '../../domain/benchmark.ts';
import type { Design } from '../../domain/design.ts';
import { PLACEHOLDERS, type Placeholder } from '../../domain/program.ts';
import { ok, type Result, badInput } from '../../domain/result.ts';

/**
 * No shell reads the line, so `;`, `|`, `*`, `$(…)` and `>` have no meaning. Quotes keep spaces. A backslash before a
 * quote, a backslash or a space stands for that character, except in single quotes. Fails with `bad-input`.
 */
export function splitCommand(line: string): Result<readonly string[]> {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    const next = line[at + 1] as string | undefined;
    if (character === '\\' && quote !== "'" && next !== undefined && /["'\\\s]/.test(next)) {
      word = (word ?? '') + next;
      at += 1;
    } else if (quote !== null) {
      if (character === quote) quote = null;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + character;
  }
  if (quote !== null) return badInput(`The command line ${line} has a quotation mark ${quote} that is never closed.`);
  if (word !== null) words.push(word);
  return words.length > 0 && words[0] !== ''
    ? ok(words)
    : badInput('The command line has no program. Begin it with the name of a program.');
}

/** Writes a word so that `splitCommand` and `substituted` return it unchanged. */
export function quotedWord(word: string): string {
  return `"${word.replace(/[\\"]/g, '\\$&').replace(/\{[A-Za-z]+\}/g, '{$&}')}"`;
}

/** Matches `{name}`, or `{{name}}` for the text `{name}`. */
const NAMED = /\{(\{[A-Za-z]+\})\}|\{([A-Za-z]+)\}/g;

export type Values = Readonly<Record<Placeholder, string>>;

export function substituted(word: string, values: Values): string {
  return word.replace(NAMED, (_, literal: string | undefined, name: Placeholder) => literal ?? values[name]);
}

function listNames(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.flatMap((word) => [...word.matchAll(NAMED)].flatMap(([, , name]) => name ?? [])));
}

export function names({ exec, build }: Pick<ProgramTask, 'exec' | 'build'>, ...some: readonly Placeholder[]): boolean {
  return [exec, build].some((line) => {
    const words = line === null ? null : splitCommand(line);
    const named = words?.ok ? listNames(words.value) : null;
    return some.some((placeholder) => named?.has(placeholder));
  });
}

export function needsLengths(task: Pick<ProgramTask, 'exec' | 'build'>): boolean {
  return names(task, 'lengthsFile', 'orderFile', 'launches');
}

const SHARED: ReadonlySet<string> = new Set<Placeholder>(['binary', 'device', 'lengthsFile', 'units']);

export function checkCommands({ exec, build }: Pick<ProgramTask, 'exec' | 'build'>): Result<null> {
  const used: ReadonlySet<string>[] = [];
  for (const [option, line] of [
    ['--exec', exec],
    ['--build', build],
  ] as const) {
    if (line === null) continue;
    const words = splitCommand(line);
    if (!words.ok) return badInput(`${option}: ${words.error.message}`);
    const named = listNames(words.value);
    for (const name of named)
      if (!Object.hasOwn(PLACEHOLDERS, name))
        return badInput(
          `${option}: {${name}} is not a placeholder. Use ${Object.keys(PLACEHOLDERS)
            .map((known) => `{${known}}`)
            .join(', ')}; for the text {${name}} itself, write {{${name}}}.`,
        );
    used.push(named);
  }
  const [inExec, inBuild] = used;
  if (inExec.has('binary') && !inBuild) return badInput('--exec names {binary}, which --build makes. Specify --build.');
  if (!inBuild) return ok(null);
  if (inBuild.has('binary') && !inExec.has('binary'))
    return badInput('--build makes {binary}, which --exec does not run. Use {binary} in --exec.');
  const own = [...inBuild].find((name) => !SHARED.has(name));
  if (own !== undefined && !inBuild.has('binary'))
    return badInput(`--build contains {${own}}, so designs would overwrite each other's builds. Write to {binary}.`);
  return ok(null);
}

/** Computed from the units' lengths; empty if no command line uses them. */
export interface UnitTexts {
  readonly lengthsFile: string;
  readonly orderFile: string;
  readonly launches: string;
}

/** Returns the values of a design's placeholders. `{binary}` is replaced after the build. */
export function listValues(
  design: Design,
  designIndex: number | null,
  { units, deviceId }: ProgramTask,
  ofUnits: UnitTexts,
): Values {
  return {
    design: String(designIndex ?? ''),
    implementation: design.implementation ?? '',
    threadsPerUnit: String(design.threadsPerUnit),
    unitsPerThread: String(design.unitsPerThread),
    blockThreads: String(design.blockThreads),
    blockWidth: String(design.blockWidth ?? 0),
    gridBlocks: String(design.gridBlocks),
    registerCap: String(design.registerCap ?? 0),
    balancing: design.balancing,
    loop: design.loop,
    classes: JSON.stringify(design.classes ?? []),
    device: deviceId,
    units: String(units),
    ...ofUnits,
    binary: '{binary}',
  };
}
