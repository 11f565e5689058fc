import type { KernelProfile, PipelineParameters } from '../domain/kernel.ts';
import type { SpaceAxes, SpaceConstraint } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { OrderedLengths } from './ordered.ts';

/** Everything a worker needs to predict any design of a study: plain data, structured-cloneable. */
export interface SweepPlan {
  /** Distinguishes plans, so that a worker keeps its tables between the chunks of one sweep. */
  readonly id: string;
  readonly axes: SpaceAxes;
  readonly law: LengthLaw;
  /** Number of work units. */
  readonly units: number;
  /** What the CPUs of the axes partition; `null` where there are none, or where designs are only classified. */
  readonly ordered: OrderedLengths | null;
  readonly kernel: KernelProfile;
  readonly constraints: readonly SpaceConstraint[];
  /** Measured pipeline parameters by device id; they replace the ones derived from the device's data sheet. */
  readonly pipeline: Readonly<
    Record<string, Omit<PipelineParameters, 'schedulers'> & { readonly schedulers?: number | undefined }>
  >;
}

/** The plan with fewer units of the same lengths: the same designs, each with the blocks that these units need. */
export function planOfPart(plan: SweepPlan, units: number): SweepPlan {
  return { ...plan, id: `${plan.id}-units-${units}`, units };
}
