import { unwrap } from '../../domain/result.ts';
import { runCycles, STACK_COSTS, type StackCosts } from './costs.ts';
import { runProgram, type StackRun } from './emulator.ts';
import { DOUBLE_LOOP, loopLimits, SINGLE_LOOP, STACK_LANES } from './program.ts';

export type LoopKernel = 'single' | 'double';

/** @param divergentLanes n of Table I, 0 … 31 */
export function runLoops(kernel: LoopKernel, divergentLanes: number): StackRun {
  const limits = loopLimits(divergentLanes);
  return unwrap(
    kernel === 'single' ? runProgram(SINGLE_LOOP, { M: limits }) : runProgram(DOUBLE_LOOP, { M: limits, N: limits }),
  );
}

export function publishedPushes(kernel: LoopKernel, divergentLanes: number): number {
  return kernel === 'single' ? divergentLanes + 1 : (divergentLanes * (65 - divergentLanes)) / 2 + 33;
}

export interface LoopTimings {
  readonly kernel: LoopKernel;
  /** 0 … 31; the other arrays have one entry for each of these numbers. */
  readonly divergentLanes: readonly number[];
  /** Cycles as in Figures 1, 2 and 7. */
  readonly cycles: readonly number[];
  /** As in Figure 6, where each spill counts as one more branch instruction. */
  readonly spills: readonly number[];
  readonly runs: readonly StackRun[];
}

/** @param cyclesPerInstruction see `keplerCyclesPerInstruction`; 0 gives the stack's cycles alone */
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

/** Number of divergent lanes at which the paper's summary states the overheads of both kernels. */
export const OVERHEAD_LANES = 14;
const SINGLE_LOOP_OVERHEAD = 0.25;

/** Derived from the ~25 % that 14 divergent lanes cost the single loop in the paper, and no more accurate than that. */
export function keplerCyclesPerInstruction(): number {
  const run = runLoops('single', OVERHEAD_LANES);
  return runCycles(run, STACK_COSTS.kepler, 0) / SINGLE_LOOP_OVERHEAD / (run.executed - run.divergentBranches);
}
