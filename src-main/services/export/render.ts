import { invalidDesign } from '../../../src-workers/domain/design.ts';
import { ok, type Result, conflict } from '../../../src-workers/domain/result.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { recommendOfRun } from '../advice/of-run.ts';
import { checkDesign, deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { chosenRow, runStem, type Exporter, type ExportJob, type Rendered } from './exporter.ts';

export async function renderExport(
  context: Context,
  view: RunView,
  exporter: Exporter,
  input: ProcedureArguments<'export.render'>,
): Promise<Result<Rendered>> {
  const job = await exportJob(context, view, input);
  return job.ok ? exporter.write(job.value) : job;
}

async function exportJob(
  context: Context,
  view: RunView,
  input: ProcedureArguments<'export.render'>,
): Promise<Result<ExportJob>> {
  const { designIndex, deviceId } = input;
  const known = checkDesign(view, designIndex);
  if (!known.ok) return known;
  const filter = deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const within = filter.value;
  const recommended = designIndex === undefined ? await recommendOfRun(context, view, deviceId) : ok(null);
  if (!recommended.ok) return recommended;
  const design = designIndex ?? recommended.value?.designIndex;
  const where = deviceId === undefined ? '' : ` on ${deviceId}`;
  if (design === undefined) return conflict(`Run ${view.run.id} has no valid design${where} to export.`);
  const chosen = chosenRow(view, within, design);
  if (deviceId !== undefined && chosen.deviceId !== deviceId)
    return conflict(`Design ${chosen.designIndex} belongs to ${chosen.deviceId}. Specify a design of ${deviceId}.`);
  if (chosen.invalid !== null) return invalidDesign(chosen.designIndex, chosen.invalid);
  const base = `${runStem(view.study.study.name)}-run-${view.run.id}`;
  return ok({ context, view, input, base, within, chosen, recommended: recommended.value });
}
