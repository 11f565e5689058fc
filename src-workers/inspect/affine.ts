import { blocksByTail, listInstructions, type Dominance, type Graph, type Loop } from './graph.ts';
import { splitOperation, type Instruction } from './instruction.ts';

/** A constant plus multiples of named values, which are not resolved further. */
export interface Sum {
  readonly constant: number;
  readonly terms: ReadonlyMap<string, number>;
}

/**
 * The values of registers as sums, for one loop. Named values are those at the start of a pass, those that stay the
 * same, and those that cannot be resolved.
 */
export interface Sums {
  readonly inLoop: (at: number) => boolean;
  /** The value of an operand; unknown if the operand is missing in a damaged listing. */
  readonly operand: (text: string | undefined, at: number) => Sum;
  /** The low half of the address that an instruction accesses. */
  readonly address: (at: number) => Sum | null;
  /** How much a sum grows with each pass; `null` if the growth is not the same in every pass. */
  readonly growth: (sum: Sum) => Sum | null;
  /** The value of a sum when the loop begins. */
  readonly before: (sum: Sum) => Sum;
  /** What a sum at the start of the loop depends on other than through loaded values; `null` if that is too much. */
  readonly sources: (sum: Sum) => ReadonlySet<string> | null;
  /** Whether a sum at the start of the loop depends on a thread's index other than through loaded values. */
  readonly ofThread: (sum: Sum) => boolean;
  /** The last write to a register before an instruction, in the order of the code. */
  readonly last: (name: string, at: number) => number | undefined;
  /** The last write in the previous pass, if the current pass does not write the register before the instruction. */
  readonly carried: (name: string, at: number) => number | undefined;
}

const ZERO: Sum = { constant: 0, terms: new Map() };
const named = (name: string): Sum => ({ constant: 0, terms: new Map([[name, 1]]) });
const constant = (value: number): Sum => ({ constant: value, terms: ZERO.terms });
const START = 'start of a pass: ';
export const atStart = (register: string): Sum => named(START + register);

export function plus(one: Sum, other: Sum, times = 1): Sum {
  const terms = new Map(one.terms);
  for (const [name, count] of other.terms) {
    const sum = (terms.get(name) ?? 0) + times * count;
    if (sum === 0) terms.delete(name);
    else terms.set(name, sum);
  }
  return { constant: one.constant + times * other.constant, terms };
}
const scaled = (sum: Sum, by: number): Sum => plus(ZERO, sum, by);
const isSame = (one: Sum, other: Sum): boolean => {
  const { constant: rest, terms } = plus(one, other, -1);
  return rest === 0 && terms.size === 0;
};
export const isConstant = ({ terms }: Sum): boolean => terms.size === 0;

/** Sums with more terms are not followed. An address in a kernel has only a few. */
const MAX_TERMS = 24;
/** Maximum number of steps back from a register. Beyond it, the value is not followed. */
const MAX_DEPTH = 200;

export interface Writers {
  readonly passes: Dominance;
  readonly block: ReadonlyMap<number, number>;
  readonly all: ReadonlyMap<string, readonly number[]>;
  readonly last: (name: string, at: number) => number | undefined;
}

export function findWriters(graph: Graph, passes: Dominance): Writers {
  const { code } = graph;
  const order = [...listInstructions(graph, graph.after.keys())];
  const place = new Map(order.map((at, index) => [at, index]));
  const block = new Map<number, number>();
  for (const one of graph.after.keys()) for (let at = graph.from[one]; at < graph.to[one]; at++) block.set(at, one);
  const writers = new Map<string, number[]>();
  for (const at of order)
    for (const name of code[at].writes) {
      const known = writers.get(name);
      if (known) known.push(at);
      else writers.set(name, [at]);
    }
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
  return { passes, block, all: writers, last };
}

/** Follows registers back to their last write. A value that only some paths write is not followed. */
export function computeSums(
  graph: Graph,
  loop: Loop,
  { passes, block, all: writers, last: lastInCode }: Writers,
): Sums {
  const { code } = graph;
  const looped = listInstructions(graph, loop.blocks);
  const inLoop = (at: number): boolean => looped.has(at);
  // If a compiler repeats the end of the body in both sides of a branch, a write on one side does not reach the other.
  const leading = blocksByTail(graph, loop);
  const mayReach = (one: number, at: number): boolean =>
    !inLoop(one) || leading.every((blocks) => blocks.has(block.get(one)!) || !blocks.has(block.get(at)!));
  const last = (name: string, at: number): number | undefined => {
    const found = lastInCode(name, at);
    if (found === undefined || mayReach(found, at)) return found;
    const all = writers.get(name)!;
    return all.slice(0, all.indexOf(found)).findLast((one) => mayReach(one, at));
  };
  const lastInLoop = (name: string): number | undefined => writers.get(name)?.findLast(inLoop);
  const carried = (name: string, at: number): number | undefined => {
    const before = last(name, at);
    if (!inLoop(at) || (before !== undefined && inLoop(before))) return undefined;
    return lastInLoop(name);
  };

  const { writtenBy, operand, address } = computeValues(code, { passes, block, last }, inLoop, lastInLoop);
  const grown = new Map<string, Sum | null>();
  const stays = (name: string): boolean => {
    if (name.startsWith(START)) return false;
    const written = findWriter(name);
    return written === null || !inLoop(written);
  };
  const growthOf = (name: string): Sum | null => {
    const start = START + name;
    const found = grown.get(name);
    if (found !== undefined) return found;
    grown.set(name, null);
    const own = writers.get(name)!.filter(inLoop);
    // A pass takes one of the branches back, so the register must have the same value at all of them.
    const lasts = loop.tails.map((tail, place) => {
      const writer = own.findLast((at) => leading[place].has(block.get(at)!));
      return writer !== undefined && passes(block.get(writer)!, tail) ? writer : null;
    });
    if (lasts.includes(null)) return null;
    const [end, ...others] = [...new Set(lasts)].map((at) => writtenBy(at!, name, block.get(at!)!));
    if (!others.every((other) => isSame(end, other))) return null;
    const by = plus(end, named(start), -1);
    // If each pass computes a 64-bit index from a 32-bit index, both are equal at the start and end of a pass.
    const [twin] = [...end.terms.keys()].filter((one) => one.startsWith(START) && one !== start);
    const wrote = twin === undefined ? undefined : lastInLoop(twin.slice(START.length));
    const alike =
      wrote !== undefined &&
      isSame(end, writtenBy(wrote, twin.slice(START.length), block.get(wrote)!)) &&
      isSame(before(named(start)), before(named(twin)));
    const value = alike ? growthOf(twin.slice(START.length)) : [...by.terms.keys()].every(stays) ? by : null;
    grown.set(name, value);
    return value;
  };
  const growth = (sum: Sum): Sum | null => {
    let all: Sum = ZERO;
    for (const [name, times] of sum.terms) {
      if (stays(name)) continue;
      const by = name.startsWith(START) ? growthOf(name.slice(START.length)) : null;
      if (by === null) return null;
      all = plus(all, by, times);
    }
    return all;
  };
  const head = graph.from[loop.head];
  const before = (sum: Sum): Sum => {
    let all: Sum = constant(sum.constant);
    for (const [name, times] of sum.terms) {
      const register = name.startsWith(START) ? name.slice(START.length) : null;
      const writer = register === null ? undefined : last(register, head);
      const value =
        register === null
          ? named(name)
          : writer === undefined || inLoop(writer)
            ? named(register)
            : writtenBy(writer, register, loop.head);
      all = plus(all, value, times);
    }
    return all;
  };
  const sources = (sum: Sum): ReadonlySet<string> | null => findSources(code, operand, before(sum));
  const ofThread = (sum: Sum): boolean => isOfThread(code, sources(sum));
  return { inLoop, operand, address, growth, before, sources, ofThread, last, carried };
}

function computeValues(
  code: Graph['code'],
  { passes, block, last }: Pick<Writers, 'passes' | 'block' | 'last'>,
  inLoop: (at: number) => boolean,
  lastInLoop: (name: string) => number | undefined,
) {
  const known = new Map<string, Sum>();
  let depth = 0;
  const valueOf = (name: string, at: number): Sum => {
    const writer = last(name, at);
    if (inLoop(at) && (writer === undefined || !inLoop(writer)) && lastInLoop(name) !== undefined) return atStart(name);
    return writer === undefined ? named(name) : writtenBy(writer, name, block.get(at)!);
  };
  const writtenBy = (writer: number, name: string, reader: number): Sum => {
    const key = `${name}@${writer}`;
    if (!passes(block.get(writer)!, reader)) return named(key);
    const found = known.get(key);
    if (found) return found;
    known.set(key, named(key));
    const one = code[writer];
    depth++;
    const sum =
      one.guarded || one.writes[0] !== name || depth > MAX_DEPTH
        ? null
        : result(one, (text) => operand(text, writer), `${writer}*`);
    depth--;
    const value = sum === null || sum.terms.size > MAX_TERMS ? named(key) : sum;
    known.set(key, value);
    return value;
  };
  const operand = (text: string | undefined, at: number): Sum => {
    const plain = (text ?? '').replace(/\.(reuse|64)$/, '');
    if (/^-?(0x[0-9a-f]+|\d+)$/i.test(plain)) return constant(integer(plain));
    if (plain.startsWith('-')) return scaled(operand(plain.slice(1), at), -1);
    if (/^U?RZ$/.test(plain)) return ZERO;
    if (/^(U?R\d+|%[\w$]+)$/.test(plain)) return valueOf(plain, at);
    // A parameter of the launch, or an index of the thread, has the same value at every instruction.
    if (
      /^c\[0x[0-9a-f]+\]\[(0x[0-9a-f]+|RZ)\]$|^%[\w$.]+$|^SR_[\w.]+$|^\[[\w$]+(\+\d+)?\]$|^[A-Za-z_$][\w$]*$/.test(
        plain,
      )
    )
      return named(plain);
    return named(`${text ?? ''}@${at}`);
  };
  const address = (at: number): Sum | null => {
    const inner = [...code[at].text.matchAll(/(desc)?\[([^[\]]*)\]/g)].findLast(([, descriptor]) => !descriptor);
    if (!inner) return null;
    return inner[2]
      .split(/\+/)
      .filter((part) => part.trim() !== '')
      .reduce((sum, part) => plus(sum, operand(part.trim(), at)), ZERO);
  };
  return { writtenBy, operand, address };
}

/** Returns the instruction whose result a name in a sum is; null for a parameter or an index. */
export function findWriter(name: string): number | null {
  const written = /(\d+)\*?$/.exec(name.includes('@') || name.endsWith('*') ? name : '');
  return written && Number(written[1]);
}

/** Finds the names that a sum depends on, without those that its loaded values depend on; null if there are too many. */
function findSources(
  code: Graph['code'],
  operand: (text: string, at: number) => Sum,
  sum: Sum,
): ReadonlySet<string> | null {
  const found = new Set(sum.terms.keys());
  for (const name of found) {
    if (found.size > MAX_DEPTH) return null;
    const at = findWriter(name);
    if (at === null || isLoad(code[at])) continue;
    for (const read of code[at].reads) for (const term of operand(read, at).terms.keys()) found.add(term);
  }
  return found;
}
const isLoad = (one: Instruction): boolean => one.class === 'memory' && !/LDC/.test(one.text);

function isOfThread(code: Graph['code'], sources: ReadonlySet<string> | null): boolean {
  return (
    sources === null ||
    [...sources].some((name) => {
      const at = findWriter(name);
      return /^(%tid|%laneid|SR_TID|SR_LANEID)/.test(name) || (at !== null && code[at].differs && !isLoad(code[at]));
    })
  );
}

/** Reads a 32-bit number such as `0xffffffe0` as signed, here -32. */
function integer(text: string): number {
  const value = text.startsWith('-') ? -Number(text.slice(1)) : Number(text);
  return value > 0x7fffffff && value <= 0xffffffff ? value - 2 ** 32 : value;
}

/** Returns a name for a product whose factors do not change in the kernel; null for other products. */
function multiplySums(...factors: readonly Sum[]): string | null {
  const names = factors.map(({ constant, terms }) =>
    [constant, ...[...terms].map(([name, times]) => `${times}·${name}`)].join('+'),
  );
  return names.some((name) => /@|\*|start of a pass/.test(name)) ? null : `(${names.sort().join(')(')})`;
}

const isPredicate = (operand: string): boolean => /^!?U?P(\d|T)$/.test(operand);

const COPIES = /^(mov|cvta|cvt|U?MOV|R2UR|S2U?R|U?LDC)$/;
const ADDITIONS = /^(add|IADD3?|UIADD3|VIADD)$/;
const PRODUCTS = /^(mul|mad|U?IMAD)$/;

function result({ text }: Instruction, value: (operand: string | undefined) => Sum, product: string): Sum | null {
  const { name, operands } = splitOperation(text);
  const [operation, ...kinds] = name.split('.');
  const sources = operands.slice(1).filter((one) => !isPredicate(one));
  const times = (one: Sum, other: Sum): Sum =>
    isConstant(one)
      ? scaled(other, one.constant)
      : isConstant(other)
        ? scaled(one, other.constant)
        : named(multiplySums(one, other) ?? product);
  const shift = (one: Sum, by: Sum): Sum | null => (isConstant(by) ? scaled(one, 2 ** by.constant) : null);
  // Results with carries, high halves and floating-point values are not sums.
  if (kinds.some((kind) => /^(X|HI|b?f\d+x?\d*)$/.test(kind)) || text.includes('{')) return null;
  const [first, second, third] = sources;
  if (COPIES.test(operation) || (operation === 'ld' && kinds[0] === 'param')) return value(first);
  if (ADDITIONS.test(operation)) return sources.reduce((sum, source) => plus(sum, value(source)), ZERO);
  if (PRODUCTS.test(operation)) {
    const added = sources.length > 2 ? value(third) : ZERO;
    if (kinds.includes('MOV')) return added;
    return kinds.includes('hi') ? null : plus(times(value(first), value(second)), added);
  }
  switch (operation) {
    case 'CS2R':
      return first === 'SRZ' ? ZERO : null;
    case 'sub':
      return plus(value(first), value(second), -1);
    case 'neg':
      return scaled(value(first), -1);
    case 'shl':
    case 'SHL':
      return shift(value(first), value(second));
    case 'SHF':
    case 'USHF':
      return kinds[0] === 'L' && /^U?RZ$/.test(third) ? shift(value(first), value(second)) : null;
    case 'LEA':
    case 'ULEA': {
      const moved = shift(value(first), value(third ?? '0x0'));
      return moved && plus(moved, value(second));
    }
    case 'or':
      return joined(value(first), value(second));
    case 'HFMA2': {
      // HFMA2 with RZ makes a small integer, written as the bits of two half-precision constants.
      const [high, low] = operands.slice(-2).map(Number);
      return /RZ, *RZ\b/.test(text.replaceAll('-', '')) && high === 0 && low >= 0 && low < 2 ** -14
        ? constant(Math.round(low * 2 ** 24))
        : null;
    }
    default:
      return null;
  }
}

/** Returns an `or` as an addition, which is right if the two values have no common bits; null otherwise. */
function joined(one: Sum, other: Sum): Sum | null {
  if (!isConstant(other) || other.constant < 0) return null;
  const above = 2 ** Math.ceil(Math.log2(other.constant + 1));
  return [one.constant, ...one.terms.values()].every((count) => count % above === 0) ? plus(one, other) : null;
}
