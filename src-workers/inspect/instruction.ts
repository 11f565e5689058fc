import type { InstructionClass } from '../domain/inspection.ts';

/** One instruction of PTX or of machine code, as far as loops, their classes and their dependencies need it. */
export interface Instruction {
  /** Text of the listing. */
  readonly text: string;
  readonly class: InstructionClass;
  /** Names of the registers, predicates among them. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Whether a predicate decides if it executes: what it writes may then keep its old value. */
  readonly guarded: boolean;
  /** Whether it brings a value from device memory. */
  readonly loads: boolean;
  /** Bytes that a lane moves to or from memory; else 0. */
  readonly bytes: number;
  /** Its access to device memory, a load, a store or an atomic: bytes of a lane, and the registers of the address. */
  readonly access: { readonly bytes: number; readonly address: readonly string[] } | null;
  /**
   * How it passes a value between lanes or through the multiprocessor: `shuffle` between the lanes of a thread group,
   * `barrier` of a block, `near` from shared or local memory.
   */
  readonly exchange: 'shuffle' | 'barrier' | 'near' | null;
  /** Whether it copies its operand. */
  readonly moves: boolean;
  /** Whether its result always differs between threads, as their index or the result of an atomic does. */
  readonly differs: boolean;
  /** Labels it may branch to; without any the next instruction follows. */
  readonly targets: readonly string[];
  /** Whether a branch always goes to a target, or an end always ends. Not of guarded ones. */
  readonly leaves: boolean;
  /** Ends the thread. */
  readonly ends: boolean;
  /** Executed by tensor cores, or on one or two halves of 16 bits at once. A prediction has no figures for these. */
  readonly unit: 'matrix' | 'half' | 'two halves' | null;
  /** Calls a function, which is not followed. */
  readonly calls: boolean;
  /** Stands for several instructions of the machine. */
  readonly expands: boolean;
  readonly line: number | null;
  /** How many marks stand right before it. */
  readonly marks: number;
}

/** The code of one kernel. */
export interface KernelCode {
  readonly entry: string;
  readonly arch: string | null;
  readonly instructions: readonly Instruction[];
  /** Where a label stands: the instruction that follows it. */
  readonly labels: ReadonlyMap<string, number>;
}

/** Far above any kernel; keeps what is computed of one bounded. */
export const MAX_INSTRUCTIONS = 200_000;

/** What marks the loop that counts in a source: `asm volatile("// lockstep:loop");`. It survives in PTX only. */
export const LOOP_MARK = 'lockstep:loop';

/** Operands, separated by commas that stand in no brackets. */
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
