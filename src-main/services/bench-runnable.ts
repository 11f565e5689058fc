import type { Ability } from '../../src-workers/domain/ability.ts';
import { ok, type Result } from '../../src-workers/domain/result.ts';
import { rankedDesigns, type RankingFilter } from '../../src-workers/sweep/ranking.ts';
import type { RunnableDesigns, TargetLimit } from '../contract/runnable.ts';
import { deviceFilter, type RunView } from './run-view.ts';

/** Which designs of a sweep a target can run. */

interface Bound {
  readonly limit: TargetLimit;
  readonly within: Pick<RankingFilter, 'positions' | 'ranges'>;
}

/** Of what a target can do, that which leaves out values of the space's axes. */
function boundsOf({ ranking: { axes } }: RunView, ability: Ability): readonly Bound[] {
  const bounds: Bound[] = [];
  const atMost = (
    quantity: 'threadsPerUnit' | 'blockThreads',
    axis: number,
    values: readonly number[],
    most: number | null,
  ): void => {
    if (most === null || values.every((value) => value <= most)) return;
    const kept = new Set(values.flatMap((value, at) => (value <= most ? [at] : [])));
    bounds.push({ limit: { quantity, atMost: most }, within: { positions: { [axis]: kept }, ranges: [] } });
  };
  const { cores } = ability;
  if (cores !== null && axes.launch.some(({ kind, value }) => kind === 'cores' && value > cores))
    bounds.push({
      limit: { quantity: 'cores', atMost: cores },
      within: { positions: {}, ranges: [{ column: 'gridBlocks', from: 0, to: cores }] },
    });
  atMost('threadsPerUnit', 1, axes.threadsPerUnit, ability.threadsPerUnit);
  atMost('blockThreads', 6, axes.blockThreads, ability.blockThreads);
  if (!ability.registerCaps && axes.registerCap.some((cap) => cap !== null)) {
    const none = new Set(axes.registerCap.flatMap((cap, at) => (cap === null ? [at] : [])));
    bounds.push({ limit: { quantity: 'registerCap', atMost: null }, within: { positions: { 5: none }, ranges: [] } });
  }
  return bounds;
}

/** The designs of a device that a target can run, best prediction first. */
export function runnableDesigns(
  view: RunView,
  deviceId: string,
  ability: Ability,
): Result<{ readonly list: Uint32Array; readonly found: RunnableDesigns }> {
  const filter = deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const ranked = (bounds: readonly Bound[]): Uint32Array =>
    rankedDesigns(
      view.ranking,
      {
        ...filter.value,
        positions: Object.assign({}, filter.value.positions, ...bounds.map(({ within }) => within.positions)),
        ranges: bounds.flatMap(({ within }) => within.ranges),
      },
      'timeMs',
    );
  const designs = ranked([]).length;
  const bounds = boundsOf(view, ability);
  const list = ranked(bounds);
  const limits = bounds.filter((one) => ranked([one]).length < designs).map(({ limit }) => limit);
  return ok({ list, found: { designs, runnable: list.length, limits } });
}
