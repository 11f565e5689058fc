import { CUDA_GROUP_WIDTH } from '../domain/ability.ts';
import { countedText } from '../domain/text.ts';
import {
  INSTRUCTION_CLASSES,
  type ClassCounts,
  type InspectedLoop,
  type Inspection,
  type InstructionClass,
} from '../domain/inspection.ts';
import { ok, type Result, unsupported, notFound } from '../domain/result.ts';
import { findChain } from './chain.ts';
import { LANE } from './accesses.ts';
import { isConstant, computeSums, findWriters, type Sums } from './affine.ts';
import { splitIntoBlocks, dominance, listInstructions, leaves, findLoopsOf, type Graph, type Loop } from './graph.ts';
import { MAX_INSTRUCTIONS, splitOperation, type Instruction, type KernelCode } from './instruction.ts';
import { loopRegion, findPhases, type KernelPhases } from './phases.ts';
import { findComparisons, findUnrolling, describeWork, type Comparison, type Unrolling } from './unrolling.ts';

/** The search for dominators can take as many steps as the square of this number. */
const MAX_BLOCKS = 20_000;
/** Maximum size of the table of registers by block, in 32-bit words: 64 MiB. */
const MAX_WORDS = 2 ** 24;

export interface FoundLoops {
  readonly loops: readonly InspectedLoop[];
  readonly chosen: Inspection['chosen'];
  readonly notes: readonly string[];
  readonly around: KernelPhases | null;
}

export function findLoops({ entry, instructions, labels }: KernelCode, asked: AskedLoop): Result<FoundLoops> {
  const tooLarge = (what: string): Result<never> =>
    unsupported(`${entry} has ${what}. Its loops cannot be found: mark the loop, and compile it in its own kernel.`);
  if (instructions.length > MAX_INSTRUCTIONS) return tooLarge(`more than ${MAX_INSTRUCTIONS} instructions`);
  const graph = splitIntoBlocks(instructions, labels);
  if (graph.after.length > MAX_BLOCKS) return tooLarge(`more than ${MAX_BLOCKS} blocks of instructions`);
  const passes = dominance(graph);
  const loops = findLoopsOf(graph, passes);
  const differs = loops.length === 0 ? NONE_DIFFER : differingBranches(graph, loops);
  if (!differs) return tooLarge(`${graph.after.length} blocks of instructions, and too many registers to follow`);
  const writers = findWriters(graph, passes);
  const described = loops.map((loop) => {
    const one = describe(graph, loop, computeSums(graph, loop, writers), differs);
    return one.line !== null && asked.markedLines?.has(one.line) ? { ...one, marked: true } : one;
  });
  const found = described.map((one) => perIteration(one, iterationsOf(one)));
  const rests = findRests(graph, found);
  const chosen: Inspection['chosen'] =
    asked.loop === undefined ? chooseLoop(found, rests) : { loop: asked.loop - 1, why: 'as asked' };
  if (chosen && described[chosen.loop] === undefined)
    return notFound(
      loops.length === 0 ? `${entry} has no loops.` : `${entry} has loops 1 to ${loops.length}, not ${asked.loop}.`,
    );
  if (chosen && asked.iterations !== undefined)
    found[chosen.loop] = perIteration(described[chosen.loop], asked.iterations);
  return ok({
    loops: found.map(
      ({ loop: _loop, marks: _marks, unrolling: _unrolling, trips: _trips, accesses: _accesses, ...one }) => one,
    ),
    chosen,
    notes: chosen ? [...writeNotes(found, rests, chosen.loop), ...unitNotes(graph, found[chosen.loop])] : [],
    around:
      chosen && findPhases(graph, loops, chosen.loop, found, rests, computeSums(graph, loops[chosen.loop], writers)),
  });
}

export interface AskedLoop {
  readonly loop?: number | undefined;
  readonly iterations?: number | undefined;
  /** Lines of the loops that another listing of the same kernel marks. */
  readonly markedLines?: ReadonlySet<number> | undefined;
}

interface Found extends InspectedLoop {
  readonly loop: Loop;
  readonly marks: number;
  readonly unrolling: Unrolling;
  /** 2 if the loop loads from device memory, 1 if it only stores there, 0 otherwise. */
  readonly accesses: number;
  /** Number of passes, if the code states it; `fixed` if the number depends only on constants and a thread's index. */
  readonly trips: number | 'fixed' | null;
}

function describe(graph: Graph, loop: Loop, sums: Sums, differs: Differing): Found {
  const { code, from, to } = graph;
  const counts: Record<InstructionClass, number> = { fp32: 0, integer: 0, fp64: 0, special: 0, memory: 0, control: 0 };
  let marks = 0;
  let threeRegisters = 0;
  for (const block of loop.own)
    for (let at = from[block]; at < to[block]; at++) {
      counts[code[at].class]++;
      threeRegisters += Number(code[at].threeRegisters);
      marks += code[at].marks;
    }
  const ends = [...loop.blocks]
    .filter((block) => leaves(graph, loop.blocks, block))
    .map((block) => ({ block, compared: findComparisons(graph, block, sums) }));
  const chain = findChain(graph, loopRegion(graph, loop), true);
  const tail = code[to[loop.tails.at(-1)!] - 1];
  const compared = ends.flatMap((end) => end.compared);
  return {
    loop,
    marks,
    unrolling: findUnrolling(graph, loop, sums, compared),
    accesses: [...listInstructions(graph, loop.own)].reduce(
      (most, at) => Math.max(most, Number(code[at].access !== null) + Number(code[at].loads)),
      0,
    ),
    trips: findTrips(compared, sums),
    line: tail.line,
    instructionsPerIteration: INSTRUCTION_CLASSES.reduce((sum, name) => sum + counts[name], 0),
    byClass: counts,
    threeRegisters,
    chainInstructions: chain.instructions,
    dependentExchanges: chain.exchanges,
    dependentLoads: chain.loads,
    shortestPath: shortestPath(graph, loop),
    unrolled: 1,
    depth: loop.depth,
    divergent: ends.some(
      (end) => differs.byData.has(end.block) || (differs.byIndex.has(end.block) && !isStrided(end.compared)),
    ),
    marked: marks > 0,
  };
}

/** Returns whether neighbouring threads share out the passes, so that their numbers of passes differ by at most one. */
function isStrided(compared: readonly Comparison[]): boolean {
  return (
    compared.length > 0 &&
    compared.every(
      ({ growth }) => growth !== null && (!isConstant(growth) || Math.abs(growth.constant) >= CUDA_GROUP_WIDTH),
    )
  );
}

function findTrips(compared: readonly Comparison[], sums: Sums): Found['trips'] {
  if (compared.length === 0) return null;
  let trips: number | 'fixed' = Infinity;
  for (const { difference, growth } of compared) {
    if (!growth || !isConstant(growth) || growth.constant === 0) return null;
    const { constant, terms } = sums.before(difference);
    if (![...terms.keys()].every((name) => LANE.test(name))) return null;
    if (terms.size > 0) trips = 'fixed';
    else if (trips !== 'fixed') trips = Math.min(trips, Math.abs(constant / growth.constant));
  }
  return trips;
}

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

interface Differing {
  readonly byIndex: ReadonlySet<number>;
  /** Branches that depend on data loaded from different addresses, or on the result of an atomic. */
  readonly byData: ReadonlySet<number>;
}
const NONE_DIFFER: Differing = { byIndex: new Set(), byData: new Set() };

/**
 * Finds the branches that can differ between threads. Dependence through values counts, and so does a value that a
 * thread takes out of a loop whose number of passes depends on data. Other assignments on one side of a branch do not
 * make the assigned value differ. Returns null if the kernel is too large.
 */
function differingBranches(graph: Graph, loops: readonly Loop[]): Differing | null {
  const { code } = graph;
  const isData = (at: number, differs: ReadonlySet<number>): boolean =>
    code[at].class === 'memory' && code[at].exchange !== 'shuffle' && differs.has(at);
  // Each round can find more loops that end at different passes, until a round finds none.
  for (let uneven: readonly Loop[] = []; ;) {
    const byIndex = dependentBranches(graph, uneven, (at) => code[at].differs);
    if (!byIndex) return null;
    const byData = dependentBranches(graph, uneven, (at) => isData(at, byIndex.instructions));
    if (!byData) return null;
    const found = loops.filter(({ blocks }) =>
      [...blocks].some((block) => leaves(graph, blocks, block) && byData.blocks.has(block)),
    );
    if (found.length === uneven.length) return { byIndex: byIndex.blocks, byData: byData.blocks };
    uneven = found;
  }
}

/** @param uneven loops that threads leave after different numbers of passes, with different values */
function dependentBranches(
  graph: Graph,
  uneven: readonly Loop[],
  isSource: (at: number) => boolean,
): { readonly blocks: ReadonlySet<number>; readonly instructions: ReadonlySet<number> } | null {
  const { code, from, to, after } = graph;
  const instructions = new Set<number>();
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
  const written = uneven.map(({ blocks }) => {
    const names = new Uint32Array(words);
    for (const at of listInstructions(graph, blocks))
      for (const name of uses[at].writes) names[name >>> 5] |= 1 << (name & 31);
    return { blocks, names };
  });
  const blocks = new Set<number>();
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
        last = isSource(at) || reads.some((name) => (state[name >>> 5] & (1 << (name & 31))) !== 0);
        if (last) instructions.add(at);
        for (const name of writes)
          if (last) state[name >>> 5] |= 1 << (name & 31);
          else if (!code[at].guarded) state[name >>> 5] &= ~(1 << (name & 31));
      }
      if (last) blocks.add(block);
      for (const next of after[block]) {
        let changed = false;
        const into = entering[next];
        const left = written.filter(({ blocks }) => blocks.has(block) && !blocks.has(next));
        for (let word = 0; word < words; word++) {
          const joined = left.reduce((names, loop) => names | loop.names[word], into[word] | state[word]);
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
  return { blocks, instructions };
}

const iterationsOf = ({ marks, unrolling }: Found): number => (marks > 1 ? marks : unrolling.iterations);

function perIteration(one: Found, times: number): Found {
  if (times <= 1) return one;
  const per = (count: number): number => Number((count / times).toPrecision(6));
  return {
    ...one,
    unrolled: times,
    instructionsPerIteration: per(one.instructionsPerIteration),
    byClass: Object.fromEntries(INSTRUCTION_CLASSES.map((name) => [name, per(one.byClass[name])])) as ClassCounts,
    threeRegisters: per(one.threeRegisters),
    chainInstructions: per(one.chainInstructions),
    dependentExchanges: per(one.dependentExchanges),
    dependentLoads: per(one.dependentLoads),
    shortestPath: per(one.shortestPath),
  };
}

/** Maps a remainder loop to its unrolled loop, which has the same source line or, without lines, the same work. */
function findRests(graph: Graph, found: readonly Found[]): ReadonlyMap<number, number> {
  const kinds = found.map(({ loop }) =>
    [...new Set([...listInstructions(graph, loop.own)].flatMap((at) => describeWork(graph.code[at]) ?? []))]
      .sort()
      .join(),
  );
  const rests = new Map<number, number>();
  found.forEach((one, at) => {
    if (one.unrolled <= 1) return;
    found.forEach((other, rest) => {
      if (other.loop.parent !== one.loop.parent || other.unrolled >= one.unrolled) return;
      const same = one.line === null ? kinds[rest] === kinds[at] : other.line === one.line;
      const known = rests.get(rest);
      if (same && (known === undefined || found[known].unrolled < one.unrolled)) rests.set(rest, at);
    });
  });
  return rests;
}

/** A loop with at most this many iterations, if the number is known, belongs to the phases around the chosen loop. */
const SHORT = 8;

/**
 * Marked loops come first, then loops whose end differs between threads and the loops in them, then all others. Of the
 * first kind found, the innermost loop wins; then a loop whose number of passes the code does not state, a loop that
 * accesses device memory, and the loop with the most work. The remainder of an unrolled loop is never chosen.
 */
function chooseLoop(found: readonly Found[], rests: ReadonlyMap<number, number>): Inspection['chosen'] {
  const choose = (among: readonly number[], why: string): { readonly loop: number; readonly why: string } => {
    const rank = (at: number): readonly number[] => [
      found[at].depth,
      Number(found[at].trips === null),
      found[at].accesses,
      found[at].instructionsPerIteration,
    ];
    const [loop] = among.toSorted((a, b) => {
      const other = rank(b);
      return rank(a).reduce((sign, value, place) => sign || other[place] - value, 0) || a - b;
    });
    return { loop, why };
  };
  const main = [...found.keys()].filter((at) => !rests.has(at));
  const marked = main.filter((at) => found[at].marked);
  if (marked.length > 0) return choose(marked, 'marked in the source');
  const long = main.filter((at) => {
    const { trips, unrolled } = found[at];
    return typeof trips !== 'number' || trips * unrolled > SHORT;
  });
  const differing = new Set(found.filter(({ divergent }) => divergent).map(({ loop }) => loop));
  const divergent = long.filter((at) => {
    for (let around: Loop | null = found[at].loop; around !== null; around = around.parent)
      if (differing.has(around)) return true;
    return false;
  });
  if (divergent.length > 0)
    return choose(divergent, 'the innermost loop whose end depends on data that differs between threads');
  if (main.length > 0)
    return choose(
      long.length > 0 ? long : main,
      'the innermost loop, because no loop’s end depends on data that differs between threads',
    );
  return null;
}

/** If all paths together have this many times the instructions of the shortest path, the branches decide the time. */
const MANY_WAYS = 2;

function writeNotes(found: readonly Found[], rests: ReadonlyMap<number, number>, at: number): readonly string[] {
  const { unrolled, unrolling, shortestPath, instructionsPerIteration } = found[at];
  // If there are several remainder loops, the last runs single iterations.
  const rest = [...rests].findLast(([, main]) => main === at)?.[0];
  const asked = unrolled !== iterationsOf(found[at]);
  return [
    ...(unrolled > 1 ? [`Loop ${at + 1} is unrolled ${unrolled} times. The figures are for one iteration.`] : []),
    ...(rest === undefined
      ? []
      : [
          `Remaining iterations, and units with fewer than ${unrolled} iterations, run in loop ${rest + 1}, ` +
            `with ${found[rest].instructionsPerIteration} instructions per iteration.`,
        ]),
    ...(unrolled === 1 && !asked && unrolling.repeats > 1
      ? [
          `The body of the loop repeats a group of instructions ${unrolling.repeats} times. ` +
            `If each group is an iteration, specify --iterations-per-loop ${unrolling.repeats}.`,
        ]
      : []),
    ...(instructionsPerIteration >= MANY_WAYS * shortestPath
      ? [
          `Branches in the body of the loop decide what an iteration executes: ${instructionsPerIteration} instructions ` +
            `on all paths, ${shortestPath} on the shortest.`,
        ]
      : []),
  ];
}

function unitNotes(graph: Graph, { loop, unrolled }: Found): readonly string[] {
  const own = [...listInstructions(graph, loop.own)].map((at) => graph.code[at]);
  const perIteration = (counted: readonly Instruction[]): number => Number((counted.length / unrolled).toPrecision(4));
  const matrix = own.filter(({ unit }) => unit === 'matrix');
  const halves = perIteration(own.filter(({ unit }) => unit === 'half'));
  const pairs = perIteration(own.filter(({ unit }) => unit === 'two halves'));
  const names = [...new Set(matrix.map(({ text }) => splitOperation(text).name))];
  const atomics = perIteration(
    own.filter(({ text, access }) => access !== null && /^(atom|red)/i.test(splitOperation(text).name)),
  );
  return [
    ...(matrix.length > 0
      ? [
          `An iteration has ${countedText(perIteration(matrix), 'matrix instruction')} of tensor cores (${names.join(', ')}). ` +
            'Each counts as one instruction, but predictions do not model tensor cores: do not trust the times.',
        ]
      : []),
    ...(halves + pairs > 0
      ? [
          `An iteration has ${countedText(halves + pairs, 'instruction')} on 16-bit values (${pairs} with two values ` +
            'at once). Such instructions count as FP32.',
        ]
      : []),
    ...(atomics > 0
      ? [
          `An iteration has ${countedText(atomics, 'atomic')} on device memory. Atomics count as accesses. ` +
            'Predictions do not know how many of them use the same address and so wait for one another.',
        ]
      : []),
  ];
}
