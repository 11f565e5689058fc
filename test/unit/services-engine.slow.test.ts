import { globSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { Context } from '../../src-main/services/context.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import type { Pool } from '../../src-main/services/pool.ts';
import { packLengths, unpackLengths } from '../../src-main/services/studies/workloads.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { prepareStudy, startSweep } from '../../src-main/services/sweeps/sweeps.ts';
import { unwrap, type FailureCode } from '../../src-workers/domain/result.ts';
import { countLengths } from '../../src-workers/models/workload/generated.ts';
import { makeGivenLengths, makeUnitLaw, repeatUnits } from '../../src-workers/predict/ordered.ts';
import { smallStudy, wideStudy as wide } from './export-runs.ts';
import { call, ended, heard, progressed } from './engine-calls.ts';
import { sweep, useBench, useEngines } from '../workplace.ts';
import { encode } from '../data.ts';

const { engineOn, temporaryFile } = useEngines();

const columns = async (engine: Engine, runId: number) => unwrap(await engine.context.store.loadRunColumns(runId));

describe('a sweep', () => {
  it('and its simulation give the same results bit by bit with one worker and with two', async () => {
    const [one, two] = [await engineOn(), await engineOn(undefined, { workers: 2 })];
    const study = { ...wide, workload: { ...wide.workload, units: 20_000 } };
    const [a, b] = [await sweep(one, study), await sweep(two, study)];
    expect(a.state).toBe('complete');
    expect(b.bestDesign).toBe(a.bestDesign);
    expect(await columns(two, b.id)).toEqual(await columns(one, a.id));
    const simulated = async (engine: Engine, runId: number) => {
      await ended(engine, 'simulations.start', { runId, top: 4, maxReplications: 5 });
      return call(engine, 'simulations.list', { runId });
    };
    const rows = await simulated(one, a.id);
    expect(rows).toHaveLength(4);
    expect(await simulated(two, b.id)).toEqual(rows);
  });

  it('keeps its saved designs if it is cancelled, and resumes to the result of an uninterrupted one', async () => {
    const engine = await engineOn();
    const { id } = await call(engine, 'studies.save', { study: wide });
    const saving = progressed(engine);
    const { runId } = await call(engine, 'runs.start', { studyId: id });
    await saving;
    await call(engine, 'runs.cancel', { id: runId });
    const cancelled = await call(engine, 'runs.get', { id: runId });
    expect(cancelled.state).toBe('cancelled');
    const saved = unwrap(await engine.context.store.listChunks(runId)).reduce((sum, chunk) => sum + chunk.count, 0);
    expect(saved).toBeBetween(0, cancelled.enumerated);
    expect(cancelled.valid + cancelled.invalid).toBe(saved);
    // Designs that have not been predicted do not count as invalid.
    const { invalid, partial } = await call(engine, 'ranking.best', { runId });
    expect(invalid.reduce((sum, { count }) => sum + count, 0)).toBe(cancelled.invalid);
    const missing = `Run ${runId} has predicted ${saved.toLocaleString('en')} of ${cancelled.enumerated.toLocaleString('en')} designs; others may be faster.`;
    expect(partial).toContain(missing);
    expect((await call(engine, 'export.render', { runId, format: 'cuda' })).text).toContain(missing);

    const resumed = await ended(engine, 'runs.resume', { id: runId });
    expect(resumed.state).toBe('complete');
    expect(resumed.valid + resumed.invalid).toBe(resumed.enumerated);
    expect(resumed.elapsedMs).toBeGreaterThan(cancelled.elapsedMs);
    const whole = await sweep(engine, wide);
    expect(resumed).toMatchObject({ bestDesign: whole.bestDesign, bestTimeMs: whole.bestTimeMs });
    expect((await call(engine, 'ranking.best', { runId })).partial).toBeNull();
    expect(await columns(engine, runId)).toEqual(await columns(engine, whole.id));
    for (const name of ['runs.cancel', 'runs.resume'] as const)
      expect(await engine.call(name, { id: runId })).toFail('conflict');
  });

  /** Starts a sweep with a pool whose tasks fail according to `failures`. */
  async function withPool(engine: Engine, failures: (attempt: number, first: number) => boolean) {
    const attempts = new Map<number, number>();
    const run: Pool['run'] = (name, input, options) => {
      if (name === 'predict') {
        const { first } = (input as { ranges: { first: number }[] }).ranges[0];
        const attempt = (attempts.get(first) ?? 0) + 1;
        attempts.set(first, attempt);
        if (failures(attempt, first)) return Promise.reject(new Error('the worker ran out of memory'));
      }
      return engine.context.pool.run(name, input, options);
    };
    const pool: Pool = { ...engine.context.pool, run };
    const context: Context = { ...engine.context, pool };
    const { study } = await call(engine, 'studies.save', { study: wide });
    const located = { study, baseFolder: null, example: false };
    const handle = unwrap(await startSweep(context, located, unwrap(await prepareStudy(context, located)), null));
    return { runId: handle.runId, result: await handle.finished, attempts };
  }

  it('answers other calls while it prepares and saves millions of lengths in their order', async () => {
    const { context } = await engineOn();
    const workload = { units: 2 ** 21 + 5, lengths: 'example:mandelbrot(2048,1024,20)' };
    const study = unwrap(parseStudy(JSON.stringify(smallStudy({ workload }))));
    const located = { study, baseFolder: null, example: false };
    const { order, plan } = unwrap(await prepareStudy(context, located));
    expect(plan.ordered!.iterations).toBe(order!.iterations); // A worker has put these lengths into shared memory.
    expect(order!.iterations.buffer).toBeInstanceOf(SharedArrayBuffer);
    const counted = countLengths(repeatUnits(order!.iterations, workload.units));
    expect(plan.law.support).toEqual(Float64Array.from(counted.keys()).sort());
    const alone = makeUnitLaw(plan.law.label, makeGivenLengths(order!.iterations.slice()), workload.units);
    expect(plan.law.probability).toEqual(alone.probability);

    let turns = 0;
    let packed = false;
    const turn = (): void => void (packed || ((turns += 1), setImmediate(turn)));
    setImmediate(turn);
    const text = await packLengths(order!).finally(() => (packed = true));
    expect(turns).toBeGreaterThanOrEqual(2); // Each step of packing has 2²⁰ lengths.
    const read = await unpackLengths({ order: text });
    expect(read!.iterations.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(read!.iterations).toEqual(order!.iterations);
  });

  it('repeats a failed task once', async () => {
    const { result, attempts } = await withPool(await engineOn(), (attempt) => attempt === 1);
    expect(result).toMatchObject({ ok: true, value: { state: 'complete' } });
    expect(new Set(attempts.values())).toEqual(new Set([2]));
  });

  it('fails with the designs of a task that failed twice, and keeps the rest', async () => {
    const engine = await engineOn();
    let broken = -1;
    const { runId, result, attempts } = await withPool(engine, (_, first) => {
      if (first > 0 && broken < 0) broken = first;
      return first === broken;
    });
    expect(result.ok).toBe(false);
    if (result.ok) return;
    expect(result.error.message).toMatch(new RegExp(`^designs ${broken} to \\d+, .*: the worker ran out of memory$`));
    expect(attempts.get(broken)).toBe(2);
    const run = await call(engine, 'runs.get', { id: runId });
    expect(run).toMatchObject({ state: 'failed', error: result.error.message });
    expect((await ended(engine, 'runs.resume', { id: runId })).state).toBe('complete');
  });
});

it('two engines on one database see each other, and only the owner of a run can change it', async () => {
  const file = temporaryFile();
  const [first, second] = [await engineOn(file), await engineOn(file)];
  const changed = heard(second, 'store.changed');
  const { id } = await call(first, 'studies.save', { study: wide });
  await changed;
  const { runId } = await call(first, 'runs.start', { studyId: id });
  expect(await second.call('runs.resume', { id: runId })).toFail('conflict');
  expect(await second.call('runs.cancel', { id: runId })).toFail('conflict');
  await call(first, 'runs.cancel', { id: runId });
  const other = await sweep(second, smallStudy());
  expect((await call(first, 'runs.get', { id: other.id })).state).toBe('complete');
});

describe('the boundary', () => {
  const { engine } = useBench();

  it('refuses a setting that JSON cannot express', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const refusal = /must be JSON of at most 100000 characters/;
    for (const value of [cycle, 1n, 'x'.repeat(100_001), JSON.parse('[{"__proto__":1}]') as unknown])
      expect(await engine.dispatch('settings.set', { key: 'k', value })).toFail('bad-input', refusal);
  });

  it.each<[string, unknown, FailureCode, RegExp?]>([
    ['nothing.there', {}, 'not-found', /"nothing\.there"/],
    ['toString', {}, 'not-found'],
    ['__proto__', {}, 'not-found'],
    ['runs.get', { id: 'x' }, 'bad-input', /^runs\.get: id .*"x"/],
    ['runs.get', { id: 1, more: 2 }, 'bad-input', /more is not a known field/],
    ['runs.get', { id: 77 }, 'not-found', /77/],
    ['runs.get', null, 'bad-input', /^runs\.get: id is missing/],
    ['ranking.page', { runId: 5 }, 'not-found'],
    ['studies.import', { text: '{"lockstep": 1,\n "name": }' }, 'bad-input', /^study, line 2/],
    ['models.reproduce', { paper: 'nobody' }, 'bad-input', /swatman.*"nobody"/],
    ['devices.delete', { id: 'nvidia-a100-sxm4-40gb' }, 'conflict'],
  ])('answers %s of %j with a failure that explains what is wrong', async (name, input, code, message) =>
    expect(await engine.dispatch(name, input)).toFail(code, message),
  );

  it('reads files and examples in the pool, so that other calls get answers meanwhile', async () => {
    const tasks = vi.spyOn(engine.context.pool, 'run');
    const file = { fileName: 'a.csv', bytes: encode('length\n1\n2\n2\n') };
    await call(engine, 'workload.inspect', file);
    const { lengths } = await call(engine, 'workload.upload', file);
    const example = 'mixture(0.5*geometric(0.5),0.5*example:collatz(100))';
    for (const text of [lengths, example, 'geometric(0.05)'])
      await call(engine, 'workload.resolve', { workload: { lengths: text, units: 3 } });
    expect(tasks.mock.calls.map(([task]) => task)).toEqual(['tableOfFile', 'lengthFile', 'workload']);
    tasks.mockRestore();
  });

  it('makes a study of the eight SpMV kernels for a matrix, with its rows and a vector as long as its columns', async () => {
    const upload = async (fileName: string, text: string) =>
      (await call(engine, 'workload.upload', { fileName, bytes: encode(text) })).lengths;
    const matrix = '%%MatrixMarket matrix coordinate pattern general\n3 500 3\n1 1\n1 2\n2 2\n';
    const lengths = await upload('wide.mtx', matrix);
    const { study, example } = await call(engine, 'studies.spmv', { lengths });
    expect([study.name, example, study.workload]).toEqual(['SpMV of wide', false, { lengths, units: 3 }]);
    expect(study.implementations).toHaveLength(8);
    expect(JSON.stringify(study)).not.toMatch(/ca-GrQc|41936/);
    const kernels = [study.kernel, ...study.implementations!.map(({ kernel }) => kernel)];
    const vectors = kernels.flatMap(({ accesses }) => accesses ?? []).filter(({ pattern }) => pattern === 'scattered');
    expect(new Set(vectors.map(({ footprintBytes }) => footprintBytes))).toEqual(new Set([500 * 8]));
    expect(vectors.length).toBeGreaterThan(2);
    for (const other of [await upload('a.csv', '1\n2\n'), 'geometric(0.05)'])
      expect(await engine.call('studies.spmv', { lengths: other })).toFail('bad-input');
  });

  it('a database of a host with a window gets each example once, even if a start was ended, and none that was deleted', async () => {
    const file = temporaryFile();
    type Studies = readonly { readonly id: number; readonly name: string }[];
    /** Opens a host, does something, and returns the names of the studies that it had when it was opened. */
    const opened = async (body: (host: Engine, studies: Studies) => Promise<void>): Promise<readonly string[]> => {
      const host = await engineOn(file, { host: 'serve' });
      const studies = await call(host, 'studies.list', {});
      await body(host, studies);
      await host.close();
      return studies.map(({ name }) => name);
    };
    const remove = async (host: Engine, studies: Studies): Promise<void> => {
      for (const { id } of studies) await call(host, 'studies.delete', { id });
    };
    const forget = async (host: Engine, key: string): Promise<void> =>
      void unwrap(await host.context.store.saveSetting(key, null));

    // As after an interrupted first start, two examples are missing, and so is the record that all were added.
    const all = await opened(async (host, studies) => {
      await remove(host, studies.slice(0, 2));
      await forget(host, 'examples.version');
    });
    expect([all[0], all.length]).toEqual(['Acts propagation', globSync('db/examples/*.json').length]);
    expect(await opened((host) => forget(host, 'examples.version'))).toEqual(all);
    // Older databases do not record which examples they have received. One of these two is newer than such a database.
    const newer = ['SpMV implementations', 'Collatz stopping times'];
    const whole = await opened(async (host, studies) => {
      const known = studies.filter(({ name }) => newer.includes(name));
      await remove(host, known);
      await forget(host, 'examples.offered');
    });
    expect(whole).toEqual(all);
    const older = await opened((host, studies) => remove(host, studies.slice(0, 1)));
    expect([older[0], older.length]).toEqual([newer[0], all.length - 1]);
    expect(await opened(async () => {})).toEqual(older.slice(1));
  });
});
