import { NOT_SAVED } from '../../../src-workers/domain/columns.ts';
import { INVALID_REASONS } from '../../../src-workers/domain/design.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import type { BestDesigns, BestRow, ExportRow, RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import { timedDevices } from '../evidence/timed-devices.ts';
import { partialText } from '../../contract/counts.ts';
import type { RunView } from '../runs/run-view.ts';
import { runSummary } from '../runs/runs.ts';
import { atBestFidelity, fastestOf, type FastestFound } from './fidelity.ts';
import { groupedList } from './pages.ts';
import { inputsByDevice, pickRule, recommendedDesign, runInputs } from './recommended.ts';
import { ALL_VALID, bestOfAxis, bestRows, deviceFilter, orderingMs, rankRow, tiesIn } from './rows.ts';

export function* bestFidelityRows(
  view: RunView,
  rows: Iterable<RankRow>,
  fastest: FastestFound,
): Generator<ExportRow, void> {
  for (const predicted of rows) {
    const row = atBestFidelity(predicted, view, fastest);
    yield { ...row, orderingMs: row.measured ? orderingMs(view, row.designIndex) : 0 };
  }
}

function withRegimes(
  view: RunView,
  rows: readonly RankRow[],
  fastest = fastestOf(
    view,
    Uint32Array.from(rows, ({ designIndex }) => designIndex),
  ),
): readonly BestRow[] {
  return Array.from(bestFidelityRows(view, rows, fastest), (row) => {
    const breakdown = explainDesign(view.predictor, row.designIndex);
    return { ...row, regime: breakdown?.regime ?? null, order: breakdown?.order ?? null };
  });
}

function recommendedRow(view: RunView, within: RankingFilter): BestDesigns['recommended'] {
  const found = recommendedDesign(view, within);
  if (!found) return null;
  const rank = rankedDesigns(view.ranking, within, 'timeMs').indexOf(found.designIndex) + 1;
  const [row] = withRegimes(view, [rankRow(view, found.designIndex, rank, true)]);
  const device = view.devices.find(({ id }) => id === row.deviceId)!;
  const inputs = runInputs(view, device, row.design.implementation);
  return { row, ties: found.ties, rule: pickRule(device), inputs };
}

function pageOfRows(
  view: RunView,
  filter: RankingFilter,
  { limit, groups, page }: ProcedureArguments<'ranking.best'>,
): Pick<BestDesigns, 'rows' | 'equal'> {
  const list = rankedDesigns(view.ranking, filter, 'timeMs');
  const from = page?.offset ?? 0;
  const end = page ? Math.min(limit, from + page.count) : limit;
  if (!groups) {
    const fastest = fastestOf(view, list.subarray(0, limit));
    return { rows: withRegimes(view, [...bestRows(view, filter, end, from)], fastest), equal: null };
  }
  const { list: shown, counts } = groupedList(view, list);
  const ties = tiesIn(view, list);
  let rank = 0;
  const rows = Array.from(shown.subarray(from, end), (design) => {
    while (list[rank] !== design) rank += 1;
    return rankRow(view, design, rank + 1, ties.isTied(design));
  });
  const fastest = fastestOf(view, shown.subarray(0, limit));
  return { rows: withRegimes(view, rows, fastest), equal: Array.from(counts.subarray(from, end)) };
}

export function bestDesigns(view: RunView, input: ProcedureArguments<'ranking.best'>): Result<BestDesigns> {
  const filter = deviceFilter(view, input.deviceId);
  if (!filter.ok) return filter;
  const { band } = tiesIn(view, rankedDesigns(view.ranking, filter.value, 'timeMs'));
  const counts = new Map<number, number>();
  for (const code of view.ranking.columns.invalidReason)
    if (code !== 0 && code !== NOT_SAVED) counts.set(code, (counts.get(code) ?? 0) + 1);
  return ok({
    study: view.study.study.name,
    devices: timedDevices(view),
    tieFraction: band.fraction,
    tieBand: band,
    ...pageOfRows(view, filter.value, input),
    ofDevices: withRegimes(view, bestOfAxis(view, 'device', ALL_VALID)),
    ofImplementations: view.ranking.axes.implementations
      ? withRegimes(view, bestOfAxis(view, 'implementation', filter.value))
      : [],
    recommended: recommendedRow(view, filter.value),
    inputs: inputsByDevice(view),
    partial: partialText(runSummary(view.run, 0)),
    invalid: [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([code, count]) => ({ reason: INVALID_REASONS[code].code, text: INVALID_REASONS[code].text, count })),
  });
}
