import type { Dataset } from '../../domain/evidence.ts';

/** Measured launches of kernels other than SpMV. A new set needs an entry here and a reader in `evidence/shapes.ts`. */
export interface LaunchDataset extends Dataset {
  /** Whether the data show which of two designs is faster. Losses of groups do not show this. */
  readonly decides: boolean;
  /** Whether times are predicted only up to a factor. The factor comes from the other designs of the family. */
  readonly proportional: boolean;
  /**
   * What weakens the figures, as part of a sentence that is shown wherever the figures are shown. Launches with a
   * caveat are not used for tie bands, for ranges of times or for chances.
   */
  readonly caveat?: string;
  /** Unit of the measurements: `µs`, `ms`, or empty for a plain number. */
  readonly unit: string;
  readonly gpus: readonly LaunchGpu[];
}

export interface LaunchGpu {
  /** The name of the device in the source. */
  readonly column: string;
  /** The id of the device in the catalogue. */
  readonly device: string;
  readonly implementation: string;
  readonly takes: string;
}

const CONVOLUTION = {
  implementation: 'convolution',
  takes: 'a thread per tile of outputs, without shared memory; block sizes and grids',
};

/** Our launches on an H100. The reader of both data sets is `evidence/h100.ts`. */
const H100 = {
  source: 'Our launches on one H100, 27 November 2026, between CUDA events: medians of 7 or 9',
  licence: 'MIT, part of Lockstep',
  caveat:
    'our own measurements, not public ones, and not held out: five terms of the model were found in these launches',
  decides: true,
  proportional: false,
  unit: 'µs',
} as const;
const H100_NOTES = [
  'These are our own measurements, not public ones. They were not held out: five terms of the model were found in these launches, and only their rates were measured apart from them.',
  'Each kernel has the profile that kernel inspect reads from its machine code, and the usual value of each input that the code does not show. Nothing is fitted.',
];

export const LAUNCH_DATASETS: readonly LaunchDataset[] = [
  {
    id: 'convolution',
    title: 'Block sizes of a 2-D convolution of Kernel Tuner',
    source:
      'AutoTuningAssociation/benchmark_hub: times of 4,362 configurations on each GPU, with everything but the block size constant',
    licence: 'MIT',
    notes: [
      'The file has no instruction counts, so one factor per kernel variant is taken from its other block sizes. The rank correlation is within variants.',
      'If enough blocks are resident, the model gives all block sizes of a variant the same time. The measured times differ, since rows of a block reuse caches; the model does not include this.',
      'On the MI250X, a block width that is not a power of two takes 5 to 9 times as long. The figures include these variants.',
    ],
    decides: true,
    proportional: true,
    unit: 'ms',
    gpus: [
      { column: 'A100', device: 'nvidia-a100-pcie-40gb', ...CONVOLUTION },
      // The times were measured on one of the two dies.
      { column: 'MI250X', device: 'amd-mi250x-gcd', ...CONVOLUTION },
    ],
  },
  {
    id: 'hasan',
    title: 'Launch shapes of a sum of binomial series on a K20, Table 2',
    source: 'Hasan, Chatterjee, Radhakrishnan, Antonio, NPC 2014, doi:10.1007/978-3-662-44917-2_65: figures',
    licence: 'figures of a paper',
    notes: ['τ, c and p are fitted on five of the sixteen rows; the figures are for the other eleven.'],
    decides: true,
    proportional: false,
    unit: 'ms',
    gpus: [
      {
        column: 'K20',
        device: 'nvidia-k20',
        implementation: 'binomial series',
        takes: 'a thread per unit of equal work; blocks and threads of a block',
      },
    ],
  },
  {
    id: 'smite',
    title: 'Loss of groups in lockstep, means of SMITE',
    source: 'stephenswat/smite: aggregate loss over 131,072 work groups, measured',
    licence: 'Unlicense',
    notes: [
      'These are losses and not times, and nothing is fitted. The paper measured an A100. With one unit per group the measurement is up to 0.5 % above 1.',
    ],
    decides: false,
    proportional: false,
    unit: '',
    gpus: [
      {
        column: 'A100',
        device: 'nvidia-a100-sxm4-40gb',
        implementation: 'aggregate loss',
        takes: 'lockstep groups of n units; aggregate loss, not time',
      },
    ],
  },
  {
    id: 'swiftshader',
    title: 'Designs of a unit loop on SwiftShader',
    source: 'measured with Lockstep on two cores of a Xeon, November 2026: 60 designs drawn from 924',
    licence: 'MIT, part of Lockstep',
    notes: [
      'Parameters are calibrated on 60 other designs. SwiftShader is a software adapter with four lanes, without the memory system of a GPU.',
    ],
    decides: true,
    proportional: false,
    unit: 'ms',
    gpus: [
      {
        column: 'SwiftShader',
        device: 'software-swiftshader',
        implementation: 'unit loop',
        takes: 'threads per unit, loop, balancing, blocks and grids',
      },
    ],
  },
  {
    ...H100,
    id: 'h100-loops',
    title: 'Loops on an H100',
    notes: [
      ...H100_NOTES,
      'Launches of 32,768 units were timed around calls of 5 to 10 µs, so their errors say little.',
    ],
    gpus: [
      {
        column: 'H100',
        device: 'nvidia-h100-sxm5-80gb',
        implementation: 'loops',
        takes: 'nested, flattened and fetching loops of multiply-adds; threads per unit, units per thread and blocks',
      },
    ],
  },
  {
    ...H100,
    id: 'h100-products',
    title: 'Sparse products with random columns on an H100',
    notes: [
      ...H100_NOTES,
      'The code does not show the size of x, nor that its columns are random: products with more than ten million columns take up to 3.0 times the predicted time. Where a study states both, the median error of a matrix is 3 to 25 % instead of 5 to 56 %.',
    ],
    gpus: [
      {
        column: 'H100',
        device: 'nvidia-h100-sxm5-80gb',
        implementation: 'products',
        takes: 'CSR in single precision; threads per row, rows per thread and blocks',
      },
    ],
  },
];
