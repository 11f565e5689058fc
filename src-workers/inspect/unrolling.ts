import { isConstant, plus, type Sum, type Sums } from './affine.ts';
import { listInstructions, type Graph, type Loop } from './graph.ts';
import { splitOperation, type Instruction } from './instruction.ts';

export interface Unrolling {
  readonly iterations: number;
  /** How often a group of instructions occurs in an iteration, as after unrolling by hand; at least 1. */
  readonly repeats: number;
}

const MAX_UNROLLED = 256;
/** Fraction of a pass's work that must repeat. A compiler may move a load out of the loop, or begin a sum early. */
const LEAST_WORK = 0.85;

/**
 * Finds the source iterations of a pass. Their number divides the step of the value that the end of the loop compares.
 * Nearly all work of a pass occurs that many times, and its accesses span the step of their addresses.
 */
export function findUnrolling(graph: Graph, loop: Loop, sums: Sums, compared: readonly Comparison[]): Unrolling {
  const { code } = graph;
  const own = listInstructions(graph, loop.own);
  // An assembler can join four loads from shared memory into one load of 16 bytes.
  const byKind = new Map<string, number>();
  for (const at of own) {
    const kind = describeWork(code[at]);
    if (kind !== null)
      byKind.set(kind, (byKind.get(kind) ?? 0) + (kind.startsWith('LDS') && code[at].bytes === 16 ? 4 : 1));
  }
  const counts = [...byKind.values()];
  const total = counts.reduce((sum, count) => sum + count, 0);
  const repeated = (times: number): boolean =>
    counts.reduce((sum, count) => sum + times * Math.floor(count / times), 0) >= LEAST_WORK * total && total >= times;
  const repeatedExactly = (times: number): boolean => total >= times && counts.every((count) => count % times === 0);
  const streams = findStreams(code, own, sums);
  const steps = compared.flatMap(({ growth }) => (growth && wholeStep(growth)) ?? []);
  // If threads share the iterations, a constant step contains the number of these threads.
  const byThreads = compared.some(
    ({ difference, growth }) => growth !== null && isConstant(growth) && sums.ofThread(difference),
  );
  const step = steps.length === 0 ? null : Math.min(...steps);
  // A loop over matrix fragments may step by the size of a fragment.
  const matrices = [...own].some((at) => code[at].unit === 'matrix');
  // If the step is in bytes, it does not show the unrolling. Each stream then needs an access for each iteration.
  const inBytes = streams.some((one) => one.step === step);
  const stepThrough = (times: number): boolean =>
    streams.every((one) => one.span >= ((times - 1) / times) * one.step && (!inBytes || one.places.size >= times));
  if (step !== null && !matrices)
    for (let times = Math.min(step, MAX_UNROLLED); times > 1; times--) {
      if (step % times !== 0) continue;
      if (streams.length > 0 && repeated(times) && stepThrough(times)) return { iterations: times, repeats: 1 };
      // If streams do not show the number, all work must repeat `step` times; without streams, nearly all work.
      const alone = streams.length === 0 ? repeated(times) : !inBytes && repeatedExactly(times);
      if (times === step && !byThreads && alone) return { iterations: times, repeats: 1 };
    }
  let repeats = 1;
  for (let times = 2; times <= MAX_UNROLLED; times++) if (repeatedExactly(times)) repeats = times;
  const several = counts.length > 1 || (step !== null && step > 1 && step % repeats === 0);
  return { iterations: 1, repeats: several && repeats >= LEAST_ALONE ? repeats : 1 };
}

/** With fewer equal groups of instructions, the body may be a single iteration. */
const LEAST_ALONE = 4;

/** Returns the kind of work that unrolling repeats; null for counters, addresses, moves and branches. */
export function describeWork({ class: kind, moves, text }: Instruction): string | null {
  if (moves || kind === 'integer' || kind === 'control') return null;
  return /^(@\S+ +)?(U?LDC|ld\.param)/.test(text) ? null : splitOperation(text).name;
}

interface Stream {
  /** Growth of the addresses in a pass, bytes. */
  readonly step: number;
  /** Bytes from the start of the first access to the end of the last access in a pass. */
  readonly span: number;
  readonly places: ReadonlySet<number>;
}

/** Finds the streams of a loop: accesses whose addresses differ by constants and grow by a constant. */
function findStreams(code: readonly Instruction[], own: ReadonlySet<number>, sums: Sums): readonly Stream[] {
  const streams = new Map<string, { readonly step: number; low: number; high: number; readonly places: Set<number> }>();
  for (const at of own) {
    if (code[at].class !== 'memory') continue;
    const address = sums.address(at);
    const grown = address && sums.growth(address);
    if (!grown || !isConstant(grown) || grown.constant === 0) continue;
    // Two registers may step through the same array at a constant distance.
    const first = sums.before(address);
    const key = [grown.constant, ...[...first.terms].map(([name, times]) => `${times}*${name}`).sort()].join();
    const high = first.constant + code[at].bytes;
    const known = streams.get(key);
    if (!known)
      streams.set(key, {
        step: Math.abs(grown.constant),
        low: first.constant,
        high,
        places: new Set([first.constant]),
      });
    else {
      known.places.add(first.constant);
      known.low = Math.min(known.low, first.constant);
      known.high = Math.max(known.high, high);
    }
  }
  return [...streams.values()].map(({ step, low, high, places }) => ({ step, span: high - low, places }));
}

/** Returns the step if it is a constant, or its constant factor if it is one product: 4 for `k += 4 * blockDim.x`. */
function wholeStep(grown: Sum): number | null {
  const times = [...grown.terms.values()];
  const step = isConstant(grown)
    ? Math.abs(grown.constant)
    : grown.constant === 0 && times.length === 1
      ? Math.abs(times[0])
      : 0;
  return Number.isInteger(step) && step > 0 ? step : null;
}

const MAX_COMPARED = 16;
const COMPARES = /^(setp|U?ISETP)\b/;

/** A comparison at an exit of a loop. */
export interface Comparison {
  readonly sides: readonly Sum[];
  readonly difference: Sum;
  readonly growth: Sum | null;
}

export function findComparisons(graph: Graph, block: number, sums: Sums): readonly Comparison[] {
  const { code, to } = graph;
  const found = new Set<number>();
  const end = to[block] - 1;
  const makers = (names: readonly string[], at: number): readonly number[] =>
    names.flatMap((name) => sums.carried(name, at) ?? sums.last(name, at) ?? []);
  const waiting = new Set(makers(code[end].reads, end));
  for (const at of waiting) {
    if (waiting.size > MAX_COMPARED) break;
    // The upper half of a 64-bit comparison reads the result of the lower half.
    const { name } = splitOperation(code[at].text);
    if (COMPARES.test(name) && !name.includes('.EX')) found.add(at);
    else
      for (const one of makers(code[at].reads, at)) if (/^(%p|U?P\d)/.test(code[one].writes[0] ?? '')) waiting.add(one);
  }
  return [...found].map((at) => {
    const { name, operands } = splitOperation(code[at].text);
    const compared = name.startsWith('setp') ? operands.slice(1, 3) : operands.slice(2, 4);
    const sides = [0, 1].map((side) => sums.operand(compared[side], at));
    const difference = plus(sides[0], sides[1], -1);
    return { sides, difference, growth: sums.growth(difference) };
  });
}
