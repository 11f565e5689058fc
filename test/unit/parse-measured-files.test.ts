import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { CaseResult } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { parseLoopTimes } from '../../src-workers/parse/loops.ts';
import { parseMeasuredTimes } from '../../src-workers/parse/measured-times.ts';
import { parseSmiteMeans } from '../../src-workers/parse/smite.ts';
import { unpacked } from '../../src-workers/parse/unpack.ts';
import { chunks, dataFile, dataText, encode } from '../data.ts';

const parametersOf = ({ case: one }: CaseResult) => (one.benchmark === 'external' ? one.parameters : null);
const configurations = (cases: readonly CaseResult[]) => cases.map((one) => parametersOf(one)?.configuration);
const times = (cases: readonly CaseResult[]) => cases.map(({ timesMs }) => timesMs);

describe('a file of Kernel Tuner', () => {
  const read = (text: string) => parseKernelTuner(encode(text), 'k.json', 'from-name');
  const published = async (name: string) => {
    const file = readFileSync(dataFile(`kernel-tuner/convolution-${name}.json.gz`));
    return unwrap(await parseKernelTuner(unwrap(await unpacked(file, name)), name, 'convolution'));
  };
  const cache = (...entries: readonly object[]): string =>
    JSON.stringify({
      device_name: 'GPU',
      kernel_name: 'k',
      tune_params_keys: ['a', 'b'],
      cache: Object.fromEntries(entries.map((entry, at) => [`${at}`, { a: at, b: 'x', ...entry }])),
    });

  it('of store_results has one device and size, or several', async () => {
    const text = dataText('kernel-tuner/stored.json');
    const file = unwrap(await read(text));
    const deviceName = 'pthread_skylake_avx512_AMD_EPYC';
    expect(file).toMatchObject({ format: 'stored', kernel: 'absorbing_walk', deviceName });
    const rest = { lockstep_implementation: 0, fixed_blocks: 0, lockstep_loop: 0, lockstep_balancing: 0 };
    const first = { ...rest, threads_per_unit: 4, units_per_thread: 1, register_cap: 0, lockstep_sweep: 2661367636 };
    expect(configurations(file.cases)).toEqual([128, 256].map((block) => ({ ...first, block_size_x: block })));
    expect(times(file.cases)).toEqual([[0.4197376666666666], [0.299646]]);
    const two = unwrap(await read(text.replace('"16384"', '"32768"')));
    expect(configurations(two.cases).map((one) => one?.problem_size)).toEqual(['32768', '16384']);
    const byRate = await read(text.replaceAll('"time":', '"GFLOP/s":').replace('"time"', '"GFLOP/s"'));
    expect(byRate).toFail(null, /the objective of the results is "GFLOP\/s", not time/);
  });

  it('gives every configuration, repeat and failure, and as T4 results the same', async () => {
    const file = await published('A100');
    const deviceName = 'NVIDIA A100-PCIE-40GB';
    expect(file).toMatchObject({
      format: 'cache',
      kernel: 'convolution_kernel',
      deviceName,
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
    for (const { timesMs, failure, values } of file.cases) {
      expect(timesMs).toHaveLength(failure === null ? 32 : 0);
      // In the file, `time` is the mean of the repeats.
      if (failure !== null) continue;
      const mean = timesMs.reduce((sum, time) => sum + time, 0) / 32;
      expect(Math.abs(mean - (values.time as number))).toBeLessThanOrEqual(32 * Number.EPSILON * mean);
    }
    const [first] = file.cases;
    expect(first.timesMs.slice(0, 2)).toEqual([3.976191997528076, 3.8789119720458984]);
    const ofMemory = { read_only: 0, use_padding: 0, use_shmem: 0, use_cmem: 1 };
    const tile = { block_size_x: 16, block_size_y: 1, tile_size_x: 1, tile_size_y: 1 };
    const configuration = { ...tile, ...ofMemory, filter_height: 15, filter_width: 15 };
    expect(parametersOf(first)!.configuration).toEqual(configuration);
    expect(Object.keys(first.values)).toContain('GFLOP/s');

    const second = await published('A100_T4');
    expect(second).toMatchObject({ format: 't4', kernel: null, deviceName: null, warnings: [] });
    expect(configurations(second.cases)).toEqual(configurations(file.cases));
    expect(times(second.cases)).toEqual(times(file.cases));
    expect(second.cases.map((one) => one.failure)).toEqual(file.cases.map((one) => one.failure));
    // `correctness: 1` in T4 only means that there is a time.
    expect(new Set(second.cases.map((one) => one.correct))).toEqual(new Set([null]));
    expect(second.cases[0].values.compilation_time).toBe(918.5990339610726);
    expect(parametersOf(second.cases[0])!.kernel).toBe('convolution');
  });

  it('may lack its closing brackets and a device', async () => {
    const { deviceName, cases, warnings } = await published('MI250X');
    expect([deviceName, cases.length, cases.every(({ timesMs }) => timesMs.length === 32)]).toEqual([null, 146, true]);
    expect(warnings).toEqual([
      'The file lacks its closing brackets, as the cache of a stopped run does. It has 146 configurations.',
    ]);
  });

  it('says why a configuration has no time, in each form that files use', async () => {
    const entries: readonly (readonly [entry: object, failure: string])[] = [
      [{ time: 1e20 }, 'invalid: its time is written as 1e20'],
      [{ time: 'InvalidConfig' }, 'InvalidConfig: refused by a restriction, or more than the device allows'],
      [{ time: { __error__: 'RuntimeFailedConfig' } }, 'RuntimeFailedConfig: failed when it ran'],
      [{ __error__: 'CompilationFailedConfig' }, 'CompilationFailedConfig: did not compile'],
      [{ time: 'SomethingNew' }, 'SomethingNew'],
      [{ time: 1, times: [1, 1e20] }, 'a time is 100000000000000000000, not a number ≥ 0'],
      [{ time: -1 }, 'a time is null, not a number ≥ 0'],
      [{}, 'the file gives no time for this case'],
    ];
    const text = cache(...entries.map(([entry]) => entry));
    // Python writes NaN for a float that is not a number.
    const file = unwrap(await read(text.replace('"time":-1', '"time":NaN, "note":"NaN \\"Infinity"')));
    expect(file.cases.map((one) => one.failure)).toEqual(entries.map(([, failure]) => failure));
    for (const one of file.cases) expect([one.timesMs, one.values.time === 1e20]).toEqual([[], false]);
  });

  it('may have single times instead of repeats, and the names of parameters in tune_params', async () => {
    const text = cache({ time: 2.5 }, { time: 3, times: [] }, { time: 4, times: [4, 4] });
    const { cases, warnings } = unwrap(await read(text));
    expect(times(cases)).toEqual([[2.5], [3], [4, 4]]);
    expect(warnings).toEqual(['Configurations with a single time instead of repeats: 2.']);
    const named = unwrap(await read('{"tune_params":{"x":[1]},"cache":{"1":{"x":1,"time":2,"GFLOP/s":3}}}')).cases;
    expect([configurations(named), named[0].values]).toEqual([[{ x: 1 }], { time: 2, 'GFLOP/s': 3 }]);
  });

  it('may end anywhere after its head', async () => {
    const text = cache({ time: 1, times: [1, 2] }, { time: 2, times: [2, 3] });
    const from = text.indexOf('"cache"') + '"cache":{"0":'.length;
    // The first entry is complete at its closing bracket.
    const first = text.indexOf('}', from) + 1;
    for (let end = from; end < text.length; end++) {
      const file = await read(text.slice(0, end));
      const found = file.ok ? times(file.value.cases).map((one) => one.join(' ')) : ['refused'];
      expect(end < first ? ['refused'] : ['1 2', '1 2, 2 3']).toContain(found.join(', '));
    }
    expect(unwrap(await read(text)).warnings).toEqual([]);
  });

  const t4 = (result: object, metadata: object = {}): string =>
    JSON.stringify({ results: [{ configuration: { a: 1 }, ...result }], metadata, schema_version: '1.0.0' });
  it.each(Object.entries({ ms: 5, s: 5000, us: 0.005, miliseconds: 5 }))(
    'of T4 has times in %s',
    async (unit, time) => {
      const measurements = [{ name: 'time', value: 5, unit }];
      expect(times(unwrap(await read(t4({ measurements }))).cases)).toEqual([[time]]);
      const unnamed = { times: { runtimes: [5] }, measurements: [{ name: 'time', value: 5, unit: '' }] };
      expect(times(unwrap(await read(t4(unnamed, { timeunit: unit }))).cases)).toEqual([[time]]);
    },
  );

  it('of T4 separates a wrong result from one that was not checked', async () => {
    const [wrong] = unwrap(await read(t4({ invalidity: 'correctness', correctness: 0 }))).cases;
    expect(wrong).toMatchObject({ correct: false, failure: 'gave a wrong result', timesMs: [] });
  });

  const ofUnit = '{"name":"time","value":1,"unit":"fortnights"}';
  it.each(
    Object.entries({
      '[]': '1: "[]" is not valid here. Use a JSON object',
      '{"cache":{}}':
        '1: the file has no configurations (its members: none). It needs a "cache", "results" or "data" of Kernel Tuner with at least one configuration',
      '{"cache":{"1":{"time":1}}}':
        '1: an entry precedes "tune_params_keys". The names of the parameters must come first',
      '{\n"tune_params_keys":["a"],\n"cache":{"1":{"a":[1]}}}':
        '3: parameter "a" is [1]. It must be a number, true, false or text up to 4000 characters',
      '{"tune_params_keys":["__proto__"],"cache":{"1":{"__proto__":1,"time":1}}}':
        '1: a parameter may not be called "__proto__"',
      '{"results":[3]}': '1: result 0 is 3, not an object',
      '{"results":[{"configuration":{"a":1}}],\n"cache":{"1":{}}}':
        '2: the file has several of "cache", "results" and "data". It must have only one of them',
      [`{"results":[{"configuration":{"a":1},"measurements":[${ofUnit}]}]}`]:
        '1: the unit of time is "fortnights", not one of ms, s, us, ns',
      '{"tune_params_keys":["a"],\n"cache":{"1":{"a":1,"time":1}\n;':
        '3: ";" is not valid here. Use "," or "}" after an entry',
      '{"tune_params_keys":["a"],"cache":{"1":{"a":tru}}}': '1: "{\\"a\\":tru}" is not a JSON value',
      '{"results":[{"configuration":{"a":1}}]} x': '1: "x" is not valid here. Remove the text after the last bracket',
    }),
  )('is refused: %s', async (text, message) => expect(await read(text)).toFail(null, `k.json, line ${message}`));

  it('never touches a prototype', async () => {
    const text =
      '{"__proto__":{"polluted":1},"tune_params_keys":["a"],"cache":{"__proto__":{"a":1,"time":1,"__proto__":2}}}';
    const { cases } = unwrap(await read(text));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(cases).toHaveLength(1);
    expect(Object.getPrototypeOf(cases[0].values)).toBe(Object.prototype);
    expect(Object.keys(cases[0].values)).toEqual(['time']);
  });
});

it('unpacking leaves plain bytes unchanged, and refuses content that is too large when unpacked', async () => {
  const bytes = encode('a,b\n'.repeat(1000));
  expect(unwrap(await unpacked(gzipSync(bytes), 'x'))).toEqual(bytes);
  expect(unwrap(await unpacked(bytes, 'x'))).toBe(bytes);
  const bomb = gzipSync(new Uint8Array(1_000_000));
  const message = 'bomb.gz: the unpacked file has more bytes than the limit of 100000';
  expect(await unpacked(bomb, 'bomb.gz', 100_000)).toFail(null, message);
});

describe('measured loops', () => {
  it('become a case for each matrix and schedule', async () => {
    const cases = unwrap(await parseLoopTimes(chunks(dataText('loops/spmv-times-ms.csv')), 'loops.csv'));
    const size = { rows: 1138, columns: 1138, nonZeros: 4054 };
    const configuration = { matrix: '1138_bus', schedule: 'merge_path', ...size };
    expect(parametersOf(cases[0])).toMatchObject({ kernel: 'spmv', configuration });
    expect(cases[0]).toMatchObject({ timesMs: [0.0200195], failure: null });
    expect(cases.at(-1)).toMatchObject({ timesMs: [], failure: 'the file gives no time for this case' });
    expect([cases.length, new Set(cases.map((one) => one.case.id)).size]).toEqual([15, 15]);
  });

  const header = 'dataset,rows,cols,nnzs,merge_path,thread_mapped';
  it.each(
    Object.entries({
      'a,b\n1,2\n': '1: the header "a,b" has no column dataset',
      '': '1: the file ends without a matrix',
      [`${header}\n`]: '2: the file ends after its header without a matrix',
      'dataset,rows,cols,nnzs\nx,1,1,1\n': '1: the file has 0 schedules. It needs 1 to 50',
      [`${header}\nx,1,1,1,0.5,fast\n`]: '2, column 6: "fast" is not a number ≥ 0',
      [`${header}\nx,1,-1,1,0.5,1\n`]: '2, column 3: "-1" is not a number ≥ 0',
      [`${header}\n,1,1,1,0.5,1\n`]: '2, column 1: the dataset is empty. It must name a matrix',
    }),
  )('are refused: %j', async (text, message) =>
    expect(await parseLoopTimes(chunks(text), 'loops.csv')).toFail(null, `loops.csv, line ${message}`),
  );
});

describe('mean losses of the SMITE repository', () => {
  const MEANS = dataText('smite/measured-means.csv');
  it('become cases of matrix powers with their losses', async () => {
    const cases = unwrap(await parseSmiteMeans(chunks(MEANS), 'means.csv'));
    expect(cases).toHaveLength(18);
    const work = { lengths: 'geometric(0.05)', unitsPerGroup: 2, workGroups: 131072 };
    const simulated = { simulatedMeanLoss: 1.476026, simulatedAggregateLoss: 1.486902 };
    expect(cases[7]).toMatchObject({
      case: { benchmark: 'matrix-power', parameters: { ...work, execution: 'lockstep', synchronised: true } },
      values: { ...simulated, meanLoss: 1.464614, aggregateLoss: 1.474837 },
      timesMs: [],
      failure: null,
    });
  });

  const header = MEANS.split('\n', 1)[0];
  it.each<[string, string | RegExp]>([
    ['distribution,n\n', 'means.csv, line 1: the header "distribution,n" has no column groups'],
    [`${header}\n`, 'means.csv, line 2: the file has no rows'],
    [`${header}\ngeometric(0.05),0,1,1,1,1,1\n`, 'means.csv, line 2: n 0 is not a whole number ≥ 1'],
    [`${header}\ngeometric(0.05),2,1,1,1,1,\n`, 'means.csv, line 2, column 7: "" is not a number ≥ 0'],
    [`${header}\ngaussian(1),2,1,1,1,1,1\n`, /^means\.csv, line 2: .*gaussian/],
  ])('are refused: %j', async (text, message) =>
    expect(await parseSmiteMeans(chunks(text), 'means.csv')).toFail(null, message),
  );
});

describe('measured times', () => {
  const read = (text: string) => parseMeasuredTimes(chunks(text), 'own.csv', 'walk');
  const found = async (text: string) => {
    const { cases } = unwrap(await read(text));
    return cases.map((one) => [parametersOf(one)?.configuration, one.timesMs]);
  };
  const RANKING =
    'rank,device,threads_per_unit,loop,register_cap,time_ms,mean_loss,aggregate_loss,occupancy_fraction,resident_blocks,waves,limited_by';

  it('belong to a design by its number or its axes, and several rows of a design are repeats', async () => {
    const text = 'design,time_ms\n7,1.5\n3,2\n7,1.25\n';
    expect(await found(text)).toEqual([
      [{ design: 7 }, [1.5, 1.25]],
      [{ design: 3 }, [2]],
    ]);
    expect(unwrap(await read(text)).cases[0].case).toMatchObject({ id: 'c0', parameters: { kernel: 'walk' } });
    const byAxes = '\ufeffthreads_per_unit;balancing;runtime (us);register_cap\r\n4;window-sort(64);250,5;\r\n';
    const design = { threads_per_unit: 4, balancing: 'window-sort(64)', register_cap: 0 };
    expect(await found(byAxes)).toEqual([[design, [0.2505]]]);
  });

  it('are read with the unit of their column, and to the last digit', async () => {
    const columns = { time_s: 2000, Time_ms: 2, measured_us: 2e-3, 'kernel_time [ns]': 2e-6, 'median µs': 2e-3 };
    for (const [column, time] of Object.entries(columns))
      expect(await found(`design,${column}\n1,2\n`), column).toEqual([[{ design: 1 }, [time]]]);
    for (const time of [0.0033249999999999994, 1.2345678901234567, 0.1, 17.000000000000004])
      expect(await found(`design,time_ms\n1,${time}\n`)).toEqual([[{ design: 1 }, [time]]]);
  });

  it('may be added to an exported ranking, whose own columns do not count as parameters', async () => {
    const text = `${RANKING},measured_us\n1,gpu,4,nested,,0.5,1,1,1,2,3,warps,700\n2,gpu,8,nested,32,0.6,1,1,1,2,3,warps,\n`;
    const design = { device: 'gpu', threads_per_unit: 4, loop: 'nested', register_cap: 0 };
    expect(await found(text)).toEqual([[design, [0.7]]]);
    const { warnings } = unwrap(await read(text));
    expect(warnings).toEqual(['Rows without a time were left out as not measured: 1 of 2.']);
  });

  const notTimes = ['"1,5"', '0', '-1', 'fast', '1e999'].map((time) => [
    `design,time_ms\n1,2\n2,${time}\n`,
    `3, column 2: "${time.replaceAll('"', '')}" is not a time > 0, such as 1.25. Leave the field empty if nothing was measured`,
  ]);
  it.each(
    Object.entries<string>({
      '': '1: the file ends without a row. At least one time must have been measured',
      'design,time_ms\n': '2: the file ends without a row. At least one time must have been measured',
      'design,time_ms\n1,\n2,\n': '4: none of 2 rows has a time. At least one time must have been measured',
      'design,block\n1,2\n': '1: the file has no column of times. Use a column of times such as time_ms or time_us',
      'design,time\n1,2\n':
        '1, column 2: the times in "time" have no unit. Use a column of times such as time_ms or time_us',
      'design,time_ms,runtime_us\n1,2,3\n':
        '1, column 3: the file has several columns of times (time_ms, runtime_us). Keep one, or call one measured_ms',
      [`${RANKING}\n1,gpu,4,nested,,0.5,1,1,1,2,3,warps\n`]:
        '1: this is an exported ranking, whose time_ms is predicted. Put the measured times into a column measured_ms or measured_us',
      ...Object.fromEntries(notTimes),
    }),
  )('are refused: %j', async (text, message) => expect(await read(text)).toFail(null, `own.csv, line ${message}`));
});
