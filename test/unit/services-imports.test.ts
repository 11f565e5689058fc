import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ImportedFile } from '../../src-main/contract/measuring.ts';
import { fileKind } from '../../src-main/services/imports/file-kind.ts';
import { ARCHIVE_FOLDER } from '../../src-workers/bench/cuda/tar.ts';
import type { BenchRecord, CaseOf, PlanLine } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { smallStudy } from './export-runs.ts';
import { sampleDraft } from '../db/sample.ts';
import { cpu } from '../catalogue.ts';
import { documentOf, lockstep, shareEngine, type Outcome } from '../command-line.ts';
import { testFolder, useBench } from '../workplace.ts';
import { measuringDevice } from '../measuring.ts';
import { encode } from '../data.ts';

const DEVICE_ID = 'nvidia-rtx-4090';
const dataFile = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(`../${path}`, import.meta.url)));

const bench = useBench();
let sweepId: number;
beforeAll(async () => void (sweepId = await bench.run(smallStudy())));

const { call } = bench;
const importFile = (fileName: string, bytes: Uint8Array, more: object = {}) =>
  call('import.file', { fileName, bytes, ...more });
const importResults = (text: string, more?: object) => importFile('results.jsonl', encode(text), more);
const detailOf = (id: number) => call('bench.detail', { id });
const measurementsOf = async (runId: number) => unwrap(await bench.engine.context.store.listMeasurements(runId));
const runCount = async () => unwrap(await bench.engine.context.store.listRuns({})).total;

async function bundledPlan(): Promise<PlanLine> {
  const asked = { runId: sweepId, deviceId: DEVICE_ID, count: 4, repeats: 3, warmUps: 1 };
  const { files } = await call('bench.bundle', asked);
  const archived = ['-xOf', '-', `${ARCHIVE_FOLDER}/plan.jsonl`];
  return JSON.parse(execFileSync('tar', archived, { input: files[0].bytes, encoding: 'utf8' })) as PlanLine;
}

const DEVICE = measuringDevice({
  name: 'NVIDIA GeForce RTX 4090',
  fingerprint: 'NVIDIA GeForce RTX 4090, driver 580.1',
  multiprocessors: 128,
  clockMhz: 2520,
  properties: { sharedMemoryBytesPerBlock: 101376 },
});
/** In milliseconds, these times have many digits. */
const timesNs = (at: number): readonly number[] => [1_234_567.25 + at, 1_234_001.5 + at, 1_300_003 + 3 * at];

function resultsOf(plan: PlanLine, sample: object = {}): string {
  const records: BenchRecord[] = plan.plan.cases.flatMap(({ id }, at): BenchRecord[] => [
    { type: 'compiled', case: id, registersPerThread: 40 + at, sharedMemoryBytes: 0, spillBytes: 0, residentBlocks: 2 },
    { type: 'sample', case: id, repeat: 0, warmUp: true, timeNs: 9e6, clockMhz: null },
    ...timesNs(at).map((timeNs, repeat): BenchRecord => {
      return { type: 'sample', case: id, repeat, warmUp: false, timeNs, clockMhz: 2500, ...sample };
    }),
    { type: 'check', case: id, correct: true, message: '' },
  ]);
  const lines: unknown[] = [plan, DEVICE, ...records, { type: 'done', elapsedMs: 20 }];
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

it('clocks in a result file are kept with power, temperature and reasons, and predictions are made for the measured clock', async () => {
  const plan = await bundledPlan();
  const steady = { memoryClockMhz: 10_501, powerW: 300.5, temperatureC: 71, throttleReasons: 5 };
  const text = resultsOf(plan, { clockMhz: 1260, ...steady })
    .replace('"properties":{', '"properties":{"pciBusId":"00000000:65:00.0",')
    .replace('"clockMhz":1260', '"clockMhz":1512');
  const { runId } = await importFile('clocks.jsonl', encode(text));
  const { cases, warnings } = await detailOf(runId);
  expect(cases.map(({ conditions }) => conditions)).toEqual([
    { minClockMhz: 1260, maxClockMhz: 1512, ...steady },
    ...new Array(3).fill({ minClockMhz: 1260, maxClockMhz: 1260, ...steady }),
  ]);
  expect(warnings).toContain(
    'The clock varied from 1,260 to 1,512 MHz (20.0\u00a0%). To lock it, as an administrator: nvidia-smi -i 00000000:65:00.0 -lgc 1260 (and -rgc afterwards).',
  );
  expect(warnings).toContain('The device lowered its clocks because of its power limit in 4 of 4 cases.');
  // The clock is half of the predicted 2520 MHz. Everything takes twice as long, except what waits for memory alone.
  const compared = await call('bench.compare', { id: runId });
  expect(compared.clockMhz).toBe(1260);
  for (const { designIndex, predictedMs } of compared.designs) {
    const at2520 = cases.find((one) => one.designIndex === designIndex)!.predictedMs!;
    expect(predictedMs / at2520).toBeBetween(1.2, 2.001);
  }
  const other = await importFile('own-clock.jsonl', encode(resultsOf(plan, { clockMhz: 2520 })));
  expect((await call('bench.compare', { id: other.runId })).clockMhz).toBeNull();
  expect((await detailOf(other.runId)).warnings.join()).not.toContain('clock');
});

describe('a result file', () => {
  it('is imported with every number, and linked to the sweep of its designs', async () => {
    const plan = await bundledPlan();
    expect(plan.source).toEqual({ runId: sweepId, study: 'Small', seed: 1, deviceId: DEVICE_ID });
    const bytes = encode(resultsOf(plan));
    const imported = await importFile('results.jsonl', bytes);
    expect(imported).toEqual({ runId: imported.runId, kind: 'results', cases: 4, failed: 0, warnings: [] });

    const run = unwrap(await bench.engine.context.store.getRun(imported.runId));
    const counts = { validCount: 4, invalidCount: 0, seed: 1 };
    const kept = { kind: 'import', state: 'complete', name: 'results.jsonl', measuringDevice: DEVICE, ...counts };
    expect(run).toMatchObject(kept);
    expect(run.studyId).not.toBeNull();
    expect(run.best!.timeMs).toBe(timesNs(0)[0] / 1e6);

    const records = await measurementsOf(imported.runId);
    const { cases } = unwrap(await parseBenchResults(bytes, 'results.jsonl'));
    const designs = (cases as readonly { case: CaseOf<'unit-loop'> }[]).map((one) => one.case.parameters);
    expect(records).toEqual(
      cases.map(({ timesMs, correct, failure, ...detail }, at) => {
        const { design, designIndex, predictedMs } = designs[at];
        const linked = { sourceRunId: sweepId, deviceId: DEVICE_ID, backend: 'cuda', design, designIndex, predictedMs };
        return { ...linked, timesMs, correct, failure, detail };
      }),
    );

    const detail = await detailOf(imported.runId);
    const request = { target: 'results.jsonl', backend: 'cuda', suite: 'designs', repeats: 3, warmUps: 1, cases: 4 };
    expect(detail.request).toMatchObject({ ...request, sourceRunId: sweepId, deviceId: DEVICE_ID });
    expect(detail.device).toEqual(DEVICE);
    expect(detail.cases.map((one) => one.measured!.timesMs)).toEqual(records.map((one) => one.timesMs));
    expect(detail.cases.map((one) => one.registersPerThread)).toEqual([40, 41, 42, 43]);

    // The device is the one that was predicted, so the ranking of the sweep shows the time.
    const row = await call('ranking.design', { runId: sweepId, designIndex: designs[0].designIndex });
    expect(row.measured).toMatchObject({ runId: imported.runId, medianMs: timesNs(0)[0] / 1e6, repeats: 3 });
  });

  it('is imported without a link and with a note if its sweep is not in the database', async () => {
    const plan = await bundledPlan();
    const source = plan.source!;
    const elsewhere = (change: Partial<typeof source>) =>
      importResults(resultsOf({ ...plan, source: { ...source, ...change } }));
    const missing = await elsewhere({ runId: 4711 });
    expect(missing.warnings).toEqual([
      'The designs belong to run 4711 of "Small", which is not in this database, so the measurements are not linked to a sweep.',
    ]);
    const another = `Run ${sweepId} of this database is not the sweep of these designs, so the measurements are not linked to a sweep.`;
    for (const change of [{ seed: 2 }, { study: 'Other' }, { deviceId: 'nvidia-a100-sxm4-40gb' }]) {
      const { runId, warnings } = await elsewhere(change);
      expect(warnings).toEqual([another]);
      const records = await measurementsOf(runId);
      // The name of the device leads to the catalogue. Without the sweep, an index of a design means nothing.
      expect(records[0]).toMatchObject({ sourceRunId: null, designIndex: null, deviceId: DEVICE_ID });
      expect((await detailOf(runId)).request.sourceRunId).toBeNull();
    }
    const moved = JSON.parse(JSON.stringify(plan).replace(/"blockThreads":\d+/, '"blockThreads":33')) as PlanLine;
    expect((await importResults(resultsOf(moved))).warnings).toEqual([another]);
  });

  it('of a suite is refused for a run, since its cases are not designs', async () => {
    const { source, ...suite } = await bundledPlan();
    expect(source).not.toBeNull();
    const bytes = encode(resultsOf({ ...suite, source: null }));
    const refused = await bench.engine.call('import.file', { fileName: 'results.jsonl', bytes, runId: sweepId });
    const message = `The cases are not designs of a sweep. Import the file without run ${sweepId}.`;
    expect(refused).toFail('bad-input', `results.jsonl: ${message}`);
  });

  it('keeps the measurements before it stopped, and the reasons of failures', async () => {
    const plan = await bundledPlan();
    const lines = resultsOf(plan).split('\n');
    const failed = JSON.stringify({ type: 'failed', case: plan.plan.cases[1].id, message: 'launch failed' });
    const text = [...lines.slice(0, 8), failed, lines[2].slice(0, 20)].join('\n');
    const { runId, ...imported } = await importResults(text, { deviceName: 'Some other GPU' });
    expect(imported).toMatchObject({ cases: 2, failed: 1 });
    expect(imported.warnings).toEqual([
      'Line 10 is cut off and was left out.',
      'The measurement was interrupted: the file has 2 of 4 cases.',
      'The file says that it was measured on NVIDIA GeForce RTX 4090, so "Some other GPU" was ignored.',
    ]);
    expect(unwrap(await bench.engine.context.store.getRun(runId))).toMatchObject({ validCount: 1, invalidCount: 1 });
    expect((await detailOf(runId)).cases.map((one) => one.failure)).toEqual([null, 'launch failed']);
  });

  it('cannot be resumed, stays as it ended, and leaves nothing behind if it is refused', async () => {
    const { store } = bench.engine.context;
    const run = unwrap(await store.createRun({ ...sampleDraft(), kind: 'import', enumeratedCount: 2, axes: null }));
    const failure = { code: 'storage' as const, message: 'the disk is full' };
    unwrap(await store.finishRun(run.id, { state: 'failed', elapsedMs: 1, failure }));
    expect(await bench.engine.call('runs.resume', { id: run.id })).toFail('unsupported', /import its file again/i);
    expect(unwrap(await store.getRun(run.id))).toMatchObject({ state: 'failed', failure });
    unwrap(await store.deleteRuns([run.id]));
    const before = await runCount();
    const plan = await bundledPlan();
    const another = JSON.stringify({ ...DEVICE, fingerprint: 'another' });
    for (const text of [`${JSON.stringify(plan)}\n`, `${resultsOf(plan)}${another}\n`]) {
      const refused = await bench.engine.call('import.file', { fileName: 'results.jsonl', bytes: encode(text) });
      expect(refused.ok).toBe(false);
    }
    expect(await runCount()).toBe(before);
  });
});

it("Kernel Tuner's files become measured configurations of the device that they, the user or their name give", async () => {
  const [cache, t4] = ['convolution-A100.json.gz', 'convolution-A100_T4.json.gz'];
  const importNamed = (name: string, more?: object) => importFile(name, dataFile(`data/kernel-tuner/${name}`), more);
  const imported = await importNamed(cache);
  expect(imported).toMatchObject({ kind: 'kernel-tuner-cache', cases: 245, failed: 5, warnings: [] });
  const [record] = await measurementsOf(imported.runId);
  const unlinked = { sourceRunId: null, designIndex: null, predictedMs: null };
  // The name in the file leads to this id in the catalogue.
  const of = { deviceId: 'nvidia-a100-pcie-40gb', backend: 'external' };
  expect(record).toMatchObject({ ...of, design: { block_size_x: 16, filter_width: 15 }, ...unlinked });
  expect(await detailOf(imported.runId)).toMatchObject({
    device: { name: 'NVIDIA A100-PCIE-40GB' },
    request: { backend: 'external', suite: 'external', repeats: 32 },
    cases: { 0: { label: /^convolution_kernel block_size_x=16 block_size_y=1 / } },
  });

  const named = await importNamed(t4, { deviceName: 'NVIDIA A100' });
  expect(named).toMatchObject({ kind: 'kernel-tuner-t4', cases: 245, failed: 5, warnings: [] });
  expect((await detailOf(named.runId)).device!.name).toBe('NVIDIA A100');
  const guessed = await importNamed(t4);
  expect(guessed.warnings).toEqual(['The file names no device, so "A100" was taken from the name of the file.']);
  expect((await detailOf(guessed.runId)).device!.name).toBe('A100');
});

it('loops and published losses become separate cases', async () => {
  const loops = await importFile('spmv-times-ms.csv', dataFile('data/loops/spmv-times-ms.csv'));
  expect(loops).toMatchObject({ kind: 'loops', cases: 15, failed: 1 });
  expect(loops.warnings).toEqual(['The file does not name the device of the measurements.']);
  expect((await detailOf(loops.runId)).device).toBeNull();
  const deviceName = 'NVIDIA A100';
  const smite = await importFile('measured-means.csv', dataFile('data/smite/measured-means.csv'), { deviceName });
  expect(smite).toMatchObject({ kind: 'smite', cases: 18, failed: 0, warnings: [] });
  expect((await detailOf(smite.runId)).request.suite).toBe('matrix-power');
});

const kindOf = (text: string) => {
  const found = fileKind(encode(text));
  return 'message' in found ? found.message : found.kind === 'measurements' ? found.importer.id : found.kind;
};
it.each([
  ['', /is empty/],
  ['\ufeff  {"type":"plan"}', /^results$/],
  ['{"cache":{}}', /^kernel-tuner$/],
  ['{"tune_params_keys":["a"],"cache":{"1":', /^kernel-tuner$/],
  [JSON.stringify(smallStudy()), /^study$/],
  ['{"kind":"cpu","id":"x","sources":{}}', /^device$/],
  ['{"lockstep":"0.1.0","study":{},"rows":[]}', /exported ranking/],
  ['{"a":1}', /format of the JSON file is not known/],
  ['%%MatrixMarket matrix coordinate real general\n', /matrix is a workload/],
  ['n,p\n1,0.5\n', /engths of units are a workload/],
  ['group,simulated_simt_iterations,simulated_mimd_iterations,measured_simt_cycles\n', /osts of work groups/],
  ['"dataset",rows,cols,nnzs,merge_path\r\n', /^loops$/],
  ['design,time_ms\n1,2\n', /^times$/],
  ['"block_threads";grid_blocks;runtime_us\r\n', /^times$/],
  ['device;loop;Time [ms]\r\n', /^The file has times \(Time \[ms\]\), .*--map "device=threads_per_unit"/],
  ['\0\u0001', /format is not known/],
])('the kind of the file %j', (text, expected) => expect(kindOf(text)).toMatch(expected));

describe('the command line', () => {
  const folder = testFolder();
  const database = join(folder, 'test.db');
  shareEngine(() => database);
  const run = (...args: readonly string[]): Promise<Outcome> => lockstep('import', ...args, '--db', database);
  const path = (name: string): string => join(import.meta.dirname, '..', name);

  it('prints the result of an import, also of a study and a device', async () => {
    const file = path('data/kernel-tuner/convolution-MI250X.json.gz');
    const imported = documentOf<ImportedFile>(await run(file, '--device', 'AMD Instinct MI250X', '--json'));
    const unclosed = /lacks its closing brackets, as the cache of a stopped run does. It has 146 configurations/;
    const warnings = [expect.stringMatching(unclosed) as string];
    expect(imported).toEqual({ runId: 1, kind: 'kernel-tuner-cache', cases: 146, failed: 0, warnings });
    const { out } = await run(path('data/kernel-tuner/convolution-A100.json.gz'));
    expect(out).toMatch(/^Run 2: 245 cases, 5 of them failed, imported in [\d.]+ s\.\n/);
    expect(out).toMatch(/\nFastest: [\d.]+\s(ms|µs), convolution_kernel /);
    const study = await run(path('../db/examples/acts.json'), '--json');
    expect(JSON.parse(study.out)).toEqual({ kind: 'study', studyId: 1, name: 'Acts propagation' });
    const device = join(folder, 'device.json');
    writeFileSync(device, JSON.stringify({ ...cpu('amd-epyc-7302p'), id: 'own-cpu', name: 'Own' }));
    const added = { kind: 'device', deviceId: 'own-cpu', name: 'Own', replaced: false };
    expect(JSON.parse((await run(device, '--json')).out)).toEqual(added);
  });

  it('names the file of an invalid device, and refuses an unknown file in one line with the known formats', async () => {
    const half = join(folder, 'half.json');
    writeFileSync(half, JSON.stringify({ kind: 'gpu', id: 'half', sources: {} }));
    for (const [file, err] of [
      [half, /^lockstep: .*half\.json: name: is missing\n$/],
      [path('../package.json'), /^lockstep: package\.json: .*a result file .*Kernel Tuner.*loops.*SMITE.*\n$/],
      [join(folder, 'missing.json'), /cannot be read \(no such file or folder, ENOENT\)\. Specify a file\.\n$/],
    ] as const)
      expect(await run(file, '--json')).toMatchObject({ status: 1, out: '', err });
  });
});
