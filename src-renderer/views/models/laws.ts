import { unwrap } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import {
  binomialLaw,
  categoricalLaw,
  geometricLaw,
  lognormalLaw,
  uniformLaw,
  zipfLaw,
} from '../../../src-workers/models/workload/laws.ts';

const RARE = [
  { length: 1, probability: 0.9 },
  { length: 100, probability: 0.1 },
];
/** `text` is the law for the engine. */
export const LAWS = [
  { value: 'binomial', label: 'binomial(40, 0.5)', text: 'binomial(40,0.5)', law: () => unwrap(binomialLaw(40, 0.5)) },
  { value: 'uniform', label: 'uniform(20, 40)', text: 'uniform(20,40)', law: () => unwrap(uniformLaw(20, 40)) },
  { value: 'geometric', label: 'geometric(0.05)', text: 'geometric(0.05)', law: () => unwrap(geometricLaw(0.05)) },
  // This law has no text: the engine would truncate its tail elsewhere, but page and engine must use the same law.
  { value: 'lognormal', label: 'lognormal(3, 1)', text: null, law: () => unwrap(lognormalLaw(3, 1, 1e-4)) },
  { value: 'zipf', label: 'zipf(1.5, 1000)', text: 'zipf(1.5,1000)', law: () => unwrap(zipfLaw(1.5, 1000)) },
  { value: 'rare', label: '1 (90 %) or 100 (10 %)', text: 'categorical(1:0.9,100:0.1)', law: () => unwrap(categoricalLaw(RARE)) }, // prettier-ignore
] as const satisfies readonly {
  readonly value: string;
  readonly label: string;
  readonly text: string | null;
  readonly law: () => LengthLaw;
}[];

export type LawId = (typeof LAWS)[number]['value'];
const entry = (id: LawId) => LAWS.find(({ value }) => value === id)!;
export const lawOf = (id: LawId): LengthLaw => entry(id).law();
export const lawText = (id: LawId): string | null => entry(id).text;
