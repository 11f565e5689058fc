import type { Result } from '../domain/result.ts';
import { countLengths } from '../models/workload/generated.ts';
import { empiricalLaw } from '../models/workload/laws.ts';
import { MAX_ORDERED_LENGTHS, type ReadLengths } from './length-taker.ts';
import { textLines } from './matrix-market.ts';
import { caught, HEAD_BYTES, refuse, shown, type ByteSource } from './source.ts';

/** Graphs whose vertices are the units: GraphML, METIS, adjacency lists. A loop counts once, as an entry of a row. */

/** A vertex of a hub names millions of others in one line. */
const MAX_LINE_CHARACTERS = 2 ** 27;

const decoded = (head: Uint8Array): string => new TextDecoder('latin1').decode(head);

const DEGREE = 'Each vertex of the graph is a unit, in the order of the file. Its length is its degree, since the edges have no direction.'; // prettier-ignore
const OUT_DEGREE = 'Each vertex of the graph is a unit, in the order of the file. Its length is its out-degree: how many edges start at it.'; // prettier-ignore

function graphOf(label: string, degrees: readonly number[], note: string): Result<ReadLengths> {
  if (degrees.length === 0) refuse(label, {}, 'the graph has no vertices');
  const lengths = Float64Array.from(degrees);
  const law = empiricalLaw(countLengths(lengths), label);
  if (!law.ok) return law;
  return { ok: true, value: { law: law.value, form: 'edges', units: lengths.length, lengths, note } };
}

/** Numbers vertices by their names, in the order in which they are first seen. */
function numbering(label: string): { readonly degrees: number[]; numberOf: (name: string, line: number) => number } {
  const numbers = new Map<string, number>();
  const degrees: number[] = [];
  return {
    degrees,
    numberOf: (name, line) => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      if (degrees.length === MAX_ORDERED_LENGTHS)
        refuse(label, { line }, `more than ${MAX_ORDERED_LENGTHS} vertices, the limit`);
      numbers.set(name, degrees.length);
      return degrees.push(0) - 1;
    },
  };
}

export function isGraphMl(head: Uint8Array): boolean {
  const text = decoded(head);
  return /^[^<\w]*<[?!g]/.test(text) && /<graphml[\s>]/.test(text);
}

/**
 * Reads the degrees of a GraphML file (graphml.graphdrawing.org), or the out-degrees if its edges have a direction;
 * memory grows with the vertices only.
 *
 * Fails, with the line, on an edge of a vertex that no earlier line names, a vertex that is named twice, edges with and
 * without a direction in one file, a hyperedge, a second graph, and a file that ends early.
 */
export function readGraphMl(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    const { degrees, numberOf } = numbering(label);
    let directed: boolean | null = null;
    let usually = '';
    let isEnded = false;
    for await (const { tag, line } of tags(source, label)) {
      const [, name] = /^<(\/?[\w:.-]+)/.exec(tag) ?? [];
      const valueOf = (attribute: string): string =>
        new RegExp(`\\s${attribute}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`)
          .exec(tag)
          ?.slice(1)
          .find((one) => one !== undefined) ?? // prettier-ignore
        refuse(label, { line }, `${shown(tag)} has no ${attribute}`);
      if (name === '/graphml') isEnded = true;
      else if (name === 'graph') {
        if (usually !== '')
          refuse(label, { line }, 'the file has a second graph. Write one graph, without nested ones');
        usually = valueOf('edgedefault');
      } else if (name === 'hyperedge')
        refuse(label, { line }, 'a hyperedge joins more than two vertices. Write edges of two vertices each');
      else if (name === 'node') {
        const before = degrees.length;
        const id = valueOf('id');
        if (numberOf(id, line) !== before) refuse(label, { line }, `the vertex ${shown(id)} is there twice`);
      } else if (name === 'edge') {
        const [from, to] = [valueOf('source'), valueOf('target')].map((end) => {
          const before = degrees.length;
          const at = numberOf(end, line);
          return at < before ? at : refuse(label, { line }, `no <node> before this edge has the id ${shown(end)}`);
        });
        const own = /\sdirected\s*=/.test(tag) ? valueOf('directed') === 'true' : usually === 'directed';
        if ((directed ??= own) !== own)
          refuse(
            label,
            { line },
            'some edges have a direction and others have none. Write all of them with one, or without',
          );
        degrees[from]++;
        if (!own && to !== from) degrees[to]++;
      }
    }
    if (!isEnded) refuse(label, {}, 'the file ends before </graphml>');
    return graphOf(label, degrees, (directed ?? usually === 'directed') ? OUT_DEGREE : DEGREE);
  });
}

/** The tags of an XML file and the line in which each begins, without comments, declarations and the text between. */
async function* tags(
  source: ByteSource,
  label: string,
): AsyncGenerator<{ readonly tag: string; readonly line: number }> {
  let tag = '';
  let first = 0;
  let line = 0;
  for await (const text of textLines(source, label, MAX_LINE_CHARACTERS)) {
    line++;
    let at = 0;
    while (at < text.length) {
      if (tag === '') {
        at = text.indexOf('<', at);
        if (at < 0) break;
        first = line;
      }
      const rest = tag === '' ? text.slice(at, at + 9) : tag;
      // A comment and unparsed text end in marks of their own.
      const mark = rest.startsWith('<!--') ? '-->' : rest.startsWith('<![CDATA[') ? ']]>' : '>';
      const found = text.indexOf(mark, at);
      const end = found < 0 ? text.length : found + mark.length;
      tag += text.slice(at, end);
      at = end;
      if (found < 0) continue;
      // Of a value in quotes, > may be a part.
      if (mark === '>' && (tag.split('"').length % 2 === 0 || (!tag.includes('"') && tag.split("'").length % 2 === 0)))
        continue;
      if (mark === '>' && !/^<[?!]/.test(tag)) yield { tag, line: first };
      tag = '';
    }
    if (tag !== '') tag += ' ';
  }
}

const WHOLE_NUMBERS = /^\s*(?:\d+\s*)*$/;

/** The lines of the head that are whole, without those that begin with `comment`. */
function headLines(head: Uint8Array, comment: string): { readonly lines: readonly string[]; readonly isAll: boolean } {
  const lines = decoded(head).split(/\r?\n/);
  const isAll = head.length < HEAD_BYTES;
  if (!isAll || lines.at(-1) === '') lines.pop();
  return { lines: lines.filter((line) => !line.startsWith(comment)), isAll };
}

const METIS_HEADER = /^\s*(\d+)\s+(\d+)(?:\s+([01]{1,3})(?:\s+(\d+))?)?\s*$/;
const fieldsOf = (line: string): readonly string[] => line.trim().split(/\s+/).filter((one) => one !== ''); // prettier-ignore

interface MetisHeader {
  readonly vertices: number;
  readonly edges: number;
  /** Numbers of a line before its neighbours, and numbers of a neighbour. */
  readonly before: number;
  readonly each: number;
}

function metisHeader(line: string): MetisHeader | null {
  const [, vertices, edges, format = '', weights] = METIS_HEADER.exec(line) ?? [];
  if (vertices === undefined) return null;
  const [sizes, weighted, ofEdges] = format.padStart(3, '0');
  const before = (sizes === '1' ? 1 : 0) + (weighted === '1' ? Number(weights ?? 1) : 0);
  return { vertices: Number(vertices), edges: Number(edges), before, each: ofEdges === '1' ? 2 : 1 };
}

/**
 * Whether a file is a graph of METIS. Its first line is that of an edge list too: the following ones must be as many as
 * it says and name as many neighbours, none of which is the vertex itself or above their number. A file whose lines
 * have different numbers of neighbours and begin alike is no other list.
 */
export function isMetis(head: Uint8Array): boolean {
  const { lines, isAll } = headLines(head, '%');
  const header = metisHeader(lines[0] ?? '');
  if (!header || header.vertices === 0) return false;
  const rows = lines.slice(1, header.vertices + 1);
  if (!rows.every((row) => WHOLE_NUMBERS.test(row))) return false;
  const fields = rows.map(fieldsOf);
  const isRagged = fields.some(({ length }) => length !== fieldsOf(lines[0]).length);
  if (isRagged && new Set(fields.map(([first]) => first)).size < rows.length) return true;
  const { vertices, edges, before, each } = header;
  const ends = fields.map((row) => row.slice(before).filter((_, at) => at % each === 0));
  const areNeighbours = ends.every((row, at) =>
    row.every((end) => Number(end) >= 1 && Number(end) <= vertices && Number(end) !== at + 1),
  );
  if (!isAll) return isRagged && areNeighbours;
  return areNeighbours && rows.length === vertices && ends.reduce((sum, { length }) => sum + length, 0) === 2 * edges;
}

/**
 * Reads the degrees of a graph of METIS (manual 5.1.0, section 4.1.1). Every edge stands in the lines of both its ends.
 *
 * Fails, with the line, on a neighbour out of range, a loop, and other numbers of vertices or edges than the first line
 * says.
 */
export function readMetis(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    let header: MetisHeader | null = null;
    const degrees: number[] = [];
    let [line, named] = [0, 0];
    for await (const text of textLines(source, label, MAX_LINE_CHARACTERS)) {
      line++;
      if (text.startsWith('%')) continue;
      if (!header) {
        header = metisHeader(text) ?? refuse(label, { line }, `${shown(text)} is not the first line of a METIS graph: vertices, edges and at most a format`); // prettier-ignore
        if (header.vertices > MAX_ORDERED_LENGTHS)
          refuse(label, { line }, `${header.vertices} vertices exceed the limit of ${MAX_ORDERED_LENGTHS}`);
        continue;
      }
      const { vertices, before, each } = header;
      const fields = fieldsOf(text);
      if (degrees.length === vertices) {
        if (fields.length === 0) continue;
        refuse(label, { line }, `${shown(text)} after the last vertex; the first line says ${vertices} vertices`);
      }
      const ends = fields.length - before;
      if (ends < 0 || ends % each !== 0)
        refuse(label, { line }, `the line has ${fields.length} numbers: ${before} of the vertex, and ${each} of each neighbour are wanted`); // prettier-ignore
      for (let at = before; at < fields.length; at += each)
        if (!/^\d+$/.test(fields[at]) || Number(fields[at]) < 1 || Number(fields[at]) > vertices)
          refuse(label, { line }, `the neighbour ${shown(fields[at])} is not within 1…${vertices}`);
        else if (Number(fields[at]) === degrees.length + 1)
          refuse(label, { line }, `the vertex ${fields[at]} is a neighbour of itself. Leave loops out`);
      named += ends / each;
      degrees.push(ends / each);
    }
    if (header && degrees.length < header.vertices)
      refuse(label, { line }, `the file ends after ${degrees.length} vertices; the first line says ${header.vertices}`);
    if (header && named !== 2 * header.edges)
      refuse(label, { line }, `the lines name ${named} neighbours; ${header.edges} edges, as the first line says, have ${2 * header.edges}`); // prettier-ignore
    return graphOf(label, degrees, DEGREE);
  });
}

/** The comment that `networkx.write_adjlist` begins with; else lines of numbers, of different counts. */
export function isAdjacencyList(head: Uint8Array): boolean {
  if (/^#.*\r?\n# GMT .*\r?\n#/.test(decoded(head))) return true;
  const rows = headLines(head, '#').lines.filter((line) => line.trim() !== '');
  if (rows.length < 2 || !rows.every((row) => WHOLE_NUMBERS.test(row))) return false;
  const fields = rows.map(fieldsOf);
  const isRagged = new Set(fields.map(({ length }) => length)).size > 1;
  return isRagged && new Set(fields.map(([vertex]) => vertex)).size === rows.length;
}

/**
 * Reads the degrees of an adjacency list: in each line a vertex, and then its neighbours. A list that names each edge
 * once has no neighbour that had its own line before, as networkx writes graphs without directions: an edge then counts
 * at both ends. In any other list the length is what the line of the vertex has.
 *
 * Fails, with the line, on a vertex that has two lines.
 */
export function readAdjacencyList(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    const { degrees, numberOf } = numbering(label);
    /** How often other lines name a vertex, and whether it had its line. */
    const others: number[] = [];
    const isDone: boolean[] = [];
    const order: number[] = [];
    let isOnce = true;
    let line = 0;
    for await (const text of textLines(source, label, MAX_LINE_CHARACTERS)) {
      line++;
      const fields = fieldsOf(text.replace(/#.*/, ''));
      if (fields.length === 0) continue;
      const [vertex, ...ends] = fields.map((name) => numberOf(name, line));
      if (isDone[vertex]) refuse(label, { line }, `the vertex ${shown(fields[0])} has a line before`);
      for (const end of ends) {
        if (isDone[end]) isOnce = false;
        if (end !== vertex) others[end] = (others[end] ?? 0) + 1;
      }
      isDone[vertex] = true;
      order.push(vertex);
      degrees[vertex] = ends.length;
    }
    const rest = [...degrees.keys()].filter((vertex) => !isDone[vertex]);
    const lengths = [...order, ...rest].map((vertex) => degrees[vertex] + (isOnce ? (others[vertex] ?? 0) : 0));
    return graphOf(label, lengths, isOnce ? `${DEGREE} No edge is listed from both ends.` : OUT_DEGREE);
  });
}
