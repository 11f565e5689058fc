import type { Unknown } from '../../../src-workers/advise/unknown.ts';
import { decidingFields, KERNEL_INPUTS, kernelInput, type InputFact } from '../../../src-workers/domain/provenance.ts';
import { sortedQuantile } from '../../../src-workers/numeric/statistics.ts';
import type { UnknownInput } from '../../contract/advice.ts';
import { ASSUMED_LAWS, assumedRange, unknownOf } from '../studies/assumed.ts';
import { predictionInputs } from '../studies/plan.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';

/** The number of draws of the unknown inputs under which all designs are predicted. */
export const DRAWS = 20;

/** Returns the unknown inputs of a study that affect times on a device. */
export function unknownIn(study: AdvisedStudy, { device }: AdvisedDevice): Unknown {
  const unknown = unknownOf(study.study, device);
  const deciding = new Set(decidingFields(predictionInputs(study.study, study.axes), device).map(({ field }) => field));
  // An unstated chain means all instructions, which matters as much.
  const kernel = unknown.kernel.filter(({ field }) => deciding.has(field) || field === 'chainInstructions');
  const movesData =
    deciding.has('accesses') ||
    kernel.some(({ field }) => field === 'bytesPerIteration') ||
    [study.study.kernel, ...(study.study.implementations ?? []).map((one) => one.kernel)].some(
      ({ accesses, bytesPerIteration = 0 }) => accesses !== undefined || bytesPerIteration > 0,
    );
  return {
    ...unknown,
    kernel,
    device: unknown.device.filter((path) => movesData || path !== 'device.achievedBandwidthFraction'),
  };
}

const DEVICE_LABELS: Readonly<Record<string, readonly [string, string]>> = {
  achievedBandwidthFraction: ['Achieved fraction of the bandwidth', ''],
  memoryLatencyCycles: ['Memory latency', 'cycles'],
  dependentIssueLatencyCycles: ['Arithmetic latency', 'cycles'],
};

/** Describes an unknown input and its law for the user. */
export function unknownInput(
  study: AdvisedStudy,
  { device, plan }: AdvisedDevice,
  unknown: Unknown,
  path: string,
): UnknownInput {
  const { laws, kernel } = unknown;
  const law = laws[path];
  const { source } = ASSUMED_LAWS[path];
  const stated = study.study.assumed?.[path] ? 'the study' : source;
  const figure = (rank: number): number => Number(sortedQuantile(law, rank).toPrecision(3));
  const field = kernelInput(path)?.field;
  const drawn = assumedRange(study.study, device, unknown, path);
  const known = study.facts(device).find((fact) => fact.field === path);
  if (!field) {
    const name = path.slice('device.'.length);
    const [label, unit] = DEVICE_LABELS[name];
    const value = (device as unknown as Readonly<Record<string, number | undefined>>)[name];
    const fact = {
      field: path,
      label,
      value: value ?? figure(0.5),
      unit,
      origin: 'assumed',
      note: '',
      usual: null,
    } as const;
    return { input: known ?? fact, range: drawn!, source: stated };
  }
  const { label, unit } =
    field === 'accesses'
      ? { label: 'Fraction of the gathers that miss the cache', unit: '' }
      : field === 'sharing'
        ? { label: 'Sharing of a unit', unit: '' }
        : KERNEL_INPUTS[field as keyof typeof KERNEL_INPUTS];
  // The law is a fraction of the instructions, so it is converted to a number of them.
  const scale = field === 'chainInstructions' ? plan.kernel.instructionsPerIteration : 1;
  const isKnown = kernel.some((one) => one.field === field && one.stated) && field !== 'accesses';
  const fact: InputFact = {
    field: path,
    label,
    value: field === 'sharing' ? 'unknown' : figure(0.5) * scale,
    unit,
    origin: 'assumed',
    note: '',
    usual: null,
  };
  return {
    input: isKnown && known ? known : fact,
    range: drawn ?? [figure(0) * scale, figure(1) * scale],
    source: stated,
  };
}
