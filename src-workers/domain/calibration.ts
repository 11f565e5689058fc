import type { MeasuringDevice } from './benchmark.ts';
import type { MeasuredPipeline, PipelineParameters } from './kernel.ts';
import { withSetupIterations, type KernelField, type KernelWithOrigins } from './provenance.ts';

export const CALIBRATION_PARAMETERS = [
  'latencyCycles',
  'issueCycles',
  'transferScale',
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
  /** Factor on the predicted traffic. If absent, the issue cycles contain the traffic, or the kernel has none. */
  readonly transferScale?: number;
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

/** Picks the parameters of the device from those of a calibration. */
export function calibratedPipeline(parameters: MeasuredPipeline): MeasuredPipeline {
  const { latencyCycles, issueCycles, kneeSoftness, schedulers, transferScale } = parameters;
  return {
    latencyCycles,
    issueCycles,
    kneeSoftness,
    schedulers,
    ...(transferScale !== undefined && { transferScale }),
  };
}

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

/** Ways to predict the measured times, from the simplest to the one with the most parameters. */
export const CALIBRATION_CHOICES = ['unchanged', 'factor', 'parameters'] as const;
export type CalibrationChoice = (typeof CALIBRATION_CHOICES)[number];

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
  /**
   * What the profile contains: the study's own parameters (`unchanged`), these with one factor for all times, or all
   * fitted parameters. `heldOut` has each choice on designs left out of its fit, `null` if there are too few designs.
   * Absent in older profiles, which have all fitted parameters.
   */
  readonly choice?: {
    readonly taken: CalibrationChoice;
    /** The factor that would be taken, even if it was not. */
    readonly factor: number;
    readonly heldOut: Readonly<Record<CalibrationChoice, HeldOutFigures | null>>;
  };
  readonly sourceRunIds: readonly number[];
}

/** Whether a study predicts as well without the profile, so that nothing of it is written into the study. */
export function isUnchanged({ choice }: CalibrationProfile): boolean {
  return choice?.taken === 'unchanged';
}

/** Says what a profile contains and why; '' for older profiles, which always have all parameters. */
export function choiceText({ choice }: CalibrationProfile, percent: (fraction: number) => string): string {
  if (!choice) return '';
  const { taken, factor, heldOut } = choice;
  const error = (name: CalibrationChoice): string => (heldOut[name] ? percent(heldOut[name].medianError) : 'unknown');
  const all = heldOut.parameters
    ? `${error('parameters')} with all parameters`
    : 'unknown with all parameters, for which there are too few designs';
  const errors = `On designs left out of the fit (${heldOut.factor!.folds} folds), the median error is ${error('unchanged')} without a calibration, ${error('factor')} with one factor for all times, and ${all}.`;
  switch (taken) {
    case 'unchanged':
      return `Nothing was calibrated, because the study predicts the measured times as well as it does with fitted parameters. ${errors}`;
    case 'factor':
      return `One factor for all times: ${Number(factor.toPrecision(3))}. The measured times do not support more parameters. ${errors}`;
    case 'parameters':
      return errors;
  }
}
