import { CUDA_GROUP_WIDTH } from '../domain/ability.ts';
import { INSTRUCTION_CLASSES, type InspectedPhases, type InstructionClass } from '../domain/inspection.ts';
import type { MemoryAccess, Phase, Sharing } from '../domain/kernel.ts';
import { findAccesses, findAddresses, LANE, type Addresses } from './accesses.ts';
import { atStart, findWriter, isConstant, type Sum, type Sums } from './affine.ts';
import { findChain, type Region } from './chain.ts';
import { listInstructions, leaves, without, type Graph, type Loop } from './graph.ts';
import { splitOperation, type Instruction } from './instruction.ts';
import { findWaiting, type Waiting } from './recurrences.ts';
import { describeWork, findComparisons } from './unrolling.ts';

export interface KernelPhases {
  readonly phases: InspectedPhases;
  readonly sharing: Sharing;
  /**
   * Set if an iteration needs the previous result, so that every thread that shares the unit runs all iterations:
   * `decides` if the end of the loop or a load depends on that result, otherwise `remains`.
   */
  readonly serial: keyof Waiting | null;
  readonly accesses: readonly MemoryAccess[];
  /** Threads whose results an unrolled tree of shuffles combines; 1 if there is no such tree. */
  readonly threadsPerUnit: number;
  readonly others: readonly number[];
}

export function loopRegion(graph: Graph, { blocks, own, refill, head }: Loop): Region {
  return regionOf(without(blocks, refill), head, listInstructions(graph, own));
}

const regionOf = (blocks: Iterable<number>, head: number, counted: ReadonlySet<number>): Region => ({
  blocks: [...blocks].sort((a, b) => a - b),
  head,
  counts: (at) => counted.has(at),
});

/**
 * Splits a kernel around one of its loops:
 *
 * - `unit`: the rest of the next enclosing loop; `prologue`: the code around that loop, without other loops.
 * - Without an enclosing loop, each thread has one unit. Then all code before the loop and the first access to device
 *   memory is `prologue`, and the rest is `unit`.
 * - If one loop runs the iterations of all units of a thread, the part that changes the unit is `refill`, and there is
 *   no `unit`.
 * - `combine`: one step of the tree that combines results: the shuffles of `unit` (or `refill`), the instructions that
 *   join their results, and the moves that only these need. A tree through shared memory and barriers counts if it is a
 *   separate loop; an unrolled one stays in `unit`. There is no `combine` if iterations leave no result in a register.
 */
export function findPhases(
  graph: Graph,
  loops: readonly Loop[],
  chosen: number,
  described: readonly { readonly unrolled: number }[],
  rests: ReadonlyMap<number, number>,
  sums: Sums,
): KernelPhases {
  const { code, after } = graph;
  const loop = loops[chosen];
  const unitLoop = loop.parent;
  const addresses = findAddresses(code, sums);
  const everything = new Set(after.keys());
  const outside = new Set(everything);
  for (const one of loops) for (const block of one.blocks) outside.delete(block);
  for (let around = (unitLoop ?? loop).parent; around !== null; around = around.parent)
    for (const block of around.own) outside.add(block);

  let once = listInstructions(graph, outside);
  let unit: ReadonlySet<number>;
  let around: Omit<Region, 'counts'> & { readonly repeats: boolean };
  if (unitLoop !== null) {
    unit = listInstructions(graph, unitLoop.own);
    around = { ...loopRegion(graph, unitLoop), repeats: true };
  } else if (loop.refill.size > 0) {
    unit = listInstructions(graph, loop.refill);
    const blocks = [...loop.refill].sort((a, b) => a - b);
    around = { blocks, head: blocks[0], repeats: false };
  } else {
    const order = [...listInstructions(graph, everything)];
    const start = order.findIndex((at) => (once.has(at) ? code[at].access !== null : sums.inLoop(at)));
    const before = new Set(order.slice(0, start));
    unit = without(once, before);
    once = without(once, unit);
    around = { blocks: [...everything], head: 0, repeats: false };
  }
  const own = listInstructions(graph, loop.own);
  const { unrolled } = described[chosen];
  if (unrolled > 1) unit = without(unit, straightRest(graph, loop, unit, unrolled, sums));
  const isShared = sharesRun(graph, loop, unit, addresses, sums);
  const tree = makeTree(code, [...listInstructions(graph, around.blocks)], unit);
  const serial = cooperates(code, own) ? null : waitsForBefore(graph, loop, sums, unrolled);
  const sharing = serial !== null || cooperates(code, own) ? 'split' : 'deal';
  // If iterations are dealt, another loop that exchanges values is the tree that combines results. If they are split,
  // such a loop may be an unrolled copy of the chosen loop.
  const treeLoop =
    sharing === 'split'
      ? -1
      : loops.findIndex(
          (one) => one !== loop && one.parent === unitLoop && cooperates(code, listInstructions(graph, one.own)),
        );
  const phase = (counted: ReadonlySet<number>, { repeats, ...region }: typeof around, steps = 1): Phase =>
    makePhase(graph, addresses, { ...region, counts: (at) => counted.has(at) }, counted, repeats, steps);
  const combine =
    tree.steps > 0
      ? phase(tree.instructions, { ...around, repeats: false }, tree.steps)
      : treeLoop >= 0
        ? phase(listInstructions(graph, loops[treeLoop].own), { ...loopRegion(graph, loops[treeLoop]), repeats: true })
        : sharing === 'deal' && loop.refill.size === 0 && !hasResult(graph, sums)
          ? { instructions: 0 }
          : null;
  const known = new Set([chosen, treeLoop, unitLoop === null ? -1 : loops.indexOf(unitLoop)]);
  return {
    phases: {
      prologue: phase(once, { blocks: [...everything], head: 0, repeats: false }),
      [loop.refill.size > 0 ? 'refill' : 'unit']: phase(without(unit, tree.instructions), around),
      ...(combine && { combine }),
    },
    sharing,
    serial,
    accesses: findAccesses(graph.code, addresses, own, unrolled, isShared ? CUDA_GROUP_WIDTH : 2 ** tree.steps),
    threadsPerUnit: 2 ** tree.steps,
    // The remainder of the chosen loop runs other iterations of the unit, so it is not one of the other loops.
    others: [...loops.keys()].filter((at) => !known.has(at) && (rests.get(at) ?? at) !== (rests.get(chosen) ?? chosen)),
  };
}

/**
 * Finds the remainder of an unrolled loop if it is no loop itself: groups of blocks of the unit that do the work of at
 * least one iteration, and no other work. Work of the same kind is the same if it is in the same arrays and, with
 * lines, on the same line. The line alone does not decide, because a macro can put all work of a unit on one line.
 */
function straightRest(
  graph: Graph,
  loop: Loop,
  unit: ReadonlySet<number>,
  unrolled: number,
  sums: Sums,
): ReadonlySet<number> {
  const { code, from, after, before } = graph;
  // A compiler that knows the first value of a sum may store it as an integer, `st.global.u32` for `st.global.f32`.
  const kindOf = (at: number): string | null => describeWork(code[at])?.replace(/\.[suf](\d+)$/, '.b$1') ?? null;
  const arraysOfLine = new Map<string, Set<string>>();
  for (const at of listInstructions(graph, loop.own)) {
    if (kindOf(at) === null) continue;
    const name = `${kindOf(at)} ${code[at].line}`;
    arraysOfLine.set(name, (arraysOfLine.get(name) ?? new Set()).add(arraysOf(sums, at)));
  }
  const workOf = (blocks: Iterable<number>): readonly string[] =>
    [...listInstructions(graph, blocks)].flatMap((at) => {
      const kind = kindOf(at);
      if (kind === null) return [];
      const arrays = arraysOf(sums, at);
      const name = `${kind} ${code[at].line}`;
      // The remainder may continue with a pointer of the loop, whose array is then not known.
      const isAlike = code[at].line !== null && (arrays === '' || arraysOfLine.get(name)?.has(arrays));
      return [isAlike ? name : `${name} ${arrays}`];
    });
  const pass = Map.groupBy(workOf(loop.own), (name) => name);
  const isIteration = (work: readonly string[]): boolean => {
    const counted = Map.groupBy(work, (name) => name);
    return [...pass].every(([name, { length }]) => (counted.get(name)?.length ?? 0) >= Math.ceil(length / unrolled));
  };
  const alike = new Map<number, { readonly blocks: readonly number[]; readonly work: readonly string[] }>();
  for (const blocks of findStretches(graph, unit)) {
    const work = workOf(blocks);
    if (work.every((name) => pass.has(name))) alike.set(blocks[0], { blocks, work });
  }
  const rest = new Set<number>();
  // The search begins at the last copy of an iteration, because a group grows forwards and would take in later copies.
  for (const { blocks, work } of [...alike.values()].reverse()) {
    const group = new Set(blocks);
    const found = [...work];
    for (const block of group) {
      if (group.size > loop.own.size) break;
      for (const next of after[block]) {
        const one = alike.get(next);
        if (!one || group.has(next) || rest.has(next) || !before[next].every((other) => group.has(other))) continue;
        for (const other of one.blocks) group.add(other);
        found.push(...one.work);
      }
    }
    if (found.length > 0 && isIteration(found)) for (const block of group) rest.add(block);
  }
  // If source lines are known, a part of an iteration is enough, since a compiler may simplify the remainder.
  if (code[from[loop.head]].line !== null)
    for (const { blocks, work } of alike.values()) if (work.length > 1) for (const block of blocks) rest.add(block);
  return listInstructions(graph, rest);
}

/** Names the parameters of the kernel that an address adds to an offset: the arrays. */
function arraysOf(sums: Sums, at: number): string {
  const address = sums.address(at);
  const terms = address ? [...sums.before(address).terms] : [];
  return terms
    .flatMap(([name, times]) => (times === 1 && /^(\[|c\[)/.test(name) ? [name] : []))
    .sort()
    .join();
}

/** Finds the longest sequences of blocks that are always executed together, in the order of their first blocks. */
function findStretches({ from, after, before }: Graph, counted: ReadonlySet<number>): readonly (readonly number[])[] {
  const seen = new Set<number>();
  const found: number[][] = [];
  for (const start of after.keys()) {
    if (seen.has(start) || !counted.has(from[start])) continue;
    const blocks: number[] = [];
    for (let block = start; ;) {
      seen.add(block);
      blocks.push(block);
      const [next] = after[block];
      if (after[block].length !== 1 || before[next].length !== 1 || seen.has(next) || !counted.has(from[next])) break;
      block = next;
    }
    found.push(blocks);
  }
  return found;
}

/**
 * Returns why iterations wait for each other. A value that only remains after the loop does not count if the code itself
 * divides the iterations: each thread then begins at its own index and steps over the iterations of others.
 */
function waitsForBefore(graph: Graph, loop: Loop, sums: Sums, unrolled: number): keyof Waiting | null {
  const { decides, remains } = findWaiting(graph, loop);
  if (decides || !remains) return decides ? 'decides' : null;
  const ends = [...loop.blocks].filter((block) => leaves(graph, loop.blocks, block));
  const compared = ends.flatMap((block) => findComparisons(graph, block, sums));
  const isDivided = compared.some(
    ({ difference, growth }) =>
      growth !== null && (!isConstant(growth) || Math.abs(growth.constant) > unrolled) && sums.ofThread(difference),
  );
  return isDivided ? null : 'remains';
}

/**
 * Returns whether the lanes of a group walk the run of one unit together: they begin at different places behind its
 * loaded start. If each writes a result of its own, each has its own unit instead, in a slice of a padded matrix.
 */
function sharesRun(graph: Graph, loop: Loop, unit: ReadonlySet<number>, addresses: Addresses, sums: Sums): boolean {
  const { code } = graph;
  const isLoaded = (name: string): boolean => {
    const at = findWriter(name);
    return at !== null && code[at].loads && addresses.differs(at);
  };
  const walks = (side: Sum): boolean => {
    const growth = sums.growth(side);
    const isSteady = growth === null || (isConstant(growth) && growth.constant === 0);
    return !isSteady && [...(sums.sources(side) ?? [])].some(isLoaded);
  };
  const ends = [...loop.blocks].filter((block) => leaves(graph, loop.blocks, block));
  const compared = ends.flatMap((block) => findComparisons(graph, block, sums));
  return (
    compared.some(({ sides, difference }) => sides.some(walks) && sums.ofThread(difference)) &&
    ![...unit].some((at) => code[at].access && !code[at].loads && dependsOnLane(code, at, sums))
  );
}

/** Returns whether neighbouring lanes access different places, which they may load, as after sorting. */
function dependsOnLane(code: readonly Instruction[], access: number, sums: Sums): boolean {
  const termsOf = (at: number): readonly string[] => {
    const address = sums.address(at);
    return address ? [...sums.before(address).terms.keys()] : [];
  };
  const names = new Set(termsOf(access));
  for (const name of names) {
    const at = findWriter(name);
    if (at !== null && code[at].loads) for (const one of termsOf(at)) names.add(one);
  }
  return [...names].some((name) => LANE.test(name));
}

/** Returns whether iterations add to a register, or leave a value that is read after the loop. Counters do not count. */
function hasResult(graph: Graph, sums: Sums): boolean {
  const { code, after } = graph;
  return [...listInstructions(graph, after.keys())].some((at) =>
    code[at].reads.some((name) => {
      const writer = sums.inLoop(at) ? sums.carried(name, at) : sums.last(name, at);
      if (writer === undefined || !sums.inLoop(writer) || /^(addc|IADD3\.X|IMAD\.X)\b/.test(code[writer].text))
        return false;
      return !sums.inLoop(at) || sums.growth(atStart(name)) === null;
    }),
  );
}

const cooperates = (code: readonly Instruction[], counted: ReadonlySet<number>): boolean =>
  [...counted].some((at) => code[at].exchange === 'shuffle' || code[at].exchange === 'barrier');

/** @param steps number of steps of a tree, since its phase is a single step; 1 for other phases */
function makePhase(
  graph: Graph,
  addresses: Addresses,
  region: Region,
  counted: ReadonlySet<number>,
  repeats: boolean,
  steps: number,
): Phase {
  const { code } = graph;
  const counts = Object.fromEntries(INSTRUCTION_CLASSES.map((name) => [name, 0])) as Record<InstructionClass, number>;
  let bytes = 0;
  for (const at of counted) {
    const { class: name, access } = code[at];
    counts[name]++;
    // If all threads of all blocks read the same place, the data stays in the caches.
    if (access && addresses.differs(at)) bytes += access.bytes;
  }
  const chain = findChain(graph, region, repeats);
  const figure = (value: number): number => Number((value / steps).toPrecision(4));
  const share = (name: InstructionClass): number => Number((counts[name] / Math.max(1, counted.size)).toPrecision(4));
  const found: Phase = {
    instructions: figure(counted.size),
    integerShare: share('integer'),
    fp64Share: share('fp64'),
    specialShare: share('special'),
    chainInstructions: figure(chain.instructions),
    dependentExchanges: figure(chain.exchanges),
    dependentLoads: figure(chain.loads),
    bytes: figure(bytes),
  };
  return Object.fromEntries(
    Object.entries(found).filter(
      ([name, value]) => value !== 0 || name === 'instructions' || name === 'chainInstructions',
    ),
  ) as unknown as Phase;
}

/**
 * Finds the instructions of a unit that form a tree of shuffles, and its steps: one for each distance over which lanes
 * exchange values. Shuffles from a fixed lane (`idx`) belong to the tree but are not steps. A `redux` of all lanes does
 * the work of all steps.
 */
function makeTree(
  code: readonly Instruction[],
  all: readonly number[],
  unit: ReadonlySet<number>,
): { readonly instructions: ReadonlySet<number>; readonly steps: number } {
  const writer = new Map<string, number>();
  const makers = new Map<number, readonly number[]>();
  const users = new Map<number, number[]>(all.map((at) => [at, []]));
  const later = new Set<number>();
  const distances = new Set<string>();
  const shuffles: number[] = [];
  for (const at of all) {
    const { reads, writes, exchange } = code[at];
    const made = [...new Set(reads.flatMap((name) => writer.get(name) ?? []))];
    makers.set(at, made);
    for (const one of made) users.get(one)!.push(at);
    for (const name of writes) writer.set(name, at);
    if (!unit.has(at)) continue;
    if (made.some((one) => later.has(one)) || exchange === 'shuffle') later.add(at);
    if (exchange !== 'shuffle') continue;
    shuffles.push(at);
    const { mode, distance } = shuffled(code[at].text);
    const constant = made.find((one) => code[one].moves && code[one].writes[0] === distance);
    if (mode !== 'idx')
      distances.add(constant === undefined ? distance : splitOperation(code[constant].text).operands.at(-1)!);
  }
  if (distances.size === 0) return { instructions: new Set(), steps: 0 };
  const isWhole = shuffles.some((at) => /^redux/i.test(splitOperation(code[at].text).name));
  const found = new Set(shuffles);
  // The first instruction after the moves joins the shuffled value with the lane's own.
  for (const at of found) {
    if (code[at].exchange !== 'shuffle' && !code[at].moves) continue;
    for (const user of users.get(at)!)
      if (unit.has(user) && !code[user].access && code[user].class !== 'control') found.add(user);
  }
  const between = new Set(shuffles);
  for (const at of between)
    for (const maker of makers.get(at)!)
      if (later.has(maker)) {
        between.add(maker);
        found.add(maker);
      }
  for (const at of [...unit].reverse()) {
    const by = users.get(at)!;
    if (code[at].moves && by.length > 0 && by.every((user) => found.has(user))) found.add(at);
  }
  return { instructions: found, steps: isWhole ? Math.log2(CUDA_GROUP_WIDTH) : distances.size };
}

/** Parses `shfl.sync.bfly.b32 %r29|%p5, %r25, %r27, %r26, %r28`, `SHFL.BFLY PT, R5, R4, 0x10, 0x1f` and the like. */
function shuffled(text: string): { readonly mode: string; readonly distance: string } {
  const { name, operands } = splitOperation(text);
  const mode = /\.(bfly|down|up|idx)\b/i.exec(name)?.[1].toLowerCase() ?? '';
  return { mode, distance: operands[name.startsWith('SHFL') ? 3 : 2] ?? '' };
}
