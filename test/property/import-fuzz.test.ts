import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileKind } from '../../src-main/services/imports/imports.ts';
import type { BenchRecord, PlanLine } from '../../src-workers/domain/benchmark.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { eachJsonMember, type JsonMember } from '../../src-workers/parse/json-members.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { parseLoopTimes } from '../../src-workers/parse/loops.ts';
import { parseMeasuredTimes } from '../../src-workers/parse/measured-times.ts';
import { parseSmiteMeans } from '../../src-workers/parse/smite.ts';
import { unpacked } from '../../src-workers/parse/unpack.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const nearly = (tokens: readonly string[]): fc.Arbitrary<Uint8Array> =>
  fc.array(fc.constantFrom(...tokens), { maxLength: 60 }).map((parts) => encode(parts.join('')));
const anyBytes = fc.uint8Array({ maxLength: 400 });
/** Something that was written, with a piece of it replaced by bytes of any kind. */
const damaged = (texts: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> =>
  fc.tuple(texts, fc.nat(), fc.nat(8), fc.uint8Array({ maxLength: 6 })).map(([text, at, removed, put]) => {
    const bytes = encode(text);
    const start = bytes.length === 0 ? 0 : at % bytes.length;
    return new Uint8Array([...bytes.subarray(0, start), ...put, ...bytes.subarray(start + removed)]);
  });

/** Cases of a file that was accepted have times that are times; anything refused says where. Anything thrown fails. */
function expectSane(
  result: Result<readonly { readonly timesMs: readonly number[]; readonly failure: string | null }[]>,
): void {
  if (!result.ok) {
    expect(result.error.message).toMatch(/^hostile[:,]/);
    return;
  }
  for (const { timesMs, failure } of result.value) {
    expect(timesMs.every((time) => Number.isFinite(time) && time >= 0)).toBe(true);
    if (failure !== null) expect(timesMs).toEqual([]);
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
}
const casesOf = <T extends { readonly cases: unknown }>(result: Result<T>): Result<T['cases']> =>
  result.ok ? { ok: true, value: result.value.cases } : result;

const time = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(0, 1e20, -1));
const cacheEntry = fc.record(
  {
    a: fc.oneof(fc.integer(), fc.string({ maxLength: 5 }), fc.boolean()),
    time: fc.oneof(time, fc.constantFrom('InvalidConfig', '', null, { __error__: 'x' })),
    times: fc.array(time, { maxLength: 4 }),
    __error__: fc.string({ maxLength: 5 }),
    compile_time: fc.double(),
  },
  { requiredKeys: ['a'] },
);
const cacheText = fc.tuple(fc.array(cacheEntry, { maxLength: 6 }), fc.boolean()).map(([entries, pretty]) =>
  JSON.stringify(
    {
      device_name: 'x',
      tune_params_keys: ['a'],
      cache: Object.fromEntries(entries.map((entry, at) => [`k${at}`, entry])),
    },
    null,
    pretty ? 1 : 0,
  ),
);
const t4Text = fc
  .array(
    fc.record(
      {
        configuration: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'polluted'), fc.integer(), { maxKeys: 3 }),
        times: fc.record(
          { runtimes: fc.array(time, { maxLength: 3 }), compilation: fc.double() },
          { requiredKeys: [] },
        ),
        invalidity: fc.constantFrom('correct', 'runtime', 'correctness', 'odd'),
        measurements: fc.array(
          fc.record({ name: fc.constantFrom('time', 'x'), value: time, unit: fc.constantFrom('', 'ms', 'ns') }),
        ),
      },
      { requiredKeys: ['configuration'] },
    ),
    { maxLength: 5 },
  )
  .map((results) => JSON.stringify({ results, metadata: { timeunit: 'ms' }, schema_version: '1.0.0' }));

const PLAN: PlanLine = {
  type: 'plan',
  plan: {
    format: 'lockstep-bench',
    version: 1,
    backend: 'cpu',
    cases: ['a', 'b'].map((id) => ({ id, benchmark: 'stream', parameters: { cores: 1, bytesPerCore: 8 } })),
    warmUps: 0,
    repeats: 2,
    seed: 1,
    caseTimeLimitMs: 1000,
    workload: null,
  },
  lengthsDigest: null,
  source: null,
};
const DEVICE = {
  type: 'device',
  backend: 'cpu',
  name: 'x',
  fingerprint: 'x',
  driver: '',
  versions: {},
  threadGroupWidth: null,
  multiprocessors: null,
  clockMhz: null,
  timer: 'host',
  properties: {},
} as const;
const record = fc.oneof(
  fc.record({
    type: fc.constant('sample'),
    case: fc.constantFrom('a', 'b', 'c'),
    repeat: fc.nat(3),
    warmUp: fc.boolean(),
    timeNs: fc.oneof(fc.nat(1e9), fc.constant(-1)),
    clockMhz: fc.constantFrom(null, 1000),
  }),
  fc.record({ type: fc.constant('failed'), case: fc.constantFrom('a', 'b'), message: fc.string({ maxLength: 5 }) }),
  fc.constantFrom<unknown>(
    DEVICE,
    PLAN,
    { type: 'done', elapsedMs: 1 },
    { type: 'lost', message: 'x' },
    { type: 'new' },
    {},
  ),
);
const resultsText = fc
  .array(record, { maxLength: 12 })
  .map((records) => [PLAN, DEVICE, ...records].map((line) => JSON.stringify(line)).join('\n'));

describe('hostile files give failures, not exceptions', () => {
  it('Kernel Tuner', async () => {
    const tokens = [
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"cache"',
      '"results"',
      '"a"',
      '"\\',
      '1',
      '1e20',
      'NaN',
      'null',
      '\n',
      ' ',
      '__proto__',
    ];
    const file = fc.oneof(
      anyBytes,
      nearly(tokens),
      damaged(cacheText),
      damaged(t4Text),
      cacheText.map(encode),
      t4Text.map(encode),
    );
    await fc.assert(
      fc.asyncProperty(file, async (bytes) => expectSane(casesOf(await parseKernelTuner(bytes, 'hostile', 'k')))),
      { numRuns: 3000 },
    );
  });

  it('result files', async () => {
    const file = fc.oneof(anyBytes, damaged(resultsText), resultsText.map(encode));
    await fc.assert(
      fc.asyncProperty(file, async (bytes) => expectSane(casesOf(await parseBenchResults(bytes, 'hostile')))),
      { numRuns: 3000 },
    );
  });

  it('loops and mean losses', async () => {
    const loops = [
      'dataset',
      'rows',
      'cols',
      'nnzs',
      'merge',
      ',',
      '\n',
      '\r\n',
      '"',
      '1',
      '0.5',
      '-1',
      'x',
      '__proto__',
    ];
    const means = [
      'distribution,n,groups,simulated_mean_loss,simulated_aggregate_loss,measured_mean_loss,measured_aggregate_loss\n',
      'geometric(0.05)',
      'poisson(3)',
      ',',
      '2',
      '1.5',
      '-1',
      '\n',
      '"',
    ];
    const header = fc.constantFrom('dataset,rows,cols,nnzs,merge,thread\n', '');
    const size = fc.integer({ min: 1, max: 64 });
    await fc.assert(
      fc.asyncProperty(
        header,
        nearly(loops),
        nearly(means),
        anyBytes,
        size,
        async (head, first, second, noise, step) => {
          const bytes = new Uint8Array([...encode(head), ...first]);
          expectSane(await parseLoopTimes(chunks(bytes, step), 'hostile'));
          expectSane(await parseSmiteMeans(chunks(second, step), 'hostile'));
          expectSane(await parseLoopTimes(chunks(noise, step), 'hostile'));
        },
      ),
      { numRuns: 800 },
    );
  });

  it('measured times of designs', async () => {
    const tokens = ['design', 'time_ms', 'measured_us', 'block_threads', 'register_cap', '__proto__', ',', ';', '\n', '"', '1', '0.5', '1e999', '-1', 'x']; // prettier-ignore
    const header = fc.constantFrom('design,time_ms\n', '__proto__,constructor,design,time_us\n', '');
    await fc.assert(
      fc.asyncProperty(
        header,
        nearly(tokens),
        anyBytes,
        fc.integer({ min: 1, max: 64 }),
        async (head, text, noise, step) => {
          for (const bytes of [new Uint8Array([...encode(head), ...text]), noise])
            expectSane(casesOf(await parseMeasuredTimes(chunks(bytes, step), 'hostile', 'k')));
        },
      ),
      { numRuns: 800 },
    );
  });

  it('archives', async () => {
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        const result = await unpacked(new Uint8Array([0x1f, 0x8b, ...bytes]), 'hostile');
        if (!result.ok) expect(result.error.message).toMatch(/^hostile: /);
      }),
      { numRuns: 300 },
    );
  });

  it('the kind of a file', () => {
    fc.assert(
      fc.property(fc.oneof(anyBytes, damaged(cacheText), damaged(resultsText)), (bytes) => {
        expect(fileKind(bytes).kind).toMatch(/^(results|kernel-tuner|loops|smite|times|study|device|lengths|other)$/);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('laws', () => {
  it('an object read member by member is the object', async () => {
    const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
    await fc.assert(
      fc.asyncProperty(
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
          expect(found.map(({ key, value }) => [key, value])).toEqual(
            Object.entries(parsed).filter(([key]) => key !== ' apart'),
          );
          const entries = members.filter((member) => member.container !== null);
          expect(entries.map(({ key, value }) => [key, value])).toEqual(Object.entries(parsed[' apart'] as object));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('the start of an object gives the start of its entries', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { minLength: 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (list, part) => {
          const bytes = encode(JSON.stringify({ list }));
          const entries: unknown[] = [];
          const cut = bytes.subarray(0, Math.min(bytes.length - 1, Math.floor(part * bytes.length)));
          const { whole } = await eachJsonMember(cut, 'x', ['list'], ({ value }) => void entries.push(value));
          expect(whole).toBe(false);
          expect(entries).toEqual((JSON.parse(JSON.stringify(list)) as unknown[]).slice(0, entries.length));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a result file gives the times that were written, wherever a script stopped and continued', async () => {
    const sessions = fc.array(
      fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.array(fc.nat(1e9), { minLength: 1, maxLength: 4 })), {
        maxLength: 4,
      }),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(sessions, async (runs) => {
        const last = new Map<string, readonly number[]>();
        const lines: unknown[] = [];
        for (const measured of runs) {
          lines.push(PLAN, DEVICE);
          for (const [id, times] of measured) {
            last.set(id, times);
            times.forEach((timeNs, repeat) =>
              lines.push({
                type: 'sample',
                case: id,
                repeat,
                warmUp: false,
                timeNs,
                clockMhz: null,
              } satisfies BenchRecord),
            );
          }
        }
        const text = lines.map((line) => JSON.stringify(line)).join('\n');
        const { cases } = unwrap(await parseBenchResults(encode(text), 'x'));
        expect(new Map(cases.map((one) => [one.case.id, one.timesMs]))).toEqual(
          new Map(['a', 'b'].filter((id) => last.has(id)).map((id) => [id, last.get(id)!.map((ns) => ns / 1e6)])),
        );
      }),
      { numRuns: 500 },
    );
  });
});
