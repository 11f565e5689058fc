import { describe, expect, it } from 'vitest';
import { fail, ok, unwrap } from '../../src-workers/domain/result.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import * as grammar from '../../src-workers/parse/grammar.ts';
import { chunks } from '../data.ts';

const files: Readonly<Record<string, string>> = {
  'a.csv': '1\n3\n',
  'odd, (name).csv': 'n,p\n5,1\n',
  'm.mtx': '%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n1 2\n2 2\n',
};
const context: grammar.WorkloadContext = {
  openFile: async (path) => (Object.hasOwn(files, path) ? ok(chunks(files[path])) : fail('not-found', `no ${path}`)),
};
const { parseWorkload } = grammar;
const canonical = (text: string): string => grammar.formatWorkload(unwrap(parseWorkload(text)));
const resolved = async (text: string, more: object = {}) =>
  unwrap(await grammar.resolveWorkload(text, { ...context, ...more }));

describe('parseWorkload', () => {
  // property/parse-fuzz writes any workload and reads it back. These texts are short or not in the canonical form.
  it.each([
    ['binomial( 40 , 0.5 )', 'binomial(40,0.5)'],
    [' geometric(.05) ', 'geometric(0.05)'],
    ['poisson(3e1)', 'poisson(30)'],
    ['zipf(1.5,1000)', 'zipf(1.5,1000)'],
    ['categorical(1:0.5, 10 : 0.5)', 'categorical(1:0.5,10:0.5)'],
    ['mixture(0.3*geometric(0.05), 0.7*poisson(30))', 'mixture(0.3*geometric(0.05),0.7*poisson(30))'],
    ['file: my lengths.csv ', 'file:my lengths.csv'],
    ['file:a, b (2).csv', 'file:"a, b (2).csv"'],
    ['mtx:"say ""hi"".mtx"', 'mtx:"say ""hi"".mtx"'],
    ['mixture(0.5*file:C:\\data\\a.csv,0.5*mtx:"b,c.mtx")', 'mixture(0.5*file:C:\\data\\a.csv,0.5*mtx:"b,c.mtx")'],
    ['example:collatz', 'example:collatz'],
    ['example:collatz(131072)', 'example:collatz'],
    ['summary( sd = 12, mean=20,max=300)', 'summary(max=300,mean=20,sd=12)'],
    ['example:mandelbrot', 'example:mandelbrot'],
    ['example:mandelbrot(64, 32, 100)', 'example:mandelbrot(64,32,100)'],
  ])('%s', (text, expected) => expect(canonical(text)).toBe(expected));

  it.each([
    ['', 1, 'the text ends too early. Use a workload: binomial(trials,p), geometric(p), poisson(mean), uniform(a,'],
    ['gamma(1)', 1, '"gamma(1)" is not valid here. Use a workload: binomial(trials,p), geometric(p),'],
    ['constructor(1)', 1, '"constructor(1)" is not valid here. Use a workload'],
    ['gemetric(1)', 1, 'Did you mean geometric? Use a workload'],
    ['geometric', 10, 'Use "("'],
    ['geometric()', 11, 'Use a number (p of geometric)'],
    ['geometric(0.05', 15, 'the text ends too early. Use "," or ")"'],
    ['geometric(0.05,2)', 10, 'Use geometric(p), not 2 numbers'],
    ['uniform(1)', 8, 'Use uniform(a,b), not 1 numbers'],
    ['geometric(0x1)', 12, 'Use "," or ")"'],
    ['geometric(1e999)', 11, 'Use a number'],
    ['geometric(NaN)', 11, 'Use a number'],
    ['geometric(0.05) nonsense', 17, '"nonsense" is not valid here. Remove the text after the workload'],
    ['categorical(1=0.5)', 14, 'Use ":"'],
    ['mixture(geometric(0.5))', 9, 'Use a number (a weight)'],
    ['mixture(1*file:"a.csv)', 16, 'Use a path'],
    ['file:', 6, 'Use a path'],
    ['file:a\u0000b', 6, 'Use a path without control characters'],
    ['example:julia', 9, 'Use an example: collatz'],
    ['summary(mean=5,mean=6)', 16, 'Use each of min, q1, median, q3, max, mean, sd, skewness at most once'],
    ['summary(mode=5)', 9, 'Use each of min, q1'],
    ['summary()', 9, 'Use each of min, q1'],
    ['example:mandelbrot(3)', 19, 'Use mandelbrot(width,height,maxIterations)'],
  ])('%j fails at column %d', (text, column, message) => {
    const failure = parseWorkload(text);
    expect(failure).toMatchObject({ error: { context: { column }, message: expect.stringContaining(message) } });
    expect(failure).toFail(null, new RegExp(`^workload, column ${column}: `));
  });

  it('refuses texts that only an attack would contain', () => {
    expect(parseWorkload('mixture(1*'.repeat(5000))).toFail(null, /Nest mixtures at most 8 deep/);
    expect(parseWorkload('x'.repeat(70_000))).toFail(null, /the workload has 70000 characters; the limit is 65536/);
  });

  it('reads columns after the name of any file', () => {
    const columns = { length: '1', target: '2' };
    const edges = { kind: 'file', path: '../web.edgelist', columns };
    expect(unwrap(parseWorkload('file:../web.edgelist#1&target=2'))).toEqual(edges);
    expect(unwrap(parseWorkload('file:run#2/lengths'))).toEqual({ kind: 'file', path: 'run#2/lengths' });
  });
});

describe('resolveWorkload', () => {
  it.each(['geometric( 0.05 )', 'mixture(0.5*poisson(3), 0.5*file:a.csv)', 'example:collatz( 9 )', 'mtx: m.mtx'])(
    'gives every law its canonical label: %s',
    async (text) => expect((await resolved(text)).label).toBe(canonical(text)),
  );

  it('reads files through the context', async () => {
    const meanOf = async (text: string) => moments(await resolved(text)).mean;
    expect(await meanOf('file:a.csv')).toBe(2);
    expect(await meanOf('file:odd, (name).csv')).toBe(5);
    expect(await meanOf('mixture(0.5*file:a.csv,0.5*file:"odd, (name).csv")')).toBe(3.5);
    expect([...(await resolved('mtx:m.mtx')).support]).toEqual([1, 2]);
  });

  it('passes on errors of the context and of laws', async () => {
    expect(await grammar.resolveWorkload('mixture(1*file:../secret)', context)).toFail('not-found');
    for (const [text, message] of [
      ['geometric(2)', /^geometric\(2\): p must be a probability above 0, up to 1, not 2$/],
      ['example:collatz(1e9)', /collatz: count must be an integer from 1 to 10000000, not 1000000000/],
      ['example:mandelbrot(1e6,1e6,10)', /mandelbrot: width and .* product up to 16777216, not 1000000 × 1000000/],
      ['example:mandelbrot(1000,1000,1e6)', /maxIterations must be a positive integer/],
    ] as const)
      expect(await grammar.resolveWorkload(text, context)).toFail(null, message);
  });

  it('cuts infinite supports at the truncation of the context', async () => {
    const coarse = await resolved('geometric(0.5)', { truncation: 0.01 });
    expect(coarse.support.length).toBe(7);
    expect(Math.abs(coarse.truncatedMass * 128 - 1)).toBeLessThanOrEqual(8 * Number.EPSILON);
  });
});
