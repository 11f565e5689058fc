/** Stores a value as the newest entry of a cache, and drops the oldest entry if there would be more than `max`. */
export function keep<Key, T>(cache: Map<Key, T>, max: number, key: Key, value: T): T {
  cache.delete(key);
  if (cache.size >= max) cache.delete(cache.keys().next().value!);
  cache.set(key, value);
  return value;
}

/**
 * Makes a cache whose values have a limited total size. It has two generations. When the newer one exceeds the limit,
 * the values of the older one that were not used in the meantime are dropped, so up to twice the limit is kept.
 */
export function sizedCache<T>(limit: number, sizeOf: (value: T) => number): (key: string, make: () => T) => T {
  let newer = new Map<string, T>();
  let older = new Map<string, T>();
  let size = 0;
  return (key, make) => {
    const known = newer.get(key);
    if (known !== undefined) return known;
    const value = older.get(key) ?? make();
    if (size >= limit) {
      older = newer;
      newer = new Map();
      size = 0;
    }
    newer.set(key, value);
    size += sizeOf(value);
    return value;
  };
}

/** Returns the cached value of a key, or makes it. Beyond `max` values, the least recently used one is dropped. */
export function kept<Key, T>(cache: Map<Key, T>, max: number, key: Key, make: () => T): T {
  return keep(cache, max, key, cache.get(key) ?? make());
}
