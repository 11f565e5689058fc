import { unwrap } from '../../domain/result.ts';
import { runCycles, STACK_COSTS, type StackCosts } from './costs.ts';
import { runProgram, type StackRun } from './emulator.ts';
import { DOUBLE_LOOP, loopLimits, SINGLE_LOOP, STACK_LANES } from './program.ts';

/**
 * Data of the figures of Bialas, Strzelecki 2015, from the emulator. Figures 3–5 need one run, the other figures all
 * 32.
 */

export type LoopKernel = 'single' | 'double';

/** Runs the kernel with n divergent lanes (Table I), 0 … 31. `depths` is the stack history of Figures 4 and 5. */
export function runLoops(kernel: LoopKernel, divergentLanes: number): StackRun {
  const limits = loopLimits(divergentLanes);
  return unwrap(
    kernel === 'single' ? runProgram(SINGLE_LOOP, { M: limits }) : runProgram(DOUBLE_LOOP, { M: limits, N: limits }),
  );
}

/** Returns the number of pushes by the paper: n + 1 for the single loop, n(65 − n)/2 + 33 for the double loop. */
export function publishedPushes(kernel: LoopKernel, divergentLanes: number): number {
  return kernel === 'single' ? divergentLanes + 1 : (divergentLanes * (65 - divergentLanes)) / 2 + 33;
}

export interface LoopTimings {
  readonly kernel: LoopKernel;
  /** The numbers n = 0 … 31 of divergent lanes; the other arrays have one entry for each. */
  readonly divergentLanes: readonly number[];
  /** Cycles as in Figures 1, 2 and 7. */
  readonly cycles: readonly number[];
  /** Number of spills, as in Figure 6. Each spill counts as one more branch instruction. */
  readonly spills: readonly number[];
  readonly runs: readonly StackRun[];
}

/**
 * Computes the cycles by number of divergent lanes.
 * @param cyclesPerInstruction base cost; 0 gives the stack's cycles alone. The paper does not print this cost;
 * `keplerCyclesPerInstruction` derives one for Kepler.
 */
export function loopTimings(kernel: LoopKernel, costs: StackCosts, cyclesPerInstruction: number): LoopTimings {
  const divergentLanes = Array.from({ length: STACK_LANES }, (_, n) => n);
  const runs = divergentLanes.map((n) => runLoops(kernel, n));
  const cycles = runs.map((run) => runCycles(run, costs, cyclesPerInstruction));
  return {
    kernel,
    divergentLanes,
    cycles,
    spills: runs.map((run) => run.spills),
    runs,
  };
}

/** Number of divergent lanes at which the summary of the paper states the overheads of both kernels. */
export const OVERHEAD_LANES = 14;
export const SINGLE_LOOP_OVERHEAD = 0.25;

/**
 * Returns the cycles per instruction on Kepler, which the paper does not print. With the returned value, 14 divergent
 * lanes cost the single loop the ~25 % of the summary, so the value is only as accurate as that percentage.
 */
export function keplerCyclesPerInstruction(): number {
  const run = runLoops('single', OVERHEAD_LANES);
  return runCycles(run, STACK_COSTS.kepler, 0) / SINGLE_LOOP_OVERHEAD / (run.executed - run.divergentBranches);
}
