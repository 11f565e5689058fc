import type { MeasuringDevice } from './benchmark.ts';
import type { PipelineParameters } from './kernel.ts';
import { withSetupIterations, type KernelField, type KernelWithOrigins } from './provenance.ts';

export const CALIBRATION_PARAMETERS = [
  'latencyCycles',
  'issueCycles',
  'kneeSoftness',
  'schedulers',
  'serialFraction',
  'cooperationCost',
  'setupIterationsPerUnit',
  'divergentBranchCycles',
  'launchOverheadMs',
] as const;
export type CalibrationParameter = (typeof CALIBRATION_PARAMETERS)[number];

export interface CalibratedParameters extends PipelineParameters {
  readonly serialFraction: number | null;
  readonly cooperationCost: number | null;
  /** Work before the first iteration of a unit, in iterations. */
  readonly setupIterationsPerUnit: number | null;
  /** Cycles of one divergent branch, without spills. */
  readonly divergentBranchCycles: number | null;
  readonly launchOverheadMs: number | null;
}

/** For each parameter that depends on the kernel alone, its field in the kernel. All devices share these values. */
export const KERNEL_PARAMETERS = {
  serialFraction: 'serialFraction',
  cooperationCost: 'cooperationCost',
  setupIterationsPerUnit: 'unit',
} as const satisfies Partial<Record<CalibrationParameter, KernelField>>;
type KernelParameter = keyof typeof KERNEL_PARAMETERS;

export function calibratedValues({
  parameters,
  identified,
}: CalibrationProfile): Partial<Record<KernelParameter, number>> {
  const names = Object.keys(KERNEL_PARAMETERS) as KernelParameter[];
  const found = names.filter((name) => parameters[name] !== null && !identified[name].held);
  return Object.fromEntries(found.map((name) => [name, parameters[name]]));
}

export function calibratedKernel<Kernel extends KernelWithOrigins>(
  kernel: Kernel,
  profile: CalibrationProfile,
): Kernel {
  const values = calibratedValues(profile);
  const { setupIterationsPerUnit, ...shared } = values;
  const changed = { ...kernel, ...shared };
  const found = Object.keys(values).map((name) => [KERNEL_PARAMETERS[name as KernelParameter], 'calibrated']);
  const origins = { ...kernel.origins, ...Object.fromEntries(found) };
  return {
    ...(setupIterationsPerUnit === undefined ? changed : withSetupIterations(changed, setupIterationsPerUnit)),
    ...(Object.keys(origins).length > 0 && { origins }),
  };
}

export interface ParameterIdentification {
  /** In the unit of the parameter; `null` if the parameter was not fitted or the fit gives no error. */
  readonly standardError: number | null;
  /** Whether the earlier value was kept, because the parameter was not fitted or the data do not determine it. */
  readonly held: boolean;
}

/** Errors are |predicted/measured − 1|. */
export interface CalibrationFigures {
  readonly designs: number;
  readonly medianError: number;
  readonly p95Error: number;
  /** Rank correlation, −1…1; `null` if all predicted times or all measured times are equal. */
  readonly spearman: number | null;
}

/** Figures that are pooled over the folds. Each fold is predicted by a fit without it. */
export interface HeldOutFigures extends Omit<CalibrationFigures, 'designs'> {
  readonly folds: number;
}

export interface CalibrationProfile {
  readonly version: 1;
  readonly deviceId: string;
  readonly deviceName: string;
  readonly fingerprint: string;
  readonly backend: MeasuringDevice['backend'];
  readonly parameters: CalibratedParameters;
  readonly identified: Readonly<Record<CalibrationParameter, ParameterIdentification>>;
  readonly fit: CalibrationFigures;
  /** Figures without the launch overhead, which studies lack. Absent without an overhead, and in older profiles. */
  readonly fitInStudy?: CalibrationFigures;
  readonly heldOut: HeldOutFigures | null;
  readonly before: CalibrationFigures;
  readonly sourceRunIds: readonly number[];
}
