import type { Graph } from './graph.ts';

export interface Region {
  /** In reverse postorder: apart from backward branches, a block comes after all its predecessors. */
  readonly blocks: readonly number[];
  readonly head: number;
  /** Whether the time of an instruction counts. Other instructions only provide their results, in no time. */
  readonly counts: (at: number) => boolean;
}

/** The operations of a region for which a thread waits one after another. */
export interface Chain {
  /** Dependent arithmetic, in latencies of one arithmetic instruction. */
  readonly instructions: number;
  /** Shuffles, barriers, and loads from shared or local memory. */
  readonly exchanges: number;
  /** Loads from device memory. */
  readonly loads: number;
}

/** @param repeats whether the region is a loop; the result is then the mean of one pass */
export function findChain(graph: Graph, region: Region, repeats: boolean): Chain {
  return { instructions: Number(issueTime(graph, region, repeats).toPrecision(6)), ...memoryChain(graph, region) };
}

/**
 * Cycles between two independent instructions of a thread group, as a fraction of the latency of an arithmetic
 * instruction. Fitted to two loops of test/data/cycle-sim/loops.ptx in a cycle-level simulator with a latency of 8
 * cycles: `findChain` gives 149 cycles (simulated 153) for one chain of 16, and 80 (simulated 78) for four chains of 4.
 */
const ISSUE = 1 / 8;
/** Cycles from a branch to the next instruction, as a fraction of an arithmetic latency; fitted like `ISSUE`. */
const BRANCH = 3 / 2;
/** After this many passes, a loop is assumed to be periodic. The time of as many further passes is averaged. */
const PASSES = 4;

/** Returns a region's time in arithmetic latencies. Loads and exchanges take `ISSUE`; `memoryChain` counts the rest. */
function issueTime({ code, from, to }: Graph, { blocks, counts }: Region, repeats: boolean): number {
  const ready = new Map<string, number>();
  let clock = 0;
  const pass = (): void => {
    for (const block of blocks)
      for (let at = from[block]; at < to[block]; at++) {
        const { reads, writes, targets, loads, exchange } = code[at];
        for (const name of reads) clock = Math.max(clock, ready.get(name) ?? 0);
        const counted = counts(at);
        const latency = counted ? (loads || exchange !== null ? ISSUE : 1) : 0;
        for (const name of writes) ready.set(name, clock + latency);
        if (counted) clock += targets.length > 0 ? BRANCH : ISSUE;
      }
  };
  const passes = (count: number): number => {
    for (let one = 0; one < count; one++) pass();
    return clock;
  };
  if (!repeats) return [...ready.values()].reduce((last, time) => Math.max(last, time), passes(1));
  const settled = passes(PASSES);
  return (passes(PASSES) - settled) / PASSES;
}

/** Weight of a load, if an exchange has weight 1: more than any kernel has exchanges, so that loads decide first. */
const LOAD = 2 ** 20;

/**
 * Finds the chain with the most loads and, among these, the most exchanges. Loads and exchanges wait for their operands
 * and for earlier branches: a compiler can move loads up only as far as the last branch.
 */
function memoryChain({ code, from, to, before }: Graph, { blocks, head, counts }: Region): Omit<Chain, 'instructions'> {
  interface State {
    readonly values: Map<string, number>;
    branches: number;
  }
  const states = new Map<number, State>();
  let longest = 0;
  for (const block of blocks) {
    const state: State = { values: new Map(), branches: 0 };
    for (const one of block === head ? [] : before[block]) {
      const known = one < block ? states.get(one) : undefined;
      if (!known) continue;
      state.branches = Math.max(state.branches, known.branches);
      for (const [name, depth] of known.values) state.values.set(name, Math.max(depth, state.values.get(name) ?? 0));
    }
    states.set(block, state);
    for (let at = from[block]; at < to[block]; at++) {
      const { reads, writes, loads, exchange, guarded, targets, ends } = code[at];
      let depth = 0;
      for (const name of reads) depth = Math.max(depth, state.values.get(name) ?? 0);
      // A thread passes a barrier only after all earlier instructions are complete.
      if (exchange === 'barrier') for (const known of state.values.values()) depth = Math.max(depth, known);
      if ((loads || exchange !== null) && counts(at)) depth = (loads ? LOAD : 1) + Math.max(depth, state.branches);
      if (targets.length > 0 || ends || exchange === 'barrier') state.branches = Math.max(state.branches, depth);
      longest = Math.max(longest, depth);
      for (const name of writes) {
        const known = guarded ? Math.max(depth, state.values.get(name) ?? 0) : depth;
        if (known > 0) state.values.set(name, known);
        else state.values.delete(name);
      }
    }
  }
  return { exchanges: longest % LOAD, loads: Math.floor(longest / LOAD) };
}
