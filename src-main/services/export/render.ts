import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import { rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import type { ExportDocument, RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { ALL_VALID, bestRows, rankRow, type RunView } from '../run-view.ts';
import { cudaHeader, wgslConstants } from './code.ts';
import { htmlReport, markdownReport } from './report.ts';
import { rankingCsv, rankingJson, t4Json } from './tables.ts';

/** A run as a document to hand over. File names are safe on every system. */
export function renderExport(view: RunView, input: ProcedureArguments<'export.render'>): Result<ExportDocument> {
  const { format, designIndex, limit } = input;
  if (designIndex !== undefined && designIndex >= view.ranking.columns.timeMs.length)
    return fail('not-found', `design ${designIndex} is not in run ${view.run.id}; expected 0 to ${view.ranking.columns.timeMs.length - 1}`);
  const chosen = chosenRow(view, designIndex);
  if (!chosen) return fail('conflict', `run ${view.run.id} has no valid design to export`);
  if (chosen.invalid !== null) return fail('conflict', `design ${chosen.designIndex} is invalid (${chosen.invalid}); expected a valid one`);
  const rows = bestRows(view, ALL_VALID, limit);
  const base = `${view.study.study.name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'run'}-run-${view.run.id}`;
  const document = (extension: string, mediaType: string, text: string): Result<ExportDocument> => ok({ fileName: `${base}.${extension}`, mediaType, text });
  switch (format) {
    case 'json':
      return document('json', 'application/json', rankingJson(view, rows));
    case 'csv':
      return document('csv', 'text/csv', rankingCsv(rows));
    case 't4':
      return document('t4.json', 'application/json', t4Json(view, rows));
    case 'markdown':
      return document('md', 'text/markdown', markdownReport(view, rows, chosen));
    case 'html':
      return document('html', 'text/html', htmlReport(view, rows, chosen));
    case 'cuda':
      return document('cuh', 'text/plain', cudaHeader(view, chosen));
    case 'wgsl':
      return document('wgsl', 'text/plain', wgslConstants(view, chosen));
  }
}

function chosenRow(view: RunView, designIndex: number | undefined): RankRow | null {
  if (designIndex === undefined) return bestRows(view, ALL_VALID, 1)[0] ?? null;
  const list = rankedDesigns(view.ranking, ALL_VALID, 'timeMs');
  return rankRow(view, designIndex, list.indexOf(designIndex) + 1, false);
}
