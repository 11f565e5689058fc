/** Small arrays, cut from slabs: allocating a buffer for each of a sweep's laws costs more than filling it. */
export interface Arena {
  readonly slabLength: number;
  readonly slabs: Float64Array[];
  at: number;
  used: number;
  /** Called when the arrays are released, so that the objects that hold arrays drop them. */
  readonly forget: (() => void)[];
}

export function createArena(slabLength: number): Arena {
  return { slabLength, slabs: [], at: 0, used: 0, forget: [] };
}

/** Releases every array of the arena. Whoever still holds an array will see it change; `forget` prevents this. */
export function clearArena(arena: Arena): void {
  arena.at = 0;
  arena.used = 0;
  for (const forget of arena.forget.splice(0)) forget();
}

/** Returns an array of `length` numbers with arbitrary contents. */
export function take(arena: Arena, length: number): Float64Array {
  // Laws that are too large for a slab are rare, so each gets memory of its own.
  if (length > arena.slabLength) return new Float64Array(length);
  if (arena.used + length > arena.slabLength) {
    arena.at += 1;
    arena.used = 0;
  }
  if (arena.at === arena.slabs.length) arena.slabs.push(new Float64Array(arena.slabLength));
  const from = arena.used;
  arena.used += length;
  return arena.slabs[arena.at].subarray(from, arena.used);
}
