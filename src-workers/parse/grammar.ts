import { meantName } from '../domain/nearest.ts';
import { expected, ok, unwrap, type Result, badInput } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import {
  countLengths,
  DEFAULT_COLLATZ,
  DEFAULT_MANDELBROT,
  exampleLengths,
  type GeneratedExample,
} from '../models/workload/generated.ts';
import {
  binomialLaw,
  categoricalLaw,
  constantLaw,
  empiricalLaw,
  geometricLaw,
  lognormalLaw,
  mixtureLaw,
  negativeBinomialLaw,
  poissonLaw,
  uniformLaw,
  zipfLaw,
  type CategoricalPoint,
  type MixturePart,
} from '../models/workload/laws.ts';
import { SUMMARY_FIGURES, summaryLaw, type SummaryFigures } from '../models/workload/summary-law.ts';
import { DELIMITERS, type CsvColumns, type Delimiter } from './csv.ts';
import { readLengths, unpackedSource } from './length-file.ts';
import type { ReadLengths } from './length-taker.ts';
import { parseMatrixMarket } from './matrix-market.ts';
import { caught, shown, type ByteSource } from './source.ts';

export type DistributionName = CountedTrials | 'uniform' | 'zipf' | 'lognormal' | 'constant';
type CountedTrials = 'binomial' | 'geometric' | 'poisson' | 'negative-binomial';

/** The lengths of a workload as written. Ranges of values are not checked yet, and no file has been opened. */
export type WorkloadDescriptor =
  | { readonly kind: 'distribution'; readonly name: DistributionName; readonly args: readonly number[] }
  | { readonly kind: 'categorical'; readonly points: readonly CategoricalPoint[] }
  | {
      readonly kind: 'mixture';
      readonly parts: readonly { readonly weight: number; readonly lengths: WorkloadDescriptor }[];
    }
  | { readonly kind: 'file'; readonly path: string; readonly columns?: CsvColumns }
  | { readonly kind: 'summary'; readonly figures: SummaryFigures }
  | { readonly kind: 'mtx'; readonly path: string }
  | { readonly kind: 'example'; readonly example: GeneratedExample };

export interface WorkloadContext {
  /** The caller decides which paths are allowed, and what they are relative to. */
  readonly openFile: (path: string) => Promise<Result<ByteSource>>;
  /** Probability that is cut off at the end of an infinite law; `DEFAULT_TRUNCATION` if omitted. */
  readonly truncation?: number | undefined;
}

const MAX_WORKLOAD_CHARACTERS = 65_536;
/** Deeper mixtures have no use and could exhaust the stack. */
const MAX_MIXTURE_DEPTH = 8;

interface DistributionRule {
  readonly parameters: readonly string[];
  readonly law: (args: readonly number[], truncation: number | undefined) => Result<LengthLaw>;
}

const DISTRIBUTIONS: Readonly<Record<DistributionName, DistributionRule>> = {
  binomial: { parameters: ['trials', 'p'], law: ([trials, p]) => binomialLaw(trials, p) },
  geometric: { parameters: ['p'], law: ([p], truncation) => geometricLaw(p, truncation) },
  poisson: { parameters: ['mean'], law: ([mean], truncation) => poissonLaw(mean, truncation) },
  uniform: { parameters: ['a', 'b'], law: ([a, b]) => uniformLaw(a, b) },
  'negative-binomial': { parameters: ['r', 'p'], law: ([r, p], truncation) => negativeBinomialLaw(r, p, truncation) },
  zipf: { parameters: ['s', 'max'], law: ([s, max]) => zipfLaw(s, max) },
  lognormal: { parameters: ['mu', 'sigma'], law: ([mu, sigma], truncation) => lognormalLaw(mu, sigma, truncation) },
  constant: { parameters: ['k'], law: ([k]) => constantLaw(k) },
};

const OTHER_NAMES = ['categorical', 'summary', 'mixture', 'file', 'mtx', 'example'];

const FORMS =
  Object.entries(DISTRIBUTIONS)
    .map(([name, { parameters }]) => `${name}(${parameters.join(',')})`)
    .join(', ') +
  ', categorical(length:probability,…), summary(mean=…,sd=…,max=…), mixture(weight*workload,…), file:PATH (CSV, graph, NPY, NPZ, Parquet; also .gz), file:PATH.csv#COLUMN, mtx:PATH.mtx, example:collatz, ' +
  'example:mandelbrot';

/**
 * Reads the workload grammar:
 *
 *     workload     = NAME "(" number {"," number} ")"              NAME: binomial, geometric, …
 *                  | "categorical(" length ":" probability {"," …} ")"
 *                  | "mixture(" weight "*" workload {"," …} ")"
 *                  | "summary(" FIGURE "=" number {"," …} ")"       FIGURE: min, q1, median, q3, max, mean, sd, skewness
 *                  | "file:" path ["#" column {"&" option}]
 *                  | "mtx:" path
 *                  | "example:collatz" ["(" count ")"]
 *                  | "example:mandelbrot" ["(" width "," height "," maxIterations ")"]
 *
 * A path extends to the end of the text, or within a mixture to the next `,` or `)`. A path that contains these, or
 * starts or ends with a space, is in double quotes (a quote within is doubled). Spaces between tokens are ignored.
 *
 * `file:jobs.csv#steps` reads the lengths from the column `steps`; a column without a name has a number from 1.
 * Options: `count=column`, `probability=column` or `target=column` (of an edge list), `header=yes` or `no`,
 * `delimiter=comma`, `semicolon`, `tab`, `bar` or `space`. In an archive of arrays (`.npz`) the column is an array.
 * A `#` begins the columns after the ending of a file, such as `.csv`, or a quoted path; otherwise it belongs to the
 * path. Columns with `,()"&=` are quoted like paths. A failure names the column (from 1) and what to write there.
 */
export function parseWorkload(text: string): Result<WorkloadDescriptor> {
  if (text.length > MAX_WORKLOAD_CHARACTERS)
    return badInput(`the workload has ${text.length} characters; the limit is ${MAX_WORKLOAD_CHARACTERS}`);
  const cursor: Cursor = { text, position: 0 };
  try {
    const descriptor = readWorkload(cursor, 0);
    skipBlanks(cursor);
    if (cursor.position < text.length) refuseAt(cursor, 'Remove the text after the workload');
    return ok(descriptor);
  } catch (error) {
    return expected(error);
  }
}

export function formatWorkload(descriptor: WorkloadDescriptor): string {
  switch (descriptor.kind) {
    case 'distribution':
      return `${descriptor.name}(${descriptor.args.join(',')})`;
    case 'categorical':
      return `categorical(${descriptor.points.map((point) => `${point.length}:${point.probability}`).join(',')})`;
    case 'summary':
      return formatSummary(descriptor.figures);
    case 'mixture':
      return `mixture(${descriptor.parts.map((part) => `${part.weight}*${formatWorkload(part.lengths)}`).join(',')})`;
    case 'file': {
      const { path, columns } = descriptor;
      // A path is quoted if a part of it could be mistaken for columns.
      const ambiguous = columns ? !TABLE_PATH.test(`${path}#`) || path.includes('#') : TABLE_PATH.test(path);
      const written = ambiguous ? quote(path) : formatPath(path);
      return `file:${written}${columns ? `#${formatColumns(columns)}` : ''}`;
    }
    case 'mtx':
      return `mtx:${formatPath(descriptor.path)}`;
    case 'example':
      return formatExample(descriptor.example);
  }
}

/** The lengths are in the order of the units, if the text gives an order (files of lengths, matrices, examples). */
export type OrderedWorkload = Omit<ReadLengths, 'form' | 'units'> & {
  /** Number of units of a file, unless it gives only proportions. */
  readonly units?: number;
};

/** The label of the law is canonical. Files are read through `context`. */
export async function resolveWorkload(text: string, context: WorkloadContext): Promise<Result<LengthLaw>> {
  return lawAlone(await resolveOrderedWorkload(text, context));
}

export async function resolveOrderedWorkload(text: string, context: WorkloadContext): Promise<Result<OrderedWorkload>> {
  const descriptor = parseWorkload(text);
  return descriptor.ok ? resolveOrdered(descriptor.value, context) : descriptor;
}

function lawAlone(workload: Result<OrderedWorkload>): Result<LengthLaw> {
  return workload.ok ? ok(workload.value.law) : workload;
}

async function resolveOrdered(
  descriptor: WorkloadDescriptor,
  context: WorkloadContext,
): Promise<Result<OrderedWorkload>> {
  const withLengths = (law: Result<LengthLaw>, lengths: Float64Array | null): Result<OrderedWorkload> =>
    law.ok ? ok({ law: law.value, lengths }) : law;
  const label = formatWorkload(descriptor);
  switch (descriptor.kind) {
    case 'distribution':
      return withLengths(DISTRIBUTIONS[descriptor.name].law(descriptor.args, context.truncation), null);
    case 'categorical':
      return withLengths(categoricalLaw(descriptor.points), null);
    case 'summary':
      return withLengths(summaryLaw(descriptor.figures, label), null);
    case 'mixture': {
      const parts: MixturePart[] = [];
      for (const { weight, lengths } of descriptor.parts) {
        const law = lawAlone(await resolveOrdered(lengths, context));
        if (!law.ok) return law;
        parts.push({ weight, law: law.value });
      }
      return withLengths(mixtureLaw(parts), null);
    }
    case 'file': {
      const source = await context.openFile(descriptor.path);
      if (!source.ok) return source;
      const parsed = await readLengths(source.value, label, descriptor.columns);
      if (!parsed.ok) return parsed;
      const { law, lengths, units, note } = parsed.value;
      return ok({ law, lengths, ...(units !== null && { units }), ...(note && { note }) });
    }
    case 'mtx': {
      const source = await context.openFile(descriptor.path);
      if (!source.ok) return source;
      const parsed = await caught(async () => parseMatrixMarket(await unpackedSource(source.value, label), label));
      if (!parsed.ok) return parsed;
      const { law, rowLengths: lengths, columns: matrixColumns } = parsed.value;
      return ok({ law, lengths, matrixColumns });
    }
    case 'example': {
      const lengths = exampleLengths(descriptor.example);
      return lengths.ok ? withLengths(empiricalLaw(countLengths(lengths.value), label), lengths.value) : lengths;
    }
  }
}

interface Cursor {
  readonly text: string;
  position: number;
}

function readWorkload(cursor: Cursor, depth: number): WorkloadDescriptor {
  skipBlanks(cursor);
  const start = cursor.position;
  const name = readMatch(cursor, /[A-Za-z][A-Za-z-]*/y);
  if (name === null) refuseAt(cursor, `Use a workload: ${FORMS}`);
  if (name === 'mtx') {
    readToken(cursor, ':');
    return { kind: 'mtx', path: readPath(cursor, depth > 0) };
  }
  if (name === 'file') {
    readToken(cursor, ':');
    const path = readPath(cursor, depth > 0, true);
    if (cursor.text[cursor.position] !== '#') return { kind: 'file', path };
    cursor.position++;
    return { kind: 'file', path, columns: readColumns(cursor, depth > 0) };
  }
  if (name === 'example') {
    readToken(cursor, ':');
    return { kind: 'example', example: readExample(cursor) };
  }
  if (name === 'categorical') {
    const points = readList(cursor, () => {
      const length = readNumber(cursor, 'a length');
      readToken(cursor, ':');
      return { length, probability: readNumber(cursor, 'a probability') };
    });
    return { kind: 'categorical', points };
  }
  if (name === 'summary') return { kind: 'summary', figures: readFigures(cursor) };
  if (name === 'mixture') {
    if (depth >= MAX_MIXTURE_DEPTH) refuseAt(cursor, `Nest mixtures at most ${MAX_MIXTURE_DEPTH} deep`, start);
    const parts = readList(cursor, () => {
      const weight = readNumber(cursor, 'a weight');
      readToken(cursor, '*');
      return { weight, lengths: readWorkload(cursor, depth + 1) };
    });
    return { kind: 'mixture', parts };
  }
  if (!isDistribution(name)) {
    const meant = meantName(name, [...Object.keys(DISTRIBUTIONS), ...OTHER_NAMES]);
    refuseAt(cursor, `${meant === null ? '' : `Did you mean ${meant}? `}Use a workload: ${FORMS}`, start);
  }
  return { kind: 'distribution', name, args: readArguments(cursor, name, DISTRIBUTIONS[name].parameters) };
}

function isDistribution(name: string): name is DistributionName {
  return Object.hasOwn(DISTRIBUTIONS, name);
}

function readFigures(cursor: Cursor): SummaryFigures {
  const figures: Partial<Record<keyof SummaryFigures, number>> = {};
  readList(cursor, () => {
    skipBlanks(cursor);
    const start = cursor.position;
    const text = readMatch(cursor, /[a-z]+[1-3]?/y);
    const name = SUMMARY_FIGURES.find((figure) => figure === text);
    if (name === undefined || name in figures)
      refuseAt(cursor, `Use each of ${SUMMARY_FIGURES.join(', ')} at most once, as in mean=20`, start);
    readToken(cursor, '=');
    figures[name] = readNumber(cursor, name);
  });
  return figures;
}

function formatSummary(figures: SummaryFigures): string {
  const given = SUMMARY_FIGURES.filter((name) => figures[name] !== undefined);
  return `summary(${given.map((name) => `${name}=${figures[name]}`).join(',')})`;
}

function readExample(cursor: Cursor): GeneratedExample {
  skipBlanks(cursor);
  const start = cursor.position;
  const name = readMatch(cursor, /[A-Za-z][A-Za-z-]*/y);
  skipBlanks(cursor);
  const hasArguments = cursor.text[cursor.position] === '(';
  if (name === 'collatz') {
    if (!hasArguments) return DEFAULT_COLLATZ;
    const [count] = readArguments(cursor, 'collatz', ['count']);
    return { kind: 'collatz', count };
  }
  if (name === 'mandelbrot') {
    if (!hasArguments) return DEFAULT_MANDELBROT;
    const [width, height, maxIterations] = readArguments(cursor, name, ['width', 'height', 'maxIterations']);
    return { kind: 'mandelbrot', width, height, maxIterations };
  }
  return refuseAt(
    cursor,
    'Use an example: collatz, collatz(count), mandelbrot or mandelbrot(width,height,maxIterations)',
    start,
  );
}

function readArguments(cursor: Cursor, name: string, parameters: readonly string[]): number[] {
  const start = cursor.position;
  let next = 0;
  const args = readList(cursor, () => readNumber(cursor, `${parameters[next++] ?? 'a number'} of ${name}`));
  if (args.length !== parameters.length)
    refuseAt(cursor, `Use ${name}(${parameters.join(',')}), not ${args.length} numbers`, start);
  return args;
}

function readList<T>(cursor: Cursor, readItem: () => T): T[] {
  readToken(cursor, '(');
  const items = [readItem()];
  for (;;) {
    skipBlanks(cursor);
    const next = cursor.text[cursor.position];
    if (next !== ',' && next !== ')') refuseAt(cursor, 'Use "," or ")"');
    cursor.position++;
    if (next === ')') return items;
    items.push(readItem());
  }
}

function readNumber(cursor: Cursor, what: string): number {
  skipBlanks(cursor);
  const start = cursor.position;
  const text = readMatch(cursor, /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y);
  const value = text === null ? NaN : Number(text);
  if (!Number.isFinite(value)) refuseAt(cursor, `Use a number (${what})`, start);
  // −0 becomes 0, because it would be written as 0.
  return value === 0 ? 0 : value;
}

const TABLE_PATH = /^(.*?\.[a-z]\w*)#/i;

/** @param columns whether `#` and columns may follow a path that is quoted or ends like a file name */
function readPath(cursor: Cursor, nested: boolean, columns = false): string {
  skipBlanks(cursor);
  const start = cursor.position;
  const quoted = readQuoted(cursor);
  let path = quoted ?? readMatch(cursor, nested ? /[^,()"]*/y : /[^"][^]*/y) ?? '';
  if (quoted === null) {
    const table = columns ? TABLE_PATH.exec(path) : null;
    if (table) {
      path = table[1];
      cursor.position = start + path.length;
    }
    path = path.trim();
  }
  // eslint-disable-next-line no-control-regex -- control characters in a path can only be an attack or an accident
  if (path === '' || /[\u0000-\u001f\u007f]/.test(path))
    refuseAt(cursor, 'Use a path without control characters', start);
  return path;
}

function readQuoted(cursor: Cursor): string | null {
  const quoted = readMatch(cursor, /"(?:[^"]|"")*"/y);
  return quoted === null ? null : quoted.slice(1, -1).replaceAll('""', '"');
}

function readColumns(cursor: Cursor, nested: boolean): CsvColumns {
  const readColumn = (): string => {
    skipBlanks(cursor);
    const start = cursor.position;
    const column = readQuoted(cursor) ?? (readMatch(cursor, nested ? /[^,()"&=]*/y : /[^"&=]*/y) ?? '').trim();
    if (column === '') refuseAt(cursor, 'Use the name or number of a column', start);
    return column;
  };
  const choice = <T extends string>(values: readonly T[]): T => {
    const start = cursor.position;
    const text = readColumn();
    return values.find((one) => one === text) ?? refuseAt(cursor, `Use one of ${values.join(', ')}`, start);
  };
  let columns: CsvColumns = { length: readColumn() };
  for (;;) {
    skipBlanks(cursor);
    if (cursor.text[cursor.position] !== '&') return columns;
    cursor.position++;
    skipBlanks(cursor);
    const start = cursor.position;
    const option = readMatch(cursor, /[a-z]+/y);
    const refuseOption = (): never =>
      refuseAt(cursor, 'Use header, delimiter and one of count, probability and target at most once each', start);
    const isWeight = option === 'count' || option === 'probability' || option === 'target';
    if ((!isWeight && option !== 'header' && option !== 'delimiter') || option in columns) refuseOption();
    readToken(cursor, '=');
    if (option === 'header') columns = { ...columns, header: choice(['yes', 'no']) === 'yes' };
    else if (option === 'delimiter')
      columns = { ...columns, delimiter: choice(Object.keys(DELIMITERS) as Delimiter[]) };
    else if (isWeight && !('count' in columns || 'probability' in columns || 'target' in columns))
      columns = { ...columns, [option]: readColumn() };
    else refuseOption();
  }
}

export function formatColumns({ length, count, probability, target, header, delimiter }: CsvColumns): string {
  const column = (name: string) => (/[,()"&=]/.test(name) || name.trim() !== name ? quote(name) : name);
  const options = Object.entries({ count, probability, target }).flatMap(([option, name]) =>
    name === undefined ? [] : [`${option}=${column(name)}`],
  );
  if (header !== undefined) options.push(`header=${header ? 'yes' : 'no'}`);
  if (delimiter !== undefined) options.push(`delimiter=${delimiter}`);
  return [column(length), ...options].join('&');
}

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function formatPath(path: string): string {
  return /[,()"]/.test(path) || path.trim() !== path ? quote(path) : path;
}

function formatExample(example: GeneratedExample): string {
  switch (example.kind) {
    case 'collatz':
      return example.count === DEFAULT_COLLATZ.count ? 'example:collatz' : `example:collatz(${example.count})`;
    case 'mandelbrot': {
      const { width, height, maxIterations } = example;
      const usual =
        width === DEFAULT_MANDELBROT.width &&
        height === DEFAULT_MANDELBROT.height &&
        maxIterations === DEFAULT_MANDELBROT.maxIterations;
      return usual ? 'example:mandelbrot' : `example:mandelbrot(${width},${height},${maxIterations})`;
    }
  }
}

function skipBlanks(cursor: Cursor): void {
  readMatch(cursor, /\s+/y);
}

function readToken(cursor: Cursor, token: string): void {
  skipBlanks(cursor);
  if (cursor.text[cursor.position] !== token) refuseAt(cursor, `Use "${token}"`);
  cursor.position++;
}

function readMatch(cursor: Cursor, pattern: RegExp): string | null {
  pattern.lastIndex = cursor.position;
  const match = pattern.exec(cursor.text);
  if (!match) return null;
  cursor.position += match[0].length;
  return match[0];
}

function refuseAt(cursor: Cursor, advice: string, at = cursor.position): never {
  const column = at + 1;
  const rest = cursor.text.slice(at);
  const problem = rest === '' ? 'the text ends too early' : `${shown(rest)} is not valid here`;
  return unwrap(badInput(`workload, column ${column}: ${problem}. ${advice}`, { column }));
}
