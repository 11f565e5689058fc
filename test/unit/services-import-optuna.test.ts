import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { readOptunaStudies } from '../../src-main/services/imports/optuna.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { lockstep } from '../command-line.ts';
import { optunaStorage as storage, type OptunaTrial } from '../optuna-storage.ts';
import { refusal as refusalOf } from './engine-calls.ts';
import { smallStudy } from './export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';

const folder = testFolder();
const bench = useBench();
let sweepId: number;
beforeAll(async () => void (sweepId = await bench.run(smallStudy({ devices: ['nvidia-rtx-4090'] }))));

const parametersOf = (BLOCK: number, THREADS = 4, schedule = 'none') => {
  return { BLOCK, THREADS, schedule, PER_SM: 2, cap: 0, grid: 256 };
};
/** Trials with times in microseconds. One of the two timed designs occurs twice. */
const TRIALS: readonly OptunaTrial[] = [
  { values: [500], parameters: parametersOf(128) },
  { values: [510], parameters: parametersOf(128) },
  { values: [400], parameters: parametersOf(256, 8, 'dynamic-fetch') },
  { values: [Infinity], parameters: parametersOf(64) },
  { state: 'PRUNED', values: [1], parameters: parametersOf(64) },
  { state: 'FAIL', values: [], parameters: parametersOf(512) },
];
const WALK = { name: 'walk', trials: TRIALS };
const NAMES = { BLOCK: 'blockThreads', THREADS: 'threadsPerUnit', schedule: 'balancing', cap: 'registerCap', grid: 'gridBlocks' }; // prettier-ignore
const { call } = bench;
const fileName = 'optuna.db';
const importFile = (bytes: Uint8Array, more: object = {}) => call('import.file', { fileName, bytes, ...more });
const refusal = (bytes: Uint8Array, more: object = {}) =>
  refusalOf(bench.engine, 'import.file', { fileName, bytes, ...more });

describe('a storage of Optuna', () => {
  it('is imported with its complete trials, equal parameters as repeats, and choices by their text', async () => {
    // The bytes claim a write-ahead log. The values are in the file nevertheless, because the log was merged.
    for (const bytes of [storage([WALK]), storage([WALK]).fill(2, 18, 20)]) {
      const imported = await importFile(new Uint8Array(gzipSync(bytes)), { timeUnit: 'us' });
      expect(imported).toMatchObject({ kind: 'optuna', cases: 3, failed: 1 });
      const left =
        'Trials left out: 2 of 6. They were pruned, are still running, or have no time > 0 or no parameters.';
      expect(imported.warnings[0]).toBe(left);
      const { cases } = await call('bench.detail', { id: imported.runId });
      expect(cases.map(({ case: one, measured, failure }) => [one.parameters, measured?.timesMs, failure])).toEqual([
        [{ kernel: 'walk', configuration: TRIALS[0].parameters }, [0.5, 0.51], null],
        [{ kernel: 'walk', configuration: TRIALS[2].parameters }, [0.4], null],
        [{ kernel: 'walk', configuration: TRIALS[5].parameters }, undefined, 'its trial failed in Optuna'],
      ]);
    }
  });

  it('is read without parameters that have no value, no trial or the name of the prototype', async () => {
    const rows = [`(1, 'empty', NULL, '{}')`, `(99, 'lost', 1, '{}')`, `(1, '__proto__', 1, '{}')`].join();
    const more = `INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES ${rows};`;
    const [study] = unwrap(await readOptunaStudies(storage([WALK], more), 'x'));
    expect(Object.entries(study.trials[0].parameters)).toEqual(Object.entries(TRIALS[0].parameters));
  });

  const two = storage([WALK, { ...WALK, name: 'run' }]);
  // This storage has a view whose query does not end, so it must never be queried.
  const numbers = 'WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)';
  const endless = `${numbers} SELECT i AS trial_id, i AS number, 0 AS study_id, 0 AS state FROM n`;
  const hostile = storage([], `DROP TABLE trials; CREATE VIEW trials AS ${endless}`);
  const energy = { ...WALK, metrics: ['energy', 'time_us'], trials: TRIALS.slice(0, 5) };
  it.each<[string, Uint8Array, object?]>([
    ['Specify the unit of the times: s, ms, us or ns (import --time-unit ms)', storage([WALK])],
    ['maximises its objective', storage([{ ...WALK, direction: 'MAXIMIZE' }]), { timeUnit: 'ms' }],
    ['The storage has no studies', storage([])],
    ['has 2 objectives, and none has the name of a time', storage([{ ...WALK, metrics: ['a', 'b'] }])],
    ['No case has a result', storage([energy])],
    ['The storage has 2 studies. Specify one of "walk", "run" (import --study NAME)', two, { timeUnit: 'us' }],
    ['the database has no table trials. It must be a storage of Optuna', hostile, { timeUnit: 'ms' }],
    ['the database cannot be read', storage([]).subarray(0, 5000), { timeUnit: 'ms' }],
  ])('is refused: %s', async (message, bytes, more) => expect(await refusal(bytes, more)).toContain(message));

  it('is read in slices, so that other calls get answers meanwhile', async () => {
    const trials = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
      INSERT INTO trials (trial_id, number, study_id, state) SELECT i, i, 0, 'COMPLETE' FROM n;
      INSERT INTO trial_values (trial_id, objective, value, value_type) SELECT trial_id, 0, 1, 'FINITE' FROM trials;`;
    const bytes = storage([{ name: 'walk', trials: [] }], trials);
    const turns: number[] = [];
    const busyMs = (): number => process.threadCpuUsage().user / 1000;
    let [before, reading] = [busyMs(), true];
    const tick = (): void => {
      turns.push(busyMs() - before);
      before = busyMs();
      if (reading) setImmediate(tick);
    };
    setImmediate(tick);
    const [study] = unwrap(await readOptunaStudies(bytes, 'x'));
    reading = false;
    expect(study.trials).toHaveLength(40_000);
    const all = turns.reduce((sum, turn) => sum + turn, 0);
    expect(Math.max(...turns)).toBeLessThan(all / 2);
  });
});

describe('a journal of Optuna', () => {
  const journal = (name: string): Uint8Array => readFileSync(join(import.meta.dirname, '../data/optuna', name));
  it('is read like a database: complete and failed trials of each study, and choices by their value', async () => {
    const [tuning, two] = unwrap(await readOptunaStudies(journal('journal.log'), 'x'));
    expect(tuning).toMatchObject({ name: 'tuning', incomplete: 2, objectives: [{ minimised: true, name: null }] });
    expect(tuning.trials).toHaveLength(7);
    const first = { BLOCK: 128, threads: 2, x: 0.5, order: 'none' };
    expect(tuning.trials[0]).toMatchObject({ values: [4.5], failed: false, parameters: first });
    expect(tuning.trials.filter(({ failed }) => failed).map(({ number }) => number)).toEqual([3]);
    expect(two).toMatchObject({ objectives: [{ minimised: true }, { minimised: false }], trials: [{ values: [expect.any(Number), null] }, {}] }); // prettier-ignore
    const imported = await importFile(journal('journal.log'), { timeUnit: 'ms', studyName: 'tuning' });
    expect(imported).toMatchObject({ kind: 'optuna', cases: 7, failed: 1 });
    expect(await refusal(journal('journal.log'), { timeUnit: 'ms' })).toContain('Specify one of "tuning", "two"');
  });

  it('may end within a line, and is refused if another line is damaged', async () => {
    const text = new TextDecoder().decode(journal('journal.log'));
    expect((await readOptunaStudies(new TextEncoder().encode(text.slice(0, -30)), 'x')).ok).toBe(true);
    const damaged = await readOptunaStudies(new TextEncoder().encode(text.replace('\n', '}\n')), 'x');
    expect(damaged).toFail(null, /^x, line 1: The line is not JSON/);
  });

  it('made with an exported file is linked to its sweep, its devices and every design', async () => {
    // 60 units per thread give 7 blocks of 256 threads, but 7 blocks give 56 units per thread.
    const axes = { ...smallStudy().axes, unitsPerThread: [1, 3, 60], gridBlocks: [7] };
    const run = await bench.run(smallStudy({ devices: ['nvidia-rtx-4090', 'nvidia-h100-sxm5-80gb'], axes }));
    const { text } = await bench.render(run, 'optuna', { limit: 1000 });
    const json = (line: RegExp): object => JSON.parse(line.exec(text)![1].replace('None', 'null')) as object;
    const mark = json(/^MARK = (.*)$/m);
    const designs = [...text.matchAll(/^ {4}\((\{.*\}), [\d.e-]+\),$/gm)].map(([, one]) => JSON.parse(one) as object);
    const lines = [
      { op_code: 0, study_name: 'walk', directions: [1] },
      { op_code: 2, study_id: 0, user_attr: { lockstep: json(/^RUN = (.*)$/m) } },
      ...designs.flatMap((design, trial) => [
        { op_code: 4, study_id: 0 },
        // The sampler's own value, before it was rounded.
        { op_code: 5, trial_id: trial, param_name: 'block_threads', param_value_internal: 77, distribution: '{"name":"IntDistribution"}' }, // prettier-ignore
        { op_code: 8, trial_id: trial, user_attr: { lockstep: { ...mark, ...design } } },
        { op_code: 6, trial_id: trial, state: 1, values: [trial + 1] },
      ]),
    ];
    const bytes = new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const device = (mark as { device: string }).device;
    expect(designs.length).toBeGreaterThan(100);
    expect((await importFile(bytes, { timeUnit: 'ms' })).linked).toEqual({ runId: run, deviceId: device, designs: designs.length }); // prettier-ignore
    const other = device === 'nvidia-rtx-4090' ? 'NVIDIA H100 80GB HBM3' : 'NVIDIA GeForce RTX 4090';
    expect((await importFile(bytes, { timeUnit: 'ms', deviceName: other })).linked?.deviceId).not.toBe(device);
    // The same parameters give other launches in a sweep with another number of units.
    const small = smallStudy();
    const workload = { ...small.workload, units: small.workload.units + 1 };
    const another = await bench.run({ ...small, axes, workload });
    const message = 'numbers of this configuration belong to another sweep';
    expect(await refusal(bytes, { timeUnit: 'ms', runId: another })).toContain(message);
  });
});

it('parameters with other names are mapped to axes by the user, or as in earlier imports of the study', async () => {
  const bytes = storage([{ ...WALK, metrics: ['time_us'] }]);
  expect(await refusal(bytes, { runId: sweepId })).toContain('Map a parameter to an axis (import --map NAME=AXIS)');
  const asked = async () => (await call('import.inspect', { fileName, bytes, openRunId: sweepId }))!.parameters;
  const block = { name: 'BLOCK', field: null, values: ['128', '256', '512'], distinct: 3 };
  expect(await asked()).toContainEqual(block);
  // A name that finds no design is not saved.
  const lost = await importFile(bytes, { openRunId: sweepId, parameters: { BLOCK: 'gridBlocks' } });
  expect(lost.linked).toBeUndefined();
  expect(await asked()).toContainEqual(block);
  const imported = await importFile(bytes, { runId: sweepId, parameters: NAMES });
  expect(imported.linked).toEqual({ runId: sweepId, deviceId: 'nvidia-rtx-4090', designs: 3 });
  const { cases } = await call('bench.detail', { id: imported.runId });
  const second = { blockThreads: 256, threadsPerUnit: 8, balancing: 'dynamic-fetch', gridBlocks: 256 };
  expect(cases[1].design).toMatchObject(second);
  // The names are saved, so a later file of the study needs none.
  expect((await importFile(bytes, { openRunId: sweepId })).linked?.designs).toBe(3);
  expect((await asked()).find(({ name }) => name === 'schedule')?.field).toBe('balancing');
  // The user can remove a saved name.
  const several = /it matches 2 designs of run \d+\. Map parameters to .*balancing.* \(import --map NAME=AXIS\)/;
  expect(await refusal(bytes, { runId: sweepId, parameters: { schedule: null } })).toMatch(several);
});

it('the columns of a table of times are assigned to axes, and the device is asked for if the sweep has several', async () => {
  const openRunId = await bench.run(smallStudy());
  const table = (...columns: string[]) =>
    new TextEncoder().encode(`${columns.join(';')}\n128;4;none;256;0;1,5\n256;8;none;256;0;1,25\n`);
  const inspect = (bytes: Uint8Array) => bench.engine.call('import.inspect', { fileName: 't.csv', bytes, openRunId });
  const names = ['Block', 'Threads per unit', 'schedule', 'grid', 'Cap'];
  const bytes = table(...names, 'Time (ms)');
  const { devices, parameters } = unwrap(await inspect(bytes))!;
  expect(devices.map(({ id }) => id)).toEqual(['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090']);
  expect(parameters.map(({ name, field }) => [name, field])).toEqual(
    names.map((name) => [name, name === 'Threads per unit' ? 'threadsPerUnit' : null]),
  );
  const fields = ['blockThreads', 'threadsPerUnit', 'balancing', 'gridBlocks', 'registerCap'];
  const named = Object.fromEntries(names.map((name, at) => [name, fields[at]]));
  const answers = { openRunId, parameters: named, deviceName: 'nvidia-rtx-4090' };
  expect((await importFile(bytes, answers)).linked).toMatchObject({ deviceId: 'nvidia-rtx-4090', designs: 2 });
  const untimed = /^None of the columns \("Block".*"Zeit"\) is a time with its unit/;
  expect(await inspect(table(...names, 'Zeit'))).toFail('bad-input', untimed);
});

it('parameters with other names are mapped by an option of the command line', async () => {
  const file = join(folder, 'cli.db');
  writeFileSync(file, storage([WALK]));
  const maps = 'BLOCK=block_threads THREADS=threads_per_unit schedule=balancing cap=register_cap grid=grid_blocks';
  const run = (...args: readonly string[]) =>
    lockstep('import', file, '--run', String(sweepId), ...args, '--db', bench.engine.context.databaseFile);
  const done = await run('--time-unit', 'us', '--map', ...maps.split(' '));
  expect(done).toMatchObject({ status: 0, err: '' });
  expect(done.out).toContain(`The cases cover 3 designs of run ${sweepId} on nvidia-rtx-4090`);
  const message = /It must be PARAMETER=AXIS\. The axes are design, device, implementation, threads_per_unit/;
  expect(await run('--map', 'BLOCK=warps')).toMatchObject({ status: 2, err: message });
});
