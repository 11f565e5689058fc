import type { Dataset } from '../../domain/evidence.ts';

export interface LaunchDataset extends Dataset {
  /** Whether the data show which of two designs is faster; losses of groups do not. */
  readonly decides: boolean;
  /** Whether times are predicted only up to a factor, which comes from the other designs of the `ShapeFamily`. */
  readonly proportional: boolean;
  /** What weakens the figures, as part of a sentence. Such data are not used for tie bands, ranges or chances. */
  readonly caveat?: string;
  /** `µs`, `ms`, or empty for a plain number. */
  readonly unit: string;
  readonly gpus: readonly LaunchGpu[];
}

export interface LaunchGpu {
  readonly column: string;
  readonly device: string;
  readonly implementation: string;
  readonly takes: string;
}

const CONVOLUTION = {
  implementation: 'convolution',
  takes: 'one thread per tile of outputs, without shared memory; designs differ in block size and grid',
};

const H100 = {
  source:
    'Our launches on one H100, 27 November 2026, timed by CUDA events; each time is the median of 7 or 9 launches',
  licence: 'MIT, part of Lockstep',
  caveat:
    'our own measurements, not public ones, and not held out, because seven terms of the model were found or checked in these launches',
  decides: true,
  proportional: false,
  unit: 'µs',
} as const;
const H100_NOTES = [
  'These are our own measurements, not public ones. They were not held out: seven terms of the model were found or checked in these launches, and only the rates of these terms were measured separately.',
  'Each kernel has the profile that the command "kernel inspect" reads from its machine code, and the usual value of each input that the code does not show. Nothing is fitted.',
];

export const LAUNCH_DATASETS: readonly LaunchDataset[] = [
  {
    id: 'convolution',
    title: "Block sizes of Kernel Tuner's 2-D convolution",
    source:
      'AutoTuningAssociation/benchmark_hub: times of 4,362 configurations on each GPU; those of one kernel variant differ only in the block size',
    licence: 'MIT',
    notes: [
      'The file has no instruction counts, so times are predicted up to a factor per kernel variant. The other block sizes of the variant determine the factor. The rank correlation is computed within variants.',
      'If enough blocks are resident, the model gives all block sizes of a variant the same time. The measured times differ, because rows of a block reuse data in caches, which the model does not include.',
      'On the MI250X, a block width that is not a power of two takes 5 to 9 times as long. The figures include these variants.',
    ],
    decides: true,
    proportional: true,
    unit: 'ms',
    gpus: [
      { column: 'A100', device: 'nvidia-a100-pcie-40gb', ...CONVOLUTION },
      { column: 'MI250X', device: 'amd-mi250x-gcd', ...CONVOLUTION },
    ],
  },
  {
    id: 'hasan',
    title: 'Launch shapes of a sum of binomial series on a K20, Table 2',
    source: 'Hasan, Chatterjee, Radhakrishnan, Antonio, NPC 2014, doi:10.1007/978-3-662-44917-2_65: figures',
    licence: 'figures of a paper',
    notes: ['τ, c and p are fitted to five of the sixteen rows. The figures are for the other eleven rows.'],
    decides: true,
    proportional: false,
    unit: 'ms',
    gpus: [
      {
        column: 'K20',
        device: 'nvidia-k20',
        implementation: 'binomial series',
        takes: 'one thread per unit of equal work; designs differ in blocks and threads per block',
      },
    ],
  },
  {
    id: 'smite',
    title: 'Aggregate loss of lockstep groups, measured with SMITE',
    source: 'stephenswat/smite: aggregate loss over 131,072 work groups, measured',
    licence: 'Unlicense',
    notes: [
      'These are losses and not times, and nothing is fitted. The paper measured an A100. With one unit per group the loss is exactly 1, and the measurement is up to 0.5 % higher.',
    ],
    decides: false,
    proportional: false,
    unit: '',
    gpus: [
      {
        column: 'A100',
        device: 'nvidia-a100-sxm4-40gb',
        implementation: 'aggregate loss',
        takes: 'lockstep groups of n units; the figure is aggregate loss, not time',
      },
    ],
  },
  {
    id: 'swiftshader',
    title: 'Designs of a unit loop on SwiftShader',
    source: 'Measured with Lockstep on two cores of a Xeon, November 2026: 60 designs drawn from 924',
    licence: 'MIT, part of Lockstep',
    notes: [
      'The parameters are calibrated on 60 other designs. SwiftShader is a software adapter with four lanes, without the memory system of a GPU.',
    ],
    decides: true,
    proportional: false,
    unit: 'ms',
    gpus: [
      {
        column: 'SwiftShader',
        device: 'software-swiftshader',
        implementation: 'unit loop',
        takes: 'designs differ in threads per unit, loop, balancing, block size and grid',
      },
    ],
  },
  {
    ...H100,
    id: 'h100-loops',
    title: 'Loops on an H100',
    notes: [
      ...H100_NOTES,
      'The times of launches of 32,768 units include the 5 to 10 µs of a call, so the errors of these launches say little.',
    ],
    gpus: [
      {
        column: 'H100',
        device: 'nvidia-h100-sxm5-80gb',
        implementation: 'loops',
        takes:
          'nested, flattened and fetching loops of multiply-adds; designs differ in threads per unit, units per thread and block size',
      },
    ],
  },
  {
    ...H100,
    id: 'h100-products',
    title: 'Sparse products with random columns on an H100',
    notes: [
      ...H100_NOTES,
      'The code shows neither the number of columns nor that the columns are random, so products with more than ten million columns take up to 3 times the predicted time. If a study states both, the median error of a matrix is 3 to 21 % instead of 9 to 57 %.',
    ],
    gpus: [
      {
        column: 'H100',
        device: 'nvidia-h100-sxm5-80gb',
        implementation: 'products',
        takes: 'CSR in single precision; designs differ in threads per row, rows per thread and block size',
      },
    ],
  },
];
