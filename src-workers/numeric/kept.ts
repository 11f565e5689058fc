/** Stores a value as the newest entry of a cache, and drops the oldest entry if there would be more than `max`. */
export function keep<Key, T>(cache: Map<Key, T>, max: number, key: Key, value: T): T {
  cache.delete(key);
  if (cache.size >= max) cache.delete(cache.keys().next().value!);
  cache.set(key, value);
  return value;
}

/** Returns the cached value of a key, or makes it. Beyond `max` values, the least recently used one is dropped. */
export function kept<Key, T>(cache: Map<Key, T>, max: number, key: Key, make: () => T): T {
  return keep(cache, max, key, cache.get(key) ?? make());
}
