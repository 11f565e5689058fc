import { makeDraws, unknownPaths } from '../../../src-workers/advise/unknown.ts';
import type { ImplementationKind } from '../../../src-workers/domain/evidence.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { sortedQuantile } from '../../../src-workers/numeric/statistics.ts';
import type { DesignRange, RankRow } from '../../contract/api.ts';
import { expectedTimes, timeRange, type TimeError } from '../evidence/time-errors.ts';
import type { Pool } from '../pool.ts';
import { checkDesign, rankRow } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { adviseRun, type AdvisedDevice, type AdvisedStudy } from './prepare.ts';
import { unknownIn } from './unknown.ts';

const INTERVAL_DRAWS = 16;

/**
 * Returns the range in which the time of each design is expected, ms. It combines two ranges, whose errors are assumed
 * to be independent. One range is from `expectedTimes`, and its upper end includes the start of a launch. The other
 * range lies between the 5 % and 95 % quantiles over draws of the unknown inputs.
 */
export async function timeIntervals(
  pool: Pool,
  study: AdvisedStudy,
  own: AdvisedDevice,
  designs: readonly { readonly design: number; readonly timeMs: number; readonly kind: ImplementationKind }[],
): Promise<readonly { readonly lowMs: number; readonly highMs: number }[]> {
  const { device, plan, key } = own;
  const unknown = unknownIn(study, own);
  const draws = unknownPaths(unknown).length === 0 ? [] : makeDraws(unknown, INTERVAL_DRAWS);
  const drawn = Uint32Array.from(designs, ({ design }) => design);
  const times =
    draws.length === 0 || drawn.length === 0
      ? []
      : await pool.run('draw', { plan, key, designs: drawn, unknown, draws });
  return designs.map(({ timeMs, kind }, at) => {
    const logs = Float64Array.from(times, (ofDraw) => Math.log(ofDraw[at] / timeMs))
      .filter((log) => !Number.isNaN(log))
      .sort();
    const ofInputs: readonly TimeError[] =
      logs.length > 0 ? [[sortedQuantile(logs, 0.05), sortedQuantile(logs, 0.95)]] : [];
    const { error, startMs } = expectedTimes(device, kind);
    return timeRange(timeMs, startMs, [error, ...ofInputs]);
  });
}

const known = new WeakMap<RunView['ranking'], Map<number, DesignRange>>();

export async function timeRanges(
  pool: Pool,
  view: RunView,
  designs: readonly number[],
): Promise<Result<readonly DesignRange[]>> {
  const ranges = known.get(view.ranking) ?? new Map<number, DesignRange>();
  known.set(view.ranking, ranges);
  const rows: RankRow[] = [];
  for (const design of designs) {
    const checked = checkDesign(view, design);
    if (!checked.ok) return checked;
    const row = ranges.has(design) ? null : rankRow(view, design, 0, false);
    if (row && !Number.isNaN(row.predictedMs)) rows.push(row);
  }
  const study = adviseRun(view);
  const ofDevices = study.devices.map(async (own) => {
    const asked = rows.filter(({ deviceId }) => deviceId === own.device.id);
    const timed = asked.map(({ designIndex, predictedMs, kind }) => ({
      design: designIndex - own.firstDesign,
      timeMs: predictedMs,
      kind,
    }));
    const found = await timeIntervals(pool, study, own, timed);
    for (const [at, { designIndex }] of asked.entries()) ranges.set(designIndex, { designIndex, ...found[at] });
  });
  await Promise.all(ofDevices);
  return ok(designs.flatMap((design) => ranges.get(design) ?? []));
}
