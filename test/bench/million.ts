import type { StudyFile } from '../../src-main/contract/study.ts';

/** 1,032,192 designs over four devices: a person's space of block sizes, caps, granularities and orderings. */
export const MILLION: StudyFile = {
  lockstep: 1,
  name: 'A million designs',
  workload: { lengths: 'geometric(0.05)', units: 1 << 22 },
  kernel: {
    name: 'walk',
    registersPerThread: 64,
    instructionsPerIteration: 60,
    dependentLoadsPerIteration: 1,
    serialFraction: 0.05,
    lengthsKnownBeforeLaunch: true,
  },
  devices: ['nvidia-v100-sxm2-16gb', 'nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb', 'nvidia-rtx-4090'],
  axes: {
    threadsPerUnit: [1, 2, 4, 8, 16, 32],
    loop: ['nested', 'flattened'],
    balancing: ['none', 'quantile-buckets(4)', 'full-sort', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    unitsPerThread: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64],
    registerCap: [null, ...Array.from({ length: 13 }, (_, i) => 60 - 3 * i)],
  },
};
