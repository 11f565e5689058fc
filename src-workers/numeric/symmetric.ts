export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/** Returns the lower triangular L of a positive definite A = L·Lᵀ (Golub and Van Loan, Matrix Computations, §4.2). */
export function choleskyFactor(a: readonly ArrayLike<number>[]): readonly Float64Array[] {
  const n = a.length;
  const lower = a.map(() => new Float64Array(n));
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let sum = a[i][j];
      for (let k = 0; k < j; k += 1) sum -= lower[i][k] * lower[j][k];
      // Rounding can make a pivot of a nearly singular system zero or negative.
      lower[i][j] = i === j ? Math.sqrt(Math.max(sum, 1e-14 * a[i][i])) : sum / lower[j][j];
    }
  }
  return lower;
}

export function solveSymmetric(a: readonly ArrayLike<number>[], b: readonly number[]): number[] {
  const n = b.length;
  const lower = choleskyFactor(a);
  const x = b.slice();
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < i; k += 1) x[i] -= lower[i][k] * x[k];
    x[i] /= lower[i][i];
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) x[i] -= lower[k][i] * x[k];
    x[i] /= lower[i][i];
  }
  return x;
}
