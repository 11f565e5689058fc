export const FOLDS = 5;

/** Returns the fold of a matrix, 0 … FOLDS − 1, by a hash of its name (FNV-1a, 32 bits: Fowler, Noll, Vo). */
export function assignFold(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % FOLDS;
}
