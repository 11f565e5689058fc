import { shortBalancing } from '../ranking/columns.ts';
import type { Design } from '../../../src-workers/domain/design.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { quantityLabel } from '../../format/axes.ts';
import { count } from '../../format/numbers.ts';
import type { DesignField } from './rows.ts';

export function fieldHead(field: DesignField, term: Term): { readonly head: string; readonly full: string } {
  switch (field) {
    case 'threadsPerUnit':
      return { head: sentenceCase(term('thread', 'many')), full: sentenceCase(`${term('thread', 'many')} per unit`) };
    case 'unitsPerThread':
      return { head: 'Units', full: 'Units per slot, one after another' };
    case 'blockThreads':
      return {
        head: sentenceCase(term('block')),
        full: sentenceCase(`${term('thread', 'many')} per ${term('block')}`),
      };
    case 'gridBlocks':
      return { head: sentenceCase(term('grid')), full: sentenceCase(`${term('block', 'many')} of the launch`) };
    case 'registerCap':
      return { head: 'Cap', full: `Max. ${term('register', 'many')} per ${term('thread')}` };
    case 'loop':
      return { head: 'Loop', full: 'Form of the loop over units' };
    case 'balancing':
      return { head: 'Order', full: 'How units are balanced before launch' };
  }
}

export function fieldValue(design: Design, field: DesignField): string {
  const value = design[field];
  if (value === null) return 'none';
  return typeof value === 'number' ? count(value) : shortBalancing(value);
}

export function axisName(axis: string, term: Term): string {
  return axis === 'unitsPerThread' ? 'Units per slot' : quantityLabel(axis, term);
}
