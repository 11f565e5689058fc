import type { InstructionClass } from '../domain/inspection.ts';
import { MAX_INSTRUCTIONS, splitOperation, type Instruction, type KernelCode } from './instruction.ts';

/** Reads `nvdisasm -c -g` or `cuobjdump -sass` (CUDA Binary Utilities), compute capability 7.0 and above. */
export function parseSass(text: string): KernelCode[] {
  const kernels: KernelCode[] = [];
  let arch: string | null = null;
  let open: { instructions: Instruction[]; labels: Map<string, number> } | null = null;
  let line: number | null = null;
  /** Whether the source line of the next code is known. For inlined code, the first line named is the innermost. */
  let placed = false;
  for (const raw of text.split('\n')) {
    const row = raw.slice(0, MAX_ROW);
    const target = /(?:EF_CUDA_SM|\.target\s+sm_|code for sm_|arch = sm_)(\d+\w?)/.exec(row);
    if (target) arch = `sm_${target[1].toLowerCase()}`;
    const section = /^\.text\.([\w$.]+):/.exec(row) ?? /^\s*Function\s*:\s*([\w$.]+)/.exec(row);
    if (section) {
      open = { instructions: [], labels: new Map() };
      kernels.push({ entry: section[1], arch, ...open });
      line = null;
      continue;
    }
    if (!open) continue;
    if (/^\s*\.section\s/.test(row)) open = null;
    const place = /^\s*\/\/##\s+File\s+"[^"]*",\s*line\s+(\d+)/.exec(row);
    if (place) {
      if (!placed) line = Number(place[1]);
      placed = true;
      continue;
    }
    const label = /^\s*(\.L[\w$.]*):/.exec(row);
    if (label && open) open.labels.set(label[1], open.instructions.length);
    const found = /^\s*\/\*([0-9a-f]{4,16})\*\/\s+\{?\s*([@A-Z][^;]*);/.exec(row);
    if (!found || !open || open.instructions.length > MAX_INSTRUCTIONS) continue;
    placed = false;
    open.labels.set(address(found[1]), open.instructions.length);
    open.instructions.push(instruction(found[2].trim(), line, open.instructions.at(-1)?.text ?? ''));
  }
  // The listing of a called function has neither a kernel name nor an instruction that ends the thread.
  return kernels.filter(({ instructions }) => instructions.length > 0);
}

/** The limit bounds the search in a listing without line ends. Instructions are far shorter. */
const MAX_ROW = 4096;
const address = (hexadecimal: string): string => `0x${hexadecimal.replace(/^0+(?=.)/, '')}`;

const MEMORY =
  /^(LD|ST|ATOM|RED$|REDG|REDS|TEX|TLD|TXD|TXQ|TMML|SULD|SUST|SUATOM|SURED|CCTL|SHFL|UTMA|UBLK|UBLKCP|ULDC|ULD)/;
const CONTROL =
  /^(BRA|BRX|BRXU|JMP|JMX|EXIT|RET|CALL|BSSY|BSYNC|BREAK|BMOV|WARPSYNC|BAR|YIELD|NOP|DEPBAR|LDGDEPBAR|KILL|BPT|NANOSLEEP|MEMBAR|ERRBAR|LEPC|RPCMOV|SYNCS|SYNC|SSY|PBK|BRK|WARPGROUP|UCGABAR|ACQBULK|ENDCOLLECTIVE)\w*$/;
const SPECIAL = /^(MUFU|I2F|F2I|FRND|F2F)$/;
/** `LD` is a generic load. LDS, LDL, LDC and LDSM rarely wait for device memory. */
const LOADS = /^(LD|LDG|TEX|TLD|TLD4|TXD|SULD|ATOM|ATOMG|SUATOM)$/;
const ACCESSES = /^(LD|LDG|ST|STG|ATOM|ATOMG|RED|REDG)$/;
/** Tensor cores: HMMA, IMMA, BMMA, DMMA, QMMA, and the instructions of warp groups. */
const MATRIX = /^([HIBDQO]MMA|[HIBQ]GMMA|UTC\w*MMA)$/;
const NO_RESULT = /^(ST|STG|STS|STL|STSM|RED|REDG|SUST|CCTL|LDGSTS)$/;

function instruction(text: string, line: number | null, before: string): Instruction {
  const guard = /^@!?(U?P(?:\d|T))\s+/.exec(text);
  const { name, operands } = splitOperation(text);
  const operation = name.split('.', 1)[0];
  // Up to compute capability 8.x, a loop may also be left by a call to code in the kernel that never returns.
  const jumps = name === 'CALL.REL.NOINC' && (/`\(\.L/.test(text) || (guard !== null && !text.includes('`')));
  const isBranch = jumps || /^(BRA|BRX|JMP|JMX)U?$/.test(operation);
  const ends = /^(EXIT|RET|KILL)$/.test(operation);
  const results =
    isBranch || ends || NO_RESULT.test(operation) || CONTROL.test(operation) ? 0 : resultCount(name, operands);
  const wide = findWidth(name, operation);
  // HFMA2 with RZ as its first source returns its addend, so it counts as a move.
  const moves =
    operation === 'MOV' || name.startsWith('IMAD.MOV') || (operation === 'HFMA2' && /^-?RZ$/.test(operands[1] ?? ''));
  const kind = moves ? 'integer' : classify(operation);
  const guarded = guard !== null && guard[1] !== 'PT' && guard[1] !== 'UPT';
  const reads = operands
    .slice(results)
    .flatMap((operand, at) => registers(operand, readWidth(operation, name, operand, at)));
  return {
    text,
    class: kind,
    bytes: kind === 'memory' ? countBytes(name) : 0,
    reads: guarded ? [guard[1], ...reads] : reads,
    writes: operands.slice(0, results).flatMap((operand) => registers(operand, wide)),
    guarded,
    loads: LOADS.test(operation),
    access: ACCESSES.test(operation)
      ? // The low half of an address shows how it grows.
        { bytes: countBytes(name), address: [...text.matchAll(/\[(U?R\d+)/g)].map(([, register]) => register) }
      : null,
    exchange: /^(SHFL|REDUX)$/.test(operation)
      ? 'shuffle'
      : operation === 'BAR'
        ? 'barrier'
        : /^(LDS|LDSM|LDL|ATOMS)$/.test(operation)
          ? 'near'
          : null,
    threeRegisters: kind === 'fp32' && countFetched(operands.slice(results), before) === 3,
    moves,
    differs:
      /^(ATOM|SUATOM)/.test(operation) || /\bSR_(TID|LANEID|LANEMASK|EQMASK|LTMASK|LEMASK|GTMASK|GEMASK)/.test(text),
    targets: isBranch ? (/`\((\.[\w$.]+)\)/.exec(text)?.slice(1) ?? hexadecimal(operands.at(-1) ?? '')) : [],
    // An instruction with `@!PT` is padding, which never executes.
    leaves: (isBranch || ends) && !guarded && !text.startsWith('@!'),
    ends,
    unit: MATRIX.test(operation) ? 'matrix' : !moves && /^H\w*2$/.test(operation) ? 'two halves' : null,
    calls: operation === 'CALL' && !jumps,
    expands: false,
    line,
    marks: 0,
  };
}

/** Counts the registers that an instruction reads, without values that the previous one marked with `.reuse`. */
function countFetched(operands: readonly string[], before: string): number {
  const places = splitOperation(before).operands.slice(-operands.length);
  const fetched = operands.flatMap((operand, at) => {
    const [register] = /\bR\d+\b/.exec(operand) ?? [];
    return register === undefined || places[at]?.includes(`${register}.reuse`) ? [] : [register];
  });
  return new Set(fetched).size;
}

const hexadecimal = (operand: string): string[] => {
  const found = /\b0x([0-9a-f]+)$/.exec(operand);
  return found ? [address(found[1])] : [];
};

const isPredicate = (operand = ''): boolean => /^U?P(\d|T)$/.test(operand);
const isRegister = (operand = ''): boolean => /^U?R(\d+|Z)$/.test(operand);

/** Returns 2 for `ISETP.GE.AND P0, PT, …`, and 3 for `IADD3 R2, P0, P1, …` (a register and two carries). */
function resultCount(name: string, operands: readonly string[]): number {
  if (/^\w*SETP|^U?PLOP3/.test(name)) return Math.min(2, operands.length);
  let count = 0;
  while (isPredicate(operands[count]) && count < 2) count++;
  if (!isRegister(operands[count])) return count;
  // `FCHK P0, R4, R5` reads two registers. A shuffle, an atomic or a load writes a predicate and then a register.
  if (count > 0 && !/^(SHFL|MATCH|\w*ATOM|LD)/.test(name)) return count;
  count++;
  const carries = /^U?(IADD3|LEA|IMAD)/.test(name) ? 2 : /^U?(VOTE|MATCH)/.test(name) ? 1 : 0;
  for (let left = carries; left > 0 && isPredicate(operands[count]); left--) count++;
  return count;
}

function findWidth(name: string, operation: string): number {
  if (name.includes('.128')) return 4;
  return name.includes('.64') || name.includes('.WIDE') || /^D(ADD|MUL|FMA)$/.test(operation) || name.includes('.F64')
    ? 2
    : 1;
}

function countBytes(name: string): number {
  const parts = name.split('.');
  if (parts.includes('128')) return 16;
  if (parts.includes('64')) return 8;
  return parts.some((part) => /^[US]16$/.test(part)) ? 2 : parts.some((part) => /^[US]8$/.test(part)) ? 1 : 4;
}

function readWidth(operation: string, name: string, operand: string, at: number): number {
  if (/^D(ADD|MUL|FMA|SETP|MNMX)$/.test(operation)) return 2;
  // Addresses of device memory have 64 bits, and so has the addend of a wide product.
  if (operand.includes('[') && LOADS.test(operation)) return 2;
  return name.includes('.WIDE') && at === 2 ? 2 : 1;
}

/** RZ and PT are constants, so they do not count. */
function registers(operand: string, width: number): string[] {
  const found: string[] = [];
  for (const [, kind, number, of64] of operand.matchAll(/\b(U?[RP]|B)(\d+)\b(\.64)?/g)) {
    const count = kind.endsWith('R') ? Math.max(width, of64 ? 2 : 1) : 1;
    for (let at = 0; at < count; at++) found.push(`${kind}${Number(number) + at}`);
  }
  return found;
}

function classify(operation: string): InstructionClass {
  if (CONTROL.test(operation)) return 'control';
  if (MEMORY.test(operation)) return 'memory';
  if (SPECIAL.test(operation)) return 'special';
  if (/^D(ADD|MUL|FMA|SETP|MNMX|SET|MMA)$/.test(operation)) return 'fp64';
  if (/^(F(ADD|MUL|FMA|MNMX|SEL|SET|SETP|CHK|SWZADD)|H)/.test(operation)) return 'fp32';
  return 'integer';
}
