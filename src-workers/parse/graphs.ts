import type { Result } from '../domain/result.ts';
import { countedText } from '../domain/text.ts';
import { MAX_ORDERED_LENGTHS, vertexLengths, type ReadLengths } from './length-taker.ts';
import { textLines } from './matrix-market.ts';
import { caught, HEAD_BYTES, headText, refuse as refuseIn, shown, type ByteSource, type Refuse } from './source.ts';

/** The vertices are the units. An edge from a vertex to itself counts once, as in a matrix. */

/** A line may name millions of neighbours of a vertex. */
const MAX_LINE_CHARACTERS = 2 ** 27;

const DEGREE = 'Each vertex of the graph is a unit, in the order of the file. Its length is its degree, since the edges have no direction.'; // prettier-ignore
const OUT_DEGREE = 'Each vertex of the graph is a unit, in the order of the file. Its length is its out-degree: how many edges start at it.'; // prettier-ignore

function makeGraph(label: string, degrees: readonly number[], note: string): Result<ReadLengths> {
  if (degrees.length === 0) refuseIn(label, {}, 'the graph has no vertices');
  return vertexLengths(label, Float64Array.from(degrees), note);
}

function numbering(refuse: Refuse): { readonly degrees: number[]; numberOf: (name: string) => number } {
  const numbers = new Map<string, number>();
  const degrees: number[] = [];
  return {
    degrees,
    numberOf: (name) => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      if (degrees.length === MAX_ORDERED_LENGTHS)
        refuse(`the graph has more vertices than the limit of ${MAX_ORDERED_LENGTHS}`);
      numbers.set(name, degrees.length);
      return degrees.push(0) - 1;
    },
  };
}

export function isGraphMl(head: Uint8Array): boolean {
  const text = headText(head);
  return /^[^<\w]*<[?!g]/.test(text) && /<graphml[\s>]/.test(text);
}

/** Reads the degrees, or out-degrees, of a GraphML file (graphml.graphdrawing.org). Failures name the line. */
export function readGraphMl(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    let line = 0;
    const refuse: Refuse = (problem) => refuseIn(label, { line }, problem);
    const { degrees, numberOf } = numbering(refuse);
    let directed: boolean | null = null;
    let usually = '';
    let isEnded = false;
    for await (const { tag, line: at } of tags(source, label)) {
      line = at;
      const [, name] = /^<(\/?[\w:.-]+)/.exec(tag) ?? [];
      const valueOf = (attribute: string): string =>
        new RegExp(`\\s${attribute}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`)
          .exec(tag)
          ?.slice(1)
          .find((one) => one !== undefined) ?? // prettier-ignore
        refuse(`${shown(tag)} has no ${attribute}`);
      if (name === '/graphml') isEnded = true;
      else if (name === 'graph') {
        if (usually !== '') refuse('the file has a second graph. Write one graph, without nested graphs');
        usually = valueOf('edgedefault');
      } else if (name === 'hyperedge')
        refuse('a hyperedge joins more than two vertices. Write edges of two vertices each');
      else if (name === 'node') {
        const before = degrees.length;
        const id = valueOf('id');
        if (numberOf(id) !== before) refuse(`the vertex ${shown(id)} is declared twice`);
      } else if (name === 'edge') {
        const [from, to] = [valueOf('source'), valueOf('target')].map((end) => {
          const before = degrees.length;
          const at = numberOf(end);
          return at < before ? at : refuse(`no <node> before this edge has the id ${shown(end)}`);
        });
        const own = /\sdirected\s*=/.test(tag) ? valueOf('directed') === 'true' : usually === 'directed';
        if ((directed ??= own) !== own)
          refuse('some edges have a direction and others have none. Write all edges with a direction, or all without');
        degrees[from]++;
        if (!own && to !== from) degrees[to]++;
      }
    }
    if (!isEnded) refuseIn(label, {}, 'the file ends before </graphml>');
    return makeGraph(label, degrees, (directed ?? usually === 'directed') ? OUT_DEGREE : DEGREE);
  });
}

/** Returns the tags of an XML file, each with the line on which it begins, without comments, declarations and text. */
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
      // Comments and CDATA sections end with marks of their own.
      const mark = rest.startsWith('<!--') ? '-->' : rest.startsWith('<![CDATA[') ? ']]>' : '>';
      const found = text.indexOf(mark, at);
      const end = found < 0 ? text.length : found + mark.length;
      tag += text.slice(at, end);
      at = end;
      if (found < 0) continue;
      // A quoted value may contain `>`, so a tag only ends outside quotes.
      if (mark === '>' && (tag.split('"').length % 2 === 0 || (!tag.includes('"') && tag.split("'").length % 2 === 0)))
        continue;
      if (mark === '>' && !/^<[?!]/.test(tag)) yield { tag, line: first };
      tag = '';
    }
    if (tag !== '') tag += ' ';
  }
}

const WHOLE_NUMBERS = /^\s*(?:\d+\s*)*$/;

function headLines(head: Uint8Array, comment: string): { readonly lines: readonly string[]; readonly isAll: boolean } {
  const lines = headText(head).split(/\r?\n/);
  const isAll = head.length < HEAD_BYTES;
  if (!isAll || lines.at(-1) === '') lines.pop();
  return { lines: lines.filter((line) => !line.startsWith(comment)), isAll };
}

const METIS_HEADER = /^\s*(\d+)\s+(\d+)(?:\s+([01]{1,3})(?:\s+(\d+))?)?\s*$/;
const fieldsOf = (line: string): readonly string[] => line.trim().split(/\s+/).filter((one) => one !== ''); // prettier-ignore

interface MetisHeader {
  readonly vertices: number;
  readonly edges: number;
  /** In a line: `before` numbers come before the neighbours, and each neighbour has `each` numbers. */
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
 * Returns whether a file is a METIS graph. Its first line could also begin an edge list, which ragged lines exclude, or
 * an adjacency list, which two lines with the same first number exclude. Unless both are excluded, all neighbours must
 * be other vertices. Their number must also fit the first line or, in a file longer than `head`, lines must be ragged.
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

/** Reads degrees: each edge is listed at both ends (METIS manual 5.1.0, section 4.1.1). Failures name the line. */
export function readMetis(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    let header: MetisHeader | null = null;
    const degrees: number[] = [];
    let [line, named] = [0, 0];
    const refuse: Refuse = (problem) => refuseIn(label, { line }, problem);
    for await (const text of textLines(source, label, MAX_LINE_CHARACTERS)) {
      line++;
      if (text.startsWith('%')) continue;
      if (!header) {
        header = metisHeader(text) ?? refuse(`${shown(text)} is not the first line of a METIS graph, which has the numbers of vertices and edges, and may have a format`); // prettier-ignore
        if (header.vertices > MAX_ORDERED_LENGTHS)
          refuse(`${header.vertices} vertices exceed the limit of ${MAX_ORDERED_LENGTHS}`);
        continue;
      }
      const { vertices, before, each } = header;
      const fields = fieldsOf(text);
      if (degrees.length === vertices) {
        if (fields.length === 0) continue;
        refuse(`${shown(text)} follows the last of the ${vertices} vertices that the first line announces`);
      }
      const ends = fields.length - before;
      if (ends < 0 || ends % each !== 0)
        refuse(`the line has ${countedText(fields.length, 'number')}. It needs ${before} for the vertex and ${each} for each neighbour`); // prettier-ignore
      for (let at = before; at < fields.length; at += each)
        if (!/^\d+$/.test(fields[at]) || Number(fields[at]) < 1 || Number(fields[at]) > vertices)
          refuse(`the neighbour ${shown(fields[at])} is not within 1…${vertices}`);
        else if (Number(fields[at]) === degrees.length + 1)
          refuse(`the vertex ${fields[at]} is a neighbour of itself. Leave out edges from a vertex to itself`);
      named += ends / each;
      degrees.push(ends / each);
    }
    if (header && degrees.length < header.vertices)
      refuse(
        `the file ends after ${countedText(degrees.length, 'vertex', 'vertices')}; the first line says ${header.vertices}`,
      );
    if (header && named !== 2 * header.edges)
      refuse(`the lines name ${named} neighbours. The ${header.edges} edges in line 1 need ${2 * header.edges}`); // prettier-ignore
    return makeGraph(label, degrees, DEGREE);
  });
}

/** Whether a file has the comment of `networkx.write_adjlist`, or ragged lines that begin with different numbers. */
export function isAdjacencyList(head: Uint8Array): boolean {
  if (/^#.*\r?\n# GMT .*\r?\n#/.test(headText(head))) return true;
  const rows = headLines(head, '#').lines.filter((line) => line.trim() !== '');
  if (rows.length < 2 || !rows.every((row) => WHOLE_NUMBERS.test(row))) return false;
  const fields = rows.map(fieldsOf);
  const isRagged = new Set(fields.map(({ length }) => length)).size > 1;
  return isRagged && new Set(fields.map(([vertex]) => vertex)).size === rows.length;
}

/**
 * Each line has a vertex and its neighbours. networkx writes each edge of an undirected graph once, so no vertex is
 * named as a neighbour after its own line. In such a file, an edge counts at both ends. In any other list, the length
 * of a vertex is the number of neighbours in its line.
 */
export function readAdjacencyList(source: ByteSource, label: string): Promise<Result<ReadLengths>> {
  return caught(async () => {
    let line = 0;
    const refuse: Refuse = (problem) => refuseIn(label, { line }, problem);
    const { degrees, numberOf } = numbering(refuse);
    /** How often other lines name each vertex. */
    const others: number[] = [];
    const isDone: boolean[] = [];
    const order: number[] = [];
    let isOnce = true;
    for await (const text of textLines(source, label, MAX_LINE_CHARACTERS)) {
      line++;
      const fields = fieldsOf(text.replace(/#.*/, ''));
      if (fields.length === 0) continue;
      const [vertex, ...ends] = fields.map((name) => numberOf(name));
      if (isDone[vertex]) refuse(`the vertex ${shown(fields[0])} already has a line. Write one line for each vertex`);
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
    return makeGraph(label, lengths, isOnce ? `${DEGREE} No edge is listed from both ends.` : OUT_DEGREE);
  });
}
