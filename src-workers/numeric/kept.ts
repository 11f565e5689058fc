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

export function getOrMake<Key, T extends NonNullable<unknown>>(map: Map<Key, T>, key: Key, make: () => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/** Like `kept`, with a cache per owner that is released with it. `make` gets the other values of the owner. */
export function keptFor<Owner extends object, Key, T>(
  caches: WeakMap<Owner, Map<Key, T>>,
  owner: Owner,
  max: number,
  key: Key,
  make: (others: ReadonlyMap<Key, T>) => T,
): T {
  let own = caches.get(owner);
  if (!own) caches.set(owner, (own = new Map()));
  return kept(own, max, key, () => make(own));
}

/** Makes a function whose value is computed once for each object, and released together with the object. */
export function keptWith<Owner extends object, T>(make: (owner: Owner) => T): (owner: Owner) => T {
  const values = new WeakMap<Owner, T>();
  return (owner) => {
    if (!values.has(owner)) values.set(owner, make(owner));
    return values.get(owner)!;
  };
}
