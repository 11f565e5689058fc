import type { Study } from '../../../src-main/contract/study.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import { counted, NBSP, percent, signed } from '../../format/numbers.ts';
import type { GroupRow } from './preview.svelte.ts';

type Sharing = Pick<Study['kernel'], 'serialFraction' | 'cooperationCost'>;

/** What threads that share a unit spend beside its work: the serial part, steps of cooperation, or both. */
export function sharingCause({ serialFraction, cooperationCost }: Sharing): string {
  if (cooperationCost === 0) return 'serial work';
  return serialFraction === 0 ? 'cooperation' : 'serial work and cooperation';
}

/** `costs 14 % in serial work`. @param fraction u·φ(u) − 1 */
export function sharingCostText(fraction: number, kernel: Sharing): string {
  return fraction < 0.005 ? 'costs nothing' : `costs ${percent(fraction, 0)} in ${sharingCause(kernel)}`;
}

type Lanes = Pick<GroupRow, 'threadsPerUnit' | 'unitsPerGroup' | 'laneCost'>;

/**
 * What the lane costs say, beside the recommendation: the cheapest mapping for the lanes alone, the next one, and how the recommended one
 * stands to it. Its time counts more than lanes, so that both may differ.
 * @param recommended threads per unit of the recommended design; null while none is known
 */
export function laneWords(rows: readonly Lanes[], recommended: number | null, say: Term) {
  const [best, next] = [...rows].sort((a, b) => a.laneCost - b.laneCost);
  if (!best) return null;
  const threads = (count: number): string => `${count} ${say('thread', count === 1 ? 'one' : 'many')}`;
  const more = ({ laneCost }: Lanes): string => `${signed((laneCost / best.laneCost - 1) * 100)}${NBSP}%`;
  const own = rows.find(({ threadsPerUnit }) => threadsPerUnit === recommended);
  return {
    best: `${threads(best.threadsPerUnit)} × ${counted(best.unitsPerGroup, 'unit')}`,
    next: next ? `${threads(next.threadsPerUnit)} ${more(next)}` : '',
    recommended:
      recommended === null
        ? ''
        : recommended === best.threadsPerUnit
          ? 'Recommended, too.'
          : `Recommended for the whole launch: ${threads(recommended)}${own ? `, ${more(own)}` : ''}.`,
    why: `The time of a launch also counts set-up, memory, resident ${say('block', 'many')} and its end`,
  };
}
