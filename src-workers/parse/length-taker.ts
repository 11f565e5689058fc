import { ok, type Result } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { countLengths } from '../models/workload/generated.ts';
import {
  categoricalLaw,
  empiricalLaw,
  MAX_SUPPORT_POINTS,
  PROBABILITY_SUM_TOLERANCE,
} from '../models/workload/laws.ts';
import { thousandsHint } from '../domain/text.ts';
import { refuse, shown, type Place } from './source.ts';

/**
 * What a record holds: a unit's length; a length and its count, weight or probability; or an edge between two units.
 */
export type LengthForm = 'lengths' | 'counts' | 'probabilities' | 'edges';

export interface ReadLengths {
  readonly law: LengthLaw;
  readonly form: LengthForm;
  /** `null` if the file gives only proportions. */
  readonly units: number | null;
  /** Lengths in the order of the units; `null` if the file has no order, or more than `MAX_ORDERED_LENGTHS` units. */
  readonly lengths: Float64Array | null;
  /** Number of columns of a sparse matrix, whose rows are the units: the length of the vector that it multiplies. */
  readonly matrixColumns?: number;
  /** How the file was read: which array, which end of an edge, or a lost order. */
  readonly note?: string;
}

/** Maximum number of lengths whose order is kept, 256 MB. Of a longer file, only the law is kept. */
export const MAX_ORDERED_LENGTHS = 2 ** 25;
/** Degrees are counted in an array by the number of the vertex, at most 512 MB. */
const MAX_VERTEX = 2 ** 27 - 1;

const ORDER_LOST = `The order of more than ${MAX_ORDERED_LENGTHS.toLocaleString('en')} lengths is not kept: units are independent draws.`;

/** Reading stops at the first wrong line, so nobody knows yet how many follow. */
export const WRONG_LINES = '. Correct or remove such lines';

export interface CountColumn {
  readonly name: string;
  /** Name of the column of lengths; `null` if the user chose the column of counts. */
  readonly guessedBeside: string | null;
}

function countsNote({ name, guessedBeside }: CountColumn, isWhole: boolean): string {
  const column = `The column ${shown(name)}`;
  const read =
    guessedBeside === null
      ? []
      : [
          `${column} is read as the number of units of each length, so their order is not known: units are independent draws. If each line is a unit, read only the lengths: FILE#${guessedBeside}.`,
        ];
  const proportions = isWhole
    ? []
    : [`${column} has numbers that are not whole, so it gives proportions and not the number of units.`];
  return [...read, ...proportions].join(' ');
}

export interface LengthTaker {
  /** Takes a length and its weight, or the ends of an edge. `written`: the text of the length. */
  take(length: number, weight: number, at: number, written?: string): void;
  finish(end: Place): Result<ReadLengths>;
}

/** Memory grows with the numbers of distinct and of ordered lengths or, for edges, with the largest vertex number. */
export function takeLengths(
  form: LengthForm,
  label: string,
  place: (at: number, isWeight: boolean) => Place,
  {
    undirected = false,
    hint = '',
    counts,
  }: { readonly undirected?: boolean; readonly hint?: string; readonly counts?: CountColumn | undefined } = {},
): LengthTaker {
  if (form === 'edges') return takeEdges(label, place, undirected);
  const weightOf = new Map<number, number>();
  let ordered = new Float64Array(1024);
  let units = 0;
  let records = 0;
  const remedy = place(1, false).line === undefined ? '' : WRONG_LINES;
  return {
    take(length, weight, at, written) {
      if (!Number.isSafeInteger(length) || length < 0)
        refuse(
          label,
          place(at, false),
          `length ${shown(written ?? String(length))} is not an integer from 0 to 2^53 − 1${thousandsHint(written ?? '') || remedy}`,
        );
      if (form !== 'lengths' && !(weight >= 0))
        refuse(
          label,
          place(at, true),
          `the value ${shown(String(weight))} of the ${form} is not a number ≥ 0${remedy}`,
        );
      if (form === 'probabilities' && weight > 1 + PROBABILITY_SUM_TOLERANCE)
        refuse(label, place(at, true), `probability ${shown(String(weight))} is not a number from 0 to 1${hint}`);
      units += weight;
      if (form === 'lengths') {
        if (records < MAX_ORDERED_LENGTHS) {
          if (records === ordered.length) ordered = new Float64Array(ordered.buffer.transfer(2 * ordered.byteLength));
          ordered[records] = length;
        } else if (records === MAX_ORDERED_LENGTHS) ordered = new Float64Array(0);
      }
      records++;
      const before = weightOf.get(length);
      if (before !== undefined && form === 'probabilities')
        refuse(label, place(at, false), `length ${length} is given twice`);
      weightOf.set(length, (before ?? 0) + weight);
      if (weightOf.size > MAX_SUPPORT_POINTS)
        refuse(label, place(at, false), `the file has more distinct lengths than the limit of ${MAX_SUPPORT_POINTS}`);
    },
    finish(end) {
      if (records === 0) refuse(label, end, 'the file has no lengths');
      const isOrdered = form === 'lengths' && records <= MAX_ORDERED_LENGTHS;
      const law =
        form === 'probabilities'
          ? categoricalLaw(
              Array.from(weightOf, ([length, probability]) => ({ length, probability })),
              label,
            )
          : empiricalLaw(weightOf, label);
      if (!law.ok && form === 'probabilities')
        return { ok: false, error: { ...law.error, message: `${law.error.message}${hint}` } };
      if (!law.ok) return law;
      const isWhole = form !== 'probabilities' && Number.isSafeInteger(units);
      const lengths = isOrdered ? ordered.slice(0, records) : null;
      const note = form === 'lengths' && !isOrdered ? ORDER_LOST : counts ? countsNote(counts, isWhole) : '';
      return ok({ law: law.value, form, units: isWhole ? units : null, lengths, ...(note && { note }) });
    },
  };
}

/** Mixes two vertices into 32 bits, so that sums over edges are equal only if the edges are. Source: MurmurHash3. */
function hashOf(one: number, other: number): number {
  let hash = Math.imul(one, 0x9e3779b1) ^ other;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/**
 * The units are the vertices that occur as source or target, in the order of their numbers.
 * @param undirected whether an edge counts at both ends, unless the file lists each edge from both ends
 */
function takeEdges(label: string, place: (at: number, isTarget: boolean) => Place, undirected: boolean): LengthTaker {
  /** Degree of each vertex plus 1; 0 for a vertex that does not occur. */
  let degreesAndOne = new Uint32Array(1024);
  let vertices = 0;
  /**
   * Sum of hashes of edges to larger vertices, minus the sum for edges to smaller vertices; 0 if each has its reverse.
   */
  let oneWay = 0;
  const count = (vertex: number, edges: number, at: number, isTarget: boolean): void => {
    if (!Number.isSafeInteger(vertex) || vertex < 0 || vertex > MAX_VERTEX)
      refuse(
        label,
        place(at, isTarget),
        `the vertex ${shown(String(vertex))} is not an integer from 0 to ${MAX_VERTEX}. Number the vertices from 0`,
      );
    if (vertex >= degreesAndOne.length) {
      const size = Math.max(vertex + 1, Math.min(2 * degreesAndOne.length, MAX_VERTEX + 1));
      degreesAndOne = new Uint32Array(degreesAndOne.buffer.transfer(size * Uint32Array.BYTES_PER_ELEMENT));
    }
    if (degreesAndOne[vertex] === 0) {
      degreesAndOne[vertex] = 1;
      vertices++;
    }
    degreesAndOne[vertex] += edges;
  };
  return {
    take(source, target, at) {
      count(source, 1, at, false);
      count(target, undirected && target !== source ? 1 : 0, at, true);
      if (source < target) oneWay = (oneWay + hashOf(source, target)) | 0;
      else if (source > target) oneWay = (oneWay - hashOf(target, source)) | 0;
    },
    finish(end) {
      if (vertices === 0) refuse(label, end, 'the file has no edges');
      if (vertices > MAX_ORDERED_LENGTHS)
        refuse(label, end, `the file has ${vertices} vertices; the limit is ${MAX_ORDERED_LENGTHS}`);
      const lengths = new Float64Array(vertices);
      const isTwice = undirected && oneWay === 0;
      let unit = 0;
      // An edge from a vertex to itself has no reverse, and counts once.
      for (const degree of degreesAndOne)
        if (degree > 0) lengths[unit++] = isTwice ? Math.ceil((degree - 1) / 2) : degree - 1;
      const note = undirected
        ? `Each vertex of the edge list is a unit, in the order of the vertex numbers. Its length is its degree, since the edges are undirected. ${isTwice ? 'The file lists each edge from both ends, so a line counts for its first vertex only.' : 'A line counts for both of its vertices.'}`
        : 'Each vertex of the edge list is a unit, in the order of the vertex numbers. Its length is its out-degree: how many edges start at it. If edges have no direction, list each of them from both ends.';
      return vertexLengths(label, lengths, note);
    },
  };
}

export function vertexLengths(label: string, lengths: Float64Array, note: string): Result<ReadLengths> {
  const law = empiricalLaw(countLengths(lengths), label);
  return law.ok ? ok({ law: law.value, form: 'edges', units: lengths.length, lengths, note }) : law;
}
