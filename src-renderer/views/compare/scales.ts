/** Numbers that stand well on a logarithmic axis between two values, at most `most` of them. */
export function logTicks(low: number, high: number, most: number): readonly number[] {
  if (!(low > 0 && high > low)) return [];
  for (const factors of [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
    const ticks: number[] = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade += 1)
      for (const factor of factors) {
        const value = Number((factor * 10 ** decade).toPrecision(3));
        if (value >= low && value <= high) ticks.push(value);
      }
    if (ticks.length <= most) return ticks;
  }
  return [];
}

/** Moves labels down until none is closer than `gap` to the one above; NaN stays. Input order is kept. */
export function spreadLabels(at: readonly number[], gap: number): readonly number[] {
  const out = [...at];
  const order = at.map((_, i) => i).filter((i) => !Number.isNaN(at[i]));
  order.sort((a, b) => at[a] - at[b]);
  let moved = true;
  // Neighbours push each other apart by equal parts, so that a pair stays centred on its lines.
  for (let round = 0; moved && round < 50; round += 1) {
    moved = false;
    for (let k = 1; k < order.length; k += 1) {
      const overlap = gap - (out[order[k]] - out[order[k - 1]]);
      if (overlap <= 1e-6) continue;
      out[order[k - 1]] -= overlap / 2;
      out[order[k]] += overlap / 2;
      moved = true;
    }
  }
  return out;
}
