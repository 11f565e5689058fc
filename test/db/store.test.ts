import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';

import { openStore } from '../../db/store.ts';
import type { Store } from '../../db/store-api.ts';
import type { MeasurementRecord, RunSummary, SimulationRecord } from '../../db/records.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder, MIGRATIONS, sampleBest, sampleChunk, sampleDraft } from './sample.ts';

function withStore(body: (store: Store) => void): Promise<void> {
  return inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    try {
      body(open.store);
    } finally {
      open.close();
    }
  });
}

describe('runs', () => {
  it('keeps everything that a run was started with', () =>
    withStore((store) => {
      const study = unwrap(store.createStudy({ name: 's', spec: { a: [1, null, 'x'] } }));
      const draft = { ...sampleDraft(), studyId: study.id };
      const run = unwrap(store.createRun(draft));
      expect(run).toEqual({ ...run, ...draft, state: 'running' });
    }));

  it('keeps only the best designs of a run that asks for these, and completes it when they are saved', () =>
    withStore((store) => {
      const { id } = unwrap(store.createRun({ ...sampleDraft(), bestWanted: 3 }));
      const best = sampleBest();
      expect(unwrap(store.getRun(id)).kept).toEqual({ wanted: 3, predicted: null, picked: null });
      expect(store.finishRun(id, { state: 'complete', elapsedMs: 1 })).toFail('conflict');
      expect(store.savePredictionChunk(id, sampleChunk(0, 10))).toFail('conflict');
      const { designs } = best;
      for (const wrong of [
        { ...best, designs: designs.toReversed() },
        { ...best, predicted: 2 },
        { ...best, timeMs: best.timeMs.slice(1) },
        { ...best, invalidReason: Uint8Array.of(0, 99, 0) },
      ])
        expect(store.saveBestDesigns(id, wrong)).toFail('bad-input');
      // The best designs are saved again, as after a kill and a resumed run. The later values replace the earlier ones.
      for (let time = 0; time < 2; time += 1) unwrap(store.saveBestDesigns(id, best));
      const { predicted, picked, ...columns } = best;
      expect(unwrap(store.loadRunColumns(id))).toEqual({ ...columns, count: 3 });
      const run = unwrap(store.finishRun(id, { state: 'complete', elapsedMs: 1 }));
      expect(run).toMatchObject({ validCount: 3, invalidCount: 0, kept: { wanted: 3, predicted, picked } });
      const { id: fewer } = unwrap(store.createRun({ ...sampleDraft(), bestWanted: 2 }));
      expect(store.saveBestDesigns(fewer, best)).toFail('conflict');
    }));

  it('counts the saved designs, and completes a run only when none is missing', () =>
    withStore((store) => {
      const run = unwrap(store.createRun(sampleDraft()));
      unwrap(store.savePredictionChunk(run.id, sampleChunk(0, 100)));
      expect(store.finishRun(run.id, { state: 'complete', elapsedMs: 1 })).toFail('conflict');
      expect(store.savePredictionChunk(run.id, sampleChunk(99, 10))).toFail('conflict');
      expect(store.savePredictionChunk(run.id, sampleChunk(run.enumeratedCount - 5, 6))).toFail('bad-input');
      unwrap(store.savePredictionChunk(run.id, sampleChunk(100, run.enumeratedCount - 100)));
      const done = unwrap(store.finishRun(run.id, { state: 'complete', elapsedMs: 7 }));
      const { invalidReason } = sampleChunk(0, run.enumeratedCount);
      const invalidCount = invalidReason.filter((reason) => reason !== 0).length;
      const counts = { validCount: run.enumeratedCount - invalidCount, invalidCount };
      expect(done).toMatchObject({ state: 'complete', elapsedMs: 7, ...counts });
      expect(store.savePredictionChunk(run.id, sampleChunk(0, 1))).toFail('conflict');
    }));

  it('refuses chunks that contradict themselves, and saves no part of them', () =>
    withStore((store) => {
      const run = unwrap(store.createRun(sampleDraft()));
      const good = sampleChunk(0, 8);
      const wrong = [
        { ...good, timeMs: good.timeMs.with(3, 5) }, // Design 3 is invalid.
        { ...good, timeMs: good.timeMs.with(0, NaN) },
        { ...good, timeMs: good.timeMs.with(0, Infinity) },
        { ...good, timeMs: good.timeMs.subarray(1) },
        { ...good, invalidReason: good.invalidReason.with(3, 200) },
        { ...good, gridBlocks: good.gridBlocks.with(0, 1.5) },
        { ...good, firstDesign: -1 },
      ];
      for (const chunk of wrong) expect(store.savePredictionChunk(run.id, chunk)).toFail('bad-input');
      expect(unwrap(store.listChunks(run.id))).toEqual([]);
      unwrap(store.savePredictionChunk(run.id, good));
    }));

  it('refuses drafts whose axes do not span the designs or name unknown devices', () =>
    withStore((store) => {
      const draft = sampleDraft();
      expect(store.createRun({ ...draft, enumeratedCount: 7 })).toFail('bad-input');
      expect(store.createRun({ ...draft, devices: draft.devices.slice(1) })).toFail('bad-input');
      expect(store.createRun({ ...draft, studyId: 99 })).toFail('not-found');
      expect(unwrap(store.listRuns({})).total).toBe(0);
    }));

  it('lists the newest runs first, and selects them by study and kind', () =>
    withStore((store) => {
      const study = unwrap(store.createStudy({ name: 's', spec: {} }));
      const draft = { ...sampleDraft(), axes: null, enumeratedCount: 0 };
      const ids = ['beta', 'Alpha', 'gamma_1', 'gammaX1'].map((name, i) => {
        const kind = i === 3 ? ('bench' as const) : ('sweep' as const);
        return unwrap(store.createRun({ ...draft, name, kind, studyId: i < 2 ? study.id : null })).id;
      });
      for (const id of ids) unwrap(store.finishRun(id, { state: 'cancelled', elapsedMs: 0 }));
      unwrap(store.tagRun(ids[0], ['b', 'a', 'b']));
      const names = (rows: readonly RunSummary[]): string[] => rows.map((row) => row.name);
      const list = (query: Parameters<Store['listRuns']>[0]): string[] => names(unwrap(store.listRuns(query)).rows);
      expect(list({})).toEqual(['gammaX1', 'gamma_1', 'Alpha', 'beta']);
      expect(list({ studyId: study.id })).toEqual(['Alpha', 'beta']);
      expect(list({ kind: 'bench' })).toEqual(['gammaX1']);
      expect(unwrap(store.listRuns({ limit: 1 }))).toMatchObject({ total: 4, rows: [{ name: 'gammaX1' }] });
      expect(store.listRuns({ limit: 0 })).toFail('bad-input');
      expect(unwrap(store.getRun(ids[0])).tags).toEqual(['a', 'b']);
      expect(unwrap(store.renameRun(ids[0], 'new')).name).toBe('new');
      expect(unwrap(store.noteRun(ids[0], 'why')).note).toBe('why');
    }));

  it('deletes runs so that they can be restored, and removes them for good only when purged', () =>
    withStore((store) => {
      const run = unwrap(store.createRun(sampleDraft()));
      unwrap(store.savePredictionChunk(run.id, sampleChunk(0, run.enumeratedCount)));
      expect(store.deleteRuns([run.id])).toFail('conflict');
      unwrap(store.finishRun(run.id, { state: 'complete', elapsedMs: 1 }));
      expect(store.deleteRuns([run.id, 999])).toFail('not-found');
      expect(unwrap(store.listRuns({})).total).toBe(1);
      unwrap(store.deleteRuns([run.id]));
      expect(unwrap(store.listRuns({})).total).toBe(0);
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
    }));

  it('keeps the reason why a run failed', () =>
    withStore((store) => {
      const { id } = unwrap(store.createRun(sampleDraft()));
      const failure = { code: 'unsupported', message: 'no model', context: { designIndex: 3 } } as const;
      expect(store.finishRun(id, { state: 'failed', elapsedMs: 1 })).toFail('bad-input');
      expect(unwrap(store.finishRun(id, { state: 'failed', elapsedMs: 1, failure })).failure).toEqual(failure);
      expect(unwrap(store.resumeRun(id))).toMatchObject({ state: 'running', failure: null });
    }));
});

it('a second store on the file leaves the runs of a live store alone, and takes over those of a dead one', () =>
  inFolder((folder) => {
    const options = { file: `${folder}/lockstep.db`, migrationsFolder: MIGRATIONS };
    const first = unwrap(openStore(options));
    const { id } = unwrap(first.store.createRun(sampleDraft()));
    unwrap(first.store.savePredictionChunk(id, sampleChunk(0, 50)));
    const second = unwrap(openStore(options));
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
  }));

it('a store without runs closes while another process writes', () =>
  inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    const { close } = unwrap(openStore({ file, migrationsFolder: MIGRATIONS, busyTimeoutMs: 2000 }));
    const writer = new Database(file);
    writer.exec('BEGIN IMMEDIATE');
    const started = performance.now();
    close();
    expect(performance.now() - started).toBeLessThan(1900);
    writer.close();
  }));

describe('results of simulations and measurements', () => {
  const reference = { designIndex: 17, deviceId: 'fast', design: { blockThreads: 64 }, predictedMs: 1.25 };
  const simulation: SimulationRecord = {
    ...reference,
    sourceRunId: null,
    meanMs: 2,
    standardDeviationMs: 1,
    minMs: 1,
    medianMs: 2,
    maxMs: 3,
    timesMs: [1, 2, 3],
    detail: { events: 5 },
  };
  const measurement: MeasurementRecord = {
    ...reference,
    sourceRunId: null,
    backend: 'cpu',
    timesMs: [0.1 + 0.2, 1e-9],
    correct: true,
    failure: null,
    detail: { clockMhz: 1410 },
  };

  it('returns results as they were saved, with every repeat', () =>
    withStore((store) => {
      const draft = { ...sampleDraft(), axes: null, enumeratedCount: 0, kind: 'bench' as const };
      const { id } = unwrap(store.createRun(draft));
      const failed = { ...measurement, timesMs: [], correct: null, failure: 'too many registers' };
      unwrap(store.saveSimulations(id, [simulation]));
      unwrap(store.saveSimulations(id, [simulation]));
      unwrap(store.saveMeasurements(id, [measurement, failed]));
      expect(unwrap(store.listSimulations(id))).toEqual([simulation, simulation]);
      expect(unwrap(store.listMeasurements(id))).toEqual([measurement, failed]);
      expect(store.saveMeasurements(id, [measurement, { ...measurement, timesMs: [NaN] }])).toFail('bad-input');
      expect(unwrap(store.listMeasurements(id))).toHaveLength(2);
      expect(unwrap(store.getRun(id))).toMatchObject({ validCount: 1, invalidCount: 1 });
    }));

  it('accepts the measuring device of a run once', () =>
    withStore((store) => {
      const { id, measuringDevice } = unwrap(store.createRun({ ...sampleDraft(), kind: 'bench' }));
      expect(measuringDevice).toBeNull();
      unwrap(store.saveMeasuringDevice(id, { name: 'gpu' }));
      expect(store.saveMeasuringDevice(id, { name: 'other' })).toFail('conflict');
      expect(unwrap(store.getRun(id)).measuringDevice).toEqual({ name: 'gpu' });
      unwrap(store.finishRun(id, { state: 'cancelled', elapsedMs: 1 }));
      expect(store.saveMeasuringDevice(id, { name: 'gpu' })).toFail('conflict');
    }));

  it('keeps results when the sweep that they came from is removed', () =>
    withStore((store) => {
      const sweep = unwrap(store.createRun(sampleDraft()));
      unwrap(store.finishRun(sweep.id, { state: 'cancelled', elapsedMs: 1 }));
      const { id } = unwrap(store.createRun({ ...sampleDraft(), axes: null, enumeratedCount: 0, kind: 'simulate' }));
      unwrap(store.saveSimulations(id, [{ ...simulation, sourceRunId: sweep.id }]));
      expect(unwrap(store.listSimulationsOf(sweep.id))).toEqual([{ ...simulation, sourceRunId: sweep.id, runId: id }]);
      const measured = { ...measurement, sourceRunId: sweep.id };
      unwrap(store.saveMeasurements(id, [measurement, measured]));
      expect(unwrap(store.listMeasurementsOf(sweep.id))).toEqual([{ ...measured, runId: id }]);
      unwrap(store.finishRun(id, { state: 'complete', elapsedMs: 1 }));
      unwrap(store.deleteRuns([id]));
      expect(unwrap(store.listSimulationsOf(sweep.id))).toEqual([]);
      expect(unwrap(store.listMeasurementsOf(sweep.id))).toEqual([]);
      unwrap(store.restoreRuns([id]));
      expect(unwrap(store.listSimulationsOf(sweep.id))).toHaveLength(1);
      expect(unwrap(store.listMeasurementsOf(sweep.id))).toHaveLength(1);
      unwrap(store.deleteRuns([sweep.id]));
      unwrap(store.purgeDeleted());
      expect(unwrap(store.listSimulations(id))).toEqual([simulation]);
      expect(unwrap(store.listMeasurements(id))).toEqual([measurement, measurement]);
    }));
});

it('returns studies, devices, workloads and settings as they were saved', () =>
  withStore((store) => {
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

    const law = {
      label: 'x',
      support: Float64Array.of(9, 1, 2).subarray(1),
      probability: Float64Array.of(0.1, 0.9),
      truncatedMass: 1e-7,
    };
    const record = { hash: 'h', law, provenance: { file: 'lengths.csv' } };
    expect(unwrap(store.getWorkload('h'))).toBeNull();
    unwrap(store.saveWorkload(record));
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
  }));
