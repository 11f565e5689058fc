/** Stores a value as the newest entry of a cache, and drops the oldest entry if there would be more than `max`. */
export function keep<Key, T>(cache: Map<Key, T>, max: number, key: Key, value: T): T {
  cache.delete(key);
  if (cache.size >= max) cache.delete(cache.keys().next().value!);
  cache.set(key, value);
  return value;
}

/**
 * A cache whose values have a limited total size. When the newer generation exceeds the limit, the values of the older
 * one that were not used in the meantime are dropped, so up to twice the limit is kept.
 */
export interface Generations<Key, T> {
  newer: Map<Key, T>;
  older: Map<Key, T>;
  /** Total size of the newer values. */
  size: number;
}

export function createGenerations<Key, T>(): Generations<Key, T> {
  return { newer: new Map(), older: new Map(), size: 0 };
}

/** Returns the cached value of a key, or makes it. */
export function keptSized<Key, T>(
  cache: Generations<Key, T>,
  limit: number,
  key: Key,
  make: () => T,
  sizeOf: (value: T) => number,
): T {
  const known = cache.newer.get(key);
  if (known !== undefined) return known;
  const value = cache.older.get(key) ?? make();
  if (cache.size >= limit) {
    cache.older = cache.newer;
    cache.newer = new Map();
    cache.size = 0;
  }
  cache.newer.set(key, value);
  cache.size += sizeOf(value);
  return value;
}

/** Makes a cache with a limited total size for one kind of value. */
export function sizedCache<T>(limit: number, sizeOf: (value: T) => number): (key: string, make: () => T) => T {
  const cache = createGenerations<string, T>();
  return (key, make) => keptSized(cache, limit, key, make, sizeOf);
}

/** Returns the cached value of a key, or makes it. Beyond `max` values, the least recently used one is dropped. */
export function kept<Key, T>(cache: Map<Key, T>, max: number, key: Key, make: () => T): T {
  return keep(cache, max, key, cache.get(key) ?? make());
}
