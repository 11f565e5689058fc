import type { GpuDevice } from '../../domain/device.ts';
import type { StackRun } from './emulator.ts';

export interface StackCosts {
  /** Cycles of the push, the synchronisation command and the pop of one divergent branch. */
  readonly cyclesPerDivergentBranch: number;
  readonly cyclesPerSpillAndLoad: number;
}

/**
 * Printed costs of Bialas, Strzelecki 2015 (arXiv:1504.01650). For Maxwell, the paper gives 26 cycles per divergent
 * branch in its fit (section IV) and 24 in its summary.
 */
export const STACK_COSTS = {
  kepler: { cyclesPerDivergentBranch: 32, cyclesPerSpillAndLoad: 84 },
  'maxwell-fit': { cyclesPerDivergentBranch: 26, cyclesPerSpillAndLoad: 176 },
  'maxwell-summary': { cyclesPerDivergentBranch: 24, cyclesPerSpillAndLoad: 176 },
} as const satisfies Readonly<Record<string, StackCosts>>;

/** The operations of one thread group on its stack; expected numbers need not be whole. */
export interface Divergence {
  readonly divergentBranches: number;
  readonly spills: number;
}

export function stackCycles(costs: StackCosts, divergence: Divergence): number {
  return (
    costs.cyclesPerDivergentBranch * divergence.divergentBranches + costs.cyclesPerSpillAndLoad * divergence.spills
  );
}

/** Cycles if every instruction takes the same time; the cost of a divergent branch includes its branch instruction. */
export function runCycles(run: StackRun, costs: StackCosts, cyclesPerInstruction: number): number {
  return cyclesPerInstruction * (run.executed - run.divergentBranches) + stackCycles(costs, run);
}

export interface DeviceStack {
  /** `null` if the device has no reconvergence stack, or its costs are not published. */
  readonly costs: StackCosts | null;
  readonly reason: string;
}

/**
 * Sources: Bialas, Strzelecki 2015; NVIDIA, "Tesla V100 GPU Architecture" (WP-08608), section "Independent Thread
 * Scheduling"; LLVM, "User Guide for AMDGPU Backend", and the AMD ISA guides: EXEC mask and scalar branches.
 */
export function deviceStack(
  device: Pick<GpuDevice, 'occupancy'>,
  maxwell: 'maxwell-fit' | 'maxwell-summary' = 'maxwell-fit',
): DeviceStack {
  const rules = device.occupancy;
  const stack = (costs: StackCosts | null, reason: string): DeviceStack => ({ costs, reason });
  if (rules.family === 'amd')
    return stack(
      null,
      'No reconvergence stack: the compiler keeps the execution mask in scalar registers and saves it with ordinary scalar instructions, which count as instructions of the kernel.',
    );
  if (rules.family !== 'nvidia')
    return stack(null, 'No reconvergence stack is documented for this device, so no cost is counted.');
  const major = Number(rules.computeCapability.split('.')[0]);
  if (major >= 7)
    return stack(
      null,
      'Independent thread scheduling (compute capability 7.0 and later): every thread has its own program counter and reconverges at barriers, so there is no stack to push or spill. The loss by imbalance counts the time in which lanes that finish early wait.',
    );
  if (major === 6)
    return stack(
      STACK_COSTS[maxwell],
      'Reconvergence stack. Pascal was not measured, so the costs of Maxwell are assumed (Bialas, Strzelecki 2015).',
    );
  if (major === 5)
    return stack(STACK_COSTS[maxwell], 'Reconvergence stack, measured on Maxwell (Bialas, Strzelecki 2015).');
  if (major === 3)
    return stack(STACK_COSTS.kepler, 'Reconvergence stack, measured on Kepler (Bialas, Strzelecki 2015).');
  return stack(null, 'Reconvergence stack, shorter than on Kepler. Its costs were not published, so none are counted.');
}
