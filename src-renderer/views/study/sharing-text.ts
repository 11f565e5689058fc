import type { Study } from '../../../src-main/contract/study.ts';
import { kernelValue } from '../../../src-workers/domain/provenance.ts';
import { percent } from '../../format/numbers.ts';

type Kernel = Study['kernel'];

/** What threads that share a unit spend beside its work: `serial work and cooperation`, `idle lanes, set-up and combining`. */
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
  const last = causes.at(-1)!;
  return causes.length > 1 ? `${causes.slice(0, -1).join(', ')} and ${last}` : last;
}

/** `costs 14 % in serial work`. @param fraction of the lane time that is no loss, over the work, less 1 */
export function sharingCostText(fraction: number, kernel: Kernel): string {
  return fraction < 0.005 ? 'costs nothing' : `costs ${percent(fraction, 0)} in ${sharingCause(kernel)}`;
}

/** What the lane cost is. */
export function laneCostText({ sharing }: Pick<Kernel, 'sharing'>): string {
  const iterations =
    sharing === 'deal'
      ? 'u × the longest ⌈length / u⌉ of a group over the mean length'
      : 'aggregate loss × u·φ(u), with φ(u) = (1−σ)/u + σ + κ·log₂u: time of an iteration shared by u over that of one alone';
  return `${iterations}; with what each lane runs once a unit, and in log₂u combining steps, counted in iterations by its instructions`;
}
