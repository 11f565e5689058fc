import {
  INSTRUCTION_CLASSES,
  type ClassCounts,
  type InspectedLoop,
  type InstructionClass,
} from '../domain/inspection.ts';
import { fail, ok, type Result } from '../domain/result.ts';
import { MAX_INSTRUCTIONS, type Instruction, type KernelCode } from './instruction.ts';

/**
 * The loops of a kernel: basic blocks, dominators (Cooper, Harvey and Kennedy 2001, "A Simple, Fast Dominance Algorithm"), natural loops,
 * and what one iteration of each holds. The same for PTX and machine code.
 */

/** Loops beyond so many are not looked for: no kernel has them, and each costs a pass over the blocks. */
const MAX_LOOPS = 1000;
/** Dominators of a hostile graph take the square of this. */
const MAX_BLOCKS = 20_000;
/** What is known of every register before every block, words of 32 bits: 64 MiB. */
const MAX_WORDS = 2 ** 24;

interface Graph {
  readonly code: readonly Instruction[];
  /** Of the blocks that can be reached, in reverse postorder: the first instruction, and the one behind the last. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly after: readonly (readonly number[])[];
  readonly before: readonly (readonly number[])[];
}

/** All loops, in the order of their code. */
export function findLoops({ entry, instructions, labels }: KernelCode): Result<readonly InspectedLoop[]> {
  const tooLarge = (what: string): Result<never> =>
    fail(
      'unsupported',
      `${entry} has ${what}. Its loops are not looked for; mark and compile its loop in a kernel of its own.`,
    );
  if (instructions.length > MAX_INSTRUCTIONS) return tooLarge(`more than ${MAX_INSTRUCTIONS} instructions`);
  const graph = blocksOf(instructions, labels);
  if (graph.after.length > MAX_BLOCKS) return tooLarge(`more than ${MAX_BLOCKS} blocks of instructions`);
  const loops = nested(naturalLoops(graph));
  if (loops.length === 0) return ok([]);
  const differs = differingBranches(graph);
  if (!differs) return tooLarge(`${graph.after.length} blocks of instructions, and too many registers to follow`);
  const found = loops.map((loop) => describe(graph, loop, differs));
  return ok(withUnrolling(found).map(({ loop: _loop, marks: _marks, counted: _counted, ...described }) => described));
}

function blocksOf(code: readonly Instruction[], labels: ReadonlyMap<string, number>): Graph {
  const starts = new Set<number>([0]);
  for (const at of labels.values()) if (at < code.length) starts.add(at);
  code.forEach((one, at) => {
    if ((one.targets.length > 0 || one.ends) && at + 1 < code.length) starts.add(at + 1);
  });
  const first = [...starts].sort((a, b) => a - b);
  const blockAt = new Map(first.map((at, block) => [at, block]));
  const follow = first.map((_, block) => {
    const end = first[block + 1] ?? code.length;
    const last = code[end - 1];
    const next = !last || last.leaves || end >= code.length ? [] : [block + 1];
    const targets = last?.targets.flatMap((label) => blockAt.get(labels.get(label) ?? -1) ?? []) ?? [];
    return [...new Set([...next, ...targets])];
  });
  const order = code.length === 0 ? [] : reversePostorder(follow);
  const place = new Map(order.map((block, at) => [block, at]));
  const after = order.map((block) => follow[block].map((next) => place.get(next)!));
  const before = order.map((): number[] => []);
  after.forEach((all, block) => all.forEach((next) => before[next].push(block)));
  return {
    code,
    from: Int32Array.from(order, (block) => first[block]),
    to: Int32Array.from(order, (block) => first[block + 1] ?? code.length),
    after,
    before,
  };
}

function reversePostorder(follow: readonly (readonly number[])[]): number[] {
  const seen = new Uint8Array(follow.length);
  const order: number[] = [];
  const stack: [number, number][] = [[0, 0]];
  seen[0] = 1;
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const next = follow[top[0]][top[1]++];
    if (next === undefined) order.push(stack.pop()![0]);
    else if (seen[next] === 0) {
      seen[next] = 1;
      stack.push([next, 0]);
    }
  }
  return order.reverse();
}

/** The block that every way to a block passes last, by block; blocks are in reverse postorder. */
function dominators({ before }: Graph): Int32Array {
  const over = new Int32Array(before.length).fill(-1);
  if (over.length > 0) over[0] = 0;
  for (let changed = true; changed;) {
    changed = false;
    for (let block = 1; block < over.length; block++) {
      let common = -1;
      for (const one of before[block]) {
        if (over[one] < 0) continue;
        let other = one;
        if (common < 0) common = one;
        while (common !== other) {
          while (common > other) common = over[common];
          while (other > common) other = over[other];
        }
      }
      if (over[block] !== common) {
        over[block] = common;
        changed = true;
      }
    }
  }
  return over;
}

interface Loop {
  readonly head: number;
  /** Blocks that branch back to the head, the last one last. */
  readonly tails: readonly number[];
  readonly blocks: ReadonlySet<number>;
  /** The next loop around it, by its place in the list; null: none. */
  parent: Loop | null;
  depth: number;
  /** Blocks that are in no loop within. */
  own: ReadonlySet<number>;
}

/** Whether every way to the second block passes the first: it is in its part of the tree of dominators. */
function dominance(graph: Graph): (one: number, other: number) => boolean {
  const over = dominators(graph);
  const size = new Int32Array(over.length).fill(1);
  for (let block = over.length - 1; block > 0; block--) size[over[block]] += size[block];
  // Blocks numbered so that those that one dominates follow it without a gap.
  const number = new Int32Array(over.length);
  const next = new Int32Array(over.length).fill(1);
  for (let block = 1; block < over.length; block++) {
    number[block] = next[over[block]];
    next[over[block]] += size[block];
    next[block] = number[block] + 1;
  }
  return (one, other) => number[one] <= number[other] && number[other] < number[one] + size[one];
}

function naturalLoops(graph: Graph): Loop[] {
  const passes = dominance(graph);
  const tails = new Map<number, number[]>();
  graph.after.forEach((all, block) => {
    for (const next of all) {
      if (!passes(next, block)) continue;
      const known = tails.get(next);
      if (known) known.push(block);
      else tails.set(next, [block]);
    }
  });
  return [...tails].slice(0, MAX_LOOPS).map(([head, ends]) => {
    const blocks = new Set([head]);
    const open = [...ends];
    for (let block; (block = open.pop()) !== undefined;) {
      if (blocks.has(block)) continue;
      blocks.add(block);
      for (const one of graph.before[block]) open.push(one);
    }
    return { head, tails: ends, blocks, parent: null, depth: 1, own: blocks };
  });
}

/** Sets which loop is in which. */
function nested(loops: Loop[]): readonly Loop[] {
  const outer = loops.toSorted((a, b) => b.blocks.size - a.blocks.size);
  outer.forEach((loop, at) => {
    for (let larger = at - 1; larger >= 0; larger--) {
      if (!outer[larger].blocks.has(loop.head)) continue;
      loop.parent = outer[larger];
      loop.depth = loop.parent.depth + 1;
      break;
    }
  });
  for (const loop of outer) {
    const own = new Set(loop.blocks);
    for (const inner of outer) if (inner.parent === loop) for (const block of inner.blocks) own.delete(block);
    loop.own = own;
  }
  return loops.toSorted((a, b) => a.head - b.head);
}

interface Found extends InspectedLoop {
  readonly loop: Loop;
  readonly marks: number;
  /** What unrolling repeats: all but counters, addresses and branches. */
  readonly counted: number;
}

function describe(graph: Graph, loop: Loop, differs: ReadonlySet<number>): Found {
  const { code, from, to, after } = graph;
  const counts: Record<InstructionClass, number> = { fp32: 0, integer: 0, fp64: 0, special: 0, memory: 0, control: 0 };
  let marks = 0;
  for (const block of loop.own)
    for (let at = from[block]; at < to[block]; at++) {
      counts[code[at].class]++;
      marks += code[at].marks;
    }
  let divergent = false;
  for (const block of loop.blocks) {
    const leavesLoop = code[to[block] - 1].ends || after[block].some((next) => !loop.blocks.has(next));
    if (leavesLoop && differs.has(block)) divergent = true;
  }
  const tail = code[to[loop.tails.at(-1)!] - 1];
  const all = INSTRUCTION_CLASSES.reduce((sum, name) => sum + counts[name], 0);
  return {
    loop,
    marks,
    counted: all - counts.integer - counts.control,
    line: tail.line,
    instructionsPerIteration: all,
    byClass: counts,
    dependentLoads: longestChain(graph, loop),
    shortestPath: shortestPath(graph, loop),
    unrolled: 1,
    depth: loop.depth,
    divergent,
    marked: marks > 0,
  };
}

/**
 * Values of the pass before are there. Within a pass, a load waits for what its address is made of and for the branches before it: no
 * thread group goes on before it knows where.
 */
function longestChain({ code, from, to, before }: Graph, loop: Loop): number {
  interface State {
    /** By register, where it is not 0. */
    readonly values: Map<string, number>;
    branches: number;
  }
  const states = new Map<number, State>();
  let longest = 0;
  // Blocks are in reverse postorder: but for branches back, all that lead to a block come before it.
  for (const block of [...loop.blocks].sort((a, b) => a - b)) {
    const state: State = { values: new Map(), branches: 0 };
    for (const one of block === loop.head ? [] : before[block]) {
      const known = one < block ? states.get(one) : undefined;
      if (!known) continue;
      state.branches = Math.max(state.branches, known.branches);
      for (const [name, depth] of known.values) state.values.set(name, Math.max(depth, state.values.get(name) ?? 0));
    }
    states.set(block, state);
    const counts = loop.own.has(block);
    for (let at = from[block]; at < to[block]; at++) {
      const { reads, writes, loads, guarded, targets, ends } = code[at];
      let depth = 0;
      for (const name of reads) depth = Math.max(depth, state.values.get(name) ?? 0);
      if (targets.length > 0 || ends) state.branches = Math.max(state.branches, depth);
      if (loads && counts) depth = 1 + Math.max(depth, state.branches);
      longest = Math.max(longest, depth);
      for (const name of writes) {
        const known = guarded ? Math.max(depth, state.values.get(name) ?? 0) : depth;
        if (known > 0) state.values.set(name, known);
        else state.values.delete(name);
      }
    }
  }
  return longest;
}

/** The fewest instructions from the head to a branch back. */
function shortestPath({ from, to, before }: Graph, loop: Loop): number {
  const fewest = new Map<number, number>();
  for (const block of [...loop.blocks].sort((a, b) => a - b)) {
    let best = block === loop.head ? 0 : Infinity;
    if (block !== loop.head)
      for (const one of before[block]) if (one < block) best = Math.min(best, fewest.get(one) ?? Infinity);
    fewest.set(block, best + (loop.own.has(block) ? to[block] - from[block] : 0));
  }
  return loop.tails.reduce((found, block) => Math.min(found, fewest.get(block)!), Infinity);
}

/**
 * Blocks whose branch depends on values that differ between threads: on a thread's index, on what is loaded from an address that differs, or
 * on the result of an atomic. Through values alone, not through what is assigned on either side of a branch. Null where the kernel is too large.
 */
function differingBranches(graph: Graph): ReadonlySet<number> | null {
  const { code, from, to, after } = graph;
  const numbers = new Map<string, number>();
  const numberOf = (name: string): number => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, numbers.size);
    return numbers.size - 1;
  };
  const uses = code.map(({ reads, writes }) => ({ reads: reads.map(numberOf), writes: writes.map(numberOf) }));
  const words = (numbers.size + 31) >>> 5;
  if (words * after.length > MAX_WORDS) return null;
  const entering = after.map(() => new Uint32Array(words));
  const found = new Set<number>();
  const waiting = new Uint8Array(after.length).fill(1);
  const state = new Uint32Array(words);
  for (let again = true; again;) {
    again = false;
    for (let block = 0; block < after.length; block++) {
      if (waiting[block] === 0) continue;
      waiting[block] = 0;
      state.set(entering[block]);
      let last = false;
      for (let at = from[block]; at < to[block]; at++) {
        const { reads, writes } = uses[at];
        last = code[at].differs || reads.some((name) => (state[name >>> 5] & (1 << (name & 31))) !== 0);
        for (const name of writes)
          if (last) state[name >>> 5] |= 1 << (name & 31);
          else if (!code[at].guarded) state[name >>> 5] &= ~(1 << (name & 31));
      }
      if (last) found.add(block);
      for (const next of after[block]) {
        let changed = false;
        const into = entering[next];
        for (let word = 0; word < words; word++) {
          const joined = into[word] | state[word];
          if (joined >>> 0 === into[word]) continue;
          into[word] = joined;
          changed = true;
        }
        if (!changed) continue;
        waiting[next] = 1;
        again = true;
      }
    }
  }
  return found;
}

/**
 * Where a compiler unrolled a loop, says by how much, and divides: by the marks in its body, or beside a loop of the same line that does the
 * rest of the iterations and holds a whole part of what the other holds.
 */
function withUnrolling(found: readonly Found[]): readonly Found[] {
  return found.map((one) => {
    const rest = found.filter(
      (other) =>
        other.line !== null && other.line === one.line && other.loop.parent === one.loop.parent && other.counted > 0,
    );
    const least = Math.min(one.counted, ...rest.map(({ counted }) => counted));
    const times = one.marks > 1 ? one.marks : least > 0 && one.counted % least === 0 ? one.counted / least : 1;
    if (times <= 1) return one;
    const per = (count: number): number => Number((count / times).toPrecision(6));
    return {
      ...one,
      unrolled: times,
      instructionsPerIteration: per(one.instructionsPerIteration),
      byClass: Object.fromEntries(INSTRUCTION_CLASSES.map((name) => [name, per(one.byClass[name])])) as ClassCounts,
      dependentLoads: per(one.dependentLoads),
      shortestPath: per(one.shortestPath),
    };
  });
}

/** The loop that counts, and why: the marked one, else the innermost whose end differs between threads, else the innermost. */
export function chooseLoop(loops: readonly InspectedLoop[]): { readonly loop: number; readonly why: string } | null {
  const places = loops.map((_, at) => at);
  const choose = (among: readonly number[], why: string): { readonly loop: number; readonly why: string } => {
    const deepest = Math.max(...among.map((at) => loops[at].depth));
    // Of a loop that is unrolled and its rest, the rest is the iteration; else the one with most to do.
    const [loop] = among
      .filter((at) => loops[at].depth === deepest)
      .sort(
        (a, b) =>
          Number(loops[a].unrolled > 1) - Number(loops[b].unrolled > 1) ||
          loops[b].instructionsPerIteration - loops[a].instructionsPerIteration ||
          a - b,
      );
    return { loop, why };
  };
  const marked = places.filter((at) => loops[at].marked);
  if (marked.length > 0) return choose(marked, 'marked in the source');
  const divergent = places.filter((at) => loops[at].divergent);
  if (divergent.length > 0)
    return choose(divergent, 'the innermost loop whose end depends on data that differs between threads');
  if (places.length > 0)
    return choose(places, 'the innermost loop; the end of none depends on data that differs between threads');
  return null;
}
