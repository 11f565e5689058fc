import { keptWith } from './kept.ts';

/**
 * Memory that several caches share. If it is full, the value of the lowest rank is dropped. Ranks favour recent use and
 * a long time to make a byte: GreedyDual-Size of Cao and Irani, Cost-Aware WWW Proxy Caching Algorithms, USITS 1997.
 * Some laws take a hundred times longer per byte, so recency alone would keep the wrong ones.
 */
export interface Budget {
  bytes: number;
  used: number;
  /** The rank of the value that was dropped last. A value that is used later gets this rank plus its own cost. */
  floor: number;
  /** The values by the power of two of their cost, each list in ascending order of ranks. */
  readonly lists: readonly Entry[];
}

/** A value with its neighbours in a list. A list is a ring whose first entry has no value. */
interface Entry {
  before: Entry;
  after: Entry;
  readonly list: number;
  /** Time to make the value, ns per byte, rounded to a power of two. */
  readonly cost: number;
  rank: number;
  readonly bytes: number;
  readonly drop: () => void;
}

/** Costs between 2⁻⁴ and 2¹¹ ns per byte are distinguished by their power of two. */
const LOWEST_COST = -4;
const COSTS = 16;

export function createBudget(bytes: number): Budget {
  return {
    bytes,
    used: 0,
    floor: 0,
    lists: Array.from({ length: COSTS }, (_, at) => makeEntry(at, 0, () => undefined)),
  };
}

function makeEntry(list: number, bytes: number, drop: () => void): Entry {
  const entry = { list, cost: 2 ** (list + LOWEST_COST), rank: 0, bytes, drop } as Entry;
  entry.before = entry;
  entry.after = entry;
  return entry;
}

function unlink({ before, after }: Entry): void {
  before.after = after;
  after.before = before;
}

function rankLast({ floor, lists }: Budget, entry: Entry): void {
  const list = lists[entry.list];
  entry.rank = floor + entry.cost;
  entry.before = list.before;
  entry.after = list;
  list.before.after = entry;
  list.before = entry;
}

function dropOne(budget: Budget): void {
  let lowest: Entry | null = null;
  for (const list of budget.lists)
    if (list.after !== list && (lowest === null || list.after.rank < lowest.rank)) lowest = list.after;
  if (lowest === null) return;
  budget.floor = lowest.rank;
  budget.used -= lowest.bytes;
  unlink(lowest);
  lowest.drop();
}

/**
 * Makes a cache whose values share a budget.
 * @param costMs usual time to make a value: on a busy machine, measured times would rank values by chance
 * @param sizeOf size of a value, bytes
 */
export function createSizedCache<Key, T>(
  budget: Budget,
  costMs: number,
  sizeOf: (value: T) => number,
): (key: Key, make: () => T) => T {
  const values = new Map<Key, { readonly value: T; readonly entry: Entry }>();
  return (key, make) => {
    const known = values.get(key);
    if (known !== undefined) {
      unlink(known.entry);
      rankLast(budget, known.entry);
      return known.value;
    }
    const value = make();
    const bytes = sizeOf(value);
    while (budget.used + bytes > budget.bytes && budget.used > 0) dropOne(budget);
    const cost = Math.round(Math.log2((1e6 * costMs) / bytes)) - LOWEST_COST;
    const entry = makeEntry(Math.max(0, Math.min(COSTS - 1, cost)), bytes, () => values.delete(key));
    values.set(key, { value, entry });
    budget.used += bytes;
    rankLast(budget, entry);
    return value;
  };
}

export function createOwnedCache<Owner extends object, Key, T>(
  budget: Budget,
  costMs: number,
  sizeOf: (value: T) => number,
): (owner: Owner, key: Key, make: () => T) => T {
  const cacheOf = keptWith((_owner: Owner) => createSizedCache<Key, T>(budget, costMs, sizeOf));
  return (owner, key, make) => cacheOf(owner)(key, make);
}
