import type { Ability } from '../../../src-workers/domain/ability.ts';
import { isWholeUnit } from '../../../src-workers/domain/design.ts';
import { ok, unwrap, type Result } from '../../../src-workers/domain/result.ts';
import { AXIS, type AxisName } from '../../../src-workers/domain/space.ts';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import type { RunnableDesigns, TargetLimit } from '../../contract/runnable.ts';
import { deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';

interface Bound {
  readonly limit: TargetLimit;
  readonly within: Pick<RankingFilter, 'positions' | 'ranges'>;
}

function isBestBuckets(text: string): boolean {
  return unwrap(parseBalancing(text)).kind === 'best-buckets';
}

/** Returns whether slots take whole units. The stand-in loop supports no padding and no even shares. */
export function takesWholeUnits(text: string): boolean {
  return isWholeUnit(unwrap(parseBalancing(text)));
}

function findBounds({ ranking: { axes } }: RunView, ability: Ability): readonly Bound[] {
  const bounds: Bound[] = [];
  const keep = <T>(limit: TargetLimit, axis: AxisName, values: readonly T[], can: (value: T) => boolean): void => {
    if (values.every(can)) return;
    const kept = new Set(values.flatMap((value, at) => (can(value) ? [at] : [])));
    bounds.push({ limit, within: { positions: { [AXIS[axis]]: kept }, ranges: [] } });
  };
  const atMost = (quantity: 'threadsPerUnit' | 'blockThreads', most: number | null): void => {
    if (most !== null) keep({ quantity, atMost: most }, quantity, axes[quantity], (value) => value <= most);
  };
  const { cores } = ability;
  if (cores !== null && axes.launch.some(({ kind, value }) => kind === 'cores' && value > cores))
    bounds.push({
      limit: { quantity: 'cores', atMost: cores },
      within: { positions: {}, ranges: [{ column: 'gridBlocks', from: 0, to: cores }] },
    });
  atMost('threadsPerUnit', ability.threadsPerUnit);
  atMost('blockThreads', ability.blockThreads);
  if (!ability.registerCaps)
    keep({ quantity: 'registerCap', atMost: null }, 'registerCap', axes.registerCap, (cap) => cap === null);
  if (!ability.tiles)
    keep({ quantity: 'tiles', atMost: null }, 'blockWidth', axes.blockWidth ?? [null], (width) => width === null);
  const { wholeUnits } = ability;
  if (wholeUnits) keep({ quantity: 'wholeUnits', atMost: null }, 'balancing', axes.balancing, takesWholeUnits);
  // Only the last bound on an axis counts, so this bound on the balancing includes both limits.
  if (!ability.bestBuckets && axes.balancing.some(isBestBuckets)) {
    const can = (text: string): boolean => !isBestBuckets(text) && (!wholeUnits || takesWholeUnits(text));
    keep({ quantity: 'bestBuckets', atMost: null }, 'balancing', axes.balancing, can);
  }
  return bounds;
}

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
  const bounds = findBounds(view, ability);
  const list = ranked(bounds);
  const limits = bounds.filter((one) => ranked([one]).length < designs).map(({ limit }) => limit);
  return ok({ list, found: { designs, runnable: list.length, limits } });
}
