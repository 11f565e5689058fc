import type { Graph } from './graph.ts';

/** A part of a kernel that is executed as a whole. */
export interface Region {
  /** Blocks in reverse postorder: apart from backward branches, all predecessors of a block come before the block. */
  readonly blocks: readonly number[];
  readonly head: number;
  /** Whether an instruction counts. The others only provide values. */
  readonly counts: (at: number) => boolean;
}

/** The dependent operations for which a thread waits one after another in a region. */
export interface Chain {
  /** Dependent arithmetic instructions, as a number of latencies of one. */
  readonly instructions: number;
  /** Shuffles, barriers and loads that do not leave the multiprocessor. */
  readonly exchanges: number;
  /** Loads from device memory. */
  readonly loads: number;
}

/** @param repeats whether the region is a loop; the result is then for one pass of many */
export function findChain(graph: Graph, region: Region, repeats: boolean): Chain {
  return { instructions: Number(issueTime(graph, region, repeats).toPrecision(6)), ...memoryChain(graph, region) };
}

/**
 * Cycles between two independent instructions of a thread group, as a fraction of the latency of an arithmetic
 * instruction. It is fitted to two loops of test/data/cycle-sim/loops.ptx in a cycle-level simulator with a latency of
 * 8 cycles: 149 for 153 cycles (one chain of 16), 80 for 78 (four chains of 4).
 */
const ISSUE = 1 / 8;
/** Cycles from a branch to the next instruction, as a fraction of that latency; fitted to the same loops. */
const BRANCH = 3 / 2;
/** Number of passes before a loop is periodic, and number of passes whose mean time is taken. */
const PASSES = 4;

/** The time to issue in order, where each instruction waits for its operands. Loads and exchanges do not wait here. */
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

/** One load outweighs all exchanges of a kernel. */
const LOAD = 2 ** 20;

/**
 * The longest chain of loads, then of exchanges. Values of the previous pass are available at once. Within a pass,
 * loads and exchanges wait for their operands and for earlier branches, because a thread group does not continue before
 * a branch is resolved. A compiler may move them up to such a branch.
 */
function memoryChain({ code, from, to, before }: Graph, { blocks, head, counts }: Region): Omit<Chain, 'instructions'> {
  interface State {
    /** Values by register; zero values are omitted. */
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
      // All instructions before a barrier are complete when a thread passes it.
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
