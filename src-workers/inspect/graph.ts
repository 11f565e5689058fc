import type { Instruction } from './instruction.ts';

/** Dominators: Cooper, Harvey and Kennedy 2001, "A Simple, Fast Dominance Algorithm". */

/** Limits the search, which takes one pass over the blocks for each loop. */
const MAX_LOOPS = 1000;

export interface Graph {
  readonly code: readonly Instruction[];
  /** Block b is the instructions from[b] … to[b] − 1. Only reachable blocks are included, in reverse postorder. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly after: readonly (readonly number[])[];
  readonly before: readonly (readonly number[])[];
}

export function splitIntoBlocks(code: readonly Instruction[], labels: ReadonlyMap<string, number>): Graph {
  const starts = new Set<number>([0]);
  for (const { targets } of code)
    for (const label of targets) {
      const at = labels.get(label) ?? code.length;
      if (at < code.length) starts.add(at);
    }
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

/** Finds the immediate dominator of each block. The blocks must be in reverse postorder. */
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

export interface Loop {
  readonly head: number;
  /** Blocks that branch back to the head. */
  readonly tails: readonly number[];
  readonly blocks: ReadonlySet<number>;
  parent: Loop | null;
  depth: number;
  /** Blocks that are neither in an inner loop nor in the refill. */
  own: ReadonlySet<number>;
  /** Blocks that change to the next unit, if a single loop runs over all units. */
  refill: ReadonlySet<number>;
}

/** Whether the first block dominates the second. */
export type Dominance = (one: number, other: number) => boolean;

/** Uses the tree of dominators, in which a block dominates exactly its subtree. */
export function dominance(graph: Graph): Dominance {
  const over = dominators(graph);
  const size = new Int32Array(over.length).fill(1);
  for (let block = over.length - 1; block > 0; block--) size[over[block]] += size[block];
  // Blocks are numbered so that the subtree of a block follows it without a gap.
  const number = new Int32Array(over.length);
  const next = new Int32Array(over.length).fill(1);
  for (let block = 1; block < over.length; block++) {
    number[block] = next[over[block]];
    next[over[block]] += size[block];
    next[block] = number[block] + 1;
  }
  return (one, other) => number[one] <= number[other] && number[other] < number[one] + size[one];
}

/** Returns the loops in the order of their heads. If two share a head, the outer comes first. */
export function findLoopsOf(graph: Graph, passes: Dominance): readonly Loop[] {
  const backward = graph.after.flatMap((all, block) =>
    all.filter((head) => passes(head, block)).map((head) => ({ head, block })),
  );
  const tails = Map.groupBy(backward, ({ head }) => head);
  const loops = [...tails].slice(0, MAX_LOOPS).flatMap(([head, branches]) => {
    const ends = branches.map(({ block }) => block);
    const whole = naturalLoop(graph, head, ends);
    const inner = innerTails(graph, whole);
    return inner.length === 0 ? [whole] : [whole, naturalLoop(graph, head, inner)];
  });
  nest(loops);
  const parents = new Set(loops.map(({ parent }) => parent));
  for (const loop of loops) {
    // A loop that contains another loop, or is inside one, is not a single loop over all units.
    if (loop.parent !== null || parents.has(loop)) continue;
    loop.refill = findRefill(graph, loop, passes);
    loop.own = without(loop.own, loop.refill);
  }
  return loops.toSorted((a, b) => a.head - b.head);
}

function naturalLoop({ before }: Graph, head: number, tails: readonly number[]): Loop {
  const blocks = new Set([head]);
  const open = [...tails];
  for (let block; (block = open.pop()) !== undefined;) {
    if (blocks.has(block)) continue;
    blocks.add(block);
    for (const one of before[block]) open.push(one);
  }
  return { head, tails, blocks, parent: null, depth: 1, own: blocks, refill: NONE };
}
const NONE: ReadonlySet<number> = new Set();

/** With more backward branches, a head counts as the head of one loop, and every block as leading to each branch. */
const MAX_TAILS = 8;

/**
 * Finds the backward branches of an inner loop that shares its head with an outer loop. The inner loop must not leave
 * the outer loop directly, so that all lanes meet in the outer loop before any lane continues.
 */
function innerTails(graph: Graph, { head, tails, blocks }: Loop): readonly number[] {
  if (tails.length < 2 || tails.length > MAX_TAILS) return [];
  return tails.filter((tail) => {
    const part = naturalLoop(graph, head, [tail]).blocks;
    return part.size < blocks.size && [...part].every((block) => !leaves(graph, blocks, block));
  });
}

/** For each backward branch of a loop, returns the blocks from which a pass can reach it. */
export function blocksByTail(graph: Graph, { head, tails, blocks }: Loop): readonly ReadonlySet<number>[] {
  const isSimple = tails.length === 1 || tails.length > MAX_TAILS;
  return tails.map((tail) => (isSimple ? blocks : naturalLoop(graph, head, [tail]).blocks));
}

export function leaves({ code, to, after }: Graph, blocks: ReadonlySet<number>, block: number): boolean {
  return code[to[block] - 1].ends || after[block].some((next) => !blocks.has(next));
}

function nest(loops: readonly Loop[]): void {
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
}

/** Larger loops are not searched for a refill. */
const MAX_REFILLED = { blocks: 1000, instructions: 5000 };

/**
 * Finds the blocks that run only when the unit changes. There, a thread writes the result of a unit to a place that
 * depends on the unit's index, and then changes the index. The index also decides the end of the loop.
 */
function findRefill(graph: Graph, loop: Loop, passes: Dominance): ReadonlySet<number> {
  const { code, to, after, before } = graph;
  const { blocks, own, tails } = loop;
  const all = [...listInstructions(graph, blocks)].map((at) => code[at]);
  if (blocks.size > MAX_REFILLED.blocks || all.length > MAX_REFILLED.instructions) return NONE;
  const writers = new Map<string, Instruction[]>();
  for (const one of all) for (const name of one.writes) writers.set(name, [...(writers.get(name) ?? []), one]);
  const sourcesOf = (names: readonly string[]): ReadonlySet<string> => {
    const found = new Set(names);
    for (const name of found)
      for (const { reads } of writers.get(name) ?? []) for (const source of reads) found.add(source);
    return found;
  };
  const exits = [...blocks].filter((block) => leaves(graph, blocks, block));
  const ends = sourcesOf(exits.flatMap((block) => code[to[block] - 1].reads));
  for (const start of [...own].sort((a, b) => a - b)) {
    const conditional = before[start].length === 1 && after[before[start][0]].length > 1;
    if (!conditional || tails.every((tail) => passes(start, tail))) continue;
    const part = [...own].filter((block) => passes(start, block));
    const written = new Set<string>();
    const read = new Set<string>();
    /** Registers whose value after the blocks of `part` is computed from their value before these blocks. */
    const changed = new Set<string>();
    const addresses: string[] = [];
    for (const at of listInstructions(graph, part)) {
      const { reads, writes, access, loads } = code[at];
      for (const name of reads) if (!written.has(name)) read.add(name);
      for (const name of writes) (read.has(name) ? changed : written).add(name);
      if (access && !loads) addresses.push(...access.address);
    }
    const places = sourcesOf(addresses);
    if ([...changed].some((name) => places.has(name) && ends.has(name))) return new Set(part);
  }
  return NONE;
}

export function without(all: Iterable<number>, some: ReadonlySet<number>): ReadonlySet<number> {
  return new Set([...all].filter((one) => !some.has(one)));
}

/** Returns the instructions of some blocks, in reverse postorder of the blocks. */
export function listInstructions({ from, to }: Graph, blocks: Iterable<number>): ReadonlySet<number> {
  const found = new Set<number>();
  for (const block of [...blocks].sort((a, b) => a - b)) for (let at = from[block]; at < to[block]; at++) found.add(at);
  return found;
}
