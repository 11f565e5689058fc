import type { KernelProfile, MeasuredPipeline } from '../domain/kernel.ts';
import type { SpaceAxes, SpaceConstraint } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { makeGivenLengths, makeUnitLaw, takePart, repeatUnits, type CompactOrder } from './ordered.ts';

/** All data that a worker needs to predict any design of a study. They can be cloned. */
export interface SweepPlan {
  /** Identifies the plan, so that a worker keeps its tables between the chunks of a sweep. */
  readonly id: string;
  readonly axes: SpaceAxes;
  readonly law: LengthLaw;
  readonly units: number;
  /**
   * The lengths of the workload or, for CPUs, lengths drawn from its law. `null` if neither exists, or if designs are
   * only checked for validity.
   */
  readonly ordered: CompactOrder | null;
  /** Units of a row, if the units form an image or a grid. */
  readonly width?: number | undefined;
  readonly kernel: KernelProfile;
  /** The kernel for each number of threads per unit, if its code depends on that number, as in the stand-in loop. */
  readonly kernelsByThreads?: Readonly<Record<number, KernelProfile>>;
  /** The kernel whose pipeline parameters were measured; `kernel` if omitted. */
  readonly pipelineKernel?: KernelProfile;
  readonly constraints: readonly SpaceConstraint[];
  /** Measured pipeline parameters by device id. They replace the parameters derived from the device's data sheet. */
  readonly pipeline: Readonly<Record<string, MeasuredPipeline>>;
}

/** Whether the measured issue cycles of a device contain the traffic, so that the model of the traffic is not used. */
export function containsTraffic({ pipeline }: Pick<SweepPlan, 'pipeline'>, deviceId: string): boolean {
  const measured = pipeline[deviceId];
  return measured !== undefined && measured.transferScale === undefined;
}

/** `null` if the units are independent draws. */
export function getGivenOrder({ ordered }: Pick<SweepPlan, 'ordered'>): CompactNumbers | null {
  return ordered?.given ? ordered.iterations : null;
}

export function replanUnits(plan: SweepPlan, units: number): SweepPlan {
  const { law, ordered } = plan;
  const own = ordered?.given ? makeUnitLaw(law.label, ordered, units) : law;
  return { ...plan, id: `${plan.id}-units-${units}`, units, law: own };
}

/** Returns the plan with a GPU at another clock. Loads take the same time, and so a different number of cycles. */
export function replanClock(plan: SweepPlan, deviceId: string, clockMhz: number): SweepPlan {
  const devices = plan.axes.devices.map((device) =>
    device.kind === 'gpu' && device.id === deviceId
      ? { ...device, clockMhz, memoryLatencyCycles: (device.memoryLatencyCycles * clockMhz) / device.clockMhz }
      : device,
  );
  return { ...plan, id: `${plan.id}-clock-${clockMhz}`, axes: { ...plan.axes, devices } };
}

export function takePartOfPlan(plan: SweepPlan, units: number): SweepPlan {
  const { ordered } = plan;
  if (!ordered?.given || units >= plan.units) return replanUnits(plan, units);
  const iterations = takePart(repeatUnits(ordered.iterations, plan.units), units);
  // `takePart` keeps stretches from all parts of an image. Together, the stretches do not form an image.
  return replanUnits(
    { ...plan, id: `${plan.id}-part`, ordered: makeGivenLengths(iterations), width: undefined },
    units,
  );
}
