import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { formatWorkload, parseWorkload, type WorkloadDescriptor } from '../../src-workers/parse/grammar.ts';
import { eachJsonMember, type JsonMember } from '../../src-workers/parse/json-members.ts';
import { encode } from '../data.ts';
import { forAllAsync, forAllOf, real } from '../for-all.ts';
import { DEVICE, PLAN, readKernel } from '../verify/parsers.ts';

// Hostile files are tested in test/verify/parsers.ts.

it('the text of a workload is read back unchanged', () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
  const path = fc
    .string({ minLength: 1, maxLength: 30 })
    // eslint-disable-next-line no-control-regex -- the grammar refuses them
    .filter((text) => !/[\u0000-\u001f\u007f]/.test(text));
  const of = <Kind extends string, Fields extends object>(
    kind: Kind,
    fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
  ) => fc.record<Fields>(fields).map((values) => ({ kind, ...values }));
  const list = <T>(entry: fc.Arbitrary<T>) => fc.array(entry, { minLength: 1, maxLength: 5 });
  const two = fc.constantFrom(
    'binomial' as const,
    'uniform' as const,
    'negative-binomial' as const,
    'lognormal' as const,
  );
  const one = fc.constantFrom('geometric' as const, 'poisson' as const, 'constant' as const);
  const examples = fc.oneof(
    of('collatz', { count: number }),
    of('mandelbrot', { width: number, height: number, maxIterations: number }),
  );
  const { workload } = fc.letrec<{ workload: WorkloadDescriptor }>((tie) => ({
    workload: fc.oneof(
      { maxDepth: 3 },
      of('distribution', { name: two, args: fc.tuple(number, number) }),
      of('distribution', { name: one, args: fc.tuple(number) }),
      of('categorical', { points: list(fc.record({ length: number, probability: number })) }),
      of('file', { path }),
      of('mtx', { path }),
      of('example', { example: examples }),
      of('mixture', { parts: list(fc.record({ weight: number, lengths: tie('workload') })) }),
    ),
  }));

  forAllOf(500)(workload, (descriptor) => {
    expect(unwrap(parseWorkload(formatWorkload(descriptor)))).toEqual(descriptor);
  });
});

it('reading an object member by member returns the same object', async () => {
  const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
  await forAllAsync(500)(
    fc.dictionary(fc.string(), fc.jsonValue()),
    container,
    fc.constantFrom(0, 1, '\t'),
    async (head, apart, indent) => {
      const text = JSON.stringify({ ...head, ' apart': apart }, null, indent);
      const members: JsonMember[] = [];
      const { whole } = await eachJsonMember(encode(text), 'x', [' apart'], (member) => void members.push(member));
      expect(whole).toBe(true);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      const found = members.filter((member) => member.container === null);
      const wanted = Object.entries(parsed).filter(([key]) => key !== ' apart');
      expect(found.map(({ key, value }) => [key, value])).toEqual(wanted);
      const entries = members.filter((member) => member.container !== null);
      expect(entries.map(({ key, value }) => [key, value])).toEqual(Object.entries(parsed[' apart'] as object));
    },
  );
});

it('the start of an object contains the start of its entries', async () =>
  await forAllAsync(500)(fc.array(fc.jsonValue(), { minLength: 1 }), real(0, 1), async (list, part) => {
    const bytes = encode(JSON.stringify({ list }));
    const entries: unknown[] = [];
    const cut = bytes.subarray(0, Math.min(bytes.length - 1, Math.floor(part * bytes.length)));
    const { whole } = await eachJsonMember(cut, 'x', ['list'], ({ value }) => void entries.push(value));
    expect(whole).toBe(false);
    expect(entries).toEqual((JSON.parse(JSON.stringify(list)) as unknown[]).slice(0, entries.length));
  }));

it('a result file returns the written times, even if the script stopped and continued', async () => {
  const sessions = fc.array(
    fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.array(fc.nat(1e9), { minLength: 1, maxLength: 4 })), {
      maxLength: 4,
    }),
    { minLength: 1, maxLength: 4 },
  );
  await forAllAsync(500)(sessions, async (runs) => {
    const last = new Map<string, readonly number[]>();
    const lines: unknown[] = [];
    for (const measured of runs) {
      lines.push(PLAN, DEVICE);
      for (const [id, times] of measured) {
        last.set(id, times);
        times.forEach((timeNs, repeat) =>
          lines.push({ type: 'sample', case: id, repeat, warmUp: false, timeNs, clockMhz: null } satisfies BenchRecord),
        );
      }
    }
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const { cases } = unwrap(await parseBenchResults(encode(text), 'x'));
    expect(new Map(cases.map((one) => [one.case.id, one.timesMs]))).toEqual(
      new Map(['a', 'b'].filter((id) => last.has(id)).map((id) => [id, last.get(id)!.map((ns) => ns / 1e6)])),
    );
  });
});

it.each([
  ['open comments', '/*'.repeat(200_000)],
  ['empty lines', '\n'.repeat(1_000_000)],
  ['a statement without end', `.entry k()\n{\n${'add %r1,\n'.repeat(200_000)}`],
  ['labels alone', `.entry k()\n{\n${'$L:'.repeat(100_000)}}`],
  ['one long line of commas', `.text.k:\n/*0010*/ A ${','.repeat(1_000_000)};`],
  [
    'loops in loops',
    `.entry k()\n{\n${Array.from({ length: 800 }, (_, i) => `$L${i}:\nadd.s32 %r${i}, %r${i}, 1;`).join('\n')}\n${Array.from({ length: 800 }, (_, i) => `@%p1 bra $L${799 - i};`).join('\n')}\nret;\n}`,
  ],
  ...[19_000, 150_000].map((many) => [
    `${many} branches to one place`,
    `.entry k()\n{\nadd.s32 %r1, %r1, 1;\n$L:\n${'@%p1 bra $L;\n'.repeat(many)}ret;\n}`,
  ]),
])(
  'files of kernels from anywhere %s: is read or refused',
  (_, text) => {
    for (const kind of ['ptx', 'sass', 'log', 'profile'] as const) readKernel(kind, encode(text));
  },
  // Reading takes seconds. If the work were quadratic, it would take many minutes.
);
