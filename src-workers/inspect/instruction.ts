import type { InstructionClass } from '../domain/inspection.ts';

/** What the search for loops, classes and dependencies needs to know about an instruction of PTX or machine code. */
export interface Instruction {
  readonly text: string;
  readonly class: InstructionClass;
  /** Names of the registers and predicates that it reads. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Whether a predicate decides if it executes. If so, the register that it writes may keep its old value. */
  readonly guarded: boolean;
  /** Whether it brings a value from device memory. */
  readonly loads: boolean;
  /** Bytes that a lane moves to or from memory; 0 for other instructions. */
  readonly bytes: number;
  /** Its access to device memory (a load, a store or an atomic): bytes per lane, and the registers of the address. */
  readonly access: { readonly bytes: number; readonly address: readonly string[] } | null;
  /** How it exchanges a value: `shuffle` in a thread group, `barrier` of a block, `near` via shared or local memory. */
  readonly exchange: 'shuffle' | 'barrier' | 'near' | null;
  /** Whether it is an FP32 instruction that reads three different registers. */
  readonly threeRegisters: boolean;
  /** Whether it only copies its operand. */
  readonly moves: boolean;
  /** Whether its result differs between threads by itself, like an index or the result of an atomic. */
  readonly differs: boolean;
  /** Labels to which it may branch. If there are none, the next instruction follows. */
  readonly targets: readonly string[];
  /** Whether it always branches or always ends the thread. A guarded instruction does not. */
  readonly leaves: boolean;
  /** Whether it ends the thread. */
  readonly ends: boolean;
  /** Set for tensor cores, and for arithmetic on one or two 16-bit halves. Predictions have no figures for them. */
  readonly unit: 'matrix' | 'half' | 'two halves' | null;
  /** Whether it calls a function; calls are not followed. */
  readonly calls: boolean;
  /** Whether the assembler turns it into several machine instructions. */
  readonly expands: boolean;
  readonly line: number | null;
  /** Number of marks (`LOOP_MARK`) directly before it. */
  readonly marks: number;
}

export interface KernelCode {
  readonly entry: string;
  readonly arch: string | null;
  readonly instructions: readonly Instruction[];
  /** The position of each label: the instruction after it. */
  readonly labels: ReadonlyMap<string, number>;
}

/** Maximum number of instructions of a kernel, far above any real one. It bounds the computation. */
export const MAX_INSTRUCTIONS = 200_000;

/** The text that marks the loop to inspect: `asm volatile("// lockstep:loop");`. Only PTX keeps it. */
export const LOOP_MARK = 'lockstep:loop';

/** Reads the operands of an instruction, after its guard and its name. */
export function readOperands(text: string): string[] {
  return splitOperands(text.replace(/^@\S+\s+/, '').replace(/^\S+/, ''));
}

/** Splits operands at the commas that are not in brackets. */
export function splitOperands(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const letter = text[at];
    if (letter === '{' || letter === '[' || letter === '(') depth++;
    else if (letter === '}' || letter === ']' || letter === ')') depth--;
    else if (at === text.length || (letter === ',' && depth === 0)) {
      const operand = text.slice(from, at).trim();
      if (operand !== '') found.push(operand);
      from = at + 1;
    }
  }
  return found;
}
