import Database from 'better-sqlite3';
import { describe, expect } from 'vitest';

import { openStore } from '../../db/store.ts';
import type { Store } from '../../db/store-api.ts';
import type { AxisValue, MeasurementRecord, SimulationRecord } from '../../db/records.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { AXIS_ORDER } from '../../src-workers/domain/space.ts';
import { MIGRATIONS, SAMPLE_AXES, sampleBest, sampleChunk, sampleDraft } from './sample.ts';
import { it as itInFolder } from './folder.ts';

const storeIn = (folder: string, more: object = {}) =>
  unwrap(openStore({ file: `${folder}/lockstep.db`, migrationsFolder: MIGRATIONS, ...more }));
const it = itInFolder.extend<{ store: Store }>({
  store: async ({ folder }, use) => {
    const open = storeIn(folder);
    await use(open.store);
    open.close();
  },
});
const DONE = { state: 'complete', elapsedMs: 1 } as const;
const CANCELLED = { state: 'cancelled', elapsedMs: 1 } as const;
const withoutDesigns = (kind: 'sweep' | 'simulate' | 'bench') => {
  return { ...sampleDraft(), axes: null, enumeratedCount: 0, kind };
};

describe('runs', () => {
  it('keeps everything that a run was started with', ({ store }) => {
    const study = unwrap(store.createStudy({ name: 's', spec: { a: [1, null, 'x'] } }));
    const draft = { ...sampleDraft(), studyId: study.id };
    const run = unwrap(store.createRun(draft));
    expect(run).toEqual({ ...run, ...draft, state: 'running' });
  });

  it('keeps only the best designs of a run that asks for these, and completes it when they are saved', ({ store }) => {
    const { id } = unwrap(store.createRun({ ...sampleDraft(), bestWanted: 3 }));
    const best = sampleBest();
    expect(unwrap(store.getRun(id)).kept).toEqual({ wanted: 3, predicted: null, picked: null });
    expect(store.finishRun(id, DONE)).toFail('conflict');
    expect(store.savePredictionChunk(id, sampleChunk(0, 10))).toFail('conflict');
    const reversed = { designs: best.designs.toReversed() };
    const invalidReason = Uint8Array.of(0, 99, 0);
    for (const wrong of [reversed, { predicted: 2 }, { timeMs: best.timeMs.slice(1) }, { invalidReason }])
      expect(store.saveBestDesigns(id, { ...best, ...wrong })).toFail('bad-input');
    // The best designs are saved again, as after a kill and a resumed run. The later values replace the earlier ones.
    for (let time = 0; time < 2; time += 1) unwrap(store.saveBestDesigns(id, best));
    const { predicted, picked, ...columns } = best;
    expect(unwrap(store.loadRunColumns(id))).toEqual({ ...columns, count: 3 });
    const run = unwrap(store.finishRun(id, DONE));
    expect(run).toMatchObject({ validCount: 3, invalidCount: 0, kept: { wanted: 3, predicted, picked } });
    const { id: fewer } = unwrap(store.createRun({ ...sampleDraft(), bestWanted: 2 }));
    expect(store.saveBestDesigns(fewer, best)).toFail('conflict', /can keep 2 best designs.* these 3, 3 are valid/);
  });

  it('counts the saved designs, and completes a run only when none is missing', ({ store }) => {
    const run = unwrap(store.createRun(sampleDraft()));
    unwrap(store.savePredictionChunk(run.id, sampleChunk(0, 100)));
    expect(store.finishRun(run.id, DONE)).toFail('conflict');
    expect(store.savePredictionChunk(run.id, sampleChunk(99, 10))).toFail('conflict');
    expect(store.savePredictionChunk(run.id, sampleChunk(run.enumeratedCount - 5, 6))).toFail('bad-input');
    unwrap(store.savePredictionChunk(run.id, sampleChunk(100, run.enumeratedCount - 100)));
    const done = unwrap(store.finishRun(run.id, { state: 'complete', elapsedMs: 7 }));
    const { invalidReason } = sampleChunk(0, run.enumeratedCount);
    const invalidCount = invalidReason.filter((reason) => reason !== 0).length;
    const counts = { validCount: run.enumeratedCount - invalidCount, invalidCount };
    expect(done).toMatchObject({ state: 'complete', elapsedMs: 7, ...counts });
    expect(store.savePredictionChunk(run.id, sampleChunk(0, 1))).toFail('conflict');
  });

  it('refuses chunks that contradict themselves, and saves no part of them', ({ store }) => {
    const run = unwrap(store.createRun(sampleDraft()));
    const good = sampleChunk(0, 8);
    const { timeMs, invalidReason, gridBlocks } = good;
    // Design 3 is invalid.
    const wrongTimes = [timeMs.with(3, 5), timeMs.with(0, NaN), timeMs.with(0, Infinity), timeMs.subarray(1)];
    for (const wrong of [
      ...wrongTimes.map((times) => ({ timeMs: times })),
      { invalidReason: invalidReason.with(3, 200) },
      { gridBlocks: gridBlocks.with(0, 1.5) },
      { firstDesign: -1 },
    ])
      expect(store.savePredictionChunk(run.id, { ...good, ...wrong })).toFail('bad-input');
    const untimed = store.savePredictionChunk(run.id, { ...good, timeMs: timeMs.with(0, NaN) });
    expect(untimed).toFail('bad-input', 'Design 0 is valid, so it must have a finite time ≥ 0, not NaN ms.');
    expect(unwrap(store.listChunks(run.id))).toEqual([]);
    unwrap(store.savePredictionChunk(run.id, good));
  });

  it('refuses drafts whose axes do not span the designs or name unknown devices', ({ store }) => {
    const draft = sampleDraft();
    expect(store.createRun({ ...draft, enumeratedCount: 7 })).toFail('bad-input');
    expect(store.createRun({ ...draft, devices: draft.devices.slice(1) })).toFail('bad-input');
    expect(store.createRun({ ...draft, studyId: 99 })).toFail('not-found');
    expect(unwrap(store.listRuns({})).total).toBe(0);
  });

  it('lists the newest runs first, and selects them by study and kind', ({ store }) => {
    const study = unwrap(store.createStudy({ name: 's', spec: {} }));
    const [id] = ['beta', 'Alpha', 'gamma_1', 'gammaX1'].map((name, i) => {
      const draft = withoutDesigns(i === 3 ? 'bench' : 'sweep');
      return unwrap(store.createRun({ ...draft, name, studyId: i < 2 ? study.id : null })).id;
    });
    const list = (query: Parameters<Store['listRuns']>[0]) =>
      unwrap(store.listRuns(query)).rows.map(({ name }) => name);
    expect(list({})).toEqual(['gammaX1', 'gamma_1', 'Alpha', 'beta']);
    expect(list({ studyId: study.id })).toEqual(['Alpha', 'beta']);
    expect(list({ kind: 'bench' })).toEqual(['gammaX1']);
    expect(unwrap(store.listRuns({ limit: 1 }))).toMatchObject({ total: 4, rows: [{ name: 'gammaX1' }] });
    expect(store.listRuns({ limit: 0 })).toFail('bad-input');
    unwrap(store.tagRun(id, ['b', 'a', 'b']));
    unwrap(store.renameRun(id, 'new'));
    expect(unwrap(store.noteRun(id, 'why'))).toMatchObject({ name: 'new', note: 'why', tags: ['a', 'b'] });
  });

  it('deletes runs so that they can be restored, and removes them for good only when purged', ({ store }) => {
    const run = unwrap(store.createRun(sampleDraft()));
    unwrap(store.savePredictionChunk(run.id, sampleChunk(0, run.enumeratedCount)));
    const cancel = 'Cancel it first: with Ctrl+C in the terminal of its command, or with Cancel in the app.';
    expect(store.deleteRuns([run.id])).toFail('conflict', `Run ${run.id} is running. ${cancel}`);
    unwrap(store.finishRun(run.id, DONE));
    expect(store.deleteRuns([run.id, 999])).toFail('not-found');
    expect(unwrap(store.listRuns({})).total).toBe(1);
    expect(unwrap(store.listRuns({ deleted: true })).total).toBe(0);
    unwrap(store.deleteRuns([run.id]));
    expect(unwrap(store.listRuns({})).total).toBe(0);
    expect(unwrap(store.listRuns({ deleted: true })).rows).toMatchObject([{ id: run.id }]);
    expect(unwrap(store.purgeDeleted('2000-01-01T00:00:00.000Z'))).toEqual({ runs: 0, studies: 0 });
    expect(unwrap(store.diskUse()).bin).toMatchObject({ runs: 1, studies: 0 });
    unwrap(store.restoreRuns([run.id]));
    expect(store.restoreRuns([run.id])).toFail(null, `Run ${run.id} is not in the bin.`);
    expect(unwrap(store.loadRunColumns(run.id)).timeMs).toEqual(sampleChunk(0, run.enumeratedCount).timeMs);
    unwrap(store.deleteRuns([run.id]));
    expect(unwrap(store.purgeDeleted())).toEqual({ runs: 1, studies: 0 });
    expect(unwrap(store.diskUse()).bin).toEqual({ runs: 0, studies: 0, bytes: 0 });
    expect(store.getRun(run.id)).toFail('not-found');
    expect(unwrap(store.diskUse()).runs).toEqual([]);
    // A new run never gets the id of a purged run, because links to the purged run must not show another one.
    expect(unwrap(store.createRun(sampleDraft())).id).toBeGreaterThan(run.id);
    unwrap(store.vacuum());
    expect(unwrap(store.checkIntegrity())).toEqual([]);
  });

  it('keeps the reason why a run failed', ({ store }) => {
    const { id } = unwrap(store.createRun(sampleDraft()));
    const failure = { code: 'unsupported', message: 'no model', context: { designIndex: 3 } } as const;
    expect(store.finishRun(id, { state: 'failed', elapsedMs: 1 })).toFail('bad-input');
    expect(unwrap(store.finishRun(id, { state: 'failed', elapsedMs: 1, failure })).failure).toEqual(failure);
    expect(unwrap(store.resumeRun(id))).toMatchObject({ state: 'running', failure: null });
  });
});

it('a second store on the file leaves the runs of a live store alone, and takes over those of a dead one', ({
  folder,
}) => {
  const first = storeIn(folder);
  const { id } = unwrap(first.store.createRun(sampleDraft()));
  unwrap(first.store.savePredictionChunk(id, sampleChunk(0, 50)));
  const second = storeIn(folder);
  expect(unwrap(second.store.getRun(id)).state).toBe('running');
  expect(second.store.savePredictionChunk(id, sampleChunk(50, 50))).toFail('conflict');
  expect(second.store.resumeRun(id)).toFail('conflict');
  const before = second.dataVersion();
  first.close();
  expect(second.dataVersion()).not.toBe(before);
  expect(unwrap(second.store.getRun(id)).state).toBe('interrupted');
  unwrap(second.store.resumeRun(id));
  expect(unwrap(second.store.listChunks(id))).toEqual([{ firstDesign: 0, count: 50 }]);
  unwrap(second.store.savePredictionChunk(id, sampleChunk(50, 50)));
  second.close();
});

it('a store without runs closes while another process writes', ({ folder }) => {
  const { close } = storeIn(folder, { busyTimeoutMs: 2000 });
  const writer = new Database(`${folder}/lockstep.db`);
  writer.exec('BEGIN IMMEDIATE');
  const started = performance.now();
  close();
  expect(performance.now() - started).toBeLessThan(1900);
  writer.close();
});

describe('results of simulations and measurements', () => {
  const design = { designIndex: 17, deviceId: 'fast', design: { blockThreads: 64 } };
  const reference = { ...design, predictedMs: 1.25, sourceRunId: null };
  const times = { meanMs: 2, standardDeviationMs: 1, minMs: 1, medianMs: 2, maxMs: 3, timesMs: [1, 2, 3] };
  const simulation: SimulationRecord = { ...reference, ...times, detail: { events: 5 } };
  const right = { backend: 'cpu', correct: true, failure: null } as const;
  const measured = { timesMs: [0.1 + 0.2, 1e-9], detail: { clockMhz: 1410 } };
  const measurement: MeasurementRecord = { ...reference, ...right, ...measured };

  it('returns results as they were saved, with every repeat', ({ store }) => {
    const { id } = unwrap(store.createRun(withoutDesigns('bench')));
    const failed = { ...measurement, timesMs: [], correct: null, failure: 'too many registers' };
    for (let time = 0; time < 2; time += 1) unwrap(store.saveSimulations(id, [simulation]));
    unwrap(store.saveMeasurements(id, [measurement, failed]));
    expect(unwrap(store.listSimulations(id))).toEqual([simulation, simulation]);
    expect(unwrap(store.listMeasurements(id))).toEqual([measurement, failed]);
    expect(store.saveMeasurements(id, [measurement, { ...measurement, timesMs: [NaN] }])).toFail('bad-input');
    expect(unwrap(store.listMeasurements(id))).toHaveLength(2);
    expect(unwrap(store.getRun(id))).toMatchObject({ validCount: 1, invalidCount: 1 });
  });

  it('accepts the measuring device of a run once', ({ store }) => {
    const { id, measuringDevice } = unwrap(store.createRun({ ...sampleDraft(), kind: 'bench' }));
    expect(measuringDevice).toBeNull();
    unwrap(store.saveMeasuringDevice(id, { name: 'gpu' }));
    expect(store.saveMeasuringDevice(id, { name: 'other' })).toFail('conflict');
    expect(unwrap(store.getRun(id)).measuringDevice).toEqual({ name: 'gpu' });
    unwrap(store.finishRun(id, CANCELLED));
    expect(store.saveMeasuringDevice(id, { name: 'gpu' })).toFail('conflict');
  });

  it('keeps results when the sweep that they came from is removed', ({ store }) => {
    const sweep = unwrap(store.createRun(sampleDraft()));
    unwrap(store.finishRun(sweep.id, CANCELLED));
    const { id } = unwrap(store.createRun(withoutDesigns('simulate')));
    const ofSweep = { sourceRunId: sweep.id };
    unwrap(store.saveSimulations(id, [{ ...simulation, ...ofSweep }]));
    unwrap(store.saveMeasurements(id, [measurement, { ...measurement, ...ofSweep }]));
    const listed = () => [unwrap(store.listSimulationsOf(sweep.id)), unwrap(store.listMeasurementsOf(sweep.id))];
    const both = [[{ ...simulation, ...ofSweep, runId: id }], [{ ...measurement, ...ofSweep, runId: id }]];
    expect(listed()).toEqual(both);
    unwrap(store.finishRun(id, DONE));
    unwrap(store.deleteRuns([id]));
    expect(listed()).toEqual([[], []]);
    unwrap(store.restoreRuns([id]));
    expect(listed()).toEqual(both);
    unwrap(store.deleteRuns([sweep.id]));
    unwrap(store.purgeDeleted());
    expect(unwrap(store.listSimulations(id))).toEqual([simulation]);
    expect(unwrap(store.listMeasurements(id))).toEqual([measurement, measurement]);
  });
});

it('returns studies, devices, workloads and settings as they were saved', ({ store }) => {
  const study = unwrap(store.createStudy({ name: 'a', spec: { x: 1 } }));
  const changed = { name: 'b', spec: [] };
  expect(unwrap(store.updateStudy(study.id, changed))).toMatchObject({ id: study.id, ...changed });
  unwrap(store.deleteStudy(study.id));
  expect(unwrap(store.listStudies())).toEqual([]);
  unwrap(store.restoreStudy(study.id));
  expect(unwrap(store.listStudies())).toHaveLength(1);
  expect(store.updateStudy(999, { name: 'b', spec: 1 })).toFail('not-found');
  expect(store.createStudy({ name: 'a', spec: undefined })).toFail('bad-input');

  const [device] = sampleDraft().devices;
  unwrap(store.saveDevice({ ...device, name: 'old' }));
  unwrap(store.saveDevice(device));
  expect(unwrap(store.listDevices())).toEqual([device]);
  unwrap(store.deleteDevice(device.id));
  expect(store.deleteDevice(device.id)).toFail('not-found');

  const law = { label: 'x', probability: Float64Array.of(0.1, 0.9), truncatedMass: 1e-7 };
  const record = { hash: 'h', provenance: { file: 'lengths.csv' } };
  expect(unwrap(store.getWorkload('h'))).toBeNull();
  unwrap(store.saveWorkload({ ...record, law: { ...law, support: Float64Array.of(9, 1, 2).subarray(1) } }));
  expect(unwrap(store.getWorkload('h'))).toEqual({ ...record, law: { ...law, support: Float64Array.of(1, 2) } });

  const [a, b, c] = ['gpu', 'other', 'gpu'].map((deviceId, at) =>
    unwrap(store.saveCalibration({ name: `fit ${at}`, deviceId, profile: { version: 1, at } })),
  );
  expect(unwrap(store.listCalibrations())).toEqual([c, b, a]);
  expect(unwrap(store.listCalibrations('gpu'))).toEqual([c, a]);
  unwrap(store.deleteCalibration(c.id));
  expect(store.deleteCalibration(c.id)).toFail('not-found');
  expect(unwrap(store.listCalibrations('gpu'))).toEqual([a]);
  expect(store.saveCalibration({ name: ' ', deviceId: 'gpu', profile: 1 })).toFail('bad-input');

  unwrap(store.saveSetting('__proto__', { a: 1 }));
  unwrap(store.saveSetting('theme', 'dark'));
  expect(Object.entries(unwrap(store.listSettings()))).toEqual([
    ['__proto__', { a: 1 }],
    ['theme', 'dark'],
  ]);
});

function decode(index: number): Record<string, AxisValue> {
  let rest = index;
  const values: Record<string, AxisValue> = {};
  for (const axis of AXIS_ORDER.toReversed()) {
    if (axis === 'implementation' || axis === 'blockWidth') continue;
    const { length } = SAMPLE_AXES[axis];
    // SQL columns have the names of the axes in snake case.
    values[axis.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = SAMPLE_AXES[axis][rest % length];
    rest = Math.floor(rest / length);
  }
  return values;
}

it('plain SQL shows designs and their ranking', ({ folder }) => {
  const open = storeIn(folder);
  // The second run reveals a view that ignores which run a row belongs to.
  for (let k = 0; k < 2; k++) {
    const run = unwrap(open.store.createRun(sampleDraft()));
    unwrap(open.store.savePredictionChunk(run.id, sampleChunk(0, run.enumeratedCount)));
    unwrap(open.store.finishRun(run.id, DONE));
  }
  open.close();

  const db = new Database(`${folder}/lockstep.db`, { readonly: true });
  const chunk = sampleChunk(0, sampleDraft().enumeratedCount);
  const designs = db.prepare('SELECT * FROM designs WHERE run_id = 2 ORDER BY design_index').all();
  const known = (value: number) => (Number.isNaN(value) ? null : value);
  const expected = Array.from({ length: chunk.count }, (_, i) => {
    const launch = { units_per_thread: known(chunk.unitsPerThread[i]), grid_blocks: known(chunk.gridBlocks[i]) };
    return { run_id: 2, design_index: i, ...decode(i), ...launch };
  });
  expect(designs).toEqual(expected);

  type Ranked = Readonly<Record<'rank' | 'design_index' | 'time_ms' | 'block_threads' | 'invalid_reason', unknown>>;
  const ranking = db.prepare<[], Ranked>('SELECT * FROM ranking WHERE run_id = 2').all();
  expect(ranking).toHaveLength(chunk.count);
  for (const row of ranking) {
    const design = Number(row.design_index);
    const time = chunk.timeMs[design];
    expect(row.block_threads).toBe(decode(design).block_threads);
    if (Number.isNaN(time)) {
      expect([row.rank, row.time_ms, row.invalid_reason]).toEqual([null, null, 'registers']);
    } else {
      expect(row.rank).toBe(1 + chunk.timeMs.filter((other) => other < time).length);
      expect([row.time_ms, row.invalid_reason]).toEqual([time, 'valid']);
    }
  }
  const best = db.prepare<[], Ranked>('SELECT * FROM ranking WHERE run_id = 2 AND rank <= 3 ORDER BY rank').all();
  expect(best[0].time_ms).toBe(Math.min(...chunk.timeMs.filter((time) => !Number.isNaN(time))));
  db.close();
});
