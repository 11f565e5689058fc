import { ok, type Result, badInput } from '../../domain/result.ts';

export type Operand = number | { readonly register: string };

/**
 * One instruction of a small SIMT machine with a reconvergence stack. A target is a position in the program, or
 * the program's length to end it.
 *
 * - `ssy`: pushes a SYNC token (active mask, target), so that the lanes can meet again at the target.
 * - `branch`: jumps where the predicate holds. If only some active lanes jump, pushes a DIV token for the others.
 * - `less`: sets the predicate in the active lanes to left < right.
 * - `set`, `add`: change integer registers of the active lanes.
 * - `work`: any other instruction.
 *
 * `pop` is the pop-bit (`.S`): a token is popped before the instruction executes. `ssy` and `branch` have none.
 */
export type Instruction = { readonly text: string; readonly pop?: true } & (
  | { readonly op: 'ssy'; readonly target: number }
  | { readonly op: 'branch'; readonly target: number }
  | { readonly op: 'less'; readonly left: Operand; readonly right: Operand }
  | { readonly op: 'set'; readonly register: string; readonly value: Operand }
  | { readonly op: 'add'; readonly register: string; readonly value: Operand }
  | { readonly op: 'work' }
);

export interface Program {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** Masks have 32 bits. */
export const STACK_LANES = 32;

/** Refuses targets outside the program, and a pop-bit where the machine would ignore it. */
export function checkProgram(program: Program): Result<Program> {
  const { instructions } = program;
  for (const [position, instruction] of instructions.entries()) {
    if (instruction.op !== 'ssy' && instruction.op !== 'branch') continue;
    const { target } = instruction;
    if (!Number.isInteger(target) || target < 0 || target > instructions.length) {
      const message = `Instruction ${position}: the target must be an integer from 0 to ${instructions.length}, not ${target}.`;
      return badInput(message, { instruction: position });
    }
    if (instruction.pop) {
      const message = `Instruction ${position}: ${instruction.op} cannot have a pop-bit.`;
      return badInput(message, { instruction: position });
    }
  }
  return ok(program);
}

/** A loop of M iterations per lane, as disassembled: Bialas, Strzelecki 2015, Listing 3, without timers. */
export const SINGLE_LOOP: Program = {
  name: 'single loop',
  instructions: [
    { text: 'ISETP P0 = M < 1', op: 'less', left: { register: 'M' }, right: 1 },
    { text: 'SSY end', op: 'ssy', target: 10 },
    { text: '@P0 BRA leave', op: 'branch', target: 9 },
    { text: 'NOP', op: 'work' },
    { text: 'NOP', op: 'work' },
    { text: 'IADD i, 1', op: 'add', register: 'i', value: 1 },
    { text: 'FADD sum', op: 'work' },
    { text: 'ISETP P0 = i < M', op: 'less', left: { register: 'i' }, right: { register: 'M' } },
    { text: '@P0 BRA body', op: 'branch', target: 5 },
    { text: 'NOP.S', op: 'work', pop: true },
  ],
};

/** A loop of M iterations per lane around a loop of N (registers `M`, `N`). Bialas, Strzelecki 2015, Listing 4. */
export const DOUBLE_LOOP: Program = {
  name: 'double loop',
  instructions: [
    { text: 'ISETP P0 = M < 1', op: 'less', left: { register: 'M' }, right: 1 },
    { text: 'SSY end', op: 'ssy', target: 18 },
    { text: '@P0 BRA leave', op: 'branch', target: 17 },
    { text: 'MOV i, 0', op: 'set', register: 'i', value: 0 },
    { text: 'ISETP P0 = N < 1', op: 'less', left: { register: 'N' }, right: 1 },
    { text: 'MOV j, 0', op: 'set', register: 'j', value: 0 },
    { text: 'SSY next', op: 'ssy', target: 13 },
    { text: '@P0 BRA leave inner', op: 'branch', target: 12 },
    { text: 'IADD j, 1', op: 'add', register: 'j', value: 1 },
    { text: 'FADD sum', op: 'work' },
    { text: 'ISETP P0 = j < N', op: 'less', left: { register: 'j' }, right: { register: 'N' } },
    { text: '@P0 BRA inner body', op: 'branch', target: 8 },
    { text: 'NOP.S', op: 'work', pop: true },
    { text: 'IADD i, 1', op: 'add', register: 'i', value: 1 },
    { text: 'FADD sum', op: 'work' },
    { text: 'ISETP P0 = i < M', op: 'less', left: { register: 'i' }, right: { register: 'M' } },
    { text: '@P0 BRA outer body', op: 'branch', target: 4 },
    { text: 'NOP.S', op: 'work', pop: true },
  ],
};

/** Loop limits: 31, 30, … 32 − n in the n divergent lanes, and 32 in all others (Bialas, Strzelecki, Table I). */
export function loopLimits(divergentLanes: number): number[] {
  return Array.from({ length: STACK_LANES }, (_, lane) =>
    Math.min(STACK_LANES, 2 * STACK_LANES - 1 - divergentLanes - lane),
  );
}
