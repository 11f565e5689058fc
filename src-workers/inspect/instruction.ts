import type { InstructionClass } from '../domain/inspection.ts';

export interface Instruction {
  readonly text: string;
  readonly class: InstructionClass;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Whether the instruction runs only under a predicate. A register that it writes may then keep its old value. */
  readonly guarded: boolean;
  readonly loads: boolean;
  /** Bytes that a lane moves to or from memory. */
  readonly bytes: number;
  /** The access to device memory (a load, a store or an atomic): bytes per lane, and the registers of the address. */
  readonly access: { readonly bytes: number; readonly address: readonly string[] } | null;
  /** How a value is exchanged: `shuffle` in a thread group, `barrier` of a block, `near` via shared or local memory. */
  readonly exchange: 'shuffle' | 'barrier' | 'near' | null;
  readonly threeRegisters: boolean;
  readonly moves: boolean;
  /** Whether the result differs between threads by itself, like an index or the result of an atomic. */
  readonly differs: boolean;
  readonly targets: readonly string[];
  /** Whether the instruction always branches or always ends the thread. A guarded instruction does not. */
  readonly leaves: boolean;
  readonly ends: boolean;
  /** Set for tensor cores, and for arithmetic on one or two 16-bit halves. Predictions have no figures for them. */
  readonly unit: 'matrix' | 'half' | 'two halves' | null;
  readonly calls: boolean;
  /** Whether the assembler turns this PTX instruction into several machine instructions. */
  readonly expands: boolean;
  readonly line: number | null;
  /** Number of marks (`LOOP_MARK`) directly before the instruction. */
  readonly marks: number;
}

export interface KernelCode {
  readonly entry: string;
  readonly arch: string | null;
  readonly instructions: readonly Instruction[];
  /** The instruction after each label. */
  readonly labels: ReadonlyMap<string, number>;
}

/** Bounds the time of an inspection. Real kernels have far fewer instructions. */
export const MAX_INSTRUCTIONS = 200_000;

/** Marks the loop to inspect: `asm volatile("// lockstep:loop");`. Only PTX keeps the mark. */
export const LOOP_MARK = 'lockstep:loop';

export function splitOperation(text: string): { readonly name: string; readonly operands: readonly string[] } {
  const [, name = '', rest = ''] = /^(?:@\S+\s+)?(\S+)\s*([^]*)$/.exec(text) ?? [];
  return { name, operands: splitOperands(rest) };
}

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
