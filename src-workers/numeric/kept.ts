/** Puts a value under a key as the newest; the oldest leaves where there would be more than `max`. */
export function keep<Key, T>(cache: Map<Key, T>, max: number, key: Key, value: T): T {
  cache.delete(key);
  if (cache.size >= max) cache.delete(cache.keys().next().value!);
  cache.set(key, value);
  return value;
}

/** What is under a key, or is made; what was asked for longest ago leaves where there are too many. */
export function kept<Key, T>(cache: Map<Key, T>, max: number, key: Key, make: () => T): T {
  return keep(cache, max, key, cache.get(key) ?? make());
}
