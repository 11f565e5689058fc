import { unwrap } from '../../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../../src-workers/domain/workload.ts';
import {
  binomialLaw,
  categoricalLaw,
  geometricLaw,
  lognormalLaw,
  uniformLaw,
  zipfLaw,
} from '../../../../src-workers/models/workload/laws.ts';

/** Laws to play with, from narrow to heavy. The last one tells the two losses apart. */
export const LAWS = [
  { value: 'binomial', label: 'binomial(40, 0.5)', law: () => unwrap(binomialLaw(40, 0.5)) },
  { value: 'uniform', label: 'uniform(20, 40)', law: () => unwrap(uniformLaw(20, 40)) },
  { value: 'geometric', label: 'geometric(0.05)', law: () => unwrap(geometricLaw(0.05)) },
  { value: 'lognormal', label: 'lognormal(3, 1)', law: () => unwrap(lognormalLaw(3, 1, 1e-4)) },
  { value: 'zipf', label: 'zipf(1.5, 1000)', law: () => unwrap(zipfLaw(1.5, 1000)) },
  {
    value: 'rare',
    label: 'nine in ten 1, one in ten 100',
    law: () =>
      unwrap(
        categoricalLaw([
          { length: 1, probability: 0.9 },
          { length: 100, probability: 0.1 },
        ]),
      ),
  },
] as const satisfies readonly { readonly value: string; readonly label: string; readonly law: () => LengthLaw }[];

export type LawId = (typeof LAWS)[number]['value'];
export const lawOf = (id: LawId): LengthLaw => LAWS.find(({ value }) => value === id)!.law();
