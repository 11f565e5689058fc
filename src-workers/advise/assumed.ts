import { drawnKernel, drawnRange, type Laws, type Unknown, type UnknownField } from './unknown.ts';
import { ASSUMED_LAWS } from '../domain/assumed-laws.ts';
import { isEstimate, type Device } from '../domain/device.ts';
import type { KernelProfile } from '../domain/kernel.ts';
import {
  implementationKernel,
  isAssumed,
  kernelInput,
  KERNEL_DEFAULTS,
  KERNEL_FIELDS,
  KERNEL_INPUTS,
  kernelOrigin,
  kernelValue,
  ownFields,
  withKernelValue,
  type KernelChange,
  type KernelField,
  type KernelNumber,
  type InputFact,
  type KernelWithOrigins,
} from '../domain/provenance.ts';
import { type Result, badInput } from '../domain/result.ts';

interface AdvisedInputs {
  readonly kernel: KernelWithOrigins;
  readonly implementations?: readonly { readonly kernel: KernelChange }[] | undefined;
  /** The study's own laws, by path. A law is a list of quantiles at even steps of probability. */
  readonly assumed?: Readonly<Record<string, readonly number[]>> | undefined;
  readonly pipeline?: Readonly<Record<string, unknown>> | undefined;
}

/** These fields are not needed on a device with a measured pipeline. */
const MEASURED: ReadonlySet<KernelField> = new Set([
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'accesses',
  'chainInstructions',
]);

export function wrongLaw({ assumed = {} }: Pick<AdvisedInputs, 'assumed'>): Result<never> | null {
  const paths = Object.keys(resolveLaws());
  for (const [path, law] of Object.entries(assumed)) {
    const field = `assumed.${path}`;
    if (!paths.includes(path))
      return badInput(`The field "assumed" names ${path}, which has no range. Specify one of ${paths.join(', ')}.`, {
        field,
      });
    if (law.some((value, at) => at > 0 && value < law[at - 1]))
      return badInput(`assumed["${path}"] must be in ascending order, not ${law.join(', ')}.`, { field });
  }
  return null;
}

function resolveLaws(assumed: AdvisedInputs['assumed'] = {}): Laws {
  const laws: Record<string, readonly number[]> = {};
  for (const [path, { quantiles, dependentLoads, bytes, unsized }] of Object.entries(ASSUMED_LAWS)) {
    laws[path] = assumed[path] ?? quantiles;
    for (const [part, law] of Object.entries({ dependentLoads, bytes, unsized }))
      if (law) laws[`${path}.${part}`] = assumed[`${path}.${part}`] ?? law;
  }
  return laws;
}

/** Returns the inputs of a study that are unknown on a device: those that have a law but no stated value. */
export function unknownOf(study: AdvisedInputs, device: Device): Unknown {
  const laws = resolveLaws(study.assumed);
  const measured = study.pipeline?.[device.id] !== undefined;
  return { laws, kernel: unknownFields(study, device, laws), device: measured ? [] : deviceUnknowns(device, laws) };
}

type DeviceKind = Pick<Device, 'id' | 'kind'>;

function unknownFields(
  { kernel, implementations, pipeline }: AdvisedInputs,
  device: DeviceKind,
  laws: Laws,
): readonly UnknownField[] {
  const measured = pipeline?.[device.id] !== undefined;
  const isCpu = device.kind === 'cpu';
  const fields = isCpu
    ? []
    : KERNEL_FIELDS.filter((field) => laws[`kernel.${field}`] && !(measured && MEASURED.has(field)));
  const among = (full: KernelWithOrigins, of: number, some: readonly KernelField[]): UnknownField[] =>
    some
      .filter((field) => isUnknown(full, field, laws))
      .map((field) => ({ field, of, stated: isStated(full, field, laws) }));
  return [
    ...among(kernel, -1, fields),
    ...(implementations ?? []).flatMap((one, at) => {
      const own = new Set(ownFields(one.kernel));
      const full = implementationKernel(kernel, { name: '', kernel: one.kernel });
      return among(
        full,
        at,
        fields.filter((field) => own.has(field)),
      );
    }),
  ];
}

export function assumedRange(
  { kernel, implementations }: AdvisedInputs,
  device: Device,
  unknown: Unknown,
  path: string,
): readonly [number, number] | null {
  if (unknown.device.includes(path)) {
    const value = (device as unknown as Readonly<Record<string, number | undefined>>)[path.slice('device.'.length)];
    const law = unknown.laws[path];
    return [law[0], law.at(-1)!].map((end) => Number((end * (value ?? 1)).toPrecision(3))) as [number, number];
  }
  const input = kernelInput(path);
  const of = input?.implementation ?? -1;
  const one = unknown.kernel.find(({ field, of: at }) => field === input?.field && at === of);
  const own = implementations?.[of];
  return one
    ? drawnRange(own ? implementationKernel(kernel, { name: '', kernel: own.kernel }) : kernel, one, unknown.laws)
    : null;
}

export function withLaws(facts: readonly InputFact[], inputs: AdvisedInputs, device: Device): readonly InputFact[] {
  const unknown = unknownOf(inputs, device);
  return facts.map((fact) => ({
    ...fact,
    usual: assumedRange(inputs, device, unknown, fact.field) ?? fact.usual,
    note: (fact.origin === 'assumed' && kernelSource(inputs, fact.field)) || fact.note,
  }));
}

export function lawSource({ assumed }: Pick<AdvisedInputs, 'assumed'>, path: string): string {
  return assumed?.[path] ? 'the study' : (ASSUMED_LAWS[path]?.source ?? '');
}

function kernelSource(inputs: AdvisedInputs, path: string): string {
  const field = kernelInput(path)?.field;
  if (field === undefined || field === 'accesses') return ''; // `accesses` has a law only for misses.
  return lawSource(inputs, `kernel.${field}`);
}

function isUnknown(kernel: KernelWithOrigins, field: KernelField, laws: Laws): boolean {
  const { accesses, unit, refill } = kernel;
  if (field === 'accesses')
    return accesses?.some((one) => one.pattern === 'scattered' && one.missFraction === undefined) ?? false;
  const isOpen = (one: KernelField): boolean => isAssumed(kernelOrigin(kernel, one));
  if (!isOpen(field)) return false;
  // If a study states what splitting costs, its kernel splits iterations. The input `sharing` is then known.
  const isSharingOpen = isOpen('sharing') && isOpen('serialFraction') && isOpen('cooperationCost');
  switch (field) {
    case 'sharing':
      return isSharingOpen;
    case 'bytesPerIteration':
      return !accesses;
    case 'combine':
      return isSharingOpen || kernel.sharing === 'deal';
    case 'serialFraction':
    case 'cooperationCost':
      return isSharingOpen || kernel.sharing !== 'deal';
    case 'refill':
      // Without a value, `refill` costs as much as `unit`, so it is not a separate unknown.
      return refill !== undefined;
    case 'flattenedCost':
      return !refill && (!unit || (isOpen('unit') && !isStated(kernel, 'unit', laws)));
    default:
      return true;
  }
}

/** Whether the value of a field counts as stated: it is neither the default nor the middle of the law. */
function isStated(kernel: KernelWithOrigins, field: KernelField, laws: Laws): boolean {
  const byDefault = (KERNEL_DEFAULTS as Partial<Record<KernelField, number | boolean>>)[field];
  if (kernel[field] === undefined || kernel[field] === byDefault || field === 'sharing') return false;
  if (field === 'accesses' || field === 'lengthsKnownBeforeLaunch') return true;
  const middle = drawnKernel(kernel, [{ field, of: -1, stated: false }], laws, () => 0.5);
  return kernelValue(kernel, field) !== kernelValue(middle, field);
}

/**
 * Returns the study to predict, in which each unstated input of the kernel has the middle of its law and is marked as
 * assumed. The fraction of gathers that miss the cache is left to the model, which computes it from the footprint.
 */
export function atMiddle<Inputs extends AdvisedInputs>(study: Inputs, devices: readonly DeviceKind[]): Inputs {
  const { kernel, implementations } = study;
  const laws = resolveLaws(study.assumed);
  const cpu = devices.some(({ kind }) => kind === 'cpu');
  const unknown = devices.flatMap((device) => unknownFields(study, device, laws));
  const fields = unknown.filter(
    // On a CPU, the bytes moved determine the time, so the study must state them itself.
    ({ field, of, stated }) => of < 0 && !stated && field !== 'accesses' && !(cpu && field === 'bytesPerIteration'),
  );
  if (fields.length === 0) return study;
  const filled = (full: KernelWithOrigins, open: typeof fields): KernelWithOrigins => ({
    ...drawnKernel(full, open, laws, () => 0.5),
    origins: { ...full.origins, ...Object.fromEntries(open.map(({ field }) => [field, 'assumed' as const])) },
  });
  const chain = fields.filter(({ field }) => field === 'chainInstructions');
  const ownChain = (change: KernelChange): KernelChange => {
    const { instructionsPerIteration, chainInstructions } = change;
    if (chain.length === 0 || chainInstructions !== undefined || instructionsPerIteration === undefined) return change;
    const { chainInstructions: middle } = filled({ ...kernel, instructionsPerIteration }, chain);
    return { ...change, chainInstructions: middle, origins: { ...change.origins, chainInstructions: 'assumed' } };
  };
  return {
    ...study,
    kernel: filled(kernel, fields),
    ...(implementations && {
      implementations: implementations.map((one) => ({ ...one, kernel: ownChain(one.kernel) })),
    }),
  };
}

/** Returns the value that is assumed for a field of a kernel: the middle of its law, if it has one. */
export function usualValue<Field extends KernelNumber>(
  { assumed }: Pick<AdvisedInputs, 'assumed'>,
  kernel: KernelWithOrigins,
  field: Field,
): KernelProfile[Field] {
  const laws = resolveLaws(assumed);
  const values = laws[`kernel.${field}`]
    ? drawnKernel(kernel, [{ field, of: -1, stated: false }], laws, () => 0.5)
    : withKernelValue(kernel, field, KERNEL_INPUTS[field].assumed);
  return values[field];
}

function deviceUnknowns(device: Device, laws: Laws): readonly string[] {
  if (device.kind === 'cpu') return [];
  const isOpen = (field: string): boolean =>
    field === 'achievedBandwidthFraction' ? device.achievedBandwidthFraction === undefined : isEstimate(device, field);
  return Object.keys(laws).filter((path) => path.startsWith('device.') && isOpen(path.slice('device.'.length)));
}
