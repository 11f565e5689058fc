import { rankedDesigns } from '../../../../src-workers/sweep/ranking.ts';
import { APP_VERSION, MODEL_VERSION } from '../../version.ts';
import { deviceEvidence } from '../../evidence/tie-band.ts';
import { inputsByDevice } from '../../ranking/recommended.ts';
import { ALL_VALID, tiesIn } from '../../ranking/rows.ts';
import type { RunView } from '../../runs/run-view.ts';
import { exportRows, plainRow, tableFormat, type TableList } from '../tables.ts';
import { jsonParts } from '../text.ts';

export const json = tableFormat({
  id: 'json',
  label: 'JSON',
  text: 'The best designs, and their study',
  extension: 'json',
  mediaType: 'application/json',
  weighs: true,
  write: rankingJson,
});

function rankingJson(view: RunView, list: TableList): AsyncGenerator<string, void> {
  return jsonParts({
    lockstep: APP_VERSION,
    model: view.run.modelVersions.prediction ?? MODEL_VERSION,
    runId: view.run.id,
    startedAt: view.run.startedAt,
    study: view.study.study,
    inputs: inputsByDevice(view),
    evidence: Object.fromEntries(view.devices.map((device) => [device.id, deviceEvidence(device)])),
    tieBand: tiesIn(view, rankedDesigns(view.ranking, ALL_VALID, 'timeMs')).band,
    designs: { enumerated: view.run.enumeratedCount, valid: view.run.validCount, invalid: view.run.invalidCount },
    rows: exportRows(view, list).map((row) => plainRow(row, list.weighed?.get(row.designIndex))),
  });
}
