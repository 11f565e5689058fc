import type { WholeUnitBalancing } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { keptWith } from '../../numeric/kept.ts';
import { findBestBuckets, makeQuantileBuckets, type Bucket } from './buckets.ts';
import {
  listAtoms,
  makeCoarseGrid,
  computeCumulants,
  fromMasses,
  moveToGrid,
  type Cumulants,
  type DiscreteLaw,
} from './discrete-law.ts';

export interface PreparedLaw {
  readonly source: LengthLaw;
  readonly law: DiscreteLaw;
  readonly cumulants: Cumulants;
  readonly shared: Map<string, unknown>;
}

export interface WorkGroup<Balancing extends WholeUnitBalancing = WholeUnitBalancing> {
  readonly prepared: PreparedLaw;
  readonly n: number;
  readonly balancing: Balancing;
  readonly loop: LoopForm;
  readonly rounds: number;
}

export const prepareLaw = keptWith((source: LengthLaw): PreparedLaw => {
  const whole = fromMasses(source.support, source.probability);
  const { support, probability } = listAtoms(moveToGrid(whole, makeCoarseGrid(whole)));
  const law = fromMasses(support, probability);
  return { source, law, cumulants: computeCumulants(law), shared: new Map() };
});

/** Computes the value of `key` at the first call. Besides the law, the key names all that the value depends on. */
export function getShared<T>({ shared }: PreparedLaw, key: string, make: () => T): T {
  if (!shared.has(key)) shared.set(key, make());
  return shared.get(key) as T;
}

export function makeLengthLaw(law: DiscreteLaw): LengthLaw {
  return { label: '', truncatedMass: 0, ...listAtoms(law) };
}

/** Common numbers of units per group. Results for all of them take little longer than for the largest alone. */
export const COMMON_SIZES = [2, 4, 8, 16, 32, 64];

export function listGroupSizes(n: number): readonly number[] {
  return COMMON_SIZES.includes(n) ? COMMON_SIZES : [n];
}

export interface BucketSet {
  readonly buckets: readonly Bucket[];
  readonly key: string;
  /** Whether the buckets depend on n. */
  readonly cutForWidth: boolean;
}

/** Returns the buckets of a balancing, shortest first. If the balancing makes no buckets, all units are one bucket. */
export function getBuckets(prepared: PreparedLaw, n: number, balancing: WholeUnitBalancing): BucketSet {
  const { law } = prepared;
  switch (balancing.kind) {
    case 'quantile-buckets': {
      const key = `quantile ${balancing.k}`;
      const buckets = getShared(prepared, key, () => makeQuantileBuckets(law, balancing.k));
      return { buckets, key, cutForWidth: false };
    }
    case 'best-buckets': {
      const key = `best ${balancing.k} ${n}`;
      return { buckets: getShared(prepared, key, () => findBestBuckets(law, n, balancing.k)), key, cutForWidth: true };
    }
    default:
      return { buckets: [{ share: 1, law }], key: 'all', cutForWidth: false };
  }
}

/** The shortest bucket comes first. */
export function listBucketRanges(
  law: LengthLaw,
  n: number,
  balancing: Extract<WholeUnitBalancing, { k: number }>,
): { readonly share: number; readonly from: number; readonly to: number }[] {
  return getBuckets(prepareLaw(law), n, balancing).buckets.map(({ share, law: inside }) => ({
    share,
    from: inside.values[0],
    to: inside.values[inside.values.length - 1],
  }));
}
