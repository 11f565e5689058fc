import type { Study } from '../../../src-main/contract/study.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import type { GroupRow } from './preview.svelte.ts';
import { kernelValue } from '../../../src-workers/domain/provenance.ts';
import { counted, NBSP, percent, signed } from '../../format/numbers.ts';
import { listText } from '../../../src-workers/domain/text.ts';

type Kernel = Study['kernel'];

export function sharingCause(kernel: Kernel): string {
  const { sharing, serialFraction, cooperationCost } = kernel;
  const deals = sharing === 'deal';
  const combines = kernelValue(kernel, 'combine') > 0;
  const causes = [
    ...(deals ? ['idle lanes'] : serialFraction > 0 || (cooperationCost === 0 && !combines) ? ['serial work'] : []),
    ...(!deals && cooperationCost > 0 ? ['cooperation'] : []),
    ...(kernelValue(kernel, 'unit') > 0 ? ['set-up'] : []),
    ...(combines ? ['combining'] : []),
  ];
  return listText(causes);
}

/** Example: `costs 14 % in serial work`. `fraction`: lane time without loss, divided by the work, minus 1. */
export function sharingCostText(fraction: number, kernel: Kernel): string {
  return fraction < 0.005 ? 'costs nothing' : `costs ${percent(fraction, 0)} in ${sharingCause(kernel)}`;
}

type Lanes = Pick<GroupRow, 'threadsPerUnit' | 'unitsPerGroup' | 'laneCost'>;

/**
 * Compares three mappings by their lane cost: the cheapest, the next, and the recommended. The recommended mapping
 * is chosen by the time of the whole launch, so it may not be the cheapest.
 * @param recommended threads per unit of the recommended design, if known
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
          ? 'The recommendation is the same.'
          : `Recommended for the whole launch: ${threads(recommended)}${own ? `, ${more(own)}` : ''}.`,
    why: `The time of a launch also depends on memory, on resident ${say('block', 'many')} and on the end of the launch`,
  };
}

export function laneCostText({ sharing }: Pick<Kernel, 'sharing'>): string {
  const iterations =
    sharing === 'deal'
      ? 'u × the longest ⌈length / u⌉ of a group, divided by the mean length'
      : 'aggregate loss × u·φ(u), where φ(u) = (1−σ)/u + σ + κ·log₂u is the time of an iteration that u threads share, relative to one thread';
  return `${iterations}. The instructions that each lane runs once per unit and in log₂u combining steps are added, converted to iterations`;
}
