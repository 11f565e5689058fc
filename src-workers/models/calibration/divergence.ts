import { ok, type Result, badInput } from '../../domain/result.ts';
import { mean } from '../../numeric/statistics.ts';
import { dot } from '../../numeric/symmetric.ts';
import { runLoops, type LoopKernel } from '../divergence/figures.ts';

/** Time of a thread group in which n lanes leave the loop separately (Bialas, Strzelecki 2015, arXiv:1504.01650). */
export interface DivergentRun {
  readonly loops: LoopKernel;
  readonly divergentLanes: number;
  readonly cycles: number;
}

export interface DivergenceFit {
  /** Cycles of the run without divergence, by kernel; `null` if that kernel was not measured. */
  readonly baseCycles: Readonly<Record<LoopKernel, number | null>>;
  readonly cyclesPerDivergentBranch: number;
  readonly branchStandardError: number | null;
  /** Cycles to spill and load one chunk of the reconvergence stack; `null` if the times show no spill. */
  readonly cyclesPerSpillAndLoad: number | null;
  readonly explained: number;
}

/** A cost per spill below this many standard errors can be chance, so it is not reported. */
const SPILL_SIGNIFICANCE = 4;

/**
 * Fits cycles = base + a·(divergent branches) + s·(spills) by least squares, with the counts of the emulated
 * reconvergence stack. A cost s that could be chance is omitted.
 */
export function fitDivergence(runs: readonly DivergentRun[]): Result<DivergenceFit> {
  const bad = runs.findIndex(
    ({ cycles, divergentLanes: n }) => !(cycles >= 0 && cycles < Infinity && Number.isInteger(n) && n >= 0 && n < 32),
  );
  if (bad >= 0) {
    const got = `${runs[bad].cycles} cycles and divergentLanes = ${runs[bad].divergentLanes}`;
    return badInput(`Run ${bad} has ${got}. Cycles must be 0 or more, and divergent lanes an integer from 0 to 31.`, {
      run: bad,
    });
  }
  const kernels = (['single', 'double'] as const).filter((loops) => runs.some((run) => run.loops === loops));
  const varied = kernels.some(
    (loops) => new Set(runs.filter((run) => run.loops === loops).map((run) => run.divergentLanes)).size > 1,
  );
  if (runs.length < 4 || !varied)
    return badInput(
      `A fit needs at least 4 runs, two of them of one kernel with different numbers of divergent lanes (runs: ${runs.length}).`,
    );
  const counts = runs.map(({ loops, divergentLanes }) => runLoops(loops, divergentLanes));
  const branches = Float64Array.from(counts, (run) => run.divergentBranches);
  const spills = Float64Array.from(counts, (run) => run.spills);
  const cycles = Float64Array.from(runs, (run) => run.cycles);
  const centred = (values: Float64Array) => {
    const means = kernels.map((loops) => {
      const own = values.filter((_, i) => runs[i].loops === loops);
      return mean(own);
    });
    return values.map((value, i) => value - means[kernels.indexOf(runs[i].loops)]);
  };
  const x = centred(branches);
  const z = centred(spills);
  const y = centred(cycles);
  const xx = dot(x, x);
  const xz = dot(x, z);
  const zz = dot(z, z);
  const determinant = xx * zz - xz * xz;
  let branch = dot(x, y) / xx;
  let spill = 0;
  let branchVariance = 1 / xx;
  let parameters = kernels.length + 1;
  if (determinant > 1e-9 * xx * zz && runs.length > parameters + 1) {
    const both = {
      branch: (zz * dot(x, y) - xz * dot(z, y)) / determinant,
      spill: (xx * dot(z, y) - xz * dot(x, y)) / determinant,
    };
    const squares = sumOfSquares(y, x, z, both.branch, both.spill);
    const error = Math.sqrt((squares / (runs.length - parameters - 1)) * (xx / determinant));
    // Exact times have the error 0, so any cost would count. A cost below 0.001 of a branch's cycles is left out.
    if (both.spill > Math.max(SPILL_SIGNIFICANCE * error, 1e-3 * Math.abs(both.branch))) {
      ({ branch, spill } = both);
      branchVariance = zz / determinant;
      parameters += 1;
    }
  }
  const squares = sumOfSquares(y, x, z, branch, spill);
  const freedom = runs.length - parameters;
  const deviation = freedom > 0 ? Math.sqrt(squares / freedom) : null;
  const baseOf = (loops: LoopKernel) => {
    const own = runs.flatMap((run, i) => (run.loops === loops ? [cycles[i] - branch * branches[i] - spill * spills[i]] : [])); // prettier-ignore
    return own.length === 0 ? null : mean(own);
  };
  const total = dot(y, y);
  return ok({
    baseCycles: { single: baseOf('single'), double: baseOf('double') },
    cyclesPerDivergentBranch: branch,
    branchStandardError: deviation === null ? null : deviation * Math.sqrt(branchVariance),
    cyclesPerSpillAndLoad: spill > 0 ? spill : null,
    explained: total > 0 ? Math.max(0, 1 - squares / total) : 0,
  });
}

function sumOfSquares(y: Float64Array, x: Float64Array, z: Float64Array, branch: number, spill: number): number {
  let sum = 0;
  for (let i = 0; i < y.length; i += 1) sum += (y[i] - branch * x[i] - spill * z[i]) ** 2;
  return sum;
}
