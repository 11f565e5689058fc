import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ImportedFile, MeasuringComparison } from '../../src-main/contract/measuring.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { refusal as refusalOf } from './engine-calls.ts';
import { smallStudy } from './export-runs.ts';
import { documentOf, lockstep, shareEngine, type Outcome } from '../command-line.ts';
import { testFolder, useBench } from '../workplace.ts';
import { encode } from '../data.ts';

const DEVICE = 'nvidia-rtx-4090';
const OTHER = 'nvidia-a100-sxm4-40gb';

interface Row {
  readonly device: string;
  readonly design: Design;
  readonly predictedMs: number;
  readonly designIndex: number;
}

const NAMED = { device_name: 'NVIDIA GeForce RTX 4090' };
const bench = useBench();
let sweepId: number;
let rows: readonly Row[];
beforeAll(async () => {
  sweepId = await bench.run(smallStudy());
  rows = (JSON.parse((await bench.render(sweepId, 'json', { limit: 1000 })).text) as { rows: Row[] }).rows;
});

const { call } = bench;
const importText = (fileName: string, text: string, more: object = {}) =>
  call('import.file', { fileName, bytes: encode(text), ...more });
const refusal = (text: string, more: object = {}, fileName = 'own.json') =>
  refusalOf(bench.engine, 'import.file', { fileName, bytes: encode(text), ...more });
const measurementsOf = async (runId: number) => unwrap(await bench.engine.context.store.listMeasurements(runId));
const timesOf = async (runId: number) =>
  (await measurementsOf(runId)).map(({ designIndex, timesMs }) => [designIndex, timesMs]);
const runCount = async () => unwrap(await bench.engine.context.store.listRuns({})).total;
const ofDevice = (device: string, count: number): readonly Row[] => {
  const all = rows.filter((row) => row.device === device);
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]);
};

const parametersOf = ({ device, design }: Row): Record<string, string | number> => ({
  device,
  threads_per_unit: design.threadsPerUnit,
  units_per_thread: design.unitsPerThread,
  loop: design.loop,
  balancing: design.balancing,
  block_size_x: design.blockThreads,
  grid_size_x: design.gridBlocks,
  register_cap: design.registerCap ?? 0,
});

/** Makes a cache of Kernel Tuner with three repeats per configuration. */
function cache(entries: readonly (readonly [Readonly<Record<string, unknown>>, number])[], head: object = {}): string {
  const timed = entries.map(([parameters, time]) => ({ ...parameters, time, times: [time, time * 1.01, time * 0.99] }));
  const tune_params_keys = [...new Set(entries.flatMap(([parameters]) => Object.keys(parameters)))];
  return JSON.stringify({ kernel_name: 'walk', ...head, tune_params_keys, cache: Object.fromEntries(timed.entries()) });
}

/** Returns a measured time. It is longer than the predicted time, by a factor that depends on the block. */
const measuredMs = ({ predictedMs, design }: Row): number => predictedMs * (1.2 + design.blockThreads / 2560);
const timed = (chosen: readonly Row[], head?: object) =>
  cache(
    chosen.map((row) => [parametersOf(row), measuredMs(row)] as const),
    head,
  );

type T4Result = { invalidity: string; times: { runtimes: number[] }; measurements: { value: number }[] };
type T4 = { metadata: Record<string, unknown>; results: T4Result[] };
const exported = async (limit: number): Promise<T4> =>
  JSON.parse((await bench.render(sweepId, 't4', { limit })).text) as T4;

describe("configurations of a user's own kernel", () => {
  it('are linked to the named sweep: compared with it, used for calibration, and shown in its ranking', async () => {
    const chosen = ofDevice(DEVICE, 9);
    const text = timed(chosen, NAMED);
    const imported = await importText('own.json', text, { runId: sweepId });
    const { runId } = imported;
    const linked = { runId: sweepId, deviceId: DEVICE, designs: 9 };
    expect(imported).toEqual({ runId, kind: 'kernel-tuner-cache', cases: 9, failed: 0, linked, warnings: [] });
    const of = { deviceId: DEVICE, sourceRunId: sweepId, backend: 'external' };
    const wanted = chosen.map(({ designIndex, design, predictedMs }) => ({ ...of, designIndex, design, predictedMs }));
    expect(await measurementsOf(runId)).toMatchObject(wanted);

    const detail = await call('bench.detail', { id: runId });
    expect(detail.request).toMatchObject({ suite: 'designs', sourceRunId: sweepId, deviceId: DEVICE, repeats: 3 });
    // The original configuration is saved together with the design.
    const parameters = { kernel: 'walk', configuration: parametersOf(chosen[7]) };
    expect(detail.cases[7].case).toMatchObject({ benchmark: 'external', parameters });
    expect(detail.cases.map((one) => one.design)).toEqual(chosen.map((row) => row.design));
    expect(detail.cases[0].label).toMatch(/^u=\d+ m=\d+ block=\d+ grid=\d+ order=/);

    const compared = await call('bench.compare', { id: runId });
    expect(compared.designs).toHaveLength(9);
    expect(compared).toMatchObject({ sourceRunId: sweepId, deviceId: DEVICE, measuredOn: 'NVIDIA GeForce RTX 4090' });
    expect(compared.scale).toBeBetween(1.2, 1.4);

    const profile = await call('calibration.fit', { id: runId });
    expect(profile).toMatchObject({ deviceId: DEVICE, backend: 'external', sourceRunIds: [runId] });
    expect(profile.fit.medianError).toBeLessThan(profile.before.medianError);

    const { designIndex } = chosen[3];
    const row = await call('ranking.design', { runId: sweepId, designIndex });
    // Times are saved in nanoseconds.
    const medianMs = expect.closeTo(measuredMs(chosen[3]), 12) as number;
    expect(row.measured).toMatchObject({ runId, medianMs, repeats: 3 });
    const header = await call('export.render', { runId: sweepId, format: 'cuda', designIndex });
    const measured = `^// .* Run ${runId} measured [\\d.]+ [mu]s for the kernel of this design, on .*RTX 4090\\. `;
    const fastest = `Of 9 measured designs, the kernel of design \\d+ .* against [\\d.]+ [mu]s for design ${designIndex}\\.$`;
    expect(header.text).toMatch(new RegExp(measured + fastest, 'm'));
  });

  it('are counted without a link if they are not designs of the sweep, with a reason for the first', async () => {
    const [first, second, third] = ofDevice(DEVICE, 3) as [Row, Row, Row];
    const text = cache([
      [parametersOf(first), 0.5],
      [{ ...parametersOf(second), threads_per_unit: 3 }, 0.4],
      [parametersOf(third), 0.7],
      [{ ...parametersOf(third), grid_size_x: 999_983 }, 0.8],
      [parametersOf(ofDevice(OTHER, 1)[0]), 0.9],
    ]);
    const imported = await importText('own.json', text, { runId: sweepId });
    expect(imported).toMatchObject({ cases: 5, linked: { designs: 2 } });
    expect(imported.warnings).toMatchObject([
      new RegExp(
        `^2 configurations of 5 are no design of run ${sweepId} and are not linked. For device=${DEVICE} threads_per_unit=3 .*: threads_per_unit=3 is not one of 1, 2, 4, 8, 16, 32\\.$`,
      ),
      new RegExp(
        `^1 configuration is of another device than ${DEVICE}, for example .* of ${OTHER}\\. Import the file again`,
      ),
      'The file does not name the device of the measurements. It is assumed to be GeForce RTX 4090, the device of its designs.',
    ]);
    const indices = (await measurementsOf(imported.runId)).map(({ designIndex }) => designIndex);
    expect(indices).toEqual([first.designIndex, null, third.designIndex, null, null]);
    // A configuration that is not a design of the sweep cannot be its best.
    expect(unwrap(await bench.engine.context.store.getRun(imported.runId)).best).toMatchObject({ timeMs: 0.5 });
    // A configuration of the other device is linked if that device is named.
    const again = await importText('own.json', text, { runId: sweepId, deviceName: OTHER });
    expect(again.linked).toEqual({ runId: sweepId, deviceId: OTHER, designs: 1 });
    expect((await call('bench.detail', { id: again.runId })).device!.name).not.toBe(OTHER);
  });

  it('may leave out axes with one value or a stated value, but must not fit several designs', async () => {
    // With blocks of 128 threads, 1600 blocks also give 2 units per thread.
    const launches = { unitsPerThread: [2], gridBlocks: [1600] };
    const axes = { threadsPerUnit: [4, 8], blockThreads: [128, 256], ...launches, balancing: ['none', 'shuffle'] };
    const blocks = await bench.run(smallStudy({ name: 'Blocks', devices: [DEVICE], axes }));
    const unrolled = (block_size_x: number, unroll: number, time: number) =>
      [{ block_size_x, unroll, units_per_thread: 2 }, time] as const;
    const text = cache([unrolled(128, 2, 3), unrolled(128, 4, 2), unrolled(256, 2, 1)]);
    expect(await refusal(text, { runId: blocks })).toBe(
      `own.json: of 3 configurations, none is a design of run ${blocks}; for block_size_x=128 unroll=2 units_per_thread=2: it matches 4 designs of run ${blocks}. Map parameters to threads_per_unit, balancing, grid_blocks (import --map NAME=AXIS), or add their values to the file (import --fixed threads_per_unit=VALUE if all have the same)`,
    );
    const given = { runId: blocks, fixed: { threadsPerUnit: '4', balancing: 'none' } };
    const imported = await importText('own.json', text, given);
    expect(imported.linked).toEqual({ runId: blocks, deviceId: DEVICE, designs: 2 });
    expect(imported.warnings).toContain(
      '1 configuration maps to a design for which a faster configuration was measured. Only the fastest one is compared with the prediction.',
    );
    expect((await timesOf(imported.runId)).map(([designIndex]) => designIndex)).toEqual([null, 0, 1]);
  });

  it('are refused with the reason if none of them is a design, and nothing remains', async () => {
    const before = await runCount();
    const row = parametersOf(ofDevice(DEVICE, 1)[0]);
    const measured = (await importText('own.json', cache([[row, 1]]))).runId;
    for (const [parameters, reason, runId = sweepId] of [
      [
        { tile: 4 },
        /: it has none of the parameters of a design, such as threads_per_unit\. Map a parameter to an axis /,
      ],
      [{ ...row, loop: 'rolled' }, /: loop=rolled is not one of nested$/],
      [{ ...row, device: 'mine' }, /: device=mine is not one of nvidia-/],
      [{ design: 1e9 }, /: Run \d+ has no design 1000000000: /],
      [{ design: rows[0].designIndex, device: 'x' }, /: device=x is not the device of design \d+, which is nvidia-/],
      [{ ...row, units_per_thread: 77_777 }, /: no launch of run \d+ has block_size_x=/],
      [row, /4711/, 4711],
      [row, /is an import/, measured],
    ] as const)
      expect(await refusal(cache([[parameters, 1]]), { runId })).toMatch(reason);
    expect(await runCount()).toBe(before + 1);
  });

  it('have no link unless they have parameters that only designs have', async () => {
    const text = cache([[parametersOf(ofDevice(DEVICE, 1)[0]), 1]], NAMED);
    const single = await importText('own.json', text);
    expect(single.linked).toBeUndefined();
    expect((await call('bench.detail', { id: single.runId })).request.suite).toBe('external');
    expect((await importText('own.json', text, { openRunId: sweepId })).linked).toMatchObject({ designs: 1 });
    const foreign = cache([[{ block_size_x: 128, block_size_y: 2 }, 1]], { device_name: 'X' });
    expect(await importText('own.json', foreign, { openRunId: sweepId })).toMatchObject({ cases: 1, warnings: [] });
  });
});

it('a measured run can be exported and imported with every repeat and every failure, and belongs to its sweep', async () => {
  const chosen = ofDevice(DEVICE, 5);
  const failed = { ...parametersOf(ofDevice(DEVICE, 9)[4]), threads_per_unit: 77 };
  const text = timed(chosen, NAMED);
  const file = JSON.parse(text) as { cache: object };
  file.cache = { ...file.cache, bad: { ...failed, time: 'RuntimeFailedConfig' } };
  const imported = await importText('own.json', JSON.stringify(file), { runId: sweepId });
  expect(imported).toMatchObject({ cases: 6, failed: 1 });
  for (const format of ['t4', 'kernel-tuner'] as const) {
    const document = await bench.render(imported.runId, format);
    // The file itself names its sweep and its device.
    const again = await importText(document.fileName, document.text);
    expect(again).toMatchObject({ linked: { runId: sweepId, deviceId: DEVICE, designs: 5 }, cases: 6, failed: 1 });
    expect(await timesOf(again.runId)).toEqual(await timesOf(imported.runId));
  }
  const refused = await bench.engine.call('export.render', { runId: imported.runId, format: 'csv' });
  expect(refused).toFail(null, /is exported as t4 or kernel-tuner \(a cache\)/);
});

it('an exported T4 file belongs to the run that it names: measured times are imported, and predicted ones are left out', async () => {
  const file = await exported(1000);
  const of = (row: Row) => file.results[rows.indexOf(row)];
  const [first, second, third] = ofDevice(DEVICE, 3) as [Row, Row, Row];
  of(first).times.runtimes = [1.5, 1.7, 1.6];
  of(second).measurements[0].value = 2.5;
  of(third).invalidity = 'runtime';
  const imported = await importText('filled.json', JSON.stringify(file));
  const linked = { runId: sweepId, deviceId: DEVICE, designs: 3 };
  expect(imported).toMatchObject({ kind: 'kernel-tuner-t4', cases: 3, failed: 1, linked });
  expect(imported.warnings).toEqual([
    `${rows.length - 3} configurations have the predicted time of run ${sweepId} instead of a measured time, and are left out.`,
    'The file does not name the device of the measurements. It is assumed to be GeForce RTX 4090, the device of its designs.',
  ]);
  expect(await measurementsOf(imported.runId)).toMatchObject([
    { designIndex: first.designIndex, timesMs: [1.5, 1.7, 1.6], failure: null },
    { designIndex: second.designIndex, timesMs: [2.5], failure: null },
    { designIndex: third.designIndex, timesMs: [], failure: 'failed when it ran' },
  ]);
  expect((await call('bench.compare', { id: imported.runId })).designs).toHaveLength(2);
});

it('an exported T4 file does not count as a measurement if it is unchanged, even if the user names its run', async () => {
  const text = JSON.stringify(await exported(20));
  const imported = await importText('same.json', text);
  expect(imported).toMatchObject({ kind: 'kernel-tuner-t4', cases: 20, failed: 0 });
  expect(imported.linked).toBeUndefined();
  expect(imported.warnings).toEqual([
    'Lockstep exported this file, so its times are predictions and not measurements. Import measured times.',
  ]);
  const expected = rows.slice(0, 20).map(({ device: deviceId, design, predictedMs }) => {
    return { timesMs: [], correct: null, deviceId, design, predictedMs };
  });
  expect(await measurementsOf(imported.runId)).toMatchObject(expected);
  expect(unwrap(await bench.engine.context.store.getRun(imported.runId)).best).toBeNull();
  const words = `own.json: All times are unchanged predictions of run ${sweepId}. Import measured times.`;
  expect(await refusal(text, { runId: sweepId })).toBe(words);
});

it('an exported T4 file of another run gives only its run times, because its other times may be predictions', async () => {
  const workload = { lengths: 'constant(7)', units: 100_000 };
  const another = await bench.run(smallStudy({ name: 'Other kernel', workload }));
  const file = await exported(10);
  file.results[0].times.runtimes = [0.3, 0.4, 0.5];
  file.results[1].measurements[0].value *= 2;
  const imported = await importText('filled.json', JSON.stringify(file), { runId: another });
  expect(imported).toMatchObject({ cases: 1, linked: { runId: another, designs: 1 } });
  expect(imported.warnings).toContain(
    'Lockstep exported this file. Configurations with predictions instead of measured times are left out: 9.',
  );
  for (const change of [{ study: 'Not this' }, { seed: 77 }]) {
    const moved = JSON.stringify({ ...file, metadata: { ...file.metadata, ...change } });
    const single = await importText('filled.json', moved);
    expect(single.linked).toBeUndefined();
    expect(single).toMatchObject({ cases: 1, failed: 0 });
    expect(single.warnings).toEqual([
      `Run ${sweepId} of this database is not the sweep of these designs, so the measurements are not linked to a sweep.`,
      'Lockstep exported this file. Configurations with predictions instead of measured times are left out: 9.',
    ]);
    // The file names the device beside the configuration.
    const unlinked = { deviceId: rows[0].device, sourceRunId: null, timesMs: [0.3, 0.4, 0.5] };
    expect((await measurementsOf(single.runId))[0]).toMatchObject(unlinked);
  }
});

it('a CSV of measured times belongs to designs of the run for which it is imported, by number or by axes', async () => {
  const [first, second] = ofDevice(DEVICE, 2) as [Row, Row];
  const lines = [first, first, second].map(({ designIndex }, at) => `${designIndex};${1500 + at},5`);
  const more = { runId: sweepId, deviceName: 'GeForce RTX 4090', parameters: { No: 'design' } };
  const imported = await importText('own.csv', `No;Time [us]\r\n${lines.join('\r\n')}\r\n`, more);
  const { runId } = imported;
  const linked = { runId: sweepId, deviceId: DEVICE, designs: 2 };
  expect(imported).toEqual({ runId, kind: 'times', cases: 2, failed: 0, linked, warnings: [] });
  const times = { [first.designIndex]: [1.5005, 1.5015], [second.designIndex]: [1.5025] };
  expect(Object.fromEntries(await timesOf(runId))).toEqual(times);
  expect((await call('bench.compare', { id: runId })).designs).toHaveLength(2);
});

it.each([
  [1000, 'The measured times are 1,000 times as long as the predictions (median).'],
  [0.001, 'The measured times are 1,000 times as short as the predictions (median).'],
  [10, null],
  [0.1, null],
])('times of %d times the predictions may have a wrong unit', async (factor, warning) => {
  const lines = ofDevice(DEVICE, 5).map(({ designIndex, predictedMs }) => `${designIndex},${predictedMs * factor}`);
  // Most designs decide, and one that is far off does not.
  lines[0] = `${ofDevice(DEVICE, 5)[0].designIndex},1e6`;
  const text = `design,time_ms\n${lines.join('\n')}\n`;
  const { warnings } = await importText('own.csv', text, { runId: sweepId, deviceName: DEVICE });
  const advice = ' Check the unit of the times in the file, and import it again if the unit is wrong.';
  expect(warnings).toEqual(warning === null ? [] : [warning + advice]);
});

it('a CSV of measured times is imported without predicted times, and refused without a run or without a design of it', async () => {
  const [first, second] = ofDevice(DEVICE, 2) as [Row, Row];
  const lines = [first, second].map((row, at) => `${row.designIndex},${row.predictedMs * (2 - at)},${DEVICE}`);
  const text = `design,time_ms,device\n${lines.join('\n')}\n`;
  const imported = await importText('own.csv', text, { runId: sweepId });
  expect(imported.linked).toMatchObject({ designs: 1 });
  const words = `1 configuration has the predicted time of run ${sweepId} instead of a measured time, and is left out.`;
  expect(imported.warnings).toEqual([words]);
  expect(await refusal(text, {}, 'own.csv')).toBe(
    'own.csv: The file does not name its sweep. Specify the run (import --run RUN), or open the run in the app.',
  );
  expect(await refusal('design,time_ms\nx,1\n', { openRunId: sweepId }, 'own.csv')).toBe(
    `own.csv: of 1 configuration, none is a design of run ${sweepId}; for design=x: design must be the number of a design, not "x"`,
  );
});

it('the fastest measured design is named beside the recommended one, in advice, reports and code', async () => {
  const runId = await bench.run(smallStudy({ name: 'Measured', devices: [DEVICE] }));
  const advise = () => call('advice.recommend', { runId, robust: true });
  const { designIndex, measured: none } = await advise();
  expect(none).toBeUndefined();
  const other = designIndex === 0 ? 1 : 0;
  const measure = (times: Readonly<Record<number, number>>) => {
    const lines = Object.entries(times).map((line) => line.join(','));
    return importText('own.csv', ['design,time_ms', ...lines].join('\n'), { runId, deviceName: DEVICE });
  };
  await measure({ [other]: 2 });
  const only = new RegExp(
    `^Only one design was measured: .* design ${other} .* takes 2\\.000\\sms; design ${designIndex} was not`,
  );
  expect((await advise()).measured!.sentence).toMatch(only);
  await measure({ [designIndex]: 3 });
  const { measured } = await advise();
  expect(measured).toMatchObject({ designIndex: other, medianMs: 2 });
  const message = /^Of 2 measured designs, .* was the fastest: 2\.000\sms, against 3\.000\sms for design/;
  expect(measured!.sentence).toMatch(message);
  for (const format of ['markdown', 'cuda', 'kernel-tuner'])
    expect((await bench.render(runId, format)).text).toContain(`Of 2 measured designs, the kernel of design ${other}`);
  await measure({ [other]: 4 });
  expect((await advise()).measured).toBeUndefined();
});

describe('the command line', () => {
  const folder = testFolder();
  const database = join(folder, 'test.db');
  shareEngine(() => database);
  const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', database);
  const json = async <T>(...args: readonly string[]): Promise<T> => documentOf(await run(...args, '--json'));
  const fileOf = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('imports for a run, and names the next command', async () => {
    const study = fileOf('study.json', JSON.stringify(smallStudy({ devices: [DEVICE] })));
    expect((await run('sweep', study)).status).toBe(0);
    const own = fileOf('own.json', timed(ofDevice(DEVICE, 5)));
    const done = await run('import', own, '--run', '1');
    expect(done).toMatchObject({ status: 0, err: '' });
    expect(done.out).toContain(
      `The cases cover 5 designs of run 1 on ${DEVICE}. bench --compare 2 compares them with their predictions.\n`,
    );
    expect((await run('bench', '--compare', '2')).out).toMatch(/^Run 2: 5 designs of run 1, predicted for /);

    expect(await run('import', own, '--run', 'x')).toMatchObject({ status: 2 });
    const err = 'lockstep: study.json: A study cannot hold measured designs of run 1. Import it without --run.\n';
    expect(await run('import', study, '--run', '1')).toEqual({ status: 1, out: '', err });
  });

  it('compares a measured time with the predicted time of the kernel alone, in every list', async () => {
    const kernel = { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true };
    const axes = { ...smallStudy().axes, balancing: ['none', 'full-sort'] };
    const study = smallStudy({ name: 'Sorted', devices: [DEVICE], kernel, axes });
    const sorted = fileOf('sorted.json', JSON.stringify(study));
    type Swept = Row & { readonly measuredMs: unknown };
    const { runId, best } = await json<{ runId: number; best: readonly Swept[] }>('sweep', sorted, '--top', '1000');
    const id = String(runId);
    expect(best.every((row) => row.measuredMs === null)).toBe(true);
    const chosen = axes.balancing.map((balancing) => best.find(({ design }) => design.balancing === balancing)!);
    const own = fileOf('sorted-own.json', cache(chosen.map((row) => [parametersOf(row), row.predictedMs * 0.9])));
    const measured = String((await json<ImportedFile>('import', own, '--run', id)).runId);

    const { designs } = await json<MeasuringComparison>('bench', '--compare', measured);
    type Ranked = Row & { readonly measuredMs: { readonly predicted: number } | null };
    const { rows: ranked } = await json<{ rows: readonly Ranked[] }>('rank', id, '--top', '1000');
    for (const { designIndex, design } of chosen) {
      const row = ranked.find((each) => each.designIndex === designIndex)!;
      const beside = designs.find((each) => each.designIndex === designIndex)!;
      expect(Math.abs(row.measuredMs!.predicted / beside.predictedMs - 1)).toBeLessThan(1e-9);
      expect(Math.abs((beside.predictedMs + beside.balancingMs!) / row.predictedMs - 1)).toBeLessThan(1e-9);
      if (design.balancing === 'full-sort') expect(beside.balancingMs).toBeGreaterThan(0);
      else expect(beside.balancingMs).toBe(0);
    }
    const [head, ...lines] = (await run('export', id, '--format', 'csv', '--top', '1000')).out.trimEnd().split('\n');
    expect(head).toMatch(/,measured_on,predicted_kernel_ms,implementation_kind,evidence$/);
    expect(lines.filter((line) => Number(line.split(',').at(-3)) > 0)).toHaveLength(2);

    const list = (await run('rank', id, '--top', '1000')).out;
    expect(list).toMatch(/predicted, (ms|µs) +kernel, \1 +measured, \1/);
    expect(list).toContain('The columns "measured" and "kernel" are for the kernel alone');
    expect((await run('bench', '--compare', measured)).out).toContain(
      'The column "predicted" has the time of the kernel alone, because only the kernel is timed. The rank also includes the time of balancing: up to ',
    );
    // In run 1, nothing is balanced, so one column is enough.
    const plain = (await run('rank', '1', '--top', '1000')).out;
    expect([plain.includes('measured, '), plain.includes('kernel')]).toEqual([true, false]);
  });
});
