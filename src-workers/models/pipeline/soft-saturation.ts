import { ok, type Result, badInput } from '../../domain/result.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import { dot, solveSymmetric } from '../../numeric/symmetric.ts';

/**
 * Soft-saturation waves: cycles of an iteration on one multiprocessor (SM), by its number of thread groups.
 *
 * fu(w) = (τᵖ + (c·q·⌈w/q⌉)ᵖ)^(1/p)
 *
 * With few thread groups an iteration costs its latency τ. With many, the SM issues one iteration of each in turn, so
 * the cost grows by c per thread group, in whole rounds of the q schedulers. p is the softness of the knee between the
 * two: as p → ∞, fu approaches max(τ, c·q·⌈w/q⌉). The form is this project's own; the waves of blocks are from Kim's
 * poster, "GPGPU Performance Modeling using Microbenchmarks".
 */

/**
 * Computes fu(w): cycles of SM time in which each of `groups` active thread groups advances by one iteration.
 * @param groups active thread groups, ≥ 0, rounded up to whole rounds of the schedulers; 0 gives the latency floor τ
 */
export function cyclesPerIteration(parameters: PipelineParameters, groups: number): number {
  const { latencyCycles, issueCycles, kneeSoftness, schedulers } = parameters;
  const issue = issueCycles * schedulers * Math.ceil(groups / schedulers);
  const larger = Math.max(latencyCycles, issue);
  if (larger === 0) return 0;
  // The larger of the two terms is factored out, so that high powers neither overflow nor underflow.
  const ratio = Math.min(latencyCycles, issue) / larger;
  return larger * Math.pow(1 + Math.pow(ratio, kneeSoftness), 1 / kneeSoftness);
}

/**
 * Softness of the knee between memory traffic and the rest of an iteration. Traffic queues before the memory is
 * saturated, so this knee is softer than that of issue. Assumed.
 */
const MEMORY_SOFTNESS = 2.5;

/** fu(w) with a memory that serves the groups one after another, `transferCycles` ≥ 0 for each. */
export function cyclesWithTraffic(parameters: PipelineParameters, transferCycles: number, groups: number): number {
  const cycles = cyclesPerIteration(parameters, groups);
  const transfer = transferCycles * groups;
  const larger = Math.max(cycles, transfer);
  if (transfer === 0 || larger === 0) return cycles;
  const ratio = Math.min(cycles, transfer) / larger;
  return larger * Math.pow(1 + Math.pow(ratio, MEMORY_SOFTNESS), 1 / MEMORY_SOFTNESS);
}

/** Derivatives of `cyclesWithTraffic` by the cycles of latency, and of issue and transfer per thread group. */
export interface MarginalCycles {
  readonly latency: number;
  readonly issue: number;
  readonly transfer: number;
}

/** By Euler's theorem, the latency, issue and transfer, each times its derivative, sum to all cycles. */
export function marginalCycles(parameters: PipelineParameters, transferCycles: number, groups: number): MarginalCycles {
  const { latencyCycles, issueCycles, kneeSoftness: p, schedulers } = parameters;
  const inner = cyclesPerIteration(parameters, groups);
  const whole = cyclesWithTraffic(parameters, transferCycles, groups);
  if (whole === 0) return { latency: 0, issue: 0, transfer: 0 };
  const rest = inner > 0 ? Math.pow(inner / whole, MEMORY_SOFTNESS - 1) : 0;
  const turns = schedulers * Math.ceil(groups / schedulers);
  return {
    latency: inner > 0 ? rest * Math.pow(latencyCycles / inner, p - 1) : 0,
    issue: inner > 0 ? rest * Math.pow((issueCycles * turns) / inner, p - 1) * turns : 0,
    transfer: Math.pow((transferCycles * groups) / whole, MEMORY_SOFTNESS - 1) * groups,
  };
}

/** fu at 0, 1, …, `maxGroups` active thread groups, never decreasing; index 0 is the latency floor τ. */
export function cycleTable(parameters: PipelineParameters, maxGroups: number): Float64Array {
  return Float64Array.from({ length: maxGroups + 1 }, (_, groups) => cyclesPerIteration(parameters, groups));
}

export interface WaveLaunch {
  readonly groupsPerBlock: number;
  /** g: number of blocks that this multiprocessor runs in total. */
  readonly blocksPerMultiprocessor: number;
  /** N: blocks that are resident at once. */
  readonly residentBlocks: number;
}

/**
 * Computes the time of g blocks of b thread groups as Kim's poster does, ⌊g/N⌋·fu(b·N) + fu(b·(g mod N)), with this
 * file's fu. Thread groups run one iteration, or the whole kernel if τ and c are for the whole kernel.
 */
export function wavesTime(parameters: PipelineParameters, launch: WaveLaunch): number {
  const { groupsPerBlock, blocksPerMultiprocessor, residentBlocks } = launch;
  const fullWaves = Math.floor(blocksPerMultiprocessor / residentBlocks);
  const rest = blocksPerMultiprocessor - fullWaves * residentBlocks;
  const full = fullWaves * cyclesPerIteration(parameters, groupsPerBlock * residentBlocks);
  return rest === 0 ? full : full + cyclesPerIteration(parameters, groupsPerBlock * rest);
}

export interface MeasuredLaunch extends WaveLaunch {
  /** > 0. The fitted τ and c have the same unit. */
  readonly timeMs: number;
}

const MAX_SOFTNESS = 64;

/**
 * Fits τ, c and p by least squares on ln(time), with Levenberg–Marquardt in ln τ, ln c, ln p. q is the candidate with
 * the smallest sum of squares.
 * @param rows at least 3 launches with positive times, some latency-bound and some not, to separate τ from c
 */
export function fitSoftSaturation(
  rows: readonly MeasuredLaunch[],
  fixed: { readonly schedulers: readonly number[] },
): Result<PipelineParameters> {
  if (rows.length < 3) return badInput(`A fit needs at least 3 measured launches, not ${rows.length}.`);
  if (fixed.schedulers.length === 0)
    return badInput('The list of candidates for the number of schedulers is empty. Specify at least one.');
  const bad = rows.findIndex((row) => !(row.timeMs > 0 && Number.isFinite(row.timeMs)));
  if (bad >= 0) {
    return badInput(`Launch ${bad} took ${rows[bad].timeMs} ms, which is not a positive time.`, { row: bad });
  }
  let best: { parameters: PipelineParameters; cost: number } | undefined;
  for (const schedulers of fixed.schedulers) {
    const fitted = levenbergMarquardt(rows, schedulers);
    if (!best || fitted.cost < best.cost) best = fitted;
  }
  return ok(best!.parameters);
}

function levenbergMarquardt(rows: readonly MeasuredLaunch[], schedulers: number) {
  const toParameters = (x: readonly number[]): PipelineParameters => ({
    latencyCycles: Math.exp(x[0]),
    issueCycles: Math.exp(x[1]),
    kneeSoftness: Math.min(MAX_SOFTNESS, Math.max(1, Math.exp(x[2]))),
    schedulers,
  });
  const residualsAt = (x: readonly number[]) => {
    const parameters = toParameters(x);
    return Float64Array.from(rows, (row) => Math.log(wavesTime(parameters, row) / row.timeMs));
  };
  const sumOfSquares = (r: Float64Array) => r.reduce((sum, value) => sum + value * value, 0);

  // Start values, each the smallest of all rows: τ as if latency bounded every wave, c as if issue bounded every group.
  let floor = Infinity;
  let perGroup = Infinity;
  for (const row of rows) {
    floor = Math.min(floor, row.timeMs / Math.ceil(row.blocksPerMultiprocessor / row.residentBlocks));
    perGroup = Math.min(perGroup, row.timeMs / (row.blocksPerMultiprocessor * row.groupsPerBlock));
  }
  let x: readonly number[] = [Math.log(floor), Math.log(perGroup), Math.log(4)];
  let residuals = residualsAt(x);
  let cost = sumOfSquares(residuals);
  let damping = 1e-2;
  for (let iteration = 0; iteration < 100; iteration++) {
    const step = 1e-6;
    const columns = [0, 1, 2].map((j) => {
      const moved = residualsAt(x.map((value, i) => (i === j ? value + step : value)));
      return moved.map((value, i) => (value - residuals[i]) / step);
    });
    const normal = columns.map((a) => columns.map((b) => dot(a, b)));
    const gradient = columns.map((a) => dot(a, residuals));
    const before = cost;
    let improved = false;
    while (!improved && damping < 1e12) {
      // The 1e-12 keeps the system regular if a parameter has no influence (such as p, if no row is near the knee).
      const damped = normal.map((line, i) => line.map((v, j) => (i === j ? v * (1 + damping) + 1e-12 : v)));
      const delta = solveSymmetric(damped, gradient);
      const next = x.map((value, i) => value - delta[i]);
      const nextResiduals = residualsAt(next);
      const nextCost = sumOfSquares(nextResiduals);
      if (nextCost < cost) {
        x = next;
        residuals = nextResiduals;
        cost = nextCost;
        damping = Math.max(1e-12, damping / 5);
        improved = true;
      } else damping *= 5;
    }
    if (!improved || before - cost <= 1e-12 * before) break;
  }
  return { parameters: toParameters(x), cost };
}
