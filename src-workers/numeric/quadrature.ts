/** ∫ f ≈ Σ weights[i]·f(nodes[i]), with ascending nodes and positive weights. */
export interface QuadratureRule {
  readonly nodes: Float64Array;
  readonly weights: Float64Array;
}

/**
 * Computes the Gauss rule of a measure from its three-term recurrence p_{k+1} = (x − alpha[k])·p_k − beta[k]·p_{k−1};
 * beta[0] is the measure's total mass. Nodes are the eigenvalues of the Jacobi matrix, by implicit QL with Wilkinson
 * shifts; weights are beta[0] times the squared first components of its eigenvectors. Source: Golub and Welsch, Math.
 * Comp. 23 (1969), doi:10.1090/S0025-5718-69-99647-1.
 */
export function gaussRule(alpha: Float64Array, beta: Float64Array): QuadratureRule {
  const count = alpha.length;
  const diagonal = Float64Array.from(alpha);
  const off = new Float64Array(count);
  for (let k = 1; k < count; k++) off[k - 1] = Math.sqrt(beta[k]);
  const first = new Float64Array(count);
  first[0] = 1;
  for (let l = 0; l < count; l++) {
    for (;;) {
      let m = l;
      while (m < count - 1) {
        const scale = Math.abs(diagonal[m]) + Math.abs(diagonal[m + 1]);
        if (Math.abs(off[m]) <= Number.EPSILON * scale || Math.abs(off[m]) < 1e-300) break;
        m++;
      }
      if (m === l) break;
      let g = (diagonal[l + 1] - diagonal[l]) / (2 * off[l]);
      let r = Math.hypot(g, 1);
      g = diagonal[m] - diagonal[l] + off[l] / (g + (g >= 0 ? r : -r));
      let s = 1;
      let c = 1;
      let p = 0;
      for (let i = m - 1; i >= l; i--) {
        const f = s * off[i];
        const b = c * off[i];
        r = Math.hypot(f, g);
        off[i + 1] = r;
        if (r === 0) {
          diagonal[i + 1] -= p;
          off[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = diagonal[i + 1] - p;
        r = (diagonal[i] - g) * s + 2 * c * b;
        p = s * r;
        diagonal[i + 1] = g + p;
        g = c * r - b;
        const z = first[i + 1];
        first[i + 1] = s * first[i] + c * z;
        first[i] = c * first[i] - s * z;
      }
      if (r === 0 && m - 1 > l) continue;
      diagonal[l] -= p;
      off[l] = g;
      off[m] = 0;
    }
  }
  const order = Array.from(diagonal.keys()).sort((i, j) => diagonal[i] - diagonal[j]);
  return {
    nodes: Float64Array.from(order, (i) => diagonal[i]),
    weights: Float64Array.from(order, (i) => beta[0] * first[i] * first[i]),
  };
}

/**
 * Computes the Gauss rule of a discrete measure (positive masses at points), with recurrence coefficients by the
 * Stieltjes procedure, which is stable for a `count` far below the number of points. Source: Gautschi, SIAM J. Sci.
 * Stat. Comput. 3 (1982), doi:10.1137/0903018.
 */
export function discreteGaussRule(points: Float64Array, masses: Float64Array, count: number): QuadratureRule {
  const alpha = new Float64Array(count);
  const beta = new Float64Array(count);
  let previous = new Float64Array(points.length);
  let current = new Float64Array(points.length).fill(1);
  let normBefore = 1;
  for (let k = 0; k < count; k++) {
    let norm = 0;
    let moment = 0;
    for (let i = 0; i < points.length; i++) {
      const square = masses[i] * current[i] * current[i];
      norm += square;
      moment += square * points[i];
    }
    alpha[k] = moment / norm;
    beta[k] = k === 0 ? norm : norm / normBefore;
    normBefore = norm;
    const next = new Float64Array(points.length);
    const drop = k === 0 ? 0 : beta[k];
    for (let i = 0; i < points.length; i++) next[i] = (points[i] - alpha[k]) * current[i] - drop * previous[i];
    previous = current;
    current = next;
  }
  return gaussRule(alpha, beta);
}
