import { shortBalancing } from '../ranking/columns.ts';
import type { MeasuringRequest } from '../../../src-main/contract/measuring.ts';
import { isStandIn } from '../../../src-workers/domain/benchmark.ts';
import type { Design } from '../../../src-workers/domain/design.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { quantityLabel } from '../../format/axes.ts';
import { count } from '../../format/numbers.ts';
import type { DesignField } from './rows.ts';

const HEADS: Readonly<Record<DesignField, (term: Term) => readonly [head: string, full: string]>> = {
  threadsPerUnit: (term) => [term('thread', 'many'), `${term('thread', 'many')} per unit`],
  unitsPerThread: () => ['Units', 'Units per slot, one after another'],
  blockThreads: (term) => [term('block'), `${term('thread', 'many')} per ${term('block')}`],
  gridBlocks: (term) => [term('grid'), `${term('block', 'many')} of the launch`],
  registerCap: (term) => ['Cap', `Max. ${term('register', 'many')} per ${term('thread')}`],
  loop: () => ['Loop', 'Form of the loop over units'],
  balancing: () => ['Order', 'How units are balanced'],
};
export function fieldHead(field: DesignField, term: Term) {
  const [head, full] = HEADS[field](term);
  return { head: sentenceCase(head), full: sentenceCase(full) };
}

/** Names the predicted time beside a measured one. Ranking and Tune have the time of the study's kernel. */
export function predictedHead({ kernel, backend }: Pick<MeasuringRequest, 'kernel' | 'backend'>) {
  return !kernel && isStandIn(backend)
    ? {
        head: 'Pred. loop',
        full: 'Predicted time of the loop that was measured in place of the kernel, without preparing the balancing, which is not timed. Ranking and Tune have the predicted time of the kernel.',
      }
    : {
        head: 'Predicted',
        full: 'Predicted time of the launch. For a measured design, it is the time of the kernel alone, because the preparation for balancing is not timed.',
      };
}

export function fieldValue(design: Design, field: DesignField): string {
  const value = design[field];
  if (value === null) return 'none';
  return typeof value === 'number' ? count(value) : shortBalancing(value);
}

export function axisName(axis: string, term: Term): string {
  return axis === 'unitsPerThread' ? 'Units per slot' : quantityLabel(axis, term);
}
