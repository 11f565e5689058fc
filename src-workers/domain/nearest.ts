export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

const MAX_MISSPELLING = 3;

export function meantName(wrong: string, names: Iterable<string>): string | null {
  const [nearest] = Array.from(names, (name) => ({ name, distance: editDistance(wrong, name) })).sort(
    (a, b) => a.distance - b.distance,
  );
  return nearest && nearest.distance <= Math.min(MAX_MISSPELLING, wrong.length / 2) ? nearest.name : null;
}
