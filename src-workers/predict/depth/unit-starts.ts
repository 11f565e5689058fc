import type { GroupFetches } from '../../domain/depth.ts';
import type { WholeUnitBalancing } from '../../domain/design.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { listRoundPatterns } from './buckets.ts';
import { addLaws, takeMaximum, makeSumTerm, type DiscreteLaw } from './discrete-law.ts';
import { computeFetchedStarts, computeIndependentStarts, computeOrderedStarts } from './divergent-starts.ts';
import { countLastFetches, prepareRenewals, type Renewals } from './dynamic-fetch.ts';
import type { FetchingGroup } from './fetched.ts';
import {
  getBuckets,
  getShared,
  listGroupSizes,
  makeLengthLaw,
  type BucketSet,
  type PreparedLaw,
  type WorkGroup,
} from './prepared-law.ts';
import { FOLLOWED_ROUNDS } from '../constants.ts';

/**
 * Counts setups: one per round if all lanes start together (as sorted lanes do), else one per iteration with a start.
 */
export function countUnitStarts({ prepared, n, balancing, loop, rounds }: WorkGroup): number {
  if (n === 1) return rounds;
  switch (balancing.kind) {
    case 'dynamic-fetch':
      return balancing.fetch === 'group' ? rounds : getFetchedUnits(prepared, n)(rounds).starts;
    case 'none':
    case 'shuffle':
      return loop === 'nested' ? rounds : countDealtStarts(prepared, n, rounds);
    case 'quantile-buckets':
    case 'best-buckets':
      return loop === 'nested' || rounds === 1
        ? rounds
        : countBucketStarts(prepared, n, getBuckets(prepared, n, balancing), rounds);
    case 'window-sort':
    case 'full-sort':
      return rounds;
  }
}

function countDealtStarts(prepared: PreparedLaw, n: number, rounds: number): number {
  const sizes = listGroupSizes(n);
  const followed = Math.min(rounds, FOLLOWED_ROUNDS);
  const known = getShared(prepared, `starts ${followed} ${sizes.join()}`, () =>
    computeIndependentStarts(prepared.source, sizes, followed),
  );
  const { starts, perRound } = known[sizes.indexOf(n)];
  return starts + (rounds - followed) * perRound;
}

function countBucketStarts(
  prepared: PreparedLaw,
  n: number,
  { buckets, key, cutForWidth }: BucketSet,
  rounds: number,
): number {
  const sizes = cutForWidth ? [n] : listGroupSizes(n);
  const starts = getShared(prepared, `starts ${key} ${rounds} ${sizes.join()}`, () => {
    const patterns = listRoundPatterns(
      buckets.map(({ share }) => share),
      rounds,
    );
    const each = computeOrderedStarts(
      buckets.map(({ law }) => makeLengthLaw(law)),
      sizes,
      patterns.map(({ counts }) => counts),
    );
    return sizes.map((_, i) => patterns.reduce((sum, { weight }, at) => sum + weight * each[at][i], 0));
  });
  return starts[sizes.indexOf(n)];
}

export type DynamicFetch = Extract<WholeUnitBalancing, { kind: 'dynamic-fetch' }>;

/**
 * Counts a group's accesses to the fetch counter. A group that fetches for its lanes counts as one lane with the
 * longest units.
 * @param played the group with the units that it takes, if their order is known
 * @param depth mean depth of the group without setups
 */
export function countGroupFetches(
  { prepared, n, balancing: { fetch = 1 }, rounds }: WorkGroup<DynamicFetch>,
  setup: number,
  played: FetchingGroup | undefined,
  depth: number,
): GroupFetches {
  const fetchers = fetch === 'group' ? 1 : n;
  const once = Math.max(1, fetch === 'group' ? rounds : rounds / fetch);
  const additions = fetchers * (once - 1);
  if (played) {
    return {
      fetchers,
      iterations: played.iterations + setup * (played.starts - 1),
      events: played.events,
      additions,
      last: { iterations: Math.max(0, depth - played.iterations), events: played.lastEvents },
    };
  }
  const fetchedBy =
    fetch === 1
      ? getFetchedUnits(prepared, n)
      : getFetchedStarts(
          prepared,
          () => makeLengthLaw(getFetchedLaw(prepared, fetch, n)),
          fetchers,
          nameFetch(fetch, n),
        );
  const { starts, iterations } = fetchedBy(once);
  // The setup runs at every start of a unit: at each fetch, and again for each further unit of a chunk.
  const unitStarts =
    typeof fetch === 'number' && fetch > 1 ? getFetchedUnits(prepared, n)(Math.max(1, rounds)).starts : starts;
  return {
    fetchers,
    iterations: iterations + setup * (unitStarts - 1),
    events: starts - 1,
    additions,
    last: {
      iterations: Math.max(0, depth - iterations),
      events: fetchers === 1 ? 1 : countSharedLastFetches(prepared, fetch, n, once),
    },
  };
}

/** Keeps the results of `countLastFetches`. From two fetches on, they no longer depend on the number of fetches. */
function countSharedLastFetches(prepared: PreparedLaw, fetch: number | 'group', n: number, fetches: number): number {
  const most = Math.min(2, fetches);
  return getShared(prepared, `last fetches ${fetch} ${n} ${most}`, () => {
    const renewals = getRenewals(prepared, fetch, n);
    return renewals ? countLastFetches(renewals, n, most) : 1;
  });
}

/** The renewals of a fetcher (see `getFetchedLaw`); `null` if all units are empty. */
export function getRenewals(prepared: PreparedLaw, fetch: number | 'group', n: number): Renewals | null {
  return getShared(prepared, `renewals ${nameFetch(fetch, n)}`, () =>
    prepareRenewals(getFetchedLaw(prepared, fetch, n)),
  );
}

/** The law of the work of a fetcher between two fetches: a unit, a chunk, or the longest unit of a group. */
export function getFetchedLaw(prepared: PreparedLaw, fetch: number | 'group', n: number): DiscreteLaw {
  const { law } = prepared;
  if (fetch === 'group') return takeMaximum(law, n);
  return fetch === 1 ? law : getShared(prepared, `chunk ${fetch}`, () => addLaws([makeSumTerm(law)], [fetch]));
}

function nameFetch(fetch: number | 'group', n: number): string {
  return fetch === 'group' ? `longest of ${n}` : `chunks of ${fetch}`;
}

type StartsOfRounds = (rounds: number) => { readonly starts: number; readonly iterations: number };

function getFetchedUnits(prepared: PreparedLaw, n: number): StartsOfRounds {
  return getFetchedStarts(prepared, () => prepared.source, n, 'units');
}

function getFetchedStarts(prepared: PreparedLaw, law: () => LengthLaw, n: number, name: string): StartsOfRounds {
  const sizes = listGroupSizes(n);
  const fetched = getShared(prepared, `fetched ${name} ${sizes.join()}`, () => computeFetchedStarts(law(), sizes));
  return (rounds) => {
    const { starts, iterations } = fetched(rounds);
    return { starts: starts[sizes.indexOf(n)], iterations };
  };
}
