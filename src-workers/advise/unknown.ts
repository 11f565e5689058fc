import type { Device } from '../domain/device.ts';
import type { KernelProfile, MemoryAccess, Phase } from '../domain/kernel.ts';
import {
  assumedPhase,
  isPhase,
  kernelValue,
  withKernelValue,
  type KernelField,
  type KernelNumber,
} from '../domain/provenance.ts';
import { mersenneTwister, shuffle } from '../numeric/random.ts';
import { sortedQuantile } from '../numeric/statistics.ts';
import type { SweepPlan } from '../predict/plan.ts';

/** Quantiles from 5 to 95 % at equal steps of probability, ascending. */
export type Quantiles = readonly number[];

/** Laws by path in a study, such as `kernel.unit` or `device.achievedBandwidthFraction`. */
export type Laws = Readonly<Record<string, Quantiles>>;

/** A field whose value is uncertain, of the study's kernel (`of` is −1) or of the implementation at position `of`. */
export interface UnknownField {
  readonly field: KernelField;
  readonly of: number;
  /** Whether the study states a value, around which values are drawn, because it is uncertain too. */
  readonly stated: boolean;
}

export interface Unknown {
  readonly laws: Laws;
  readonly kernel: readonly UnknownField[];
  readonly device: readonly string[];
}

/** Returns the middles of equal parts of 0…1, permuted for a path (Latin hypercube: McKay et al. 1979). */
function makeRanks(path: string, draws: number): readonly number[] {
  let seed = 0;
  for (const character of path) seed = (Math.imul(seed, 31) + character.charCodeAt(0)) | 0;
  const ranks = Array.from({ length: draws }, (_, at) => (at + 0.5) / draws);
  shuffle(ranks, mersenneTwister(seed));
  return ranks;
}

export function unknownPaths({ kernel, device }: Unknown): readonly string[] {
  return [...new Set([...kernel.map(({ field }) => `kernel.${field}`), ...device])];
}

export function drawnPlan(plan: SweepPlan, unknown: Unknown, draw: Draw, id: string): SweepPlan {
  const rankOf = (path: string): number => draw[path] ?? 0.5;
  const { implementations } = plan.axes;
  const drawn = (kernel: KernelProfile, of: readonly number[]): KernelProfile =>
    drawnKernel(
      kernel,
      unknown.kernel.filter((one) => of.includes(one.of)),
      unknown.laws,
      rankOf,
    );
  const devices = plan.axes.devices.map((device) => drawnDevice(device, unknown, rankOf));
  return {
    ...plan,
    id: `${plan.id}|${id}`,
    kernel: drawn(plan.kernel, [-1]),
    axes: {
      ...plan.axes,
      devices,
      ...(implementations && {
        implementations: implementations.map((one, at) => {
          // Fields that an implementation does not state have the values of the study.
          const common = unknown.kernel.filter(({ field, of }) => of === -1 && !one.own.includes(field));
          const fields = [...common, ...unknown.kernel.filter(({ of }) => of === at)];
          return { ...one, kernel: drawnKernel(one.kernel, fields, unknown.laws, rankOf) };
        }),
      }),
    },
  };
}

function drawnDevice(device: Device, { device: paths, laws }: Unknown, rankOf: (path: string) => number): Device {
  const values = paths.map((path) => {
    const field = path.slice('device.'.length);
    const known = (device as unknown as Readonly<Record<string, number | undefined>>)[field];
    const value = sortedQuantile(laws[path], rankOf(path));
    // If the device has an estimate, the law describes the ratio of the real value to it.
    return [field, known === undefined ? value : known * value];
  });
  return { ...device, ...Object.fromEntries(values) };
}

/**
 * Returns the factor on a stated value. The value was chosen for this kernel, so its error in ln is assumed to be half
 * the error of an unstated value.
 */
function aboutStated(value: number, middle: number): number {
  return middle > 0 && value > 0 ? Math.sqrt(value / middle) : 1;
}

export function drawnKernel(
  kernel: KernelProfile,
  fields: readonly UnknownField[],
  laws: Laws,
  rankOf: (path: string) => number,
): KernelProfile {
  let drawn = kernel;
  for (const { field, stated } of fields) {
    const path = `kernel.${field}`;
    const rank = rankOf(path);
    if (field === 'accesses') {
      // Even if accesses are listed, the fraction of their gathers that miss may be unknown.
      drawn = { ...drawn, accesses: kernel.accesses?.map((access) => drawnAccess(access, laws, rank)) };
      continue;
    }
    const law = laws[path];
    const value = sortedQuantile(law, rank);
    const middle = sortedQuantile(law, 0.5);
    if (isPhase(field)) {
      const part = (name: keyof Phase): Partial<Phase> =>
        laws[`${path}.${name}`] ? { [name]: sortedQuantile(laws[`${path}.${name}`], rank) } : {};
      drawn = stated
        ? withKernelValue(drawn, field, kernel[field]!.instructions * aboutStated(value, middle))
        : { ...drawn, [field]: { ...assumedPhase(field, value), ...part('dependentLoads'), ...part('bytes') } };
    } else if (field === 'chainInstructions') {
      const { instructionsPerIteration, chainInstructions = instructionsPerIteration } = kernel;
      const chain = stated ? chainInstructions * aboutStated(value, middle) : instructionsPerIteration * value;
      drawn = { ...drawn, chainInstructions: Math.min(chain, instructionsPerIteration) };
    } else if (field === 'sharing') {
      // `value` is the fraction of kernels that deal iterations. This kernel deals if the draw's rank is lower.
      drawn = { ...drawn, sharing: rank < value ? 'deal' : 'split' };
    } else {
      const name = field as Exclude<KernelNumber, 'chainInstructions'>;
      const own = (kernel as unknown as Readonly<Record<string, number | undefined>>)[name] ?? 0;
      const about = stated && own > 0 ? own * aboutStated(value, middle) : value;
      const whole = name === 'registersPerThread' ? Math.round(about) : about;
      drawn = withKernelValue(drawn, name, IS_SHARE.has(name) ? Math.min(1, whole) : whole);
    }
  }
  return drawn;
}

/** Returns the range in which a kernel's number is drawn, 5 to 95 % of its law; `null` for fields without a number. */
export function drawnRange(kernel: KernelProfile, one: UnknownField, laws: Laws): readonly [number, number] | null {
  const { field } = one;
  if (field === 'accesses' || field === 'sharing' || field === 'lengthsKnownBeforeLaunch') return null;
  const end = (rank: number): number =>
    Number(
      kernelValue(
        drawnKernel(kernel, [one], laws, () => rank),
        field,
      ).toPrecision(3),
    );
  return [end(0), end(1)];
}

const IS_SHARE: ReadonlySet<KernelField> = new Set([
  'serialFraction',
  'integerShare',
  'fp64Share',
  'specialShare',
  'threeRegisterShare',
]);

export type Draw = Readonly<Record<string, number>>;

/**
 * Draws a rank for each unknown input: the probability at which its law is read. Ranks do not depend on designs or
 * other inputs, so all designs get the same draws, and an input that becomes known changes no other rank. All parts of
 * a phase share a rank, because a longer phase also loads more.
 */
export function makeDraws(unknown: Unknown, count: number): readonly Draw[] {
  const ranks = unknownPaths(unknown).map((path) => ({ path, ranks: makeRanks(path, count) }));
  return Array.from({ length: count }, (_, at) => Object.fromEntries(ranks.map((one) => [one.path, one.ranks[at]])));
}

function drawnAccess(access: MemoryAccess, laws: Laws, rank: number): MemoryAccess {
  const isOpen = access.pattern === 'scattered' && access.missFraction === undefined;
  return isOpen ? { ...access, missFraction: sortedQuantile(gatherLaw(access, laws), rank) } : access;
}

/** Whether nothing is known of an array that is read at scattered places. */
export function hasUnsized(accesses: readonly MemoryAccess[]): boolean {
  return accesses.some(
    ({ pattern, missFraction, footprintBytes }) =>
      pattern === 'scattered' && missFraction === undefined && footprintBytes === undefined,
  );
}

/** Returns the law of the fraction of gathers that miss, which is wider if the size of a gathered array is unknown. */
function gatherLaw(access: MemoryAccess, laws: Laws): Quantiles {
  return laws[hasUnsized([access]) ? UNSIZED_GATHERS : 'kernel.accesses'];
}

export const UNSIZED_GATHERS = 'kernel.accesses.unsized';
