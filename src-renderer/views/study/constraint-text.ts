import type { CONSTRAINT_QUANTITIES, Constraint } from '../../../src-main/contract/study.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { NBSP, plain } from '../../format/numbers.ts';

export type ConstraintQuantity = (typeof CONSTRAINT_QUANTITIES)[number];

export function quantityLabel(quantity: ConstraintQuantity, say: Term): string {
  switch (quantity) {
    case 'threadsPerUnit':
      return `${sentenceCase(say('thread', 'many'))} per unit`;
    case 'unitsPerThread':
      return `Units per ${say('thread')}`;
    case 'blockThreads':
      return `${sentenceCase(say('block'))} size`;
    case 'gridBlocks':
      return `${sentenceCase(say('block', 'many'))} of the ${say('grid')}`;
    case 'registerCap':
      return `${sentenceCase(say('register'))} cap`;
    case 'occupancyFraction':
      return 'Occupancy';
    case 'residentBlocks':
      return `Resident ${say('block', 'many')}`;
    case 'waves':
      return 'Waves';
  }
}

/** `Occupancy ≥ 50 %`. */
export function printConstraint(constraint: Constraint, say: Term): string {
  const value = (v: number) =>
    constraint.quantity === 'occupancyFraction' ? `${plain(v * 100)}${NBSP}%` : plain(v, 7);
  const parts = [
    constraint.atLeast === undefined ? '' : `≥ ${value(constraint.atLeast)}`,
    constraint.atMost === undefined ? '' : `≤ ${value(constraint.atMost)}`,
    constraint.multipleOf === undefined ? '' : `a multiple of ${value(constraint.multipleOf)}`,
  ].filter(Boolean);
  return `${quantityLabel(constraint.quantity, say)} ${parts.join(' and ')}`;
}
