import type { AccessPattern, MemoryAccess } from '../domain/kernel.ts';
import { isConstant, type Sums } from './affine.ts';
import type { Instruction } from './instruction.ts';

/** Where the addresses of a kernel come from, as seen from one of its loops. */
export interface Addresses {
  /** Whether an access goes to different places for different units. */
  readonly differs: (at: number) => boolean;
  /**
   * How the lanes read an array in the loop, where a pass is several iterations; `null` for one place in all
   * iterations, or the same place for all lanes.
   */
  readonly pattern: (at: number, threadsPerUnit: number, unrolled: number) => AccessPattern | null;
  /** A name for the element that an access in the loop is of: the same for parts of one. */
  readonly element: (at: number) => string;
}

/** Instructions that are followed for one address, and for all together. Beyond them an address counts as arbitrary. */
const MAX_FOLLOWED = { one: 1000, all: 1e6 };
/** The most accesses that a study lists. Beyond them, those of one pattern are put together. */
const MAX_ACCESSES = 16;
/** Lanes that read side by side: those of a thread group. */
const SIDE_BY_SIDE = 32;

/** Takes the addresses of a kernel from the sums that its registers hold. */
export function addressesOf(code: readonly Instruction[], sums: Sums): Addresses {
  const { inLoop, last, carried } = sums;
  let followedSoFar = 0;
  /** All that an address is made from; null: too much. */
  const followed = (at: number): ReadonlySet<number> | null => {
    const found = new Set<number>();
    const add = (names: readonly string[], from: number): void => {
      for (const name of names)
        for (const writer of [last(name, from), carried(name, from)]) if (writer !== undefined) found.add(writer);
    };
    add(code[at].access!.address, at);
    for (const one of found) {
      if (found.size > MAX_FOLLOWED.one || ++followedSoFar > MAX_FOLLOWED.all) return null;
      add(code[one].reads, one);
    }
    return found;
  };
  const differs = (at: number): boolean => {
    const found = followed(at);
    return found === null || [...found].some((one) => code[one].differs || BLOCK.test(code[one].text));
  };
  return {
    differs,
    element: (at) => code[at].access!.address.map((name) => `${name}:${last(name, at) ?? ''}`).join(),
    pattern: (at, threadsPerUnit, unrolled) => {
      const { bytes } = code[at].access!;
      const found = followed(at);
      if (found === null) return 'scattered';
      const within = [...found].filter(inLoop);
      if (within.some((one) => code[one].loads || code[one].exchange === 'near')) return 'scattered';
      const address = sums.address(at);
      const grown = address && sums.growth(address);
      if (!address || !grown) return within.length === 0 || !differs(at) ? null : 'scattered';
      if ((isConstant(grown) && grown.constant === 0) || !differs(at)) return null;
      // The threads of a block go on side by side, as far as there are threads, and so do lanes with neighbouring
      // elements.
      const lanes =
        threadsPerUnit === 1 &&
        [...sums.before(address).terms].some(([name, times]) => LANE.test(name) && Math.abs(times) === bytes);
      const step = isConstant(grown) ? Math.abs(grown.constant) / unrolled : Infinity;
      const along = [...grown.terms].some(([name]) => THREADS.test(name));
      const side = !along && (lanes || step >= SIDE_BY_SIDE * bytes) && threadsPerUnit < SIDE_BY_SIDE;
      return side ? 'across-lanes' : 'along-unit';
    },
  };
}

/** The index of a block, which a unit may be. */
const BLOCK = /%ctaid|SR_CTAID/;
/** A thread's index in its block, and the threads of a block. */
export const LANE = /^(%tid\.x|SR_TID\.X)$/;
const THREADS = /^(%ntid\.x|c\[0x0\]\[(RZ|0x0|0x360)\])$/;
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/**
 * What an iteration reads and writes: arrays, by how their addresses grow. Parts of one element count as one access.
 * Footprints stay unknown.
 * @param counted the instructions of an iteration
 * @param unrolled how many iterations of the source these instructions do
 */
export function accessesOf(
  code: readonly Instruction[],
  addresses: Addresses,
  counted: ReadonlySet<number>,
  unrolled: number,
  threadsPerUnit: number,
): readonly MemoryAccess[] {
  const elements = new Map<string, { readonly pattern: AccessPattern; bytes: number }>();
  for (const at of counted) {
    const { access } = code[at];
    const pattern = access && addresses.pattern(at, threadsPerUnit, unrolled);
    if (!pattern) continue;
    // An unrolled loop reads an array by one address or by several.
    const name = unrolled > 1 && pattern !== 'scattered' ? String(at) : addresses.element(at);
    const known = elements.get(name);
    if (known) known.bytes += access.bytes;
    else elements.set(name, { pattern, bytes: access.bytes });
  }
  const alike = Map.groupBy(elements.values(), ({ pattern, bytes }) => `${pattern} ${bytes}`);
  const accesses = [...alike.values()].flatMap((all) => {
    const [{ pattern, bytes }] = all;
    const whole = Array.from({ length: Math.floor(all.length / unrolled) }, () => ({ pattern, elementBytes: bytes }));
    const left = Math.round(((all.length % unrolled) * bytes) / unrolled);
    return left === 0 ? whole : [...whole, { pattern, elementBytes: left }];
  });
  if (accesses.length <= MAX_ACCESSES) return accesses;
  return [...Map.groupBy(accesses, ({ pattern }) => pattern)].map(([pattern, all]) => ({
    pattern,
    elementBytes: sum(all.map(({ elementBytes }) => elementBytes)),
  }));
}
