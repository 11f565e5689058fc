import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { readLengths } from '../../src-workers/parse/length-file.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { chunks, encode } from '../data.ts';

/** Reads a text in chunks of 7 bytes, which split tags and numbers, and returns the lengths. */
async function lengthsOf(text: string): Promise<readonly number[]> {
  const whole = unwrap(await readLengths(bytesSource(encode(text)), 'x'));
  expect(unwrap(await readLengths(chunks(text), 'x'))).toEqual(whole);
  return [...whole.lengths!];
}
async function refusalOf(text: string): Promise<string> {
  const read = await readLengths(bytesSource(encode(text)), 'x');
  return read.ok ? `read ${read.value.note}` : read.error.message;
}

const graphMl = (edgedefault: string, body: string): string =>
  `<?xml version='1.0' encoding='utf-8'?>\n<!-- a > b -->\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<key id="d0" for="edge"/>\n<graph edgedefault="${edgedefault}">\n${body}\n</graph>\n</graphml>\n`;
const NODES = `<node id="a"/><node id="b>c"><data key="d0">1 > 0</data></node>\n<node\n  id='d'/>`;
const EDGES = `<edge source="a" target="b>c"/>\n<!-- <edge source="a" target="d"/> --><edge target='d' source='a'></edge><edge source="d" target="d"/>`;

describe('graphs', () => {
  it('from GraphML are the degrees of the vertices, or their out-degrees', async () => {
    expect(await lengthsOf(graphMl('undirected', NODES + EDGES))).toEqual([2, 1, 2]);
    expect(await lengthsOf(graphMl('directed', NODES + EDGES))).toEqual([2, 0, 1]);
    expect(await lengthsOf(graphMl('undirected', NODES + EDGES.replaceAll('<edge ', '<edge directed="true" ')))).toEqual([2, 0, 1]); // prettier-ignore
  });

  it('from METIS are the degrees of the vertices, whatever weights the file has', async () => {
    // The graph is the triangle 1 2 3 with a tail 4, and an isolated vertex.
    expect(await lengthsOf('% of a test\n5 4\n2 3\n1 3\n1 2 4\n3\n\n')).toEqual([2, 2, 3, 1, 0]);
    expect(await lengthsOf('5 4 011 2\n9 9 2 5 3 5\n1 1 1 5 3 5\n1 1 1 5 2 5 4 5\n0 0 3 5\n7 7\n')).toEqual([
      2, 2, 3, 1, 0,
    ]);
    expect(await lengthsOf('3 2 100\n4 2\n4 1 3\n4 2\n')).toEqual([1, 2, 1]);
    // The graph is a ring and a hub joined to all vertices, and longer than the part that determines the format.
    const size = 20_000;
    const ring = Array.from(
      { length: size },
      (_, at) => `${((at + size - 1) % size) + 1} ${((at + 1) % size) + 1} ${size + 1}`,
    );
    const hub = Array.from({ length: size }, (_, at) => at + 1).join(' ');
    const lengths = await lengthsOf(`${size + 1} ${2 * size}\n${ring.join('\n')}\n${hub}\n`);
    expect([lengths.length, lengths[0], lengths.at(-1)]).toEqual([size + 1, 3, size]);
  });

  it('from adjacency lists count both ends of an edge that is listed once, or else the lines of the vertices', async () => {
    const once = '#script.py\n# GMT Tue Nov 24 10:00:00 2026\n# \na b c\nb c\nc\nalone\nd d\n';
    expect(await lengthsOf(once)).toEqual([2, 2, 2, 0, 1]);
    expect(await lengthsOf('0 1 2 3\n1 0\n2 0\n3 0\n4\n')).toEqual([3, 1, 1, 1, 0]);
    expect(await lengthsOf('0 1 2 3\n1 2\n2\n3\n')).toEqual([3, 2, 2, 1]);
  });

  it('are not read from files that only resemble graphs', async () => {
    // This is an edge list, although its first edge could be the first line of a METIS file.
    expect(await lengthsOf('3 3\n1 2\n2 3\n3 1\n')).toEqual([1, 1, 2]);
    expect(unwrap(await readLengths(bytesSource(encode('4\n7\n1\n')), 'x')).form).toBe('lengths');
  });

  it.each([
    ['an edge with an unknown vertex', graphMl('directed', `${NODES}\n<edge source="a" target="z"/>`), /line 9: no <node> before this edge has the id .?z/],
    ['a vertex twice', graphMl('directed', `<node id="a"/>\n<node id="a"/>`), /line 7: the vertex .?a.? is declared twice/],
    ['both kinds of edges', graphMl('directed', `${NODES}\n${EDGES}\n<edge directed="false" source="a" target="d"/>`), /line 11: some edges have a direction/],
    ['a hyperedge', graphMl('directed', '<hyperedge/>'), /line 6: a hyperedge/],
    ['a file that ends early', graphMl('directed', NODES).slice(0, -12), /ends before <\/graphml>/],
    ['a neighbour out of range', '5 4\n2 3\n1 3\n1 2 9\n3\n\n', /line 4: the neighbour .?9.? is not within 1…5/],
    ['a graph of too few edges', '5 5\n2 3\n1 3\n1 2 4\n3\n\n', /the lines name 8 neighbours\. The 5 edges/],
    ['a loop', '3 2\n1 2\n1 3\n2\n', /line 2: the vertex 1 is a neighbour of itself/],
    ['a vertex with two lines', '#a\n# GMT now\n# \n1 2 3\n2 3\n3\n2\n', /line 7: the vertex .?2.? already has a line/],
  ])('are refused with the line of %s', async (_, text, message) => expect(await refusalOf(text)).toMatch(message)); // prettier-ignore
});
