import { CUDA_GROUP_WIDTH } from '../domain/ability.ts';
import type { InstructionClass } from '../domain/inspection.ts';
import { LOOP_MARK, MAX_INSTRUCTIONS, splitOperation, type Instruction, type KernelCode } from './instruction.ts';

/** Reads the kernels of a PTX file (Parallel Thread Execution ISA 9.0), and skips other functions. */
export function parsePtx(text: string): KernelCode[] {
  const kernels: KernelCode[] = [];
  const arch = /^[ \t]*\.target[ \t]+(sm_\w+)/m.exec(text)?.[1] ?? null;
  let open: Body | null = null;
  let entry: string | null = null;
  for (const line of withoutBlocks(text).split('\n')) {
    if (open === null) {
      const named = /^[^/]*\.entry\s+([\w$.]+)/.exec(line);
      if (named) entry = named[1];
      else if (/^[^/]*\.func\b/.test(line)) entry = null;
      if (entry !== null && line.startsWith('{')) {
        open = new Body();
        open.take(line.slice(1));
      }
    } else open.take(line);
    if (open?.closed && entry !== null) {
      kernels.push({ entry, arch, instructions: withoutUnusedResults(open.instructions), labels: open.labels });
      open = null;
      entry = null;
    }
  }
  return kernels;
}

/** Marks atomics whose result is not read as no loads: nothing waits for them. In machine code, most are reductions. */
function withoutUnusedResults(instructions: readonly Instruction[]): readonly Instruction[] {
  const read = new Set(instructions.flatMap(({ reads }) => reads));
  return instructions.map((one) =>
    /^(@\S+\s+)?atom\b/.test(one.text) && !one.writes.some((register) => read.has(register))
      ? { ...one, loads: false }
      : one,
  );
}

/** Line comments stay, because one may mark a loop. */
function withoutBlocks(text: string): string {
  let rest = '';
  let at = 0;
  for (;;) {
    const from = text.indexOf('/*', at);
    const to = from < 0 ? -1 : text.indexOf('*/', from + 2);
    if (to < 0) return rest + text.slice(at);
    rest += text.slice(at, from);
    at = to + 2;
  }
}

class Body {
  readonly instructions: Instruction[] = [];
  readonly labels = new Map<string, number>();
  /** Targets of indexed branches, by the label of the list of targets. */
  private readonly lists = new Map<string, readonly string[]>();
  private listLabel = '';
  private depth = 1;
  private marks = 0;
  private line: number | null = null;
  private statement = '';
  private begun = false;
  closed = false;

  take(raw: string): void {
    const comment = raw.indexOf('//');
    const code = comment < 0 ? raw : raw.slice(0, comment);
    if (comment >= 0 && raw.slice(comment + 2).trim() === LOOP_MARK) this.marks++;
    const place = /^\s*\.loc\s+\d+\s+(\d+)/.exec(code);
    if (place) {
      // Line 0 means that the compiler does not know the line.
      if (Number(place[1]) > 0) this.line = Number(place[1]);
      return;
    }
    for (const piece of code.split(/([;{}])/)) {
      if (this.closed) return;
      if (piece === ';') this.end();
      // Within a statement, braces enclose the elements of a vector.
      else if ((piece === '{' || piece === '}') && this.begun) this.statement += piece;
      else if (piece === '{') this.depth++;
      else if (piece === '}') this.closed = --this.depth === 0;
      else this.words(piece);
    }
    this.statement += ' ';
  }

  private words(piece: string): void {
    let rest = piece;
    for (let label; !this.begun && (label = /^\s*([\w$]+):(?!:)/.exec(rest)) !== null;) {
      this.labels.set(label[1], this.instructions.length);
      this.listLabel = label[1];
      rest = rest.slice(label[0].length);
    }
    this.statement += rest;
    this.begun ||= /\S/.test(rest);
  }

  private end(): void {
    const statement = this.statement.trim();
    this.statement = '';
    this.begun = false;
    if (statement.startsWith('.branchtargets'))
      this.lists.set(this.listLabel, statement.slice('.branchtargets'.length).match(/[\w$]+/g) ?? []);
    if (statement === '' || statement.startsWith('.') || this.instructions.length > MAX_INSTRUCTIONS) return;
    const read = instruction(statement, this.line, this.marks, this.instructions.at(-1)?.text ?? '');
    this.marks = 0;
    this.instructions.push(
      read.targets.length === 1 && this.lists.has(read.targets[0])
        ? { ...read, targets: this.lists.get(read.targets[0])! }
        : read,
    );
  }
}

const NO_RESULT =
  /^(st|red|bra|brx|bar|barrier|ret|exit|trap|call|membar|fence|prefetch|prefetchu|nanosleep|cp|sust|pmevent|brkpt)$/;
const MEMORY =
  /^(ld|ldu|st|atom|red|tex|tld4|suld|sust|sured|prefetch|prefetchu|shfl|cp|mbarrier|ldmatrix|stmatrix|multimem)$/;
const CONTROL =
  /^(bra|brx|ret|exit|call|bar|barrier|membar|fence|trap|nanosleep|brkpt|pmevent|griddepcontrol|setmaxnreg|elect)$/;
const SPECIAL = /^(rcp|sqrt|rsqrt|sin|cos|lg2|ex2|tanh|div)$/;
const LOADS = /^(ld|ldu|tex|tld4|suld|atom)$/;
const ACCESSES = /^(ld|ldu|st|atom|red)$/;
const EXCHANGES = /^(ld|atom)\b.*\.(shared|local)\b|^ldmatrix\b/;
const NEAR = /\.(shared|local|param|const)\b/;
const LANE = /^%(tid|laneid|lanemask_\w+)\b/;

/** @param before the text of the previous instruction; the assembler may reuse its operands */
function instruction(text: string, line: number | null, marks: number, before: string): Instruction {
  const guard = /^@!?([%\w$]+)\s+/.exec(text);
  const { name, operands } = splitOperation(text);
  // Loads and stores of matrix fragments for tensor cores count like other loads and stores.
  const [operation] = name.replace(/^wmma\.(load|store)/, (_, what) => (what === 'load' ? 'ld' : 'st')).split('.', 1);
  const names = operands.map((operand) => operand.match(/[%$A-Za-z_][\w$.]*/g) ?? []);
  // `call (result), function, (arguments)` has a result; it reads its arguments from parameters.
  const results = NO_RESULT.test(operation) ? [] : (names[0] ?? []);
  const branches = operation === 'bra' || operation === 'brx';
  const ends = operation === 'ret' || operation === 'exit' || operation === 'trap';
  const targets = branches ? (names.at(-1) ?? []) : [];
  const near = NEAR.test(name);
  const kind = classify(operation, name);
  return {
    text,
    class: kind,
    bytes: kind === 'memory' ? countBytes(name) : 0,
    reads: [
      ...(guard ? [guard[1]] : []),
      ...(branches ? names.slice(0, -1) : results.length > 0 ? names.slice(1) : names).flat(),
    ],
    writes: results,
    guarded: guard !== null,
    loads: LOADS.test(operation) && !near,
    access:
      ACCESSES.test(operation) && !near
        ? { bytes: countBytes(name), address: names.filter((_, at) => operands[at].startsWith('[')).flat() }
        : null,
    exchange: /^(shfl|redux)$/.test(operation)
      ? 'shuffle'
      : /^(bar|barrier)$/.test(operation) && !name.includes('.warp')
        ? 'barrier'
        : EXCHANGES.test(name)
          ? 'near'
          : null,
    threeRegisters: kind === 'fp32' && countFetched(operands, before) === 3,
    moves: operation === 'mov',
    differs: operation === 'atom' || names.some((words) => words.some((word) => LANE.test(word))),
    targets,
    leaves: guard === null && (branches || ends),
    ends,
    unit:
      /^(mma|wgmma|tcgen05)$/.test(operation) || /^wmma\.mma\b/.test(name)
        ? 'matrix'
        : kind === 'memory' || operation === 'mov'
          ? null
          : /\.b?f16x2\b/.test(name)
            ? 'two halves'
            : /\.b?f16\b/.test(name) && operation !== 'cvt'
              ? 'half'
              : null,
    calls: operation === 'call',
    expands: /^(div|rem)$/.test(operation) || /^(sqrt|rcp)\.r[nzmp]/.test(name),
    line,
    marks,
  };
}

/**
 * Counts the different registers that an instruction reads from the register file. The assembler reuses an operand of
 * the previous instruction in the same position, unless the instruction waits for the result of the previous one.
 */
function countFetched([, ...sources]: readonly string[], before: string): number {
  const [result, ...kept] = splitOperation(before).operands;
  const waits = sources.includes(result);
  return new Set(sources.filter((source, at) => source.startsWith('%') && (waits || source !== kept[at]))).size;
}

/** Returns 8 for `ld.global.v2.u32`; for a matrix fragment, a lane's part of its bytes. */
function countBytes(name: string): number {
  const piece = /^wmma\.(?:load|store)\.([abcd])\..*\.m(\d+)n(\d+)k(\d+)\b/.exec(name);
  if (piece) {
    const [m, n, k] = piece.slice(2).map(Number);
    const elements = { a: m * k, b: k * n, c: m * n, d: m * n }[piece[1] as 'a' | 'b' | 'c' | 'd'];
    return (elements * Number(/\.(?:b?f|[busf]|tf)(\d+)$/.exec(name)?.[1] ?? 32)) / 8 / CUDA_GROUP_WIDTH;
  }
  const bits = [...name.matchAll(/\.b?[busf](\d+)/g)].at(-1)?.[1] ?? '32';
  return (Number(/\.v(\d)\b/.exec(name)?.[1] ?? 1) * Number(bits)) / 8;
}

const isFloat = (type: string): boolean => /^(b?f|tf|e\dm)\d/.test(type);

function classify(operation: string, name: string): InstructionClass {
  if (MEMORY.test(operation)) return 'memory';
  if (CONTROL.test(operation)) return 'control';
  const types = name.split('.').filter((part) => /^(b?f|tf|[subf])\d+(x\d+)?$|^(e\dm\d\w*)$/.test(part));
  if (operation === 'cvt') {
    const [to = '', of = ''] = types;
    if (isFloat(to) !== isFloat(of)) return 'special';
    return to === 'f64' || of === 'f64' ? 'fp64' : isFloat(to) ? 'fp32' : 'integer';
  }
  if (operation === 'mov') return 'integer';
  if (types.includes('f64')) return 'fp64';
  const float = types.some(isFloat);
  if (SPECIAL.test(operation) && float) return 'special';
  return float ? 'fp32' : 'integer';
}
