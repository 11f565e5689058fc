// `node test/data/store/make-golden.ts` writes `vN.sqlite` for the current version N. Files of older versions stay as
// their program wrote them, and are never written again.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { userVersion } from '../../../db/migrate.ts';
import { openDatabase } from '../../../db/open.ts';
import { storeOn } from '../../../db/store.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { MIGRATIONS, sampleBest, sampleChunk, sampleDraft } from '../../db/sample.ts';

const partial = join(import.meta.dirname, 'partial.db');
rmSync(partial, { force: true });
const db = unwrap(openDatabase({ file: partial, migrationsFolder: MIGRATIONS }));
const open = storeOn(db, partial);
const { store } = open;
const study = unwrap(store.createStudy({ name: 'golden', spec: { version: 1 } }));
const run = unwrap(store.createRun({ ...sampleDraft(), studyId: study.id }));
for (let first = 0; first < run.enumeratedCount; first += 100) {
  unwrap(store.savePredictionChunk(run.id, sampleChunk(first, Math.min(100, run.enumeratedCount - first))));
}
unwrap(store.finishRun(run.id, { state: 'complete', elapsedMs: 12.5 }));
unwrap(store.tagRun(run.id, ['golden']));
unwrap(store.saveSetting('theme', 'dark'));
const bench = unwrap(store.createRun({ ...sampleDraft(), kind: 'bench', axes: null, sourceRunId: run.id, enumeratedCount: 1 }));
unwrap(store.saveMeasuringDevice(bench.id, { name: 'golden device' }));
unwrap(
  store.saveMeasurements(bench.id, [
    {
      sourceRunId: run.id,
      designIndex: 17,
      deviceId: 'fast',
      design: { blockThreads: 64 },
      predictedMs: 1.25,
      backend: 'cpu',
      timesMs: [1.5, 1.25],
      correct: true,
      failure: null,
      detail: { clockMhz: 1410 },
    },
  ]),
);
unwrap(store.finishRun(bench.id, { state: 'complete', elapsedMs: 1 }));
const best = unwrap(store.createRun({ ...sampleDraft(), bestWanted: 3 }));
unwrap(store.saveBestDesigns(best.id, sampleBest()));
unwrap(store.finishRun(best.id, { state: 'complete', elapsedMs: 1 }));
unwrap(store.saveCalibration({ name: 'golden', deviceId: 'fast', profile: { version: 1 } }));
// Small pages keep the file small. A database may have any page size.
db.pragma('journal_mode = DELETE');
db.pragma('page_size = 1024');
db.exec('VACUUM');
const target = join(import.meta.dirname, `v${userVersion(db)}.sqlite`);
rmSync(target, { force: true });
db.prepare('VACUUM INTO ?').run(target);
open.close();
rmSync(partial);
