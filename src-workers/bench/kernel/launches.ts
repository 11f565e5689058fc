import { parseBalancing } from '../../domain/balancing.ts';
import { isWholeUnit, type Design } from '../../domain/design.ts';
import type {
  ElementArray,
  ElementType,
  KernelArgument,
  KernelEntry,
  KernelManifest,
  LaunchValue,
  ManifestNumber,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, type Result } from '../../domain/result.ts';
import { unitOrder } from '../unit-loop.ts';

/** A design as launches of a person's kernel. */

/** Launches of a design follow one another, and are timed together. */
export interface UnitLaunch {
  readonly threadsPerUnit: number;
  readonly gridBlocks: number;
  /** Place in the order of the units. */
  readonly firstUnit: number;
  readonly units: number;
}

/** One launch, or of a mixed design one for each class that has units. */
export function unitLaunches(
  { threadsPerUnit, gridBlocks, classes }: Design,
  lengths: Uint32Array,
): readonly UnitLaunch[] {
  if (!classes) return [{ threadsPerUnit, gridBlocks, firstUnit: 0, units: lengths.length }];
  const counts = classCounts(classes, lengths);
  let firstUnit = 0;
  return classes.flatMap((one, at) => {
    const units = counts[at];
    const launch = { threadsPerUnit: one.threadsPerUnit, gridBlocks: one.gridBlocks, firstUnit, units };
    firstUnit += units;
    return units > 0 ? [launch] : [];
  });
}

type Classes = NonNullable<Design['classes']>;

/** The class of a length; -1: of none, beyond the last. */
const classOf = (classes: Classes, length: number): number =>
  classes.findIndex(({ upTo }) => length <= (upTo ?? Infinity));

function classCounts(classes: Classes, lengths: Uint32Array): readonly number[] {
  const counts = classes.map(() => 0);
  for (const length of lengths) {
    const at = classOf(classes, length);
    if (at >= 0) counts[at]++;
  }
  return counts;
}

/** Designs with the same key have the same order: only the best buckets depend on the group, and classes on their ends. */
export function orderKey({ balancing: text, threadsPerUnit, blockThreads, classes }: Design): string {
  const balancing = parseBalancing(text);
  const group = balancing.ok && balancing.value.kind === 'best-buckets' ? [threadsPerUnit, blockThreads] : [];
  return JSON.stringify([text, classes?.map(({ upTo }) => upTo), group]);
}

/**
 * Position → unit: in round j, slot s takes the unit at position firstUnit + j·slots + s. As the balancing orders them; units of a mixed
 * design class by class; those that are cut into even shares, padded or fetched as they stand.
 *
 * @param threadGroupWidth of the device; null where it is not known, and orders that depend on it fail
 */
export function designOrder(
  { balancing: text, threadsPerUnit, blockThreads, classes }: Design,
  lengths: Uint32Array,
  threadGroupWidth: number | null,
): Result<Uint32Array> {
  const balancing = parseBalancing(text);
  if (!balancing.ok) return balancing;
  if (classes) {
    let before = 0;
    const next = classCounts(classes, lengths).map((count) => (before += count) - count);
    const order = new Uint32Array(before);
    lengths.forEach((length, unit) => {
      const at = classOf(classes, length);
      if (at >= 0) order[next[at]++] = unit;
    });
    return ok(order);
  }
  if (!isWholeUnit(balancing.value)) return unitOrder(lengths, { kind: 'none' }, 1);
  if (balancing.value.kind === 'best-buckets' && threadGroupWidth === null)
    return fail('unsupported', `The order of ${text} depends on the width of a thread group, which is not known here. Use quantile-buckets.`); // prettier-ignore
  const lanes = Math.min(threadGroupWidth ?? blockThreads, blockThreads);
  return unitOrder(lengths, balancing.value, Math.max(1, lanes / threadsPerUnit));
}

/** What the launch values stand for. */
export function launchValues(
  { unitsPerThread, blockThreads }: Design,
  { threadsPerUnit, gridBlocks, firstUnit, units: launchUnits }: UnitLaunch,
  units: number,
): Readonly<Record<LaunchValue, number>> {
  return { units, unitsPerThread, blockThreads, threadsPerUnit, gridBlocks, firstUnit, launchUnits };
}

export function numberOf(value: ManifestNumber, values: Readonly<Record<LaunchValue, number>>): number {
  return typeof value === 'number' ? value : values[value.slice(1, -1) as LaunchValue];
}

/** What of a design an entry must implement. */
export type ImplementedPart = Pick<Design, 'implementation' | 'threadsPerUnit' | 'loop' | 'balancing' | 'blockThreads'>;

/** The entry that measures a design. Fails with `unsupported` and what no entry implements. */
export function entryOf({ name, entries }: KernelManifest, design: ImplementedPart): Result<KernelEntry> {
  let fitting = entries;
  const narrow = (what: string, has: readonly string[], fits: (entry: KernelEntry) => boolean): Result<null> => {
    const kept = fitting.filter(fits);
    if (kept.length === 0)
      return fail(
        'unsupported',
        `The kernel "${name}" does not implement ${what}${has.length > 0 ? `, only ${[...new Set(has)].join(', ')}` : ''}`,
      );
    fitting = kept;
    return ok(null);
  };
  const { implementation, threadsPerUnit, loop, balancing, blockThreads } = design;
  const all = <T>(of: (entry: KernelEntry) => readonly T[]): string[] =>
    fitting.flatMap((entry) => of(entry).map(String));
  const steps: readonly (() => Result<null>)[] = [
    () =>
      narrow(
        `the implementation "${implementation}"`,
        all((entry) => (entry.implementation === undefined ? [] : [`"${entry.implementation}"`])),
        (entry) => entry.implementation === undefined || entry.implementation === implementation,
      ),
    () =>
      narrow(
        `the balancing ${balancing}`,
        all(({ axes }) => axes.balancing),
        ({ axes }) => axes.balancing.some((text) => text === balancing || text === balancing.replace(/\(.*\)$/, '(*)')),
      ),
    () =>
      narrow(
        `${threadsPerUnit} threads per unit`,
        all(({ axes }) => axes.threadsPerUnit),
        ({ axes }) => axes.threadsPerUnit.includes(threadsPerUnit),
      ),
    () =>
      narrow(
        `the ${loop} loop`,
        all(({ axes }) => axes.loop),
        ({ axes }) => axes.loop.includes(loop),
      ),
    () =>
      narrow(
        `blocks of ${blockThreads} threads`,
        all(({ axes }) => axes.blockThreads ?? []),
        ({ axes }) => axes.blockThreads?.includes(blockThreads) ?? true,
      ),
  ];
  for (const step of steps) {
    const kept = step();
    if (!kept.ok) return kept;
  }
  return ok(fitting[0]);
}

/** Contents of the arguments, by their place. */
export interface KernelContents {
  /** Of an input, and what an output holds before each launch; null of a scalar, of zeros, and of what the measurement makes. */
  readonly initial: readonly (ElementArray | null)[];
  readonly references: readonly (ElementArray | null)[];
}

const ARRAYS = { u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array } as const;

export const elementBytes = (type: ElementType): number => ARRAYS[type].BYTES_PER_ELEMENT;

/** Bytes as elements, which must be whole. */
export function elementsOf(type: ElementType, bytes: Uint8Array): ElementArray {
  return new ARRAYS[type](bytes.slice().buffer);
}

export function elementArray(type: ElementType, values: ArrayLike<number>): ElementArray {
  return new ARRAYS[type](values);
}

/** Elements of an output. */
export function outputCount({ output }: KernelArgument, units: number): number {
  const { count } = output!;
  return typeof count === 'number' ? count : units;
}

/** How far an output is from its reference. */
export interface OutputCheck {
  /** The greatest difference; null where one is not a number. */
  readonly maxError: number | null;
  readonly wrong: number;
  /** The first element that is wrong; empty where none is. */
  readonly message: string;
}

/** @param found as many elements as `reference` */
export function checkOutput(
  { name, output }: KernelArgument,
  found: ElementArray,
  reference: ElementArray,
): OutputCheck {
  const { absolute, relative } = output!;
  let [maxError, wrong, first] = [0, 0, -1];
  for (let at = 0; at < reference.length; at++) {
    const error = Math.abs(found[at] - reference[at]);
    if (!(error <= maxError)) maxError = error;
    if (error <= absolute + relative * Math.abs(reference[at])) continue;
    if (wrong === 0) first = at;
    wrong++;
  }
  return {
    maxError: Number.isFinite(maxError) ? maxError : null,
    wrong,
    message:
      wrong === 0
        ? ''
        : `${wrong} of ${reference.length} elements of ${name} are wrong; element ${first} is ${found[first]} instead of ${reference[first]}`,
  };
}
