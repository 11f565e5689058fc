import { isObject } from '../../../src-workers/domain/json.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { spearman } from '../../../src-workers/numeric/statistics.ts';
import { designAt, timeOf } from '../../../src-workers/sweep/ranking.ts';
import type { RunDiff, RunSummary } from '../../contract/api.ts';
import { areNamed } from '../../contract/merge.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import { bestRows, deviceFilter } from '../ranking/rows.ts';
import type { RunView } from './run-view.ts';

export function diffRuns(
  left: RunView,
  right: RunView,
  summaries: { readonly left: RunSummary; readonly right: RunSummary },
): Result<RunDiff> {
  const fields = differences(left.study.study, right.study.study, '');
  const ids = [...new Set([...left.devices, ...right.devices].map((device) => device.id))];
  const best = ids.map((id) => {
    const of = (view: RunView) => {
      const filter = deviceFilter(view, id);
      return filter.ok ? [...bestRows(view, filter.value, 1)][0] : undefined;
    };
    const l = of(left);
    const r = of(right);
    return {
      device: l?.device ?? r?.device ?? id,
      leftMs: l?.timeMs ?? null,
      rightMs: r?.timeMs ?? null,
      leftDesign: l ? designText(l.design) : '',
      rightDesign: r ? designText(r.design) : '',
    };
  });
  const order = sameSpace(left, right) ? rankCorrelation(left, right) : { spearman: null, compared: 0 };
  return ok({ ...summaries, fields, best, ...order });
}

export function differences(
  left: unknown,
  right: unknown,
  path: string,
): { readonly field: string; readonly left: string; readonly right: string }[] {
  if (JSON.stringify(left) === JSON.stringify(right)) return [];
  if (isObject(left) && isObject(right))
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
      differences(left[key], right[key], path ? `${path}.${key}` : key),
    );
  // Items with names are compared one by one if the two lists have the same length.
  if (areNamed(left) && areNamed(right) && left.length === right.length)
    return left.flatMap((each, at) => differences(each, right[at], `${path}[${at}]`));
  const text = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
  return [{ field: path, left: text(left), right: text(right) }];
}

function sameSpace(left: RunView, right: RunView): boolean {
  const { devices: a, ...restA } = left.ranking.axes;
  const { devices: b, ...restB } = right.ranking.axes;
  return JSON.stringify([a.map((d) => d.id), restA]) === JSON.stringify([b.map((d) => d.id), restB]);
}

/** A rank correlation of a million pairs would take a second and add nothing. */
const MAX_RANKED = 100_000;

function rankCorrelation(left: RunView, right: RunView): Pick<RunDiff, 'spearman' | 'compared'> {
  const a: number[] = [];
  const b: number[] = [];
  const { columns } = left.ranking;
  const step = Math.max(1, Math.ceil(columns.timeMs.length / MAX_RANKED));
  for (let entry = 0; entry < columns.timeMs.length; entry += step) {
    const time = columns.timeMs[entry];
    const other = timeOf(right.ranking, designAt(left.ranking, entry));
    if (Number.isNaN(time) || Number.isNaN(other)) continue;
    a.push(time);
    b.push(other);
  }
  return { spearman: spearman(Float64Array.from(a), Float64Array.from(b)), compared: a.length };
}
