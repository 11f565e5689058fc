import {
  INSTRUCTION_CLASSES,
  type ClassCounts,
  type InspectedLoop,
  type InstructionClass,
} from '../domain/inspection.ts';
import { fail, ok, type Result } from '../domain/result.ts';
import { chainOf } from './chain.ts';
import { blocksOf, leaves, loopsOf, type Graph, type Loop } from './graph.ts';
import { MAX_INSTRUCTIONS, type KernelCode } from './instruction.ts';
import { loopRegion, phasesAround, type KernelPhases } from './phases.ts';

/** What one iteration of each loop of a kernel holds, and which of them counts. The same for PTX and machine code. */

/** Dominators of a hostile graph take the square of this. */
const MAX_BLOCKS = 20_000;
/** What is known of every register before every block, words of 32 bits: 64 MiB. */
const MAX_WORDS = 2 ** 24;

export interface FoundLoops {
  /** In the order of their code. */
  readonly loops: readonly InspectedLoop[];
  /** What stands around one of them, by its place in the list. */
  readonly phasesAround: (loop: number) => KernelPhases;
}

/** The loops of a kernel. Fails with `unsupported` where it is larger than any kernel that is known. */
export function findLoops({ entry, instructions, labels }: KernelCode): Result<FoundLoops> {
  const tooLarge = (what: string): Result<never> =>
    fail(
      'unsupported',
      `${entry} has ${what}. Its loops are not looked for; mark and compile its loop in a kernel of its own.`,
    );
  if (instructions.length > MAX_INSTRUCTIONS) return tooLarge(`more than ${MAX_INSTRUCTIONS} instructions`);
  const graph = blocksOf(instructions, labels);
  if (graph.after.length > MAX_BLOCKS) return tooLarge(`more than ${MAX_BLOCKS} blocks of instructions`);
  const loops = loopsOf(graph);
  const differs = loops.length === 0 ? new Set<number>() : differingBranches(graph);
  if (!differs) return tooLarge(`${graph.after.length} blocks of instructions, and too many registers to follow`);
  const found = withUnrolling(loops.map((loop) => describe(graph, loop, differs)));
  return ok({
    loops: found.map(({ loop: _loop, marks: _marks, counted: _counted, ...described }) => described),
    phasesAround: (at) => phasesAround(graph, loops, at, found),
  });
}

interface Found extends InspectedLoop {
  readonly loop: Loop;
  readonly marks: number;
  /** What unrolling repeats: all but counters, addresses and branches. */
  readonly counted: number;
}

function describe(graph: Graph, loop: Loop, differs: ReadonlySet<number>): Found {
  const { code, from, to } = graph;
  const counts: Record<InstructionClass, number> = { fp32: 0, integer: 0, fp64: 0, special: 0, memory: 0, control: 0 };
  let marks = 0;
  for (const block of loop.own)
    for (let at = from[block]; at < to[block]; at++) {
      counts[code[at].class]++;
      marks += code[at].marks;
    }
  let divergent = false;
  for (const block of loop.blocks) if (leaves(graph, loop.blocks, block) && differs.has(block)) divergent = true;
  const chain = chainOf(graph, loopRegion(graph, loop), true);
  const tail = code[to[loop.tails.at(-1)!] - 1];
  const all = INSTRUCTION_CLASSES.reduce((sum, name) => sum + counts[name], 0);
  return {
    loop,
    marks,
    counted: all - counts.integer - counts.control,
    line: tail.line,
    instructionsPerIteration: all,
    byClass: counts,
    chainInstructions: chain.instructions,
    dependentExchanges: chain.exchanges,
    dependentLoads: chain.loads,
    shortestPath: shortestPath(graph, loop),
    unrolled: 1,
    depth: loop.depth,
    divergent,
    marked: marks > 0,
  };
}

/** The fewest instructions from the head to a branch back. */
function shortestPath(graph: Graph, loop: Loop): number {
  const { from, to, before } = graph;
  const fewest = new Map<number, number>();
  for (const block of loopRegion(graph, loop).blocks) {
    let best = block === loop.head ? 0 : Infinity;
    if (block !== loop.head)
      for (const one of before[block]) if (one < block) best = Math.min(best, fewest.get(one) ?? Infinity);
    fewest.set(block, best + (loop.own.has(block) ? to[block] - from[block] : 0));
  }
  return loop.tails.reduce((found, block) => Math.min(found, fewest.get(block) ?? Infinity), Infinity);
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
      chainInstructions: per(one.chainInstructions),
      dependentExchanges: per(one.dependentExchanges),
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
