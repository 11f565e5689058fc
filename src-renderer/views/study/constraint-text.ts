import type { CONSTRAINT_QUANTITIES, Constraint } from '../../../src-main/contract/study.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import { quantityLabel } from '../../format/axes.ts';
import { NBSP, plain } from '../../format/numbers.ts';

export type ConstraintQuantity = (typeof CONSTRAINT_QUANTITIES)[number];

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
