import { INVALID_REASONS } from '../../../src-workers/domain/design.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import type { BestDesigns, BestRow, ExportRow, RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { groupedDesigns } from '../../../src-workers/sweep/equal.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import { timedDevices } from '../evidence/timed-devices.ts';
import type { RunView } from '../runs/run-view.ts';
import { rowsAtBestFidelity } from './fidelity.ts';
import { equalsOf } from './pages.ts';
import { inputsByDevice, pickRule, recommendedDesign, runInputs } from './recommended.ts';
import { ALL_VALID, bestOfAxis, bestRows, deviceFilter, orderingMs, rankRow, tiesIn } from './rows.ts';

/** Rows by prediction, each at its best fidelity. */
export function bestFidelityRows(view: RunView, rows: readonly RankRow[]): readonly ExportRow[] {
  return rowsAtBestFidelity(rows, view).map((row) => ({
    ...row,
    orderingMs: row.measured ? orderingMs(view, row.designIndex) : 0,
  }));
}

/** With the regime of each prediction and the order of its units, which takes about a tenth of a millisecond: for rows that are shown. */
function withRegimes(view: RunView, rows: readonly RankRow[]): readonly BestRow[] {
  return bestFidelityRows(view, rows).map((row) => {
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

/** The best rows where equal designs are one, and the designs that each stands for. */
function groupedRows(view: RunView, filter: RankingFilter, limit: number): Pick<BestDesigns, 'rows' | 'equal'> {
  const list = rankedDesigns(view.ranking, filter, 'timeMs');
  const { list: shown, counts } = groupedDesigns(list, equalsOf(view), false, new Set());
  const best = shown.subarray(0, limit);
  const ties = tiesIn(view, list);
  let rank = 0;
  const rows = Array.from(best, (design) => {
    while (list[rank] !== design) rank += 1;
    return rankRow(view, design, rank + 1, ties.isTied(design));
  });
  return { rows: withRegimes(view, rows), equal: Array.from(counts.subarray(0, limit)) };
}

/** See the contract's `ranking.best`. */
export function bestDesigns(view: RunView, input: ProcedureArguments<'ranking.best'>): Result<BestDesigns> {
  const filter = input.deviceId === undefined ? ok(ALL_VALID) : deviceFilter(view, input.deviceId);
  if (!filter.ok) return filter;
  const { band } = tiesIn(view, rankedDesigns(view.ranking, filter.value, 'timeMs'));
  const counts = new Map<number, number>();
  for (const code of view.ranking.columns.invalidReason) if (code !== 0) counts.set(code, (counts.get(code) ?? 0) + 1);
  return ok({
    study: view.study.study.name,
    devices: timedDevices(view),
    tieFraction: band.fraction,
    tieBand: band,
    ...(input.groups
      ? groupedRows(view, filter.value, input.limit)
      : { rows: withRegimes(view, bestRows(view, filter.value, input.limit)), equal: null }),
    ofDevices: withRegimes(view, bestOfAxis(view, 'device', ALL_VALID)),
    ofImplementations: view.ranking.axes.implementations
      ? withRegimes(view, bestOfAxis(view, 'implementation', filter.value))
      : [],
    recommended: recommendedRow(view, filter.value),
    inputs: inputsByDevice(view),
    invalid: [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([code, count]) => ({ reason: INVALID_REASONS[code].code, text: INVALID_REASONS[code].text, count })),
  });
}
