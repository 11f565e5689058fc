import { evidenceText } from '../../../src-workers/domain/evidence.ts';
import type { Result } from '../../../src-workers/domain/result.ts';
import { AXIS, axisCounts, decodeInto } from '../../../src-workers/domain/space.ts';
import type { Uncertainty } from '../../contract/advice.ts';
import type { ExportDocument } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { MODEL_VERSION } from '../version.ts';
import { deviceEvidence, tieBand } from '../evidence/tie-band.ts';
import { pickText } from '../export/code.ts';
import { cpuHasNoCode } from '../export/code-format.ts';
import { runStem } from '../export/exporter.ts';
import { codeExporterOf } from '../export/formats.ts';
import { imageOf } from '../export/tiles.ts';
import { predictedRow } from '../ranking/rows.ts';
import type { Predictions } from './predictions.ts';
import type { AdvisedStudy } from './prepare.ts';
import { weighedPick } from './of-run.ts';
import { countTies, studyDesign } from './recommend.ts';

export async function adviseCode(
  context: Context,
  predictions: Predictions,
  study: AdvisedStudy,
  { deviceId, designIndex, format }: ProcedureArguments<'advice.code'>,
  weigh: (deviceId: string) => Promise<Result<Uncertainty>>,
): Promise<Result<ExportDocument>> {
  const exporter = codeExporterOf(format);
  if (!exporter.ok) return exporter;
  const chosen = studyDesign(study, designIndex, deviceId);
  if (!chosen.ok) return chosen;
  const { device: own, design } = chosen.value;
  const { device, plan, key } = own;
  if (device.kind === 'cpu') return cpuHasNoCode({ designIndex, device: device.name });
  const { columns } = await context.pool.run('survey', { plan, key, part: Uint32Array.of(design), ties: own.ties });
  // Counting all ties takes long, so the exported code states their number only if it is known.
  const known = predictions.known(own);
  const rank = known ? known.equal.indexOf(design) + 1 : 0;
  const found = known && (await weigh(device.id));
  const picked = found?.ok && found.value.robust.designIndex === designIndex ? weighedPick(found.value) : null;
  const row = { ...predictedRow(own.predictor(), design, columns, 0, rank, rank > 0), designIndex };
  const counts = axisCounts(plan.axes);
  const positions = new Int32Array(counts.length);
  decodeInto(positions, counts, design);
  const source = {
    study: study.study,
    from: 'without a run',
    model: MODEL_VERSION,
    inputs: study.facts(device, row.design.implementation),
    pick: picked
      ? pickText({ ties: countTies(own, known!), band: tieBand(device), ...picked }, device, known!.others !== null)
      : '',
    evidence: evidenceText(deviceEvidence(device), [row.kind]),
    law: plan.law,
    isGridFixed: plan.axes.launch[positions[AXIS.launch]].kind !== 'units-per-thread',
    image: imageOf(plan),
  };
  return exporter.value.code.document(runStem(study.study.name), source, row, device.threadGroupWidth);
}
