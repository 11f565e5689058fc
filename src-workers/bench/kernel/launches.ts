import { parseArithmetic, type Arithmetic } from '../../domain/arithmetic.ts';
import { parseBalancing } from '../../domain/balancing.ts';
import type { BenchPlan } from '../../domain/benchmark.ts';
import { isWholeUnit, type Design } from '../../domain/design.ts';
import {
  LAUNCH_NAMES,
  ORDER_FILE_NAME,
  type KernelArgument,
  type KernelEntry,
  type KernelManifest,
  type LaunchValue,
  type ManifestNumber,
  type ValueType,
  VALUE_TYPES,
} from '../../domain/kernel-manifest.ts';
import { ok, unwrap, type Result, unsupported, badInput } from '../../domain/result.ts';
import { unitOrder } from '../unit-loop.ts';

/** One launch of a design. A design's launches run one after another and are timed together. */
export interface UnitLaunch {
  readonly threadsPerUnit: number;
  readonly gridBlocks: number;
  readonly firstUnit: number;
  readonly units: number;
}

/** Maximum number of starts of a host program for a design. Many starts take long, but let designs alternate often. */
const STARTS = 3;

export const launchesOfStart = ({ warmUps, repeats }: Pick<BenchPlan, 'warmUps' | 'repeats'>): number =>
  Math.ceil((warmUps + repeats) / STARTS);

export const takesOrder = ({ arguments: all }: KernelManifest): boolean =>
  all.some(({ file }) => file === ORDER_FILE_NAME);

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

export function orderKey({ balancing: text, threadsPerUnit, blockThreads, classes }: Design): string {
  const balancing = parseBalancing(text);
  const group = balancing.ok && balancing.value.kind === 'best-buckets' ? [threadsPerUnit, blockThreads] : [];
  return JSON.stringify([text, classes?.map(({ upTo }) => upTo), group]);
}

/**
 * Returns the unit at each position. In round j of a launch, slot s takes position firstUnit + j·slots + s. A mixed
 * design has its units class by class. Even shares, padding and fetching keep the order of the workload.
 * @param threadGroupWidth if null, orders that depend on it fail
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
    return unsupported(`The order of ${text} depends on the width of a thread group, which is not known here. Use quantile-buckets.`); // prettier-ignore
  const lanes = Math.min(threadGroupWidth ?? blockThreads, blockThreads);
  return unitOrder(lengths, balancing.value, Math.max(1, lanes / threadsPerUnit));
}

export function launchValues(
  { unitsPerThread, blockThreads }: Design,
  { threadsPerUnit, gridBlocks, firstUnit, units: launchUnits }: UnitLaunch,
  units: number,
): Readonly<Record<LaunchValue, number>> {
  return { units, unitsPerThread, blockThreads, threadsPerUnit, gridBlocks, firstUnit, launchUnits };
}

export const arithmeticOf = (value: ManifestNumber): Arithmetic => unwrap(parseArithmetic(String(value), LAUNCH_NAMES));

export function resolveNumber(value: ManifestNumber, values: Readonly<Record<LaunchValue, number>>): number {
  return typeof value === 'number' ? value : arithmeticOf(value).value((name) => values[name as LaunchValue]);
}

export function defineConstants(
  { constants }: KernelEntry,
  values: Readonly<Record<LaunchValue, number>>,
): Result<readonly string[]> {
  const flags: string[] = [];
  for (const [name, value] of Object.entries(constants)) {
    const number = resolveNumber(value, values);
    if (!Number.isFinite(number))
      return badInput(`The constant ${name} is ${value}. For this design that is ${number}, which is not finite`);
    flags.push(`-D${name}=${number}`);
  }
  return ok(flags);
}

export type ImplementedPart = Pick<Design, 'implementation' | 'threadsPerUnit' | 'loop' | 'balancing' | 'blockThreads'>;

/** Fails with `unsupported` and the properties that no entry implements. */
export function findEntry({ name, entries }: KernelManifest, design: ImplementedPart): Result<KernelEntry> {
  const { implementation, threadsPerUnit, loop, balancing, blockThreads } = design;
  const anyOfKind = balancing.replace(/\(.*\)$/, '(*)');
  /** Values that fit a property of the design, and values that an entry allows. An entry without a list allows all. */
  type Property = readonly [
    what: string,
    fitting: readonly (string | number)[],
    of: (entry: KernelEntry) => readonly (string | number)[] | undefined,
  ];
  const properties: readonly Property[] = [
    [
      `the implementation "${implementation}"`,
      [`"${implementation}"`],
      (entry) => (entry.implementation === undefined ? undefined : [`"${entry.implementation}"`]),
    ],
    [`the balancing ${balancing}`, [balancing, anyOfKind], ({ axes }) => axes.balancing],
    [`${threadsPerUnit} threads per unit`, [threadsPerUnit], ({ axes }) => axes.threadsPerUnit],
    [`the ${loop} loop`, [loop], ({ axes }) => axes.loop],
    [`blocks of ${blockThreads} threads`, [blockThreads], ({ axes }) => axes.blockThreads],
  ];
  let left = entries;
  for (const [what, fitting, of] of properties) {
    const kept = left.filter((entry) => of(entry)?.some((value) => fitting.includes(value)) ?? true);
    if (kept.length === 0) {
      const others = new Set(left.flatMap((entry) => of(entry) ?? []));
      const only = others.size > 0 ? `, only ${[...others].join(', ')}` : '';
      return unsupported(`The kernel "${name}" does not implement ${what}${only}`);
    }
    left = kept;
  }
  return ok(left[0]);
}

export interface KernelContents {
  /** Contents of arguments before a launch. Null for numbers, zeros, and files that the measurement itself writes. */
  readonly initial: readonly (Uint8Array<ArrayBuffer> | null)[];
  readonly references: readonly (Uint8Array<ArrayBuffer> | null)[];
}

const WRITERS: Readonly<Record<ValueType, (view: DataView, at: number, value: number) => void>> = {
  i8: (view, at, value) => view.setInt8(at, value),
  u8: (view, at, value) => view.setUint8(at, value),
  i16: (view, at, value) => view.setInt16(at, value, true),
  u16: (view, at, value) => view.setUint16(at, value, true),
  i32: (view, at, value) => view.setInt32(at, value, true),
  u32: (view, at, value) => view.setUint32(at, value, true),
  i64: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
  u64: (view, at, value) => view.setBigUint64(at, BigInt(value), true),
  f16: (view, at, value) => view.setFloat16(at, value, true),
  bf16: (view, at, value) => view.setUint16(at, brainBits(value), true),
  f32: (view, at, value) => view.setFloat32(at, value, true),
  f64: (view, at, value) => view.setFloat64(at, value, true),
};

/** Rounds to the nearest bfloat16 number, ties to even. The result is in the low 16 bits. */
function brainBits(value: number): number {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer);
  return Number.isNaN(value) ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

export function valueBytes(type: ValueType, values: ArrayLike<number>): Uint8Array<ArrayBuffer> {
  const { bytes } = VALUE_TYPES[type];
  const view = new DataView(new ArrayBuffer(bytes * values.length));
  for (let at = 0; at < values.length; at++) WRITERS[type](view, at * bytes, values[at]);
  return new Uint8Array(view.buffer);
}

export function outputCount({ output }: KernelArgument, units: number): Result<number> {
  const count = typeof output!.count === 'number' ? output!.count : unwrap(parseArithmetic(output!.count, ['units'])).value(() => units); // prettier-ignore
  return Number.isSafeInteger(count) && count >= 1
    ? ok(count)
    : badInput(`"count" is ${output!.count}, which is ${count} for ${units} units. Specify arithmetic that gives a whole number ≥ 1, for example with ceil(…)`); // prettier-ignore
}

export interface OutputCheck {
  /** Null if an element is not a number. */
  readonly maxError: number | null;
  readonly wrong: number;
  readonly message: string;
}

/** @param found as many elements as `reference` */
export function checkOutput(
  { name, output }: KernelArgument,
  found: ArrayLike<number>,
  reference: ArrayLike<number>,
): OutputCheck {
  const { absolute, relative } = output!;
  let [maxError, wrong, first] = [0, 0, -1];
  for (let at = 0; at < reference.length; at++) {
    const error = found[at] === reference[at] ? 0 : Math.abs(found[at] - reference[at]);
    if (!(error <= maxError)) maxError = error;
    if (error === 0 || error <= absolute + relative * Math.abs(reference[at])) continue;
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
