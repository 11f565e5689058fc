import type { Study } from '../../../src-main/contract/study.ts';
import { percent } from '../../format/numbers.ts';

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
