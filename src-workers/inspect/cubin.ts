import { ok, type Result, badInput } from '../domain/result.ts';

export interface CubinKernel {
  readonly entry: string;
  readonly arch: string;
  readonly registersPerThread: number;
  readonly sharedMemoryBytes: number;
}

/** The machine number of NVIDIA devices in ELF. */
const EM_CUDA = 190;
const SYMBOL_TABLE = 2;
/** The attribute of `.nv.info` that `nvdisasm` calls EIATTR_REGCOUNT: a pair of symbol and count, 32 bits each. */
const REGISTER_COUNT = 0x2f;
/** Attributes of this format state their size (EIFMT_SVAL); other attributes have a two-byte value. */
const SIZED = 4;

/** From this compute capability on, a kernel's shared memory begins with bytes that the system reserves. */
const RESERVED_FROM = 90;
const RESERVED_BYTES = 1024;

interface Section {
  readonly name: string;
  readonly type: number;
  readonly at: number;
  readonly size: number;
}

/** Reads a cubin: a 64-bit ELF file with sections `.text.KERNEL`, `.nv.shared.KERNEL` and `.nv.info`. */
export function parseCubin(bytes: Uint8Array): Result<readonly CubinKernel[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (bytes[4] !== 2 || view.getUint16(0x12, true) !== EM_CUDA)
      return badInput(
        'This ELF file contains host (CPU) code, not GPU code. Extract the GPU code (cuobjdump -xelf all FILE) and specify the resulting .cubin file.',
      );
    const sections = readSections(view, bytes);
    const flags = view.getUint32(0x30, true);
    // The capability is in the second byte of the flags from version 8 of the format (CUDA 13) on, else in the first.
    const capability = (bytes[8] >= 8 ? flags >>> 8 : flags) & 0xff;
    const reserved = capability >= RESERVED_FROM ? RESERVED_BYTES : 0;
    const registers = registerCounts(view, bytes, sections);
    const sized = new Map(sections.map(({ name, size }) => [name, size]));
    return ok(
      sections
        .filter(({ name }) => name.startsWith('.text.'))
        .flatMap(({ name }) => {
          const entry = name.slice('.text.'.length);
          const registersPerThread = registers.get(entry);
          return registersPerThread === undefined
            ? []
            : [
                {
                  entry,
                  arch: `sm_${capability}`,
                  registersPerThread,
                  sharedMemoryBytes: Math.max(0, (sized.get(`.nv.shared.${entry}`) ?? 0) - reserved),
                },
              ];
        }),
    );
  } catch (error) {
    if (error instanceof RangeError) return badInput('The cubin is damaged: its sections lie outside the file.');
    throw error;
  }
}

function readSections(view: DataView, bytes: Uint8Array): readonly Section[] {
  const table = offset(view, 0x28);
  const size = view.getUint16(0x3a, true);
  const count = view.getUint16(0x3c, true);
  const header = (index: number): number => table + index * size;
  const names = offset(view, header(view.getUint16(0x3e, true)) + 0x18);
  return Array.from({ length: count }, (_, index) => {
    const at = header(index);
    return {
      name: textAt(bytes, names + view.getUint32(at, true)),
      type: view.getUint32(at + 4, true),
      at: offset(view, at + 0x18),
      size: offset(view, at + 0x20),
    };
  });
}

/** A file has far fewer than 2⁵³ bytes, so offsets are exact as numbers. */
const offset = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

/** The limit bounds the search in a damaged file; a longer name is read as empty. */
const MAX_NAME = 4096;
const textAt = (bytes: Uint8Array, at: number): string => {
  const end = bytes.subarray(at, at + MAX_NAME).indexOf(0);
  return new TextDecoder().decode(bytes.subarray(at, end < 0 ? at : at + end));
};

function registerCounts(view: DataView, bytes: Uint8Array, sections: readonly Section[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const symbols = sections.find(({ type }) => type === SYMBOL_TABLE);
  const names = sections.find(({ name }) => name === '.strtab');
  const info = sections.find(({ name }) => name === '.nv.info');
  if (!symbols || !names || !info) return counts;
  for (let at = info.at; at + 4 <= info.at + info.size;) {
    const [format, attribute] = [view.getUint8(at), view.getUint8(at + 1)];
    const size = format === SIZED ? view.getUint16(at + 2, true) : 0;
    if (format === SIZED && attribute === REGISTER_COUNT) {
      const symbol = symbols.at + 24 * view.getUint32(at + 4, true);
      counts.set(textAt(bytes, names.at + view.getUint32(symbol, true)), view.getUint32(at + 8, true));
    }
    at += 4 + size;
  }
  return counts;
}
