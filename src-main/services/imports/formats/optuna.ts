import { isSqlite } from '../../../../db/optuna.ts';
import { ok } from '../../../../src-workers/domain/result.ts';
import { namedDevice, NOTHING_SAID, type Importer } from '../importer.ts';
import { isJournal } from '../optuna-journal.ts';
import { readOptunaStudies, readOptunaStudy } from '../optuna.ts';

export const optuna: Importer = {
  id: 'optuna',
  text: 'a storage of Optuna (SQLite or a journal)',
  help: ['Optuna', 'a storage (SQLite or a journal): complete and failed trials of a study that minimises a time'],
  matches: ({ bytes, head }) => isSqlite(bytes) || isJournal(head),
  needsUnit: true,
  async studies({ bytes, fileName }) {
    const found = await readOptunaStudies(bytes, fileName);
    return found.ok ? ok(found.value.map(({ name }) => name)) : found;
  },
  async read(input) {
    const study = await readOptunaStudy(input.bytes, input.fileName, input.studyName, input.timeUnit);
    return study.ok ? ok({ ...NOTHING_SAID, kind: 'optuna', ...study.value, deviceName: namedDevice(input) }) : study;
  },
};
