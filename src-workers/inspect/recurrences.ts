import { leaves, without, type Graph, type Loop } from './graph.ts';
import { splitOperation, type Instruction } from './instruction.ts';

/** What waiting values do; see `findWaiting`. */
export interface Waiting {
  /** The end of the loop depends on a waiting value, or the next value is loaded from an address that depends on it. */
  readonly decides: boolean;
  /** There is a waiting value that does not decide. */
  readonly remains: boolean;
}

/**
 * Finds values that wait: each iteration computes them from their value in the iteration before, in a way that threads
 * cannot divide. Threads can divide sums, products, maxima and the like into parts that are combined afterwards, and
 * each thread can compute a counter of its own. Dependence through memory is not followed.
 */
export function findWaiting(graph: Graph, loop: Loop): Waiting {
  const { code, to } = graph;
  const blocks = without(loop.blocks, loop.refill);
  const { sources, changes } = followValues(graph, loop, blocks);
  const ends = [...blocks].filter((block) => leaves(graph, loop.blocks, block));
  const deciding = new Set(ends.map((block) => to[block] - 1));
  for (const at of deciding) for (const source of sources.get(at) ?? []) deciding.add(source.at);
  const found = { decides: false, remains: false };
  for (const members of findCycles(sources)) {
    const decides = [...members].some((at) => deciding.has(at));
    const steps = [...members].map((at): Step => {
      const own = new Set(sources.get(at)!.flatMap((source) => (members.has(source.at) ? [source.name] : [])));
      const others = code[at].reads.filter((name) => !own.has(name) && !isPredicate(name));
      return { kind: kindOf(code[at], own), steady: !others.some(changes) };
    });
    if (isDivisible(steps, decides)) continue;
    found[decides || [...members].some((at) => code[at].loads) ? 'decides' : 'remains'] = true;
  }
  return found;
}

interface Source {
  readonly at: number;
  readonly name: string;
  readonly carried: boolean;
}
type Sources = ReadonlyMap<number, readonly Source[]>;

/** Maximum number of blocks that are searched for writes. Beyond it, values are not followed. */
const MAX_SEARCHED = 2e6;

/** For each instruction in some blocks of a loop, finds the instructions there that may write the registers it reads. */
function followValues(
  { code, from, to, before, after }: Graph,
  { head, tails }: Loop,
  blocks: ReadonlySet<number>,
): { readonly sources: Sources; readonly changes: (name: string) => boolean } {
  const writers = new Map<string, Map<number, number[]>>();
  for (const block of blocks)
    for (let at = from[block]; at < to[block]; at++)
      for (const name of code[at].writes) {
        const all = writers.get(name) ?? new Map<number, number[]>();
        writers.set(name, all);
        const known = all.get(block);
        if (known) known.push(at);
        else all.set(block, [at]);
      }
  let searched = 0;
  const find = (name: string, start: number, end: number): readonly Source[] => {
    const found: Source[] = [];
    const all = writers.get(name);
    if (!all) return found;
    const seen = new Set<number>();
    const waiting = [{ block: start, limit: end, carried: false, known: new Map<string, boolean>() }];
    for (let one; (one = waiting.pop()) !== undefined && searched < MAX_SEARCHED; searched++) {
      const { block, limit, carried, known } = one;
      const writes = all.get(block) ?? [];
      let isCertain = false;
      for (let place = placeBefore(writes, limit); place >= 0; place--) {
        const at = writes[place];
        const guard = guardOf(code[at]);
        const changed = guard && writers.get(guard.name)?.get(block);
        const isKept = guard && (changed?.[placeBefore(changed, limit)] ?? -1) <= at;
        const holds = isKept ? known.get(guard.name) : undefined;
        if (guard && holds === !guard.holds) continue;
        found.push({ at, name, carried });
        isCertain = guard === null || holds !== undefined;
        if (isCertain) break;
        // The register keeps an older value only if the guard does not hold.
        if (isKept) known.set(guard.name, !guard.holds);
      }
      if (isCertain) continue;
      for (const next of before[block]) {
        const again = carried || (block === head && tails.includes(next));
        const isTaken = from[block] !== to[next];
        const key = 4 * next + 2 * Number(again) + Number(isTaken);
        if (!blocks.has(next) || seen.has(key)) continue;
        seen.add(key);
        const branch = guardOf(code[to[next] - 1]);
        const decided = branch && after[next].length > 1 ? [[branch.name, branch.holds === isTaken] as const] : [];
        waiting.push({ block: next, limit: Infinity, carried: again, known: new Map(decided) });
      }
    }
    return found;
  };
  const sources = new Map<number, readonly Source[]>();
  for (const block of blocks)
    for (let at = from[block]; at < to[block]; at++)
      sources.set(
        at,
        code[at].reads.flatMap((name) => find(name, block, at)),
      );
  /** Compilers leave constants in a loop, such as `mov.u32 %r1, 1`. */
  const isConstant = (at: number): boolean =>
    !code[at].loads && code[at].exchange === null && code[at].reads.every((name) => !writers.has(name));
  const changes = (name: string): boolean =>
    [...(writers.get(name)?.values() ?? [])].flat().some((at) => !isConstant(at));
  return { sources, changes };
}

function placeBefore(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The predicate of a guarded instruction, and the value that it must have. */
function guardOf({ text, guarded }: Instruction): { readonly name: string; readonly holds: boolean } | null {
  const [, not, name] = /^@(!?)(\S+)/.exec(text) ?? [];
  return guarded && name !== undefined ? { name, holds: not === '' } : null;
}

/** Finds the instructions that depend on each other around the loop: strongly connected components (Kosaraju). */
function findCycles(sources: Sources): readonly ReadonlySet<number>[] {
  const order: number[] = [];
  const seen = new Set<number>();
  const users = new Map<number, number[]>([...sources.keys()].map((at) => [at, []]));
  for (const [start, all] of sources) {
    for (const { at } of all) users.get(at)!.push(start);
    const path = seen.has(start) ? [] : [{ at: start, next: 0 }];
    seen.add(start);
    for (let top; (top = path.at(-1)) !== undefined;) {
      const one = sources.get(top.at)!.at(top.next++);
      if (one === undefined) order.push(path.pop()!.at);
      else if (!seen.has(one.at)) {
        seen.add(one.at);
        path.push({ at: one.at, next: 0 });
      }
    }
  }
  const placed = new Set<number>();
  return order.reverse().flatMap((start) => {
    if (placed.has(start)) return [];
    const members = new Set([start]);
    for (const at of members) {
      placed.add(at);
      for (const user of users.get(at)!) if (!placed.has(user)) members.add(user);
    }
    const isCarried = [...members].some((at) =>
      sources.get(at)!.some((source) => source.carried && members.has(source.at)),
    );
    return isCarried ? [members] : [];
  });
}

/**
 * How a value of the cycle enters an instruction of the cycle. `order`: minima and maxima, comparisons of order, and
 * selections by them; `turn`: with the opposite sign; `mask`: an `and`; `null`: in any other way, or in several ways.
 */
type Kind = 'move' | 'add' | 'turn' | 'multiply' | 'order' | 'equal' | 'logic' | 'mask' | 'left' | 'right' | 'wrap';
interface Step {
  readonly kind: Kind | null;
  /** Whether the other operands are the same in all iterations. */
  readonly steady: boolean;
}

/** Sets of kinds whose steps combine: the steps of several consecutive iterations equal one operation of the set. */
const DIVISIBLE: readonly ReadonlySet<Kind>[] = (
  [['add'], ['multiply'], ['order'], ['logic', 'mask'], ['left'], ['right']] as const
).map((kinds) => new Set<Kind>(['move', ...kinds]));
/** Kinds of the steps of a counter, such as `k = (k + 1) % n`, if the other operands of these steps are steady. */
const COUNTS = new Set<Kind>(['move', 'add', 'turn', 'order', 'equal', 'mask', 'wrap']);

function isDivisible(steps: readonly Step[], decides: boolean): boolean {
  const all = (kinds: ReadonlySet<Kind>): boolean => steps.every(({ kind }) => kind !== null && kinds.has(kind));
  if (all(COUNTS) && steps.every(({ steady }) => steady)) return true;
  // No thread knows the end of `while (x) x /= 2` before it has the product of all earlier iterations.
  if (decides && steps.some(({ kind }) => kind === 'multiply' || kind === 'right')) return false;
  return DIVISIBLE.some(all);
}

const isPredicate = (operand: string): boolean => /^!?(U?P(\d|T)|%p\d+)$/.test(operand);
const registersIn = (operand: string): readonly string[] => operand.match(/%[\w$]+|\bU?[RP]\d+\b/g) ?? [];

const MOVES = /^(mov|cvt|cvta|selp|prmt|U?MOV|R2UR|U?SEL|FSEL|U?PRMT|F2F|F2FP)$/;
const ADDS = /^(addc?|subc?|IADD|U?IADD3|U?VIADD|[FD]ADD|HADD2)$/;
/** The last operand is the addend. */
const FUSED = /^(madc?|mad24|fma|sad|dp[24]a|U?IMAD|[FD]FMA|HFMA2|IDP)$/;
const PRODUCTS = /^(mul|mul24|[FD]MUL|HMUL2)$/;
const ORDERS = /^(min|max|U?IMNMX|V?IMNMX3?|[FD]MNMX3?|HMNMX2)$/;
const LOGIC = /^(and|or|xor|not|lop3|LOP|U?LOP3|U?PLOP3)$/;
const SHIFTS = /^(shl|shr|U?SHF|SHL|SHR)$/;
const COMPARES = /^(setp|U?ISETP|[FD]SETP|HSETP2)$/;

function kindOf({ class: name, text, unit, moves }: Instruction, own: ReadonlySet<string>): Kind | null {
  const { name: whole, operands } = splitOperation(text);
  const [operation, ...types] = whole.split('.');
  if (unit === 'matrix') return 'add';
  if (name === 'memory' || name === 'control') return null;
  const isOwn = (operand: string): boolean => registersIn(operand).some((one) => own.has(one));
  const sources = operands.slice(1);
  const conditions = sources.filter((one) => isPredicate(one) && isOwn(one)).length;
  const values = sources.filter((one) => !isPredicate(one));
  const places = values.flatMap((one, place) => (isOwn(one) ? [place] : []));
  const [place] = places;
  const isGuarded = registersIn(/^@\S+/.exec(text)?.[0] ?? '').some((one) => own.has(one));

  // A conversion between an integer and a floating-point number rounds the value.
  const isMove = moves || (MOVES.test(operation) && (name !== 'special' || operation === 'F2F'));
  if (isMove) return isGuarded || conditions > 0 ? 'order' : 'move';
  if (LOGIC.test(operation))
    return isGuarded || places.length + conditions !== 1
      ? null
      : operation === 'and' || operands.includes('0xc0')
        ? 'mask'
        : 'logic';
  if (COMPARES.test(operation)) {
    if (places.length === 0 && conditions === 1) return 'logic';
    return places.length > 1 ? null : types.some((type) => /^(eq|ne)u?$/i.test(type)) ? 'equal' : 'order';
  }
  if (isGuarded && places.length === 0) return 'order';
  if (isGuarded || places.length !== 1) return null;
  const others = values.filter((_, at) => at !== place);
  const added = /^[-~]/.test(values[place]) ? 'turn' : 'add';
  if (values[place].includes('|') || types.some((type) => /^sat$/i.test(type))) return null;
  if (ADDS.test(operation)) return operation.startsWith('sub') && place === 1 ? 'turn' : added;
  if (operation === 'neg') return 'turn';
  if (operation === 'LEA' || operation === 'ULEA') return place === 1 ? added : null;
  if (ORDERS.test(operation)) return 'order';
  if (SHIFTS.test(operation) || types.includes('SHL'))
    return place === 1 ? null : /^(shl|SHL)$/.test(operation) || /^(L|SHL)$/.test(types[0]) ? 'left' : 'right';
  if (operation === 'rem') return place === 0 ? 'wrap' : null;
  if (types.some((type) => /^hi$/i.test(type))) return null;
  if (PRODUCTS.test(operation)) return 'multiply';
  if (!FUSED.test(operation)) return null;
  if (place === values.length - 1) return added;
  if (others.slice(0, -1).every((one) => /^(0x)?1$/.test(one))) return added;
  return others.at(-1) === 'RZ' ? 'multiply' : null;
}
