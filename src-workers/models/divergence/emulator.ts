import { ok, type Result, badInput } from '../../domain/result.ts';
import { checkProgram, STACK_LANES, type Operand, type Program } from './program.ts';

/**
 * Emulates the reconvergence stack of a thread group, instruction by instruction: Algorithms 1 and 2 of Bialas,
 * Strzelecki, "Benchmarking the cost of thread divergence in CUDA", 2015, arXiv:1504.01650, after US patent 8,312,254.
 */

/** A synchronisation token. Its mask has one bit per lane, with lane 0 in the lowest bit. */
export interface Token {
  readonly mask: number;
  readonly id: 'SYNC' | 'DIV';
  readonly pc: number;
}

/** The fast part of the stack: entries that do not fit are spilled from its bottom, and loaded back when needed. */
export interface StackShape {
  readonly fastEntries: number;
  readonly chunkEntries: number;
}

/** 16 tokens of 64 bits on the chip, moved in chunks of four (32 bytes), as the paper infers for Kepler and Maxwell. */
export const PUBLISHED_STACK: StackShape = { fastEntries: 16, chunkEntries: 4 };

export interface StackEvent {
  readonly kind: 'push' | 'pop';
  readonly step: number;
  readonly token: Token;
}

export interface StackRun {
  /** Number of executed instructions, and length of the typed arrays. */
  readonly executed: number;
  readonly programCounters: Uint32Array;
  readonly activeMasks: Uint32Array;
  readonly depths: Uint16Array;
  readonly maxDepth: number;
  readonly pushes: number;
  readonly pops: number;
  readonly divergentBranches: number;
  readonly spills: number;
  readonly loads: number;
  readonly events: readonly StackEvent[];
}

const MAX_INSTRUCTIONS = 1_000_000;

/**
 * @param registers by name, an initial value for each of at most 32 lanes; other registers start at 0
 * @returns the run, or `bad-input` for bad lanes, or a program that is wrong, pops an empty stack or does not end
 */
export function runProgram(
  program: Program,
  registers: Readonly<Record<string, readonly number[]>>,
  shape: StackShape = PUBLISHED_STACK,
): Result<StackRun> {
  const checked = checkProgram(program);
  if (!checked.ok) return checked;
  const lanes = Math.max(0, ...Object.values(registers).map((values) => values.length));
  if (lanes < 1 || lanes > STACK_LANES || Object.values(registers).some((values) => values.length !== lanes)) {
    return badInput(
      `All registers must have the same number of lanes, from 1 to ${STACK_LANES}. The longest has ${lanes}.`,
    );
  }
  const file = new Map(Object.entries(registers).map(([name, values]) => [name, Float64Array.from(values)]));
  const registerOf = (name: string) => {
    let values = file.get(name);
    if (!values) file.set(name, (values = new Float64Array(lanes)));
    return values;
  };
  const valueOf = (operand: Operand, lane: number) =>
    typeof operand === 'number' ? operand : registerOf(operand.register)[lane];

  const { instructions } = program;
  const stack: Token[] = [];
  const events: StackEvent[] = [];
  const programCounters: number[] = [];
  const activeMasks: number[] = [];
  const depths: number[] = [];
  const count = { pushes: 0, pops: 0, divergentBranches: 0, spills: 0, loads: 0, maxDepth: 0 };
  let spilled = 0;
  let activeMask = lanes === 32 ? 0xffffffff : 2 ** lanes - 1;
  let predicate = 0;
  let pc = 0;

  const push = (token: Token) => {
    if (stack.length - spilled === shape.fastEntries) {
      spilled += shape.chunkEntries;
      count.spills++;
    }
    stack.push(token);
    events.push({ kind: 'push', step: depths.length, token });
    count.pushes++;
    count.maxDepth = Math.max(count.maxDepth, stack.length);
  };

  while (pc < instructions.length) {
    if (depths.length === MAX_INSTRUCTIONS) {
      return badInput(`The program "${program.name}" does not end within ${MAX_INSTRUCTIONS} instructions.`);
    }
    const at = pc;
    const instruction = instructions[pc];
    if (instruction.pop) {
      const token = stack.at(-1);
      if (!token) {
        const message = `Instruction ${pc} of "${program.name}" pops an empty stack.`;
        return badInput(message, { instruction: pc });
      }
      if (stack.length === spilled) {
        spilled -= shape.chunkEntries;
        count.loads++;
      }
      stack.pop();
      events.push({ kind: 'pop', step: depths.length, token });
      count.pops++;
      activeMask = token.mask;
      pc = token.pc;
    } else if (instruction.op !== 'branch') pc++;

    switch (instruction.op) {
      case 'ssy':
        push({ mask: activeMask, id: 'SYNC', pc: instruction.target });
        break;
      case 'branch': {
        const taken = (activeMask & predicate) >>> 0;
        if (taken === 0) {
          pc++;
          break;
        }
        if (taken !== activeMask) {
          push({ mask: (activeMask & ~predicate) >>> 0, id: 'DIV', pc: pc + 1 });
          count.divergentBranches++;
        }
        activeMask = taken;
        pc = instruction.target;
        break;
      }
      case 'less':
        for (let lane = 0; lane < lanes; lane++) {
          const bit = 1 << lane;
          if (!(activeMask & bit)) continue;
          predicate =
            valueOf(instruction.left, lane) < valueOf(instruction.right, lane) ? predicate | bit : predicate & ~bit;
        }
        break;
      case 'set':
      case 'add': {
        const target = registerOf(instruction.register);
        for (let lane = 0; lane < lanes; lane++) {
          if (!(activeMask & (1 << lane))) continue;
          target[lane] = valueOf(instruction.value, lane) + (instruction.op === 'add' ? target[lane] : 0);
        }
        break;
      }
      case 'work':
        break;
    }
    programCounters.push(at);
    activeMasks.push(activeMask);
    depths.push(stack.length);
  }
  return ok({
    executed: depths.length,
    programCounters: Uint32Array.from(programCounters),
    activeMasks: Uint32Array.from(activeMasks),
    depths: Uint16Array.from(depths),
    events,
    ...count,
  });
}
