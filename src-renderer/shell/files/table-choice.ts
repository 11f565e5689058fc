import type { TableColumn, TableSummary } from '../../../src-workers/domain/table.ts';
import { thousandsHint } from '../../../src-workers/domain/text.ts';
import { PROBABILITY_SUM_TOLERANCE } from '../../../src-workers/models/workload/laws.ts';
import { count, counted, plain } from '../../format/numbers.ts';

export const MEANINGS = [
  { value: 'unit', label: 'One unit', hint: 'Each record is one unit of work; a column has its length' },
  {
    value: 'count',
    label: 'Counted lengths',
    hint: 'Each record is a length and the number of units with this length',
  },
  { value: 'probability', label: 'Probabilities', hint: 'Each record is a length and its probability' },
  {
    value: 'target',
    label: 'Edges',
    hint: 'Each record is an edge of a graph; each vertex is a unit, and its out-degree is the length',
  },
] as const;
export type Meaning = (typeof MEANINGS)[number]['value'];

export interface TableChoice {
  readonly meaning: Meaning;
  readonly length: number;
  readonly weight: number | null;
}

const MAX_UNITS = 2 ** 40;

/** Words in the name of a column that suggest its content, the most likely first. */
const LENGTH_WORDS = [
  /^(n|lengths?|iterations|steps|depth|degree|work)$/i,
  /iter|steps?\b|length|\blen\b|nnz|trip|loop|degree|depth/i,
  /work|size|cost|num|hits/i,
];
const COUNT_WORDS = /^(counts?|frequency|freq|weight|units|occurrences|n|num|number)$/i;
const SOURCE_WORDS = /^(source|src|from|from_?node_?id)$/i;
const TARGET_WORDS = /^(target|dst|destination|to|to_?node_?id)$/i;
const PROBABILITY_WORDS = /^(p|prob|probability|share|fraction)$/i;

function isIndex({ kind, distinct, min, max }: TableColumn, records: number): boolean {
  return kind === 'whole' && distinct === records && records > 2 && max - min + 1 === records;
}

export function suggestChoice({ columns, records, header, delimiter }: TableSummary): TableChoice {
  const wholes = columns.flatMap(({ kind }, i) => (kind === 'whole' ? [i] : []));
  const at = (words: RegExp, among: readonly number[]) => among.find((i) => words.test(columns[i].name));
  const varied = wholes.filter((i) => !isIndex(columns[i], records));
  const probability = columns.findIndex(
    ({ name, kind, total }) =>
      (kind === 'number' || kind === 'whole') &&
      Math.abs(total - 1) <= PROBABILITY_SUM_TOLERANCE &&
      (PROBABILITY_WORDS.test(name) || columns.length === 2),
  );
  const lengths = wholes.filter((i) => i !== probability);
  if (probability >= 0 && lengths.length > 0)
    return { meaning: 'probability', length: best(lengths), weight: probability };
  const source = at(SOURCE_WORDS, wholes);
  const target = at(TARGET_WORDS, wholes);
  if (source !== undefined && target !== undefined) return { meaning: 'target', length: source, weight: target };
  // Without a header, two columns of whole numbers with a space between are probably edges. The user can change this.
  if (!header && delimiter === 'space' && wholes[0] === 0 && wholes[1] === 1 && columns.length <= 3)
    return { meaning: 'target', length: 0, weight: 1 };
  const counts = at(COUNT_WORDS, wholes);
  const others = wholes.filter((i) => i !== counts);
  // If another column has no repeated values, the file has lengths and counts of units.
  if (counts !== undefined && others.some((i) => columns[i].distinct === records))
    return { meaning: 'count', length: best(others), weight: counts };
  if (varied.length > 0) return { meaning: 'unit', length: best(varied), weight: null };
  // Without valid lengths, a column with errors is suggested, so that the sheet says what is wrong. If possible, it is
  // one with numbers: in a column of names, no value can be corrected.
  const filled = columns.flatMap((column, i) => (column.kind === 'empty' || isIndex(column, records) ? [] : [i]));
  const numeric = filled.filter((i) => columns[i].kind === 'number' || columns[i].distinct !== 0);
  const faulty = [numeric, filled, wholes].find((some) => some.length > 0) ?? [];
  return { meaning: 'unit', length: best(faulty), weight: null };

  function best(among: readonly number[]): number {
    for (const words of LENGTH_WORDS) {
      const named = at(words, among);
      if (named !== undefined) return named;
    }
    return among[0] ?? 0;
  }
}

export function columnName({ columns }: TableSummary, at: number): string {
  return columns[at].name || `Column ${at + 1}`;
}

export function columnText({ kind, distinct, min, max }: TableColumn): string {
  switch (kind) {
    case 'whole':
      return `whole numbers ${count(min)} to ${count(max)}, ${distinct === null ? 'over a million' : count(distinct)} distinct`;
    case 'number':
      return `numbers ${plain(min)} to ${plain(max)}`;
    case 'text':
      return 'text';
    case 'empty':
      return 'empty';
  }
}

export type TableReading =
  | { readonly ok: true; readonly text: string; readonly units: number | null }
  | { readonly ok: false; readonly problem: string };

export function readChoice(table: TableSummary, { meaning, length, weight }: TableChoice): TableReading {
  const { columns, records, ragged } = table;
  const refused = (problem: string): TableReading => ({ ok: false, problem });
  if (records === 0)
    return refused('The file has a header and no records. Choose another file, or read the first line as data.');
  if (ragged)
    return refused(
      `Line ${count(ragged.line)} has ${counted(ragged.fields, 'field')}, but the first line has ${count(columns.length)}. ` +
        'Choose another delimiter, or correct that line.',
    );
  if (meaning === 'target') {
    if (weight === null || weight === length) return refused('Choose the column of targets.');
    const wrong = notWhole(table, length, VERTICES) ?? notWhole(table, weight, VERTICES);
    return wrong
      ? refused(wrong)
      : { ok: true, units: null, text: `${counted(records, 'edge')}; each length is the out-degree of a vertex` };
  }
  const lengths = columns[length];
  const wrong = notWhole(table, length, 'Lengths are whole numbers of iterations');
  if (wrong) return refused(wrong);
  const { distinct } = lengths;
  if (distinct === null) return refused('The column has more than 1,000,000 distinct lengths. Choose another column.');
  const text = counted(distinct, 'distinct length');
  if (meaning === 'unit') return { ok: true, units: records, text: `${counted(records, 'unit')}, ${text}` };
  if (weight === null || weight === length)
    return refused(`Choose the column of ${meaning === 'count' ? 'counts' : 'probabilities'}.`);
  const weights = columns[weight];
  if (meaning === 'probability') {
    if (weights.kind !== 'number' && weights.kind !== 'whole') return refused(notNumber(table, weight));
    if (Math.abs(weights.total - 1) > PROBABILITY_SUM_TOLERANCE)
      return refused(
        `The probabilities sum to ${plain(weights.total)} instead of 1. Choose another column, or read them as counts.`,
      );
    return { ok: true, units: null, text: `${text}; the file does not give the number of units` };
  }
  if (weights.kind === 'number' && weights.min >= 0)
    return { ok: true, units: null, text: `${text} with weights; the file does not give the number of units` };
  const wrongCount = notWhole(table, weight, 'Counts are whole numbers');
  if (wrongCount) return refused(wrongCount);
  if (weights.total === 0) return refused('All counts are 0. Choose another column.');
  if (weights.total > MAX_UNITS)
    return refused(`The counts sum to ${plain(weights.total)} units; the limit is ${count(MAX_UNITS)}.`);
  return { ok: true, units: weights.total, text: `${counted(weights.total, 'unit')}, ${text}` };
}

const VERTICES = 'Vertices are whole numbers from 0';

function notWhole(table: TableSummary, at: number, rule: string): string | null {
  const { kind, firstBad } = table.columns[at];
  if (kind === 'whole') return null;
  if (kind === 'text' || kind === 'empty' || firstBad === null) return notNumber(table, at);
  if (firstBad.field === '')
    return `Line ${count(firstBad.line)} has no value in ${columnName(table, at)}. Fill it in or delete the line.`;
  return `Line ${count(firstBad.line)} of ${columnName(table, at)} has ${firstBad.field}. ${rule}. Choose another column, or round its values.`;
}

function notNumber(table: TableSummary, at: number): string {
  const { firstText, kind } = table.columns[at];
  const name = columnName(table, at);
  if (kind === 'empty' || firstText === null) return `${name} is empty. Choose a column of numbers.`;
  if (firstText.field === '')
    return `Line ${count(firstText.line)} has no value in ${name}. Fill it in or delete the line.`;
  const hint = thousandsHint(firstText.field) || '. Choose a column of numbers';
  return `Line ${count(firstText.line)} of ${name} has the text “${firstText.field}”${hint}.`;
}

export function toColumns(table: TableSummary, { meaning, length, weight }: TableChoice) {
  const { columns, format, header, delimiter } = table;
  const column = (at: number): string => {
    const { name } = columns[at];
    const alone = columns.length > 1 && name !== '' && columns.filter((other) => other.name === name).length === 1;
    return alone ? name : String(at + 1);
  };
  return {
    length: column(length),
    ...(meaning === 'count' && weight !== null && { count: column(weight) }),
    ...(meaning === 'probability' && weight !== null && { probability: column(weight) }),
    ...(meaning === 'target' && weight !== null && { target: column(weight) }),
    ...(format === 'text' && { header, delimiter }),
  };
}
