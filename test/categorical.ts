import { unwrap } from '../src-workers/domain/result.ts';
import type { LengthLaw } from '../src-workers/domain/workload.ts';
import { categoricalLaw } from '../src-workers/models/workload/laws.ts';

export const categorical = (probabilities: Readonly<Record<number, number>>): LengthLaw =>
  unwrap(
    categoricalLaw(
      Object.entries(probabilities).map(([length, probability]) => ({ length: Number(length), probability })),
    ),
  );
