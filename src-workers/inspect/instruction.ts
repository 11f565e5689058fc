import type { InstructionClass } from '../domain/inspection.ts';

export interface Instruction {
  readonly text: string;
  readonly class: InstructionClass;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Whether a predicate decides if it executes. If so, the register that it writes may keep its old value. */
  readonly guarded: boolean;
  /** Whether it brings a value from device memory. */
  readonly loads: boolean;
  /** Bytes that a lane moves to or from memory. */
  readonly bytes: number;
  /** Its access to device memory (a load, a store or an atomic): bytes per lane, and the registers of the address. */
  readonly access: { readonly bytes: number; readonly address: readonly string[] } | null;
  /** How it exchanges a value: `shuffle` in a thread group, `barrier` of a block, `near` via shared or local memory. */
  readonly exchange: 'shuffle' | 'barrier' | 'near' | null;
  /** Whether it is an FP32 instruction that reads three different registers. */
  readonly threeRegisters: boolean;
  readonly moves: boolean;
  /** Whether its result differs between threads by itself, like an index or the result of an atomic. */
  readonly differs: boolean;
  /** Labels to which it may branch. If there are none, the next instruction follows. */
  readonly targets: readonly string[];
  /** Whether it always branches or always ends the thread. A guarded instruction does not. */
  readonly leaves: boolean;
  readonly ends: boolean;
  /** Set for tensor cores, and for arithmetic on one or two 16-bit halves. Predictions have no figures for them. */
  readonly unit: 'matrix' | 'half' | 'two halves' | null;
  /** Calls of functions are not followed. */
  readonly calls: boolean;
  /** Whether the assembler turns it into several machine instructions. */
  readonly expands: boolean;
  readonly line: number | null;
  /** Marks (`LOOP_MARK`) directly before it. */
  readonly marks: number;
}

export interface KernelCode {
  readonly entry: string;
  readonly arch: string | null;
  readonly instructions: readonly Instruction[];
  /** The instruction after each label. */
  readonly labels: ReadonlyMap<string, number>;
}

/** Far above any real kernel. It bounds the computation. */
export const MAX_INSTRUCTIONS = 200_000;

/** Marks the loop to inspect: `asm volatile("// lockstep:loop");`. Only PTX keeps the mark. */
export const LOOP_MARK = 'lockstep:loop';

/** The name has no guard. */
export function splitOperation(text: string): { readonly name: string; readonly operands: readonly string[] } {
  const [, name = '', rest = ''] = /^(?:@\S+\s+)?(\S+)\s*([^]*)$/.exec(text) ?? [];
  return { name, operands: splitOperands(rest) };
}

/** Splits operands at the commas that are not in brackets. */
function splitOperands(text: string): string[] {
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
