import type * as v from 'valibot';
import { NEAR_PAGE_LATENCY } from '../../src-workers/domain/device.ts';
import { isObject } from '../../src-workers/domain/json.ts';
import type { KernelProfile, PhaseName } from '../../src-workers/domain/kernel.ts';
import {
  implementationKernel,
  KERNEL_DEFAULTS,
  ownFields,
  setupPhase,
  type KernelField,
} from '../../src-workers/domain/provenance.ts';

/** Reads studies that were saved before kernels had phases. Their fields that count iterations become phases. */

interface OlderField {
  readonly phase: PhaseName;
  /** The default, which meant "nothing is known". An unstated field with the default gives no phase. */
  readonly byDefault: number;
  readonly scale: number;
}

/** One combining step is an eighth of a reduction over a block, because 256 threads reduce in 8 steps. */
const OLDER_FIELDS: Readonly<Record<string, OlderField>> = {
  setupIterationsPerUnit: { phase: 'unit', byDefault: 0, scale: 1 },
  blockReductionIterations: { phase: 'combine', byDefault: 0.5, scale: 1 / 8 },
  searchStepIterations: { phase: 'search', byDefault: 0.5, scale: 1 },
  carryIterations: { phase: 'carry', byDefault: 1, scale: 1 },
};
const OLDER_NAMES = Object.keys(OLDER_FIELDS);

const OF_ITERATION: ReadonlySet<KernelField> = new Set([
  'instructionsPerIteration',
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'accesses',
  'integerShare',
  'fp64Share',
  'specialShare',
  'threeRegisterShare',
  'chainInstructions',
  'dependentExchanges',
]);

export function newerInput(input: string): string {
  const [part, field] = input.split('.');
  return part === 'kernel' && Object.hasOwn(OLDER_FIELDS, field) ? `kernel.${OLDER_FIELDS[field].phase}` : input;
}

type Raw = Readonly<Record<string, unknown>>;
const hasOlder = (kernel: Raw): boolean =>
  [kernel, kernel.origins].some((of) => isObject(of) && OLDER_NAMES.some((name) => of[name] !== undefined));

type Wrong = (field: string, message: string, value: unknown) => void;

function withoutOlder(kernel: Raw): Raw {
  const rest = ([name]: readonly [string, unknown]): boolean => !Object.hasOwn(OLDER_FIELDS, name);
  const { origins, ...fields } = kernel;
  const kept = Object.fromEntries(Object.entries(fields).filter(rest));
  if (!isObject(origins)) return origins === undefined ? kept : { ...kept, origins };
  const ofKept = Object.entries(origins).filter(rest);
  return ofKept.length > 0 ? { ...kept, origins: Object.fromEntries(ofKept) } : kept;
}

/** Returns `loadRatio` for `setupPhase`: loads per unit are faster than loads per iteration without `accesses`. */
const getLoadRatio = (phase: PhaseName, { accesses }: Raw): number =>
  phase === 'unit' && accesses === undefined ? 1 / NEAR_PAGE_LATENCY : 1;

/**
 * Converts the older fields of a kernel to phases.
 * @param own a kernel, or the changes that an implementation makes to the kernel
 * @param common the kernel of the study if `own` are the changes of an implementation
 */
function phased(own: Raw, full: Raw, common: Raw | null, wrong: Wrong): Raw {
  const newer = withoutOlder(own);
  const phases: Record<string, unknown> = {};
  const origins: Record<string, unknown> = {};
  const ownIterations = ownFields(own).some((field) => OF_ITERATION.has(field));
  for (const [name, { phase, byDefault, scale }] of Object.entries(OLDER_FIELDS)) {
    const inherited = common?.[name] ?? byDefault;
    const follows = own[name] === undefined && own[phase] === undefined && ownIterations;
    const value = follows ? inherited : own[name];
    const { origins: stated } = follows && common ? common : own;
    const origin = isObject(stated) ? stated[name] : undefined;
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value >= 0 && Number.isFinite(value))) {
      if (!follows) wrong(name, 'must be a number ≥ 0', value);
      continue;
    }
    if (own[phase] !== undefined) {
      wrong(name, `must be left out where "${phase}" is given`, value);
      continue;
    }
    const isUnknown = value === byDefault && inherited === byDefault && (origin ?? 'assumed') === 'assumed';
    if (isUnknown) continue;
    const made = setupPhase({ ...KERNEL_DEFAULTS, ...full } as KernelProfile, value * scale, getLoadRatio(phase, full));
    // A number is infinite or NaN only if a field of the iteration is wrong, which has its own message.
    if (!Object.values(made).every(Number.isFinite)) continue;
    phases[phase] = made;
    if (origin !== undefined) origins[phase] = origin;
  }
  if (Object.keys(phases).length === 0) return newer;
  const all = { ...(isObject(newer.origins) ? newer.origins : {}), ...origins };
  return { ...newer, ...phases, ...(Object.keys(all).length > 0 && { origins: all }) };
}

/**
 * Converts a study of any version to this version. A setup of s iterations becomes a unit phase with the instructions,
 * loads and bytes of s iterations; other phases change in the same way. A field with the default value stays unknown. A
 * wrong value is reported as an issue at its field.
 */
export function withPhases<Study>({ dataset: { value: study }, addIssue }: v.RawTransformContext<Study>): Study {
  if (!isObject(study) || !isObject(study.kernel)) return study;
  const { kernel, implementations } = study;
  const changes = (Array.isArray(implementations) ? implementations : []).map((one: unknown) =>
    isObject(one) && isObject(one.kernel) ? one.kernel : {},
  );
  if (![kernel, ...changes].some(hasOlder)) return withZeros(study);
  const wrongIn =
    (...place: readonly (string | number)[]): Wrong =>
    (field, message, value) =>
      addIssue({ message, input: value, path: pathOf(study, [...place, field]) });
  const newer = {
    ...study,
    kernel: phased(kernel, kernel, null, wrongIn('kernel')),
    ...(Array.isArray(implementations) && {
      implementations: implementations.map((one: unknown, at) => {
        if (!isObject(one) || !isObject(one.kernel)) return one;
        const full = implementationKernel(kernel as unknown as KernelProfile, { name: '', kernel: one.kernel });
        return {
          ...one,
          kernel: phased(one.kernel, full as unknown as Raw, kernel, wrongIn('implementations', at, 'kernel')),
        };
      }),
    }),
  };
  return withZeros(newer);
}

/** Fields whose default is zero although zero is unusual. A zero in the file is given; a zero by default is assumed. */
const ZERO_BY_DEFAULT = [
  'serialFraction',
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'cooperationCost',
  'flattenedCost',
] as const satisfies readonly KernelField[];

/**
 * Marks the zeros in the kernels of a study as given or assumed, before defaults are filled in.
 * @param written the origin of a zero in the file: `assumed` in studies that were saved before origins existed
 */
export function withZeros<Study>(study: Study, written: 'given' | 'assumed' = 'given'): Study {
  if (!isObject(study) || !isObject(study.kernel)) return study;
  const marked = (kernel: unknown, isWhole: boolean): unknown => {
    if (!isObject(kernel) || (kernel.origins !== undefined && !isObject(kernel.origins))) return kernel;
    const known = kernel.origins;
    const origins = ZERO_BY_DEFAULT.flatMap((field) => {
      const [value, origin] = [kernel[field], known?.[field]];
      if (origin !== undefined || (value === undefined ? !isWhole : value !== 0)) return [];
      return [[field, value === 0 ? written : 'assumed']];
    });
    return origins.length === 0 ? kernel : { ...kernel, origins: { ...known, ...Object.fromEntries(origins) } };
  };
  const { kernel, implementations } = study;
  return {
    ...study,
    kernel: marked(kernel, true),
    ...(Array.isArray(implementations) && {
      implementations: implementations.map((one: unknown) =>
        isObject(one) ? { ...one, kernel: marked(one.kernel, false) } : one,
      ),
    }),
  };
}

type Path = NonNullable<v.RawTransformIssueInfo<unknown>['path']>;

function pathOf(root: Raw, keys: readonly (string | number)[]): Path {
  let at: unknown = root;
  return keys.map((key) => {
    const input = at as Record<string | number, unknown>;
    at = input[key];
    return { type: typeof key === 'number' ? 'array' : 'object', origin: 'value', input, key, value: at };
  }) as unknown as Path;
}
