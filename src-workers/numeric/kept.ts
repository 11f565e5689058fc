/** What is under a key, or is made; what was asked for longest ago leaves where there are too many. */
export function kept<Key, T>(cache: Map<Key, T>, max: number, key: Key, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) cache.delete(key);
  else if (cache.size >= max) cache.delete(cache.keys().next().value!);
  const value = known ?? make();
  cache.set(key, value);
  return value;
}
