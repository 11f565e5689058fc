import { ASSUMED_LAWS, middleOfLaw } from './assumed-laws.ts';
import { isEvenShare, needsLengths, runsOn } from './design.ts';
import { isEstimate, type Device } from './device.ts';
import {
  PHASES,
  type KernelProfile,
  type MeasuredPipeline,
  type MemoryAccess,
  type Phase,
  type PhaseName,
} from './kernel.ts';
import { parseBalancing } from './balancing.ts';

/**
 * `measured`: timed or counted on the device; `calibrated`: fitted to measured times; `imported`: from a tool or file;
 * `given`: by the user or a data sheet; `example`: of an example study; `assumed`: a default.
 */
export const ORIGINS = ['measured', 'calibrated', 'imported', 'given', 'example', 'assumed'] as const;
export type Origin = (typeof ORIGINS)[number];

export function isAssumed(origin: Origin): boolean {
  return origin === 'assumed' || origin === 'example';
}

export const KERNEL_FIELDS = [
  'registersPerThread',
  'instructionsPerIteration',
  'serialFraction',
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'accesses',
  'sharing',
  'prologue',
  'unit',
  'combine',
  'refill',
  'search',
  'carry',
  'cooperationCost',
  'flattenedCost',
  'chainInstructions',
  'dependentExchanges',
  'integerShare',
  'fp64Share',
  'specialShare',
  'threeRegisterShare',
  'sharedMemoryBytesPerBlock',
  'bytesPerUnit',
  'kneeSoftness',
  'spillInstructionsPerRegister',
  'lengthsKnownBeforeLaunch',
] as const satisfies readonly (keyof KernelProfile)[];
export type KernelField = (typeof KERNEL_FIELDS)[number];
/** A phase is represented by its number of instructions. */
export type KernelNumber = Exclude<KernelField, 'accesses' | 'lengthsKnownBeforeLaunch' | 'sharing'>;

export const KERNEL_DEFAULTS = {
  serialFraction: 0,
  dependentLoadsPerIteration: 0,
  bytesPerIteration: 0,
  cooperationCost: 0,
  flattenedCost: 0,
  dependentExchanges: 0,
  integerShare: 0,
  fp64Share: 0,
  specialShare: 0,
  threeRegisterShare: 0,
  sharedMemoryBytesPerBlock: 0,
  bytesPerUnit: 64,
  kneeSoftness: 6.5,
  spillInstructionsPerRegister: 2,
  lengthsKnownBeforeLaunch: false,
} as const satisfies Partial<Record<KernelField, number | boolean>>;

export interface KernelInput {
  readonly label: string;
  readonly unit: string;
  /** The middle of the law in `db/assumed.json`, if the field has a law. A prediction takes the same value. */
  readonly assumed: number;
  /** The range that covers most kernels: for a field with a law (`db/assumed.json`), its 5 to 95 % quantiles. */
  readonly usual: readonly [number, number];
  /** Where the value and its range come from. A field with a law has the source of its law (`db/assumed.json`). */
  readonly source?: string;
}

function ofLaw(field: KernelNumber): Pick<KernelInput, 'assumed' | 'usual'> {
  const { quantiles } = ASSUMED_LAWS[`kernel.${field}`];
  return { assumed: middleOfLaw(quantiles), usual: [quantiles[0], quantiles.at(-1)!] };
}

export const KERNEL_INPUTS: Readonly<Record<KernelNumber, KernelInput>> = {
  registersPerThread: { label: 'Registers per thread', unit: '', ...ofLaw('registersPerThread') },
  instructionsPerIteration: {
    label: 'Instructions per iteration',
    unit: '',
    ...ofLaw('instructionsPerIteration'),
  },
  serialFraction: { label: 'Serial fraction σ', unit: '', ...ofLaw('serialFraction') },
  dependentLoadsPerIteration: {
    label: 'Dependent loads per iteration',
    unit: '',
    ...ofLaw('dependentLoadsPerIteration'),
  },
  bytesPerIteration: { label: 'Memory traffic per iteration', unit: 'B', ...ofLaw('bytesPerIteration') },
  unit: { label: 'Once per unit', unit: 'instructions', ...ofLaw('unit') },
  prologue: { label: 'Once per thread', unit: 'instructions', ...ofLaw('prologue') },
  combine: { label: 'Combining step', unit: 'instructions', ...ofLaw('combine') },
  refill: { label: 'Change of unit', unit: 'instructions', ...ofLaw('refill') },
  search: { label: 'Search step', unit: 'instructions', ...ofLaw('search') },
  carry: { label: 'Carry of a cut unit', unit: 'instructions', ...ofLaw('carry') },
  // The law gives a fraction of the instructions of an iteration, so a kernel with other instructions has another
  // value.
  chainInstructions: {
    label: 'Longest chain',
    unit: 'instructions',
    assumed: ofLaw('chainInstructions').assumed * ofLaw('instructionsPerIteration').assumed,
    usual: [4, 100],
  },
  dependentExchanges: {
    label: 'Exchanges per iteration',
    unit: '',
    assumed: 0,
    usual: [0, 8],
    source: 'chosen: none in most loops; a shuffle for each halving of a sum',
  },
  cooperationCost: { label: 'Cooperation step κ', unit: 'iterations', ...ofLaw('cooperationCost') },
  flattenedCost: { label: 'Single-loop cost', unit: 'iterations', ...ofLaw('flattenedCost') },
  integerShare: {
    label: 'Integer share',
    unit: '',
    assumed: 0,
    usual: [0, 0.6],
    source: 'chosen: in most kernels, some instructions count loops and compute addresses',
  },
  fp64Share: {
    label: 'FP64 share',
    unit: '',
    assumed: 0,
    usual: [0, 0.5],
    source: 'chosen: none in most kernels, all of the arithmetic in some',
  },
  specialShare: {
    label: 'Special-function share',
    unit: '',
    assumed: 0,
    usual: [0, 0.1],
    source: 'chosen: an occasional reciprocal or exponential',
  },
  threeRegisterShare: {
    label: 'Three-register share',
    unit: '',
    assumed: 0,
    usual: [0, 0.5],
    source: 'chosen: a share up to one half has no effect, and only long chains of multiply-adds exceed it',
  },
  sharedMemoryBytesPerBlock: {
    label: 'Shared memory',
    unit: 'B per block',
    assumed: 0,
    usual: [0, 16_384],
    source: 'chosen: irregular loops seldom use it',
  },
  bytesPerUnit: {
    label: 'Size of a unit',
    unit: 'B',
    assumed: 64,
    usual: [8, 256],
    source: 'chosen: from one value to the state of a particle',
  },
  kneeSoftness: {
    label: 'Knee softness',
    unit: '',
    assumed: 6.5,
    usual: [2, 20],
    source: 'fitted on 5 rows of Table 2 of Hasan et al. (doi:10.1007/978-3-662-44917-2_65); range chosen',
  },
  spillInstructionsPerRegister: {
    label: 'Spill cost',
    unit: 'instructions per register',
    assumed: 2,
    usual: [0.5, 4],
    source: 'chosen: one store and one load; fewer if a spilled register is seldom used',
  },
};

export const BASIC_INPUTS: ReadonlySet<KernelNumber> = new Set([
  'registersPerThread',
  'instructionsPerIteration',
  'serialFraction',
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'unit',
]);

const KERNEL_NUMBERS = KERNEL_FIELDS.filter(
  (field) => field !== 'accesses' && field !== 'lengthsKnownBeforeLaunch' && field !== 'sharing',
);

/** Inputs that may be varied. `workload.spread` is a factor on the deviations of the lengths from their mean. */
export const VARIED_INPUTS = [
  ...KERNEL_NUMBERS.map((field) => `kernel.${field}` as const),
  'workload.units',
  'workload.spread',
] as const;
export type VariedInput = (typeof VARIED_INPUTS)[number];
export type OwnInput = `implementations[${number}].kernel.${KernelNumber}`;

export function kernelInput(
  input: string,
): { readonly field: KernelField; readonly implementation: number | null } | null {
  const match = /^(?:implementations\[(\d+)\]\.)?kernel\.(\w+)$/.exec(input);
  const field = KERNEL_FIELDS.find((known) => known === match?.[2]);
  return match && field ? { field, implementation: match[1] === undefined ? null : Number(match[1]) } : null;
}

const ASSUMED_PHASES: Readonly<Partial<Record<PhaseName, Omit<Phase, 'instructions'>>>> = {
  unit: { integerShare: 0.8 },
  prologue: { integerShare: 0.8 },
  combine: { dependentExchanges: 1 },
  refill: { integerShare: 0.8, dependentLoads: 1, bytes: 16 },
  search: { integerShare: 0.8, dependentLoads: 0.5 },
  carry: { integerShare: 0.5, dependentLoads: 1 },
};

export const isPhase = (field: string): field is PhaseName => (PHASES as readonly string[]).includes(field);

export function assumedPhase(name: PhaseName, instructions = KERNEL_INPUTS[name].assumed): Phase {
  const { dependentLoads, bytes } = ASSUMED_LAWS[`kernel.${name}`];
  return {
    instructions,
    ...ASSUMED_PHASES[name],
    ...(dependentLoads && { dependentLoads: middleOfLaw(dependentLoads) }),
    ...(bytes && { bytes: middleOfLaw(bytes) }),
  };
}

export function assumedKernel(): Omit<KernelProfile, 'name' | 'lengthsKnownBeforeLaunch'> & {
  readonly origins: Record<KernelField, Origin>;
} {
  const values = Object.fromEntries(
    KERNEL_NUMBERS.filter((field) => field !== 'chainInstructions').map((field) => [
      field,
      isPhase(field) ? assumedPhase(field) : KERNEL_INPUTS[field].assumed,
    ]),
  );
  const origins = Object.fromEntries(KERNEL_FIELDS.map((field) => [field, 'assumed']));
  return { ...values, sharing: 'deal', origins } as unknown as ReturnType<typeof assumedKernel>;
}

export type KernelWithOrigins = KernelProfile & {
  readonly origins?: Readonly<Partial<Record<KernelField, Origin | undefined>>> | undefined;
};

/** Returns the origin of a kernel's field. If none is stated: `assumed` for a default value, otherwise `given`. */
export function kernelOrigin(kernel: KernelWithOrigins | KernelChange, field: KernelField): Origin {
  const stated = kernel.origins?.[field];
  if (stated !== undefined) return stated;
  const byDefault = (KERNEL_DEFAULTS as Partial<Record<KernelField, number | boolean>>)[field];
  return (kernel[field] ?? byDefault) === byDefault ? 'assumed' : 'given';
}

export function exampleOrigins(
  kernel: KernelWithOrigins | KernelChange,
): Readonly<Partial<Record<KernelField, Origin>>> {
  const known = KERNEL_FIELDS.filter((field) => kernel[field] !== undefined);
  return Object.fromEntries(
    known.map((field) => [field, isAssumed(kernelOrigin(kernel, field)) ? 'assumed' : 'example']),
  );
}

export type KernelChange = {
  readonly [Field in KernelField]?: KernelProfile[Field] | undefined;
} & Pick<KernelWithOrigins, 'origins'>;

export function ownFields(change: KernelChange): readonly KernelField[] {
  return KERNEL_FIELDS.filter((field) => change[field] !== undefined);
}

/** Returns an implementation's kernel. Its accesses replace the study's bytes, and its bytes the study's accesses. */
export function implementationKernel<Kernel extends KernelWithOrigins>(
  kernel: Kernel,
  { name, kernel: change }: { readonly name: string; readonly kernel: KernelChange },
): Kernel {
  const own = ownFields(change);
  const values = {
    ...(change.bytesPerIteration !== undefined && { accesses: undefined }),
    ...(change.accesses !== undefined && { bytesPerIteration: 0 }),
    ...Object.fromEntries(own.map((field) => [field, change[field]])),
  };
  const origins = Object.fromEntries(own.map((field) => [field, change.origins?.[field]]));
  return { ...kernel, ...values, name, origins: { ...kernel.origins, ...origins } };
}

export function selectKernel<Kernel extends KernelWithOrigins>(
  study: {
    readonly kernel: Kernel;
    readonly implementations?: readonly { readonly name: string; readonly kernel: KernelChange }[] | undefined;
  },
  { implementation }: { readonly implementation?: string | undefined },
): Kernel {
  const own = study.implementations?.find(({ name }) => name === implementation);
  return own ? implementationKernel(study.kernel, own) : study.kernel;
}

export interface InputFact {
  /** A path, such as `implementations[2].kernel.serialFraction`, `device.memoryLatencyCycles` or `pipeline`. */
  readonly field: string;
  readonly label: string;
  readonly value: number | string;
  readonly unit: string;
  readonly origin: Origin;
  readonly note: string;
  readonly usual: readonly [number, number] | null;
}

interface StatedPipeline extends MeasuredPipeline {
  readonly origin?: Origin | undefined;
  readonly fittedTo?: 'kernel' | undefined;
}

/** Returns whether a device's figures were fitted to the stand-in loop, whose times show nothing about this kernel. */
export function isFittedToStandIn(measured: Pick<StatedPipeline, 'origin' | 'fittedTo'> | undefined): boolean {
  return measured?.origin === 'calibrated' && measured.fittedTo !== 'kernel';
}

/** Returns whether the kernel's calibrated fields, which all devices share, were fitted to the stand-in loop. */
function isKernelOfStandIn(pipeline: PredictionInputs['pipeline']): boolean {
  const all = Object.values(pipeline);
  return all.some(isFittedToStandIn) && !all.some(({ fittedTo }) => fittedTo === 'kernel');
}

const STAND_IN_NOTE = 'of a stand-in loop, not of this kernel';

interface AxesOfInputs {
  readonly threadsPerUnit: readonly number[];
  readonly loop: readonly string[];
  readonly balancing: readonly string[];
  readonly registerCap: readonly (number | null)[];
}

export interface PredictionInputs {
  readonly workload: { readonly lengths: string; readonly units: number };
  readonly kernel: KernelWithOrigins;
  readonly axes: AxesOfInputs;
  readonly implementations?:
    | readonly {
        readonly name: string;
        readonly kernel: KernelChange;
        readonly allows: { readonly [Axis in keyof AxesOfInputs]?: AxesOfInputs[Axis] | undefined };
      }[]
    | undefined;
  readonly pipeline: Readonly<Record<string, StatedPipeline>>;
}

/** Lists the fields on which times depend: the study's, then each implementation's, in the order of `KERNEL_FIELDS`. */
export function decidingFields(
  { implementations, ...inputs }: PredictionInputs,
  device: Device,
  implementation?: string,
): readonly DecidingField[] {
  const ways = (implementations ?? []).flatMap((one, at) => {
    if (implementation !== undefined && one.name !== implementation) return [];
    const kernel = implementationKernel(inputs.kernel, one);
    const axes = { ...inputs.axes, ...defined(one.allows) };
    const own = new Set(ownFields(one.kernel));
    return [{ at, kernel, own, fields: kernelFields({ ...inputs, kernel, axes }, device) }];
  });
  if (ways.length === 0) {
    const { kernel } = inputs;
    return kernelFields(inputs, device).map((field) => ({ input: `kernel.${field}`, field, kernel, of: null }));
  }
  const common = KERNEL_FIELDS.filter((field) =>
    ways.some(({ own, fields }) => fields.includes(field) && !own.has(field)),
  );
  return [
    ...common.map((field) => ({ input: `kernel.${field}` as const, field, kernel: inputs.kernel, of: null })),
    ...ways.flatMap(({ at, kernel, own, fields }) =>
      fields
        .filter((field) => own.has(field))
        .map((field) => ({ input: `implementations[${at}].kernel.${field}` as const, field, kernel, of: kernel.name })),
    ),
  ];
}

export interface DecidingField {
  readonly input: `kernel.${KernelField}` | `implementations[${number}].kernel.${KernelField}`;
  readonly field: KernelField;
  readonly kernel: KernelWithOrigins;
  readonly of: string | null;
}

function defined<Values extends object>(values: Values): { readonly [Key in keyof Values]?: NonNullable<Values[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

function kernelFields(
  { kernel, axes, pipeline }: Pick<PredictionInputs, 'kernel' | 'axes' | 'pipeline'>,
  device: Device,
): readonly KernelField[] {
  const kinds = axes.balancing.flatMap((text) => {
    const parsed = parseBalancing(text);
    return parsed.ok && runsOn(parsed.value, device.kind) ? [parsed.value] : [];
  });
  const ordered = kinds.some(needsLengths);
  if (device.kind === 'cpu')
    return ['bytesPerIteration', 'bytesPerUnit', ...(ordered ? (['lengthsKnownBeforeLaunch'] as const) : [])];
  const own = pipeline[device.id];
  const measured = own !== undefined;
  // Only some calibrations leave the traffic, and the latency that depends on its accesses, to the model.
  const traffic = own?.transferScale !== undefined;
  const arrays = traffic && kernel.accesses !== undefined;
  const shared = axes.threadsPerUnit.some((threads) => threads > 1);
  const even = kinds.some(isEvenShare);
  const single = axes.loop.includes('flattened') || even || kinds.some(({ kind }) => kind === 'dynamic-fetch');
  const split = kernel.sharing !== 'deal';
  const spills = axes.registerCap.some((cap) => cap !== null && cap < kernel.registersPerThread);
  const matters: Readonly<Record<KernelField, boolean>> = {
    registersPerThread: true,
    instructionsPerIteration: !measured || spills || arrays,
    serialFraction: shared && split,
    dependentLoadsPerIteration: !measured || spills || arrays,
    bytesPerIteration: !kernel.accesses && (!measured || spills || traffic),
    accesses: kernel.accesses !== undefined && (!measured || spills || traffic),
    sharing: shared,
    prologue: true,
    unit: true,
    // If iterations are split, σ and κ contain the cost of combining.
    combine: shared && (!split || kernel.combine !== undefined),
    // Without a refill phase, the prediction uses the unit phase.
    refill: single && kernel.refill !== undefined,
    search: even,
    carry: even,
    chainInstructions: kernel.chainInstructions !== undefined && (!measured || arrays),
    dependentExchanges: (kernel.dependentExchanges ?? 0) > 0 && (!measured || arrays),
    cooperationCost: shared && split,
    flattenedCost: single,
    // Without a share, all instructions count as FP32.
    integerShare: (kernel.integerShare ?? 0) > 0 && (!measured || spills),
    fp64Share: (kernel.fp64Share ?? 0) > 0 && (!measured || spills),
    specialShare: (kernel.specialShare ?? 0) > 0 && (!measured || spills),
    threeRegisterShare: (kernel.threeRegisterShare ?? 0) > 0 && (!measured || spills),
    sharedMemoryBytesPerBlock: true,
    bytesPerUnit: ordered && kernel.lengthsKnownBeforeLaunch,
    kneeSoftness: !measured,
    spillInstructionsPerRegister: spills,
    lengthsKnownBeforeLaunch: ordered,
  };
  return KERNEL_FIELDS.filter((field) => matters[field]);
}

/**
 * Instructions of the phases that a kernel must have, if it does not state them. Studies state them: they get the
 * middles of their laws before they are predicted (`advise/assumed.ts`). Runs of earlier versions and kernels of the
 * evidence do not.
 */
const UNSTATED_INSTRUCTIONS = { combine: 3, search: 7, carry: 15 } as const;

/** Returns the stated phase, or an assumed one if the kernel must have it. A missing refill is the unit phase. */
export function kernelPhase(kernel: KernelProfile, name: PhaseName): Phase | undefined {
  if (name === 'refill') return kernel.refill ?? kernel.unit;
  if (name === 'unit' || name === 'prologue' || (name === 'combine' && kernel.sharing !== 'deal')) return kernel[name];
  return kernel[name] ?? assumedPhase(name, UNSTATED_INSTRUCTIONS[name]);
}

export function kernelValue(kernel: KernelProfile, field: KernelNumber): number {
  if (isPhase(field)) return kernelPhase(kernel, field)?.instructions ?? 0;
  if (field === 'chainInstructions') return kernel.chainInstructions ?? kernel.instructionsPerIteration;
  return kernel[field] ?? (KERNEL_DEFAULTS as Partial<Record<KernelNumber, number>>)[field]!;
}

/** Returns the kernel with another value of one number. If it is the number of a phase, the whole phase is scaled. */
export function withKernelValue<Kernel extends Partial<KernelProfile>>(
  kernel: Kernel,
  field: KernelNumber,
  value: number,
): Kernel {
  if (!isPhase(field)) return { ...kernel, [field]: value };
  const phase = kernel[field] ?? (field === 'refill' ? kernel.unit : undefined) ?? assumedPhase(field);
  const factor = phase.instructions > 0 ? value / phase.instructions : 0;
  const grown = (['chainInstructions', 'dependentExchanges', 'dependentLoads', 'bytes'] as const).flatMap((part) =>
    phase[part] === undefined ? [] : [[part, phase[part] * factor]],
  );
  return { ...kernel, [field]: { ...phase, instructions: value, ...Object.fromEntries(grown) } };
}

/**
 * Returns a phase that costs as much as this many iterations, for studies of format 1, which had no phases.
 * @param loadRatio latency of a load in an iteration divided by that of a load in the phase
 */
export function setupPhase(kernel: KernelProfile, iterations: number, loadRatio = 1): Phase {
  const { instructionsPerIteration, integerShare, fp64Share, specialShare, chainInstructions } = kernel;
  const { dependentExchanges = 0, dependentLoadsPerIteration, bytesPerIteration } = kernel;
  return {
    instructions: iterations * instructionsPerIteration,
    ...(integerShare && { integerShare }),
    ...(fp64Share && { fp64Share }),
    ...(specialShare && { specialShare }),
    ...(chainInstructions !== undefined && { chainInstructions: iterations * chainInstructions }),
    ...(dependentExchanges > 0 && { dependentExchanges: iterations * dependentExchanges }),
    ...(dependentLoadsPerIteration > 0 && { dependentLoads: iterations * loadRatio * dependentLoadsPerIteration }),
    ...(bytesPerIteration > 0 && { bytes: iterations * bytesPerIteration }),
  };
}

export function computeSetupIterations({ unit, instructionsPerIteration }: KernelProfile): number {
  return (unit?.instructions ?? 0) / instructionsPerIteration;
}

export function withSetupIterations<Kernel extends KernelProfile>(kernel: Kernel, iterations: number): Kernel {
  if (iterations === computeSetupIterations(kernel)) return kernel;
  if (kernel.unit) return withKernelValue(kernel, 'unit', iterations * kernel.instructionsPerIteration);
  return { ...kernel, unit: setupPhase(kernel, iterations) };
}

const PATTERN_TEXT = {
  'along-unit': 'along the unit',
  'across-lanes': 'across lanes',
  scattered: 'scattered',
} as const;

export function accessesText(accesses: readonly MemoryAccess[]): string {
  return accesses
    .map(({ pattern, elementBytes, footprintBytes, missFraction }) => {
      const size = footprintBytes === undefined ? '' : ` in ${footprintBytes.toLocaleString('en')} B`;
      const apart =
        missFraction === undefined ? '' : ` (${Number((100 * missFraction).toPrecision(3))} % need a sector each)`;
      return `${elementBytes} B ${PATTERN_TEXT[pattern]}${size}${apart}`;
    })
    .join(', ');
}

function kernelNote(origin: Origin, isStated: boolean, source = isStated ? 'a usual value' : 'default'): string {
  if (origin === 'example') return EXAMPLE_NOTE;
  return origin === 'assumed' ? source : '';
}
const EXAMPLE_NOTE = 'from the example';

const makeFact = (
  field: string,
  label: string,
  value: number | string,
  unit: string,
  origin: Origin,
  note = '',
  usual: InputFact['usual'] = null,
): InputFact => ({ field, label, value, unit, origin, note, usual });

function kernelFact({ input, field, kernel, of }: DecidingField): InputFact {
  const origin = kernelOrigin(kernel, field);
  const source = field in KERNEL_INPUTS ? KERNEL_INPUTS[field as KernelNumber].source : undefined;
  const note = kernelNote(origin, kernel.origins?.[field] !== undefined, source);
  const fact = (label: string, value: number | string, unit = '', usual: InputFact['usual'] = null): InputFact =>
    makeFact(input, of === null ? label : `${label} of ${of}`, value, unit, origin, note, usual);
  switch (field) {
    case 'lengthsKnownBeforeLaunch':
      return fact('Lengths known before launch', kernel[field] ? 'yes' : 'no');
    case 'accesses':
      return fact('Memory accesses', accessesText(kernel.accesses ?? []));
    case 'sharing':
      return fact('Sharing of a unit', kernel.sharing === 'deal' ? 'dealt iterations' : 'split iterations');
    default: {
      const { label, unit, usual } = KERNEL_INPUTS[field];
      return fact(label, kernelValue(kernel, field), unit, usual);
    }
  }
}

const DEVICE_FACTS = {
  gpu: {
    multiprocessors: ['Multiprocessors', ''],
    clockMhz: ['Clock', 'MHz'],
    schedulersPerMultiprocessor: ['Schedulers per multiprocessor', ''],
    fp32LanesPerMultiprocessor: ['FP32 lanes per multiprocessor', ''],
    dependentIssueLatencyCycles: ['Arithmetic latency', 'cycles'],
    memoryLatencyCycles: ['Memory latency', 'cycles'],
    memoryBandwidthGbS: ['Memory bandwidth', 'GB/s'],
  },
  cpu: {
    cores: ['Cores', ''],
    singleCoreBandwidthGbS: ['Bandwidth of one core', 'GB/s'],
    fullBandwidthGbS: ['Bandwidth of all cores', 'GB/s'],
  },
} as const;
const REPLACED: ReadonlySet<string> = new Set([
  'schedulersPerMultiprocessor',
  'fp32LanesPerMultiprocessor',
  'dependentIssueLatencyCycles',
  'memoryLatencyCycles',
]);

function deviceFacts(device: Device, measured: boolean): readonly InputFact[] {
  const facts = Object.entries(DEVICE_FACTS[device.kind]) as [string, readonly [string, string]][];
  return facts
    .filter(([field]) => !(measured && REPLACED.has(field)))
    .map(([field, [label, unit]]) => {
      const estimate = isEstimate(device, field);
      const value = (device as unknown as Readonly<Record<string, number>>)[field];
      const note = estimate ? (device.sources[field] ?? device.sources['*']) : 'data sheet';
      return makeFact(`device.${field}`, label, value, unit, estimate ? 'assumed' : 'given', note);
    });
}

/** Returns the lengths as a user knows them: an imported file by its name, not by the stored digest. */
export const lengthsText = (lengths: string): string =>
  lengths.replace(/^stored:[0-9a-f]{64}:?/, '') || 'an imported file';

export function inputFacts(inputs: PredictionInputs, device: Device, implementation?: string): readonly InputFact[] {
  const { workload, pipeline } = inputs;
  const measured = pipeline[device.id];
  const ofStandIn = isKernelOfStandIn(pipeline);
  const file = /^(file|mtx|stored):/.test(workload.lengths);
  return [
    makeFact(
      'workload.lengths',
      'Lengths of the units',
      lengthsText(workload.lengths),
      'iterations',
      file ? 'imported' : 'given',
    ),
    makeFact('workload.units', 'Units', workload.units, '', 'given'),
    ...decidingFields(inputs, device, implementation)
      .map(kernelFact)
      .map((fact) => (fact.origin === 'calibrated' && ofStandIn ? { ...fact, note: STAND_IN_NOTE } : fact)),
    ...(measured
      ? [
          makeFact(
            'pipeline',
            'Cycles of an iteration',
            `τ ${measured.latencyCycles.toPrecision(4)}, c ${measured.issueCycles.toPrecision(4)}, p ${measured.kneeSoftness.toPrecision(3)}${measured.transferScale === undefined ? '' : `, traffic × ${measured.transferScale.toPrecision(3)}`}`,
            'cycles',
            measured.origin ?? 'given',
            isFittedToStandIn(measured) ? STAND_IN_NOTE : '',
          ),
        ]
      : []),
    ...deviceFacts(device, measured !== undefined),
  ];
}

export function factText({ field, label, value, unit, origin }: InputFact): string {
  const figure = typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 6 }) : value;
  const note = field.startsWith('device.') ? ' (estimate)' : origin === 'example' ? ` (${EXAMPLE_NOTE})` : '';
  return `${label} = ${figure}${unit === '' ? '' : ` ${unit}`}${note}`;
}

export function trafficPhrase(
  facts: readonly InputFact[],
  { bytesPerIteration }: { readonly bytesPerIteration?: number },
): string | null {
  const accesses = facts.find(({ field }) => kernelInput(field)?.field === 'accesses');
  if (!accesses) return null;
  if (bytesPerIteration === undefined) return String(accesses.value);
  return `${Number(bytesPerIteration.toPrecision(3))} B per iteration of a lane: ${accesses.value}`;
}

export function assumedFacts(facts: readonly InputFact[]): readonly InputFact[] {
  return facts.filter(({ origin }) => isAssumed(origin));
}

export function assumedPhrase(facts: readonly InputFact[]): string {
  return assumedFacts(facts).map(factText).join(', ') || 'nothing';
}
