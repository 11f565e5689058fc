import data from '../../../db/assumed.json' with { type: 'json' };
import { quantileOf, type Laws, type Unknown, type UnknownField } from '../../../src-workers/advise/unknown.ts';
import { isEstimate, type Device } from '../../../src-workers/domain/device.ts';
import {
  decidingFields,
  isAssumed,
  KERNEL_DEFAULTS,
  KERNEL_FIELDS,
  KERNEL_INPUTS,
  kernelInput,
  kernelOrigin,
  ownFields,
  type InputFact,
  type KernelChange,
  type KernelField,
  type KernelWithOrigins,
} from '../../../src-workers/domain/provenance.ts';
import { fail, type Result } from '../../../src-workers/domain/result.ts';
import type { UnknownInput } from '../../contract/advice.ts';
import { predictionInputs } from '../studies/plan.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';

/** Draws of the unknown inputs that all designs are predicted under. */
export const DRAWS = 32;

interface AssumedLaw {
  readonly quantiles: readonly number[];
  readonly dependentLoads?: readonly number[];
  readonly bytes?: readonly number[];
  readonly source: string;
  readonly learn: 'inspect' | 'probe' | 'ask';
}

/** What is usual of each input, by its path: `db/assumed.json`. */
export const ASSUMED_LAWS: Readonly<Record<string, AssumedLaw>> = data.laws as Readonly<Record<string, AssumedLaw>>;

/** What of a study is not known. */
interface AdvisedInputs {
  readonly kernel: KernelWithOrigins;
  readonly implementations?: readonly { readonly kernel: KernelChange }[] | undefined;
  /** A study's own laws, by path: quantiles at even steps of probability. */
  readonly assumed?: Readonly<Record<string, readonly number[]>> | undefined;
  readonly pipeline?: Readonly<Record<string, unknown>> | undefined;
}

/** Fields that a measured pipeline replaces. */
const MEASURED: ReadonlySet<KernelField> = new Set([
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'accesses',
  'chainInstructions',
]);

/** Refuses laws of inputs that have none, and such that do not ascend. */
export function wrongLaw({ assumed = {} }: Pick<AdvisedInputs, 'assumed'>): Result<never> | null {
  const paths = Object.entries(ASSUMED_LAWS).flatMap(([path, law]) => [
    path,
    ...(['dependentLoads', 'bytes'] as const).flatMap((part) => (law[part] ? [`${path}.${part}`] : [])),
  ]);
  for (const [path, law] of Object.entries(assumed)) {
    const field = `assumed.${path}`;
    if (!paths.includes(path))
      return fail('bad-input', `assumed names "${path}", which has no law. Specify one of ${paths.join(', ')}.`, {
        field,
      });
    if (law.some((value, at) => at > 0 && value < law[at - 1]))
      return fail('bad-input', `assumed["${path}"] must ascend, not ${law.join(', ')}.`, { field });
  }
  return null;
}

/** What of a study is not known on a device: inputs that nobody gave, and that have a law. */
export function unknownOf({ kernel, implementations, assumed = {}, pipeline }: AdvisedInputs, device: Device): Unknown {
  const laws: Record<string, readonly number[]> = {};
  for (const [path, { quantiles, dependentLoads, bytes }] of Object.entries(ASSUMED_LAWS)) {
    laws[path] = assumed[path] ?? quantiles;
    for (const [part, law] of Object.entries({ dependentLoads, bytes }))
      if (law) laws[`${path}.${part}`] = assumed[`${path}.${part}`] ?? law;
  }
  const measured = pipeline?.[device.id] !== undefined;
  const isCpu = device.kind === 'cpu';
  const fields = isCpu
    ? []
    : KERNEL_FIELDS.filter((field) => laws[`kernel.${field}`] && !(measured && MEASURED.has(field)));
  const among = (own: KernelWithOrigins | KernelChange, of: number, some: readonly KernelField[]): UnknownField[] =>
    some.flatMap((field) => (isUnknown(own, field, kernel) ? [{ field, of, stated: isStated(own, field) }] : []));
  return {
    laws,
    kernel: [
      ...among(kernel, -1, fields),
      ...(implementations ?? []).flatMap((one, at) => {
        const own = new Set(ownFields(one.kernel));
        return among(
          one.kernel,
          at,
          fields.filter((field) => own.has(field)),
        );
      }),
    ],
    device: measured ? [] : deviceUnknowns(device, laws),
  };
}

function isUnknown(own: KernelWithOrigins | KernelChange, field: KernelField, kernel: KernelWithOrigins): boolean {
  if (field === 'accesses')
    return own.accesses?.some((one) => one.pattern === 'scattered' && one.missFraction === undefined) ?? false;
  if (!isAssumed(kernelOrigin(own, field))) return false;
  const { sharing = kernel.sharing, accesses = kernel.accesses, unit = kernel.unit, refill = kernel.refill } = own;
  switch (field) {
    case 'bytesPerIteration':
      return !accesses;
    case 'combine':
      return sharing !== 'split';
    case 'serialFraction':
    case 'cooperationCost':
      return sharing !== 'deal';
    case 'refill':
      // Changing a unit is as long as a unit where nobody said.
      return refill !== undefined;
    case 'flattenedCost':
      return !unit && !refill;
    default:
      return true;
  }
}

/** Whether the study has a value that is not the default. */
function isStated(kernel: KernelWithOrigins | KernelChange, field: KernelField): boolean {
  const byDefault = (KERNEL_DEFAULTS as Partial<Record<KernelField, number | boolean>>)[field];
  return kernel[field] !== undefined && kernel[field] !== byDefault;
}

function deviceUnknowns(device: Device, laws: Laws): readonly string[] {
  if (device.kind === 'cpu') return [];
  const isOpen = (field: string): boolean =>
    field === 'achievedBandwidthFraction' ? device.achievedBandwidthFraction === undefined : isEstimate(device, field);
  return Object.keys(laws).filter((path) => path.startsWith('device.') && isOpen(path.slice('device.'.length)));
}

/** What is not known of a study and decides times on a device. */
export function unknownIn(study: AdvisedStudy, { device }: AdvisedDevice): Unknown {
  const unknown = unknownOf(study.study, device);
  const deciding = new Set(decidingFields(predictionInputs(study.study, study.axes), device).map(({ field }) => field));
  // Where nobody said the chain it is all instructions, which decides no less.
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
  achievedBandwidthFraction: ['Achieved part of the bandwidth', ''],
  memoryLatencyCycles: ['Memory latency', 'cycles'],
  dependentIssueLatencyCycles: ['Arithmetic latency', 'cycles'],
};

/** An unknown input with its law, as people read it. */
export function unknownInput(
  study: AdvisedStudy,
  { device, plan }: AdvisedDevice,
  { laws, kernel }: Unknown,
  path: string,
): UnknownInput {
  const law = laws[path];
  const { source } = ASSUMED_LAWS[path];
  const stated = study.study.assumed?.[path] ? 'the study' : source;
  const figure = (rank: number): number => Number(quantileOf(law, rank).toPrecision(3));
  const field = kernelInput(path)?.field;
  const known = study.facts(device).find((fact) => fact.field === path);
  if (!field) {
    const name = path.slice('device.'.length);
    const [label, unit] = DEVICE_LABELS[name];
    const value = (device as unknown as Readonly<Record<string, number | undefined>>)[name];
    const factor = value ?? 1;
    const fact = {
      field: path,
      label,
      value: value ?? figure(0.5),
      unit,
      origin: 'assumed',
      note: '',
      usual: null,
    } as const;
    return { input: known ?? fact, range: [figure(0) * factor, figure(1) * factor], source: stated };
  }
  const { label, unit } =
    field === 'accesses'
      ? { label: 'Part of the gathers that miss', unit: '' }
      : field === 'sharing'
        ? { label: 'Sharing of a unit', unit: '' }
        : KERNEL_INPUTS[field as keyof typeof KERNEL_INPUTS];
  // A law of a part of the instructions, as that many of them.
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
    range: [figure(0) * scale, figure(1) * scale],
    source: stated,
  };
}
