import { CUDA_GROUP_WIDTH } from '../domain/ability.ts';
import type { AccessPattern, MemoryAccess } from '../domain/kernel.ts';
import { isConstant, type Sums } from './affine.ts';
import type { Instruction } from './instruction.ts';

export interface Addresses {
  /** Whether an access reaches different places for different units. */
  readonly differs: (at: number) => boolean;
  /** How the lanes read an array in the loop. `null` if all iterations, or all lanes, read the same place. */
  readonly pattern: (at: number, threadsPerUnit: number, unrolled: number) => AccessPattern | null;
  /** A name for the element that an access in the loop reads. Accesses to parts of one element share the name. */
  readonly element: (at: number) => string;
}

/** Maximum number of followed instructions for one address, and for all. Beyond it, an address counts as arbitrary. */
const MAX_FOLLOWED = { one: 1000, all: 1e6 };
/** Maximum number of accesses in a study. If there are more, accesses with the same pattern are joined. */
const MAX_ACCESSES = 16;
export function findAddresses(code: readonly Instruction[], sums: Sums): Addresses {
  const { inLoop, last, carried } = sums;
  let followedSoFar = 0;
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
      // Lanes read side by side if they begin at neighbouring elements, or if a pass steps over at least 32 elements.
      // If the step is the number of threads in a block, these threads share a unit instead.
      const lanes =
        threadsPerUnit === 1 &&
        [...sums.before(address).terms].some(([name, times]) => LANE.test(name) && Math.abs(times) === bytes);
      const step = isConstant(grown) ? Math.abs(grown.constant) / unrolled : Infinity;
      const along = [...grown.terms].some(([name]) => THREADS.test(name));
      const side = !along && (lanes || step >= CUDA_GROUP_WIDTH * bytes) && threadsPerUnit < CUDA_GROUP_WIDTH;
      if (!side) return 'along-unit';
      // If each lane begins at a loaded place, it reads a part of each of its own large records.
      return sums.ofThread(address) ? 'across-lanes' : 'scattered';
    },
  };
}

/** In some kernels, the index of a block is also the index of a unit. */
const BLOCK = /%ctaid|SR_CTAID/;
export const LANE = /^(%tid\.x|SR_TID\.X)$/;
const THREADS = /^(%ntid\.x|c\[0x0\]\[(RZ|0x0|0x360)\])$/;
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** Lists the arrays that the instructions `counted` of an iteration access, with the patterns of their addresses. */
export function findAccesses(
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
    // An unrolled loop may read an array through one address or several, so each instruction counts as an access.
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
