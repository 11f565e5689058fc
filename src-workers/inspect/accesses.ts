import type { AccessPattern, MemoryAccess } from '../domain/kernel.ts';
import { instructionsIn, type Graph, type Loop } from './graph.ts';
import { splitOperands, type Instruction } from './instruction.ts';

/** Where the addresses of a kernel come from, as seen from one of its loops. */
export interface Addresses {
  readonly inLoop: (at: number) => boolean;
  /** Whether an access goes to different places for different units. */
  readonly differs: (at: number) => boolean;
  /** How the lanes read an array in the loop; null: one place in all iterations, or the same for all lanes. */
  readonly pattern: (at: number, threadsPerUnit: number) => AccessPattern | null;
  /** A name for the element that an access in the loop is of: the same for parts of one. */
  readonly element: (at: number) => string;
}

/** Instructions that addresses are followed through, each and all together; beyond, they are taken to be at any place. */
const MAX_FOLLOWED = { one: 1000, all: 1e6 };
/** A study lists as many; of more, those of a pattern are taken together. */
const MAX_ACCESSES = 16;
/** Lanes that read side by side: those of a thread group. */
const SIDE_BY_SIDE = 32;

/**
 * Follows registers back to what wrote them last, in the order of the code: of two sides of a branch, to the one that is listed later. In the
 * loop also to the pass before.
 */
export function addressesOf(graph: Graph, loop: Loop): Addresses {
  const { code } = graph;
  const order = [...instructionsIn(graph, graph.after.keys())];
  const place = new Map(order.map((at, index) => [at, index]));
  const looped = instructionsIn(graph, loop.blocks);
  const inLoop = (at: number): boolean => looped.has(at);
  const writers = new Map<string, number[]>();
  for (const at of order)
    for (const name of code[at].writes) {
      const known = writers.get(name);
      if (known) known.push(at);
      else writers.set(name, [at]);
    }
  /** What wrote a register last before an instruction. */
  const last = (name: string, at: number): number | undefined => {
    const all = writers.get(name) ?? [];
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (place.get(all[middle])! < place.get(at)!) low = middle + 1;
      else high = middle;
    }
    return all[low - 1];
  };
  /** What wrote it in the pass before, where this pass does not write it before the instruction. */
  const carried = (name: string, at: number): number | undefined => {
    const before = last(name, at);
    if (!inLoop(at) || (before !== undefined && inLoop(before))) return undefined;
    return writers.get(name)?.findLast(inLoop);
  };
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
  /** Whether a register holds the value that another one has at the start of a pass. */
  const isFound = (name: string, of: string, at: number): boolean => {
    const writer = last(name, at);
    if (writer === undefined || !inLoop(writer)) return name === of;
    return code[writer].moves && code[writer].reads.some((one) => isFound(one, of, writer));
  };
  /** By how much an addition of the pass before made a register larger; as `growth`. */
  const increment = (name: string, at: number): number => {
    const { reads, text } = code[at];
    const { operation, operands } = partsOf(text);
    if (!ADDS.test(operation) || !reads.some((one) => isFound(one, name, at))) return Number.NaN;
    const immediate = operands.slice(1).find(isNumber);
    if (immediate !== undefined) return numberOf(immediate);
    const by = last(reads.find((one) => !isFound(one, name, at)) ?? '', at);
    // The threads of a block go on side by side, as far as there are threads.
    return by !== undefined && code[by].text.includes('%ntid') ? 1 : Infinity;
  };
  const grown = new Map<number, number>();
  /**
   * By how much a register grows in an iteration, bytes or elements. 0: it does not; Infinity: by the same in each, which is known when the
   * kernel runs; NaN: otherwise.
   */
  const growth = (name: string, at: number): number => {
    const writer = last(name, at);
    if (writer === undefined || !inLoop(writer)) {
      const before = carried(name, at);
      return before === undefined ? 0 : increment(name, before);
    }
    const known = grown.get(writer);
    if (known !== undefined) return known;
    grown.set(writer, Number.NaN);
    const found = grownBy(code[writer], (one) => growth(one, writer));
    grown.set(writer, found);
    return found;
  };
  return {
    inLoop,
    differs,
    element: (at) => code[at].access!.address.map((name) => `${name}:${last(name, at) ?? ''}`).join(),
    pattern: (at, threadsPerUnit) => {
      const { access } = code[at];
      const found = followed(at);
      if (found === null) return 'scattered';
      const within = [...found].filter(inLoop);
      if (within.some((one) => code[one].loads || code[one].exchange === 'near')) return 'scattered';
      if (within.length === 0 || !differs(at)) return null;
      const step = Math.abs(sum(access!.address.map((name) => growth(name, at))));
      if (Number.isNaN(step)) return 'scattered';
      const side = step >= SIDE_BY_SIDE * access!.bytes && threadsPerUnit < SIDE_BY_SIDE;
      return side ? 'across-lanes' : 'along-unit';
    },
  };
}

/** The index of a block, which a unit may be. */
const BLOCK = /%ctaid|SR_CTAID/;
const ADDS = /^(add|sub|U?IADD3?)$/;
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const isNumber = (operand: string): boolean => /^-?(0x[0-9a-f]+|\d+)$/i.test(operand);
const numberOf = (operand: string): number => (operand.startsWith('-') ? -Number(operand.slice(1)) : Number(operand));

function partsOf(text: string): { readonly operation: string; readonly operands: readonly string[] } {
  const [, name = '', rest = ''] = /^(?:@\S+\s+)?(\S+)\s*(.*)$/.exec(text) ?? [];
  return { operation: name.split('.', 1)[0], operands: splitOperands(rest) };
}

/** By how much the result of an instruction grows, by what its operands do. */
function grownBy({ text, reads }: Instruction, growth: (name: string) => number): number {
  const all = reads.map(growth);
  if (all.every((one) => one === 0)) return 0;
  const { operation, operands } = partsOf(text);
  if (ADDS.test(operation) || /^(mov|cvta?|U?MOV|U?LEA)$/.test(operation)) return sum(all);
  const [factor] = operands.slice(1).filter(isNumber).map(numberOf);
  if (operation === 'shl') return sum(all) * 2 ** (factor ?? Infinity);
  if (!/^(mul|mad|U?IMAD)$/.test(operation)) return Number.NaN;
  const [first, second, added = 0] = operands.slice(1).map((operand) => (isNumber(operand) ? 0 : growth(operand)));
  if (first !== 0 && second !== 0) return Number.NaN;
  return (first + second === 0 ? 0 : (first + second) * (factor ?? Infinity)) + added;
}

/**
 * What an iteration reads and writes: arrays by how their addresses grow. Parts of one element count as one access; a footprint is not known.
 * @param counted the instructions of an iteration
 * @param unrolled iterations that they are
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
    const pattern = access && addresses.pattern(at, threadsPerUnit);
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
    if (all.length % unrolled !== 0) return [{ pattern, elementBytes: (bytes * all.length) / unrolled }];
    return Array.from({ length: all.length / unrolled }, () => ({ pattern, elementBytes: bytes }));
  });
  if (accesses.length <= MAX_ACCESSES) return accesses;
  return [...Map.groupBy(accesses, ({ pattern }) => pattern)].map(([pattern, all]) => ({
    pattern,
    elementBytes: sum(all.map(({ elementBytes }) => elementBytes)),
  }));
}
