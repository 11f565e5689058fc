/** From this z/√2 on, the continued fraction needs fewer terms than the series, and loses no digits, unlike 1 − erf. */
const SERIES_LIMIT = 2;

/** ½ erfc(z/√2), relative error below 5e-13 for z ≥ 0. Source: Abramowitz and Stegun 7.1.6 and 7.1.14. */
export function normalUpperTail(z: number): number {
  if (z < 0) return 1 - normalUpperTail(-z);
  // The tail is below the smallest double.
  if (z > 39) return 0;
  const x = z * Math.SQRT1_2;
  const density = Math.exp(-x * x) / Math.sqrt(Math.PI);
  if (x < SERIES_LIMIT) {
    let term = x;
    let sum = x;
    for (let n = 1; term > sum * Number.EPSILON * 0.25; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 0.5 - density * sum;
  }
  // From the inside out: at x = 2, 60 levels reach the last digit; larger x need fewer.
  let fraction = x;
  for (let level = 60; level >= 1; level--) fraction = x + level / 2 / fraction;
  return density / fraction / 2;
}

/** z with P(N ≤ z) = p, 0 < p < 1, within 4.5e-4. Source: Abramowitz and Stegun 26.2.23. */
export function normalQuantile(p: number): number {
  if (p < 0.5) return -normalQuantile(1 - p);
  const t = Math.sqrt(-2 * Math.log(1 - p));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}
