/**
 * Reads machine code of compute capabilities 7.0 and above, as far as tests of the assembler's output need it. An
 * instruction has 16 bytes. Its lowest 9 bits are the operation and the kind of operands (registers, immediate,
 * constant, uniform). NVIDIA does not publish the encoding, but disassemblers show it.
 */
const CODES = {
  load: [0x181],
  store: [0x186],
  'store-shared': [0x188],
  'float-add': [0x021],
  'float-multiply': [0x020],
  'float-multiply-add': [0x023],
  'double-multiply-add': [0x02b],
  'integer-add': [0x010, 0x035, 0x036],
  'integer-multiply-add': [0x024],
  logic: [0x012],
  shuffle: [0x189],
  match: [0x1a1],
  atomic: [0x1a8],
  'load-shared': [0x184],
  special: [0x108],
} as const;
/** A turn is a branch back to the start of a loop, which ends one pass. */
export type Operation = keyof typeof CODES | 'clock' | 'turn';

const OPERATIONS = new Map(
  Object.entries(CODES).flatMap(([name, codes]) => codes.map((code) => [code as number, name as Operation] as const)),
);
const BRANCH = 0x147;
/** Operation codes that read a special register, into a plain or a uniform register. */
const READS = new Set([0x005, 0x119, 0x1c3, 0x0cb]);
/** Special register with the low word of the multiprocessor's clock. */
const CLOCK = 0x50;

/**
 * Reads the uncompressed device programs in an object file. Returns the operations of each kernel in the order of its
 * code.
 */
export function deviceCode(object: Buffer): readonly ReadonlyMap<string, readonly Operation[]>[] {
  return programsOf(object, operationsOf);
}

/**
 * Counts of the longest innermost loop of a kernel. NOPs are not counted, because compute capability 12.0 needs four of
 * them after each FP64 operation.
 */
export interface InnerLoop extends Counts {
  /**
   * Counts of the longest loop around the innermost one. Without such a loop, these are the counts of the innermost
   * loop.
   */
  readonly outer: Counts;
}
export interface Counts {
  readonly instructions: number;
  readonly fp32: number;
  readonly fp64: number;
  readonly special: number;
  readonly loads: number;
  readonly shuffles: number;
  /** Loads and stores of local memory, to which registers are spilled. */
  readonly local: number;
}

/** Works like `deviceCode`, for inner loops. Kernels without a loop are left out. */
export function innerLoops(object: Buffer): readonly ReadonlyMap<string, InnerLoop>[] {
  return programsOf(object, innerLoop);
}

function programsOf<T>(object: Buffer, read: (code: Buffer) => T | null): readonly ReadonlyMap<string, T>[] {
  const programs: ReadonlyMap<string, T>[] = [];
  // The first ELF header is that of the object file itself, so the search starts behind it.
  for (let at = object.indexOf('\x7fELF', 4, 'latin1'); at >= 0; at = object.indexOf('\x7fELF', at + 4, 'latin1'))
    programs.push(kernelsOf(object.subarray(at), read));
  return programs;
}

/** Reads every section `.text.KERNEL` of a 64-bit ELF file. */
function kernelsOf<T>(elf: Buffer, read: (code: Buffer) => T | null): ReadonlyMap<string, T> {
  const whole = (at: number): number => Number(elf.readBigUInt64LE(at));
  const header = (section: number): number => whole(0x28) + section * elf.readUInt16LE(0x3a);
  const contents = (section: number): Buffer =>
    elf.subarray(whole(header(section) + 0x18), whole(header(section) + 0x18) + whole(header(section) + 0x20));
  const names = contents(elf.readUInt16LE(0x3e));
  const kernels = new Map<string, T>();
  for (let section = 0; section < elf.readUInt16LE(0x3c); section++) {
    const from = elf.readUInt32LE(header(section));
    const name = names.toString('latin1', from, names.indexOf(0, from));
    const found = name.startsWith('.text.') ? read(contents(section)) : null;
    if (found !== null) kernels.set(name.slice('.text.'.length), found);
  }
  return kernels;
}

function operationsOf(code: Buffer): readonly Operation[] {
  const found: Operation[] = [];
  for (let at = 0; at < code.length; at += 16) {
    const operation = code.readUInt16LE(at) & 0x1ff;
    if (READS.has(operation) && code[at + 9] === CLOCK) found.push('clock');
    else if (operation === BRANCH && leadsBack(code.subarray(at, at + 16))) found.push('turn');
    else if (OPERATIONS.has(operation)) found.push(OPERATIONS.get(operation)!);
  }
  return found;
}

/**
 * Tells whether a branch leads back. The branch to itself at the end of all code does not count. Bit 81 is the sign of
 * the distance. Newer devices count the distance in units of 4 bytes and store its lowest byte separately.
 */
function leadsBack(branch: Buffer): boolean {
  const [lowest, high] = [branch[2], branch.readUInt32LE(4)];
  const ends = lowest === 0 ? high === 0xff_ff_ff_f0 : lowest === 0xfc && high === 0xff_ff_ff_fc;
  return (branch[10] & 2) !== 0 && !ends;
}

const NOP = 0x118;
const LOCAL = new Set([0x183, 0x187]);
const INSTRUCTION_BYTES = 16;

function innerLoop(code: Buffer): InnerLoop | null {
  const operation = (at: number): number => code.readUInt16LE(at) & 0x1ff;
  const loops: { readonly from: number; readonly to: number }[] = [];
  // All code ends with a branch to itself. This branch shows how the device encodes distances.
  let isNewer = false;
  for (let at = 0; at < code.length; at += INSTRUCTION_BYTES)
    if (operation(at) === BRANCH && distance(code, at, true) === -INSTRUCTION_BYTES) isNewer = true;
  for (let at = 0; at < code.length; at += INSTRUCTION_BYTES) {
    const from = at + INSTRUCTION_BYTES + distance(code, at, isNewer);
    if (operation(at) === BRANCH && from < at && from >= 0) loops.push({ from, to: at });
  }
  const inner = loops.filter(
    (loop) => !loops.some((one) => one !== loop && one.from >= loop.from && one.to <= loop.to),
  );
  const [longest] = inner.sort((a, b) => b.to - b.from - (a.to - a.from));
  if (!longest) return null;
  const counts = ({ from, to }: { readonly from: number; readonly to: number }): Counts => {
    const found = { instructions: 0, fp32: 0, fp64: 0, special: 0, loads: 0, shuffles: 0, local: 0 };
    for (let at = from; at <= to; at += INSTRUCTION_BYTES) {
      const code = operation(at);
      const name = OPERATIONS.get(code);
      found.instructions += Number(code !== NOP);
      found.fp32 += Number(name?.startsWith('float') ?? false);
      found.fp64 += Number(name === 'double-multiply-add');
      found.special += Number(name === 'special');
      found.loads += Number(name === 'load');
      found.shuffles += Number(name === 'shuffle');
      found.local += Number(LOCAL.has(code));
    }
    return found;
  };
  const around = loops.filter(({ from, to }) => from <= longest.from && to >= longest.to);
  const [outer] = around.sort((a, b) => b.to - b.from - (a.to - a.from));
  return { ...counts(longest), outer: counts(outer) };
}

/**
 * Returns the distance in bytes from the end of a branch to its target: 4 × the 48 bits from bit 34 on. On newer
 * devices, 8 lower bits start at bit 16.
 */
function distance(code: Buffer, at: number, isNewer: boolean): number {
  const words = code.readBigUInt64LE(at) | (code.readBigUInt64LE(at + 8) << 64n);
  const high = BigInt.asIntN(48, words >> 34n);
  return 4 * Number(isNewer ? (high << 8n) | ((words >> 16n) & 0xffn) : high);
}
