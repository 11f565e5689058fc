/** Ranks from 1, equal values sharing the mean of theirs. */
function fractionalRanks(values: Float64Array): Float64Array {
  const order = Uint32Array.from(values, (_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const ranks = new Float64Array(values.length);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && values[order[end]!] === values[order[start]!]) end += 1;
    for (let i = start; i < end; i += 1) ranks[order[i]!] = (start + end + 1) / 2;
    start = end;
  }
  return ranks;
}

/**
 * Spearman's rank correlation, −1…1: Pearson's correlation of the ranks, ties sharing theirs.
 * @param a,b same length ≥ 2, no NaN
 * @returns NaN where all values of one side are equal
 */
export function spearman(a: Float64Array, b: Float64Array): number {
  const ra = fractionalRanks(a);
  const rb = fractionalRanks(b);
  const mean = (a.length + 1) / 2;
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < ra.length; i += 1) {
    const x = ra[i]! - mean;
    const y = rb[i]! - mean;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb);
}
