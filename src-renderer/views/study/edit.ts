import type { Study } from '../../../src-main/contract/study.ts';
import { atMiddle, usualValue } from '../../../src-workers/advise/assumed.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { CPU_BALANCING } from '../../../src-workers/domain/design.ts';
import {
  inspectedName,
  UNNAMED_KERNEL,
  withInspected,
  type InspectedField,
  type inspectedFields,
  type Inspection,
} from '../../../src-workers/domain/inspection.ts';
import type { MemoryAccess, Phase, PhaseName } from '../../../src-workers/domain/kernel.ts';
import {
  exampleOrigins,
  implementationKernel,
  isAssumed,
  isPhase,
  kernelOrigin,
  kernelPhase,
  type KernelChange,
  type KernelField,
  type KernelNumber,
  type Origin,
} from '../../../src-workers/domain/provenance.ts';
import { withListed } from './device-list.ts';

/** `field` is the path of the edited field, `label` the text for undo. */
export type Edit = (field: string, label: string, change: (study: Study) => Study) => void;

/** `null` for the kernel of the study, otherwise the index of an implementation. */
export type KernelPlace = number | null;

export function kernelAt(study: Study, at: KernelPlace): Study['kernel'] {
  return at === null ? study.kernel : implementationKernel(study.kernel, study.implementations![at]);
}
/**
 * Returns the kernel with the values that a prediction for a GPU without measured cycles assumes for unstated inputs.
 */
export function predictedKernelAt(study: Study, at: KernelPlace): Study['kernel'] {
  return kernelAt(atMiddle(study, [{ id: '', kind: 'gpu' }]), at);
}
function ownKernel(study: Study, at: KernelPlace) {
  return at === null ? study.kernel : study.implementations![at].kernel;
}

/** Changes a kernel. Undefined removes a value of an implementation, which then uses the study's value. */
export function withKernel(
  study: Study,
  change: KernelChange & { readonly name?: string },
  at: KernelPlace = null,
): Study {
  if (at === null) return { ...study, kernel: { ...study.kernel, ...(change as Partial<Study['kernel']>) } };
  return withImplementation(study, at, (one) => ({
    ...one,
    kernel: tidy({ ...one.kernel, ...change }) as StudyImplementation['kernel'],
  }));
}
export function withGiven<Field extends KernelField>(
  study: Study,
  field: Field,
  value: Study['kernel'][Field],
  at: KernelPlace = null,
): Study {
  return withKernel(study, { [field]: value, origins: { ...ownKernel(study, at).origins, [field]: 'given' } }, at);
}
export function withNumber(study: Study, field: KernelNumber, value: number, at: KernelPlace = null): Study {
  if (!isPhase(field)) return withGiven(study, field, value, at);
  const { chainInstructions, ...phase } = phaseOf(study, field, at);
  const chain = chainInstructions !== undefined && { chainInstructions: Math.min(chainInstructions, value) };
  return withGiven(study, field, { ...phase, instructions: value, ...chain }, at);
}
export function withLoads(study: Study, field: PhaseName, dependentLoads: number, at: KernelPlace): Study {
  return withGiven(study, field, { ...phaseOf(study, field, at), dependentLoads }, at);
}
function phaseOf(study: Study, field: PhaseName, at: KernelPlace): Phase {
  return kernelPhase(predictedKernelAt(study, at), field) ?? { instructions: 0 };
}
/** Sets the origin of a field. An implementation then has its own value of the field. */
export function withOrigin(study: Study, field: KernelField, origin: Origin, at: KernelPlace = null): Study {
  const { origins } = ownKernel(study, at);
  // An input that is marked as known without a value keeps the value that was assumed.
  const kernel = isAssumed(origin) ? kernelAt(study, at) : predictedKernelAt(study, at);
  return withKernel(study, { [field]: kernel[field], origins: { ...origins, [field]: origin } }, at);
}
/** Fields that importing the key removes (`withInspected`). */
const GIVE_WAY: Readonly<Partial<Record<InspectedField, readonly InspectedField[]>>> = {
  accesses: ['bytesPerIteration'],
  bytesPerIteration: ['accesses'],
  refill: ['unit'],
};
/** Returns the fields that the user entered, measured or calibrated and that importing a field would replace. */
export function ownReplaced(kernel: Study['kernel'], id: InspectedField): readonly InspectedField[] {
  return [id, ...(GIVE_WAY[id] ?? [])].filter(
    (field) => kernel[field] !== undefined && ['given', 'measured', 'calibrated'].includes(kernelOrigin(kernel, field)),
  );
}
export function withFound(
  study: Study,
  fields: ReturnType<typeof inspectedFields>,
  inspection: Pick<Inspection, 'name'>,
  lengths: string | null,
  at: KernelPlace = null,
): Study {
  const { origins } = ownKernel(study, at);
  const named = at === null && { name: inspectedName(study.kernel.name, inspection) };
  const found = withKernel(study, { ...withInspected({ origins }, fields), ...named }, at);
  return lengths === null ? found : withWorkload(found, { lengths });
}
/** Turns an example into a study of the user. Its values are marked as coming from the example. */
export function asOwn(example: Study, name: string): Study {
  const { kernel, implementations, pipeline } = example;
  return {
    ...example,
    name,
    description: '',
    kernel: { ...kernel, name: UNNAMED_KERNEL, origins: exampleOrigins(kernel) },
    ...(implementations && {
      implementations: implementations.map((one) => ({
        ...one,
        kernel: { ...one.kernel, origins: exampleOrigins(one.kernel) },
      })),
    }),
    pipeline: Object.fromEntries(
      Object.entries(pipeline).map(([device, figures]) => [device, { ...figures, origin: 'example' as const }]),
    ),
  };
}
export function withAssumed(study: Study, field: KernelNumber, at: KernelPlace = null): Study {
  // Without a value, the longest chain of the study's kernel is an assumed share of its instructions.
  const value =
    at === null && field === 'chainInstructions' ? undefined : usualValue(study, kernelAt(study, at), field);
  return withOrigin(withKernel(study, { [field]: value }, at), field, 'assumed', at);
}
/** Sets the arrays, which replace bytes per iteration. If none is left, an element of each old array is assumed. */
export function withAccesses(study: Study, accesses: readonly MemoryAccess[], at: KernelPlace = null): Study {
  const own = ownKernel(study, at);
  const { accesses: _list, bytesPerIteration: _one, ...origins } = own.origins ?? {};
  if (accesses.length > 0) {
    const bytesPerIteration = at === null ? 0 : undefined;
    return withKernel(study, { accesses, bytesPerIteration, origins: { ...origins, accesses: 'given' } }, at);
  }
  const read = own.accesses ?? study.kernel.accesses ?? [];
  const bytesPerIteration = read.reduce((sum, { elementBytes }) => sum + elementBytes, 0);
  const assumed = { ...origins, bytesPerIteration: 'assumed' as const };
  return withKernel(study, { accesses: undefined, bytesPerIteration, origins: assumed }, at);
}

export function withCommon(study: Study, field: KernelField, at: number): Study {
  const origins = tidy({ ...study.implementations![at].kernel.origins, [field]: undefined });
  return withKernel(study, { [field]: undefined, origins: Object.keys(origins).length > 0 ? origins : undefined }, at);
}

function tidy<Values extends object>(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;
}

export type StudyImplementation = NonNullable<Study['implementations']>[number];

function withImplementation(
  study: Study,
  at: number,
  change: (one: StudyImplementation) => StudyImplementation,
): Study {
  return { ...study, implementations: study.implementations!.map((one, i) => (i === at ? change(one) : one)) };
}
export function withImplementationName(study: Study, at: number, name: string): Study {
  return withImplementation(study, at, (one) => ({ ...one, name }));
}
export function withAllowed<Axis extends AllowedAxis>(
  study: Study,
  at: number,
  axis: Axis,
  values: AllowedValues[Axis] | undefined,
): Study {
  return withImplementation(study, at, ({ axes, ...one }) => {
    const allowed = tidy({ ...axes, [axis]: values });
    return Object.keys(allowed).length > 0 ? { ...one, axes: allowed } : one;
  });
}
type AllowedValues = NonNullable<StudyImplementation['axes']>;
export type AllowedAxis = keyof AllowedValues;

function freeName(name: string, taken: readonly StudyImplementation[]): string {
  const stem = name.replace(/ \d+$/, '');
  const is = (wanted: string) => taken.some((one) => one.name === wanted);
  let free = name;
  for (let i = 2; is(free); i += 1) free = `${stem} ${i}`;
  return free;
}
/** Adds an implementation. With the first one, the kernel of the study becomes an implementation too. */
export function withNewImplementation(study: Study): Study {
  const { name } = study.kernel;
  const before = study.implementations ?? [{ name, kernel: {} }];
  return { ...study, implementations: [...before, { name: freeName(name, before), kernel: {} }] };
}
export function withDuplicate(study: Study, at: number): Study {
  const before = study.implementations!;
  const copy = { ...before[at], name: freeName(before[at].name, before) };
  return { ...study, implementations: before.toSpliced(at + 1, 0, copy) };
}
/** Removes an implementation. If one is left, it becomes the kernel of the study, with the axes that it allows. */
export function withoutImplementation(study: Study, at: number): Study {
  const { implementations, ...rest } = study;
  const left = implementations!.toSpliced(at, 1);
  const [only] = left;
  if (left.length > 1) return { ...rest, implementations: left };
  if (!only) return rest;
  const allowed = tidy(only.axes ?? {}) as Partial<Study['axes']>;
  return { ...rest, kernel: implementationKernel(rest.kernel, only), axes: { ...rest.axes, ...allowed } };
}
/** Changes the workload. New lengths remove the width of rows if `change` has none. Blocks then cannot be tiles. */
export function withWorkload(study: Study, change: Partial<Study['workload']>): Study {
  const before = study.workload;
  const areOther = change.lengths !== undefined && change.lengths !== before.lengths;
  const { width, ...workload } = { ...before, ...(areOther && { width: undefined }), ...change };
  const next = { ...study, workload: { ...workload, ...(width !== undefined && { width }) } };
  return hasRows(next.workload) ? next : withAxis(next, 'blockWidth', undefined);
}
/** Whether the units form rows, as in an image or a grid. The Mandelbrot example has its width in its lengths. */
export function hasRows({ lengths, width }: Study['workload']): boolean {
  return width !== undefined || lengths.startsWith('example:mandelbrot');
}
export function withAxis<Name extends keyof Study['axes']>(
  study: Study,
  name: Name,
  value: Study['axes'][Name] | undefined,
): Study {
  const axes = { ...study.axes };
  if (value === undefined) delete axes[name];
  else axes[name] = value;
  return { ...study, axes };
}

export function withCores(study: Study, cores: number): Study {
  const { axes } = study;
  const cuts = axes.balancing.some((text) => CPU_BALANCING.some((kind) => kind === text));
  return {
    ...study,
    axes: {
      ...axes,
      cores: axes.cores ?? { from: 1, to: cores },
      balancing: cuts ? axes.balancing : [...axes.balancing, ...CPU_BALANCING],
    },
  };
}

export function withDeviceSwitched(study: Study, id: string, device?: Device, listed: readonly string[] = []): Study {
  return study.devices.includes(id)
    ? { ...study, devices: study.devices.filter((other) => other !== id) }
    : withDevice(study, id, device, listed);
}

/** Adds a device and, for a CPU, values of `cores` and `balancing`. `listed`: devices in the order of their rows. */
export function withDevice(study: Study, id: string, device?: Device, listed: readonly string[] = []): Study {
  const added = { ...study, devices: withListed(study.devices, id, listed) };
  return device?.kind === 'cpu' ? withCores(added, device.cores) : added;
}
