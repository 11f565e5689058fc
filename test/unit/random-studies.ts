import type { StudyFile } from '../../src-main/contract/study.ts';
import type { Random } from '../../src-workers/simulate/random.ts';
import { oneDesign } from './sweep-plans.ts';

const LENGTHS = `geometric(0.05) geometric(0.004) zipf(1.3,2000) zipf(2.2,5000) uniform(1,100) constant(40) poisson(30)
  mixture(0.99*constant(10),0.01*uniform(500,1000)) example:mandelbrot example:collatz`.split(/\s+/);
export const DEVICES =
  'nvidia-v100-sxm2-16gb nvidia-a100-sxm4-40gb nvidia-gtx-770 nvidia-rtx-4090 amd-mi210 amd-rx-7900-xtx'.split(' ');
const BALANCING = `none shuffle quantile-buckets(4) best-buckets(3) window-sort(64) window-sort(8192) full-sort
  dynamic-fetch dynamic-fetch(4) dynamic-fetch(group) padded padded-slice(48) nonzero-split merge-path
  mixed(3)`.split(/\s+/);

/** Makes a random study of 200 to 2,000 designs on one device: lengths, kernel, ways of taking work and launches. */
export function randomStudy(random: Random): StudyFile {
  const below = (end: number): number => Math.floor(random() * end);
  const one = <T>(values: readonly T[]): T => values[below(values.length)];
  const some = <T>(values: readonly T[], count: number): T[] => [
    ...new Set(Array.from({ length: count }, () => one(values))),
  ];
  const upTo = (largest: number): number => Math.round(largest ** random());
  const instructionsPerIteration = upTo(200);
  return oneDesign({
    workload: { lengths: one(LENGTHS), units: 2 ** (8 + below(10)) + below(200) },
    kernel: {
      name: 'k',
      registersPerThread: one([24, 40, 64, 96]),
      instructionsPerIteration,
      dependentLoadsPerIteration: below(3),
      serialFraction: one([0, 0.05, 0.3]),
      sharing: one(['deal', 'split']),
      unit: { instructions: instructionsPerIteration * one([0, 0, 1, 5]), dependentLoads: below(2) },
      prologue: { instructions: one([0, 20]) },
      refill: one([undefined, { instructions: 12 }]),
      bytesPerIteration: one([0, 4, 64]),
      lengthsKnownBeforeLaunch: true,
    },
    devices: [one(DEVICES)],
    axes: {
      threadsPerUnit: some([1, 2, 4, 8, 32, 64], 2),
      loop: ['nested', 'flattened'],
      balancing: some(BALANCING, 4),
      blockThreads: some([32, 64, 96, 128, 192, 256, 384, 512, 768, 1024], 4),
      unitsPerThread: some([1, 2, 3, 4, 5, 8, 16, 33, 100], 2),
      gridBlocks: some([1, 7, 40, 81, 108, 160, 217, 500, 1500, 6000], 2),
      blocksPerMultiprocessor: some([1, 2, 3, 8, 16, 40], 1),
      registerCap: some([null, 24, 32, 48], 2),
    },
  });
}
