import type { StudyFile } from '../../src-main/contract/study.ts';

/** Origins for a kernel that consists of iterations only, with nothing assumed. */
export const NOTHING_ELSE = {
  prologue: 'given',
  unit: 'given',
  chainInstructions: 'given',
  cooperationCost: 'given',
  flattenedCost: 'given',
  dependentLoadsPerIteration: 'given',
  bytesPerIteration: 'given',
} as const;

/** Makes a small study with two devices, six granularities, two balancings and eight blocks. */
export function smallStudy(change: Partial<StudyFile> = {}): StudyFile {
  return {
    lockstep: 1,
    name: 'Small',
    workload: { lengths: 'geometric(0.05)', units: 100_000 },
    kernel: { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60, serialFraction: 0.05 },
    devices: ['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090'],
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      balancing: ['none', 'dynamic-fetch'],
      blockThreads: { from: 64, to: 512, step: 64 },
      blocksPerMultiprocessor: [2, 4],
      registerCap: [null, 32],
    },
    ...change,
  };
}

/** This study is large enough to be cancelled while it runs, because its sweep has several tasks. */
export const wideStudy: StudyFile = smallStudy({
  axes: {
    threadsPerUnit: [1, 2, 4, 8],
    balancing: ['none', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    unitsPerThread: { from: 1, to: 12 },
    registerCap: [null, 32],
  },
});

/** This name contains every kind of text that could attack a document. */
export const HOSTILE =
  '=HYPERLINK("http://x") <script>alert(1)</script><img src=x onerror=alert(1)> */ int evil; /* --> ]]> ```\n# head\n| a | b |\r\n"quoted\' \\ ??/ ${x} `code` **bold** [l](javascript:1) \u2028\u202e&amp;\u0000';
