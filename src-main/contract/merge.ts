import { isObject } from '../../src-workers/domain/json.ts';

/**
 * Returns `mine` with what `theirs` changed since `base`, field by field. A field that both changed stays as in `mine`.
 * Lists merge item by item if their items have names and their lengths agree; other lists are one field.
 */
export function mergeEdits<T>(base: T, mine: T, theirs: T): T;
export function mergeEdits(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isEqual(base, theirs)) return mine;
  if (isEqual(base, mine)) return theirs;
  if (isObject(base) && isObject(mine) && isObject(theirs)) {
    const keys = new Set([...Object.keys(mine), ...Object.keys(theirs)]);
    const merged = [...keys].map((key) => [key, mergeEdits(base[key], mine[key], theirs[key])] as const);
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  }
  if (!areNamed(base) || !areNamed(mine) || !areNamed(theirs)) return mine;
  if (base.length !== mine.length || base.length !== theirs.length) return mine;
  return mine.map((item, at) => mergeEdits(base[at], item, theirs[at]));
}

/** Whether two values from JSON are equal, in any order of their keys. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => isEqual(item, b[at]));
  if (!isObject(a) || !isObject(b)) return a === b;
  return [...Object.keys(a), ...Object.keys(b)].every((key) => isEqual(a[key], b[key]));
}

export function areNamed(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.every((item) => isObject(item) && 'name' in item);
}
