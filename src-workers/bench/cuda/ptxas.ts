import { SET_NVCC, unsupportedHint } from './releases.ts';

export interface KernelUsage {
  readonly kernel: string;
  readonly architecture: string;
  readonly registersPerThread: number;
  readonly sharedMemoryBytes: number;
  readonly stackBytes: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
}

/** Reads the output of `nvcc -Xptxas -v` about kernels, and skips any other text. */
export function parsePtxas(text: string): KernelUsage[] {
  const found: KernelUsage[] = [];
  let entry: { kernel: string; architecture: string } | null = null;
  let frame = { stackBytes: 0, spillStoreBytes: 0, spillLoadBytes: 0 };
  for (const line of text.split('\n')) {
    const compiling = /Compiling entry function '([^']+)' for '([^']+)'/.exec(line);
    if (compiling) {
      entry = { kernel: compiling[1], architecture: compiling[2] };
      frame = { stackBytes: 0, spillStoreBytes: 0, spillLoadBytes: 0 };
    }
    const spills = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (spills) {
      const [stackBytes, spillStoreBytes, spillLoadBytes] = spills.slice(1).map(Number);
      frame = { stackBytes, spillStoreBytes, spillLoadBytes };
    }
    const used = /Used (\d+) registers/.exec(line);
    if (used && entry) {
      const shared = /(\d+) bytes smem/.exec(line);
      found.push({
        ...entry,
        registersPerThread: Number(used[1]),
        sharedMemoryBytes: shared ? Number(shared[1]) : 0,
        ...frame,
      });
      entry = null;
    }
  }
  return found;
}

/** Reads remarks of `-Rpass-analysis=kernel-resource-usage`. A spilled register counts as 4 bytes stored and loaded. */
export function parseResourceRemarks(text: string): KernelUsage[] {
  const kernels = text.split(/remark: +Function Name: /).slice(1);
  return kernels.map((remarks) => {
    const value = (name: string): number => Number(new RegExp(`remark: +${name}: (\\d+)`).exec(remarks)?.[1] ?? 0);
    const spilled = 4 * value('VGPRs Spill');
    return {
      kernel: /^\S+/.exec(remarks)![0],
      architecture: '',
      registersPerThread: value('VGPRs') + value('AGPRs'),
      sharedMemoryBytes: value('LDS Size \\[bytes/block\\]'),
      stackBytes: value('ScratchSize \\[bytes/lane\\]'),
      spillStoreBytes: spilled,
      spillLoadBytes: spilled,
    };
  });
}

/** Names of files and options may contain these words, and warnings quote such names: `my-error.cu(1)` is no error. */
const ERROR = /(?<![\w./\\-])(error|fatal|undefined reference|cannot find)\b(?![./\\-]|\(\d)/i;

/**
 * Returns the first error of a compiler or linker, or its last line. Adds which toolkit an unknown GPU needs.
 * @param remedy how the user names another nvcc
 */
export function firstError(text: string, remedy = SET_NVCC): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const said = lines.find((line) => ERROR.test(line)) ?? lines[lines.length - 1] ?? 'it printed nothing';
  return said + unsupportedHint(said, remedy);
}
