import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { CaseResult } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { unpacked } from '../../src-workers/parse/unpack.ts';

const read = (text: string) => parseKernelTuner(new TextEncoder().encode(text), 'k.json', 'from-name');
const published = async (name: string) => {
  const file = readFileSync(new URL(`../data/kernel-tuner/convolution-${name}.json.gz`, import.meta.url));
  return unwrap(await parseKernelTuner(unwrap(await unpacked(file, name)), name, 'convolution'));
};
const parametersOf = ({ case: one }: CaseResult) => (one.benchmark === 'external' ? one.parameters : null);
const configurations = (cases: readonly CaseResult[]) => cases.map((one) => parametersOf(one)?.configuration);
const cache = (...entries: readonly object[]): string =>
  JSON.stringify({
    device_name: 'GPU',
    kernel_name: 'k',
    tune_params_keys: ['a', 'b'],
    cache: Object.fromEntries(entries.map((entry, at) => [`${at}`, { a: at, b: 'x', ...entry }])),
  });

describe('published search spaces', () => {
  it('reads files of store_results, with one device and size or with several', async () => {
    const text = readFileSync(new URL('../data/kernel-tuner/stored.json', import.meta.url), 'utf8');
    const file = unwrap(await read(text));
    const deviceName = 'pthread_skylake_avx512_AMD_EPYC';
    expect(file).toMatchObject({ format: 'stored', kernel: 'absorbing_walk', deviceName });
    expect(configurations(file.cases)).toEqual([
      { lockstep_implementation: 0, threads_per_unit: 4, units_per_thread: 1, block_size_x: 128, fixed_blocks: 0, lockstep_loop: 0, lockstep_balancing: 0, register_cap: 0, lockstep_sweep: 2661367636 },
      { lockstep_implementation: 0, threads_per_unit: 4, units_per_thread: 1, block_size_x: 256, fixed_blocks: 0, lockstep_loop: 0, lockstep_balancing: 0, register_cap: 0, lockstep_sweep: 2661367636 },
    ]); // prettier-ignore
    expect(file.cases.map(({ timesMs }) => timesMs)).toEqual([[0.4197376666666666], [0.299646]]);
    const two = unwrap(await read(text.replace('"16384"', '"32768"')));
    expect(configurations(two.cases).map((one) => one?.problem_size)).toEqual(['32768', '16384']);
    const byRate = await read(text.replaceAll('"time":', '"GFLOP/s":').replace('"time"', '"GFLOP/s"'));
    expect(byRate).toFail(null, /the objective of the results is "GFLOP\/s", not time/);
  });

  it('reads a cache with every configuration, every repeat and every failure', async () => {
    const file = await published('A100');
    expect(file).toMatchObject({
      format: 'cache',
      kernel: 'convolution_kernel',
      deviceName: 'NVIDIA A100-PCIE-40GB',
      devices: null,
      warnings: [],
    });
    expect(file.head).toMatchObject({ problem_size: [4096, 4096], objective: 'time' });
    expect(file.cases).toHaveLength(245);
    const failed = file.cases.filter((one) => one.failure !== null);
    expect(Object.groupBy(failed, (one) => one.failure!)).toMatchObject({
      'CompilationFailedConfig: did not compile': { length: 2 },
      'RuntimeFailedConfig: failed when it ran': { length: 3 },
    });
    for (const one of file.cases) {
      expect(one.timesMs).toHaveLength(one.failure === null ? 32 : 0);
      // In the file, `time` is the mean of the repeats.
      if (one.failure === null) {
        const mean = one.timesMs.reduce((sum, time) => sum + time, 0) / 32;
        expect(Math.abs(mean - (one.values.time as number))).toBeLessThanOrEqual(32 * Number.EPSILON * mean);
      }
    }
    expect(file.cases[0].timesMs.slice(0, 2)).toEqual([3.976191997528076, 3.8789119720458984]);
    expect(parametersOf(file.cases[0])!.configuration).toEqual({
      block_size_x: 16,
      block_size_y: 1,
      tile_size_x: 1,
      tile_size_y: 1,
      read_only: 0,
      use_padding: 0,
      use_shmem: 0,
      use_cmem: 1,
      filter_height: 15,
      filter_width: 15,
    });
    expect(Object.keys(file.cases[0].values)).toContain('GFLOP/s');
  });

  it('reads the same from the T4 file of the same measurements', async () => {
    const [first, second] = [await published('A100'), await published('A100_T4')];
    expect(second).toMatchObject({ format: 't4', kernel: null, deviceName: null, warnings: [] });
    expect(configurations(second.cases)).toEqual(configurations(first.cases));
    expect(second.cases.map((one) => one.timesMs)).toEqual(first.cases.map((one) => one.timesMs));
    expect(second.cases.map((one) => one.failure)).toEqual(first.cases.map((one) => one.failure));
    // `correctness: 1` in T4 only means that there is a time.
    expect(new Set(second.cases.map((one) => one.correct))).toEqual(new Set([null]));
    expect(second.cases[0].values.compilation_time).toBe(918.5990339610726);
    expect(parametersOf(second.cases[0])!.kernel).toBe('convolution');
  });

  it('reads a cache without its closing brackets and without a device', async () => {
    const file = await published('MI250X');
    expect(file.deviceName).toBeNull();
    expect(file.cases).toHaveLength(146);
    expect(file.cases.every((one) => one.timesMs.length === 32)).toBe(true);
    expect(file.warnings).toEqual([
      'The file lacks its closing brackets, as the cache of a stopped run does; 146 configurations were read.',
    ]);
  });
});

describe('a cache', () => {
  it('says why a configuration has no time, in each form that files use', async () => {
    const text = cache(
      { time: 1e20 },
      { time: 'InvalidConfig' },
      { time: { __error__: 'RuntimeFailedConfig' } },
      { __error__: 'CompilationFailedConfig' },
      { time: 'SomethingNew' },
      { time: 1, times: [1, 1e20] },
      { time: -1 },
      {},
    );
    // Python writes NaN for a float that is not a number.
    const file = unwrap(await read(text.replace('"time":-1', '"time":NaN, "note":"NaN \\"Infinity"')));
    expect(file.cases.map((one) => one.failure)).toEqual([
      'invalid: its time is written as 1e20',
      'InvalidConfig: refused by a restriction, or more than the device allows',
      'RuntimeFailedConfig: failed when it ran',
      'CompilationFailedConfig: did not compile',
      'SomethingNew',
      'a time is 100000000000000000000, not a number ≥ 0',
      'a time is null, not a number ≥ 0',
      'the file gives no time for this case',
    ]);
    for (const one of file.cases) expect([one.timesMs, one.values.time === 1e20]).toEqual([[], false]);
  });

  it('uses a single time if there are no repeats, and says so', async () => {
    const file = unwrap(await read(cache({ time: 2.5 }, { time: 3, times: [] }, { time: 4, times: [4, 4] })));
    expect(file.cases.map((one) => one.timesMs)).toEqual([[2.5], [3], [4, 4]]);
    expect(file.warnings).toEqual(['Configurations with a single time instead of repeats: 2.']);
  });

  it('may end anywhere after its head', async () => {
    const text = cache({ time: 1, times: [1, 2] }, { time: 2, times: [2, 3] });
    const from = text.indexOf('"cache"') + '"cache":{"0":'.length;
    for (let end = from; end < text.length; end++) {
      const file = await read(text.slice(0, end));
      // The first entry is complete at its closing bracket.
      const first = text.indexOf('}', from) + 1;
      const times = file.ok ? file.value.cases.map((one) => one.timesMs.join(' ')).join(', ') : 'refused';
      expect(end < first ? ['refused'] : ['1 2', '1 2, 2 3']).toContain(times);
    }
    expect(unwrap(await read(text)).warnings).toEqual([]);
  });

  it('takes the names of parameters from tune_params if there are no keys', async () => {
    const file = unwrap(await read('{"tune_params":{"x":[1]},"cache":{"1":{"x":1,"time":2,"GFLOP/s":3}}}'));
    expect(configurations(file.cases)).toEqual([{ x: 1 }]);
    expect(file.cases[0].values).toEqual({ time: 2, 'GFLOP/s': 3 });
  });
});

describe('T4 results', () => {
  const t4 = (result: object, metadata: object = {}): string =>
    JSON.stringify({ results: [{ configuration: { a: 1 }, ...result }], metadata, schema_version: '1.0.0' });
  it.each([
    ['ms', 5],
    ['s', 5000],
    ['us', 0.005],
    ['miliseconds', 5],
  ])('reads times in %s', async (unit, expected) => {
    const measurements = [{ name: 'time', value: 5, unit }];
    expect(unwrap(await read(t4({ measurements }))).cases[0].timesMs).toEqual([expected]);
    const unnamed = { times: { runtimes: [5] }, measurements: [{ name: 'time', value: 5, unit: '' }] };
    expect(unwrap(await read(t4(unnamed, { timeunit: unit }))).cases[0].timesMs).toEqual([expected]);
  });

  it('separates a wrong result from one that was not checked', async () => {
    const wrong = unwrap(await read(t4({ invalidity: 'correctness', correctness: 0 }))).cases[0];
    expect(wrong).toMatchObject({ correct: false, failure: 'gave a wrong result', timesMs: [] });
  });
});

it.each<[string, string]>([
  ['[]', 'line 1: "[]" is not valid here. Use a JSON object'],
  [
    '{"cache":{}}',
    'line 1: the file has no configurations (its members: none). It needs a "cache", "results" or "data" of Kernel Tuner with at least one configuration',
  ],
  [
    '{"cache":{"1":{"time":1}}}',
    'line 1: an entry precedes "tune_params_keys". The names of the parameters must come first',
  ],
  [
    '{\n"tune_params_keys":["a"],\n"cache":{"1":{"a":[1]}}}',
    'line 3: parameter "a" is [1], not a number, text, true or false',
  ],
  [
    '{"tune_params_keys":["__proto__"],"cache":{"1":{"__proto__":1,"time":1}}}',
    'line 1: a parameter may not be called "__proto__"',
  ],
  ['{"results":[3]}', 'line 1: result 0 is 3, not an object'],
  [
    '{"results":[{"configuration":{"a":1}}],\n"cache":{"1":{}}}',
    'line 2: the file has several of "cache", "results" and "data". It must have one of them',
  ],
  [
    '{"results":[{"configuration":{"a":1},"measurements":[{"name":"time","value":1,"unit":"fortnights"}]}]}',
    'line 1: the unit of time is "fortnights", not one of ms, s, us, ns',
  ],
  [
    '{"tune_params_keys":["a"],\n"cache":{"1":{"a":1,"time":1}\n;',
    'line 3: ";" is not valid here. Use "," or "}" after an entry',
  ],
  ['{"tune_params_keys":["a"],"cache":{"1":{"a":tru}}}', 'line 1: "{\\"a\\":tru}" is not a JSON value'],
  [
    '{"results":[{"configuration":{"a":1}}]} x',
    'line 1: "x" is not valid here. Remove the text after the last bracket',
  ],
])('an invalid file %s', async (text, message) => expect(await read(text)).toFail(null, `k.json, ${message}`));

it('an invalid file never touches a prototype', async () => {
  const text =
    '{"__proto__":{"polluted":1},"tune_params_keys":["a"],"cache":{"__proto__":{"a":1,"time":1,"__proto__":2}}}';
  const file = unwrap(await read(text));
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  expect(file.cases).toHaveLength(1);
  expect(Object.getPrototypeOf(file.cases[0].values)).toBe(Object.prototype);
  expect(Object.keys(file.cases[0].values)).toEqual(['time']);
});

it('unpacking returns the packed content, and plain bytes unchanged', async () => {
  const bytes = new TextEncoder().encode('a,b\n'.repeat(1000));
  expect(unwrap(await unpacked(gzipSync(bytes), 'x'))).toEqual(bytes);
  expect(unwrap(await unpacked(bytes, 'x'))).toBe(bytes);
});

it('unpacking refuses content that is too large when unpacked, and damaged content', async () => {
  const bomb = gzipSync(new Uint8Array(1_000_000));
  expect(await unpacked(bomb, 'bomb.gz', 100_000)).toFail(
    null,
    'bomb.gz: the file has more bytes than the limit of 100000',
  );
  const cut = await unpacked(bomb.subarray(0, bomb.length - 20), 'cut.gz');
  expect(cut).toFail(null, /^cut\.gz: the gzip file is damaged after \d+ unpacked bytes \(.+\)$/);
});
