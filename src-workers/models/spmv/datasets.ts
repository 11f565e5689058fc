import type { Dataset } from '../../domain/evidence.ts';

export interface MeasuredGpu {
  readonly column: string;
  readonly device: string;
  readonly implementations: readonly MeasuredImplementation[];
  /** Implementations among which a user chooses. A library that chooses among its own kernels counts as one. */
  readonly choices: readonly string[];
}

export interface MeasuredImplementation {
  readonly name: string;
  readonly column: string;
  /** The id in `evidence/spmv-designs.ts`. */
  readonly implementation: string;
}

export interface SpmvDataset extends Dataset {
  readonly file: string;
  readonly gpus: readonly MeasuredGpu[];
  /** GPUs with too few measured matrices for a fit. They are predicted as a GPU without measurements would be. */
  readonly unseen: readonly MeasuredGpu[];
  /** Whether the source does not name the GPU. The data sheet of an assumed GPU is then used. */
  readonly unnamed?: boolean;
}

const GINKGO_NAMES: Readonly<Record<string, string>> = {
  coo: 'coo',
  csri: 'csr-even',
  csr: 'csr-library',
  ell: 'ell',
  sellp: 'sellp',
  hybrid: 'hybrid',
};

function ginkgoGpu(column: string, device: string, names: readonly string[], csrc = 'csr-group'): MeasuredGpu {
  return {
    column,
    device,
    implementations: names.map((name) => ({
      name,
      column: `${column}:${name}`,
      implementation: name === 'csrc' ? csrc : GINKGO_NAMES[name],
    })),
    choices: names.filter((name) => name !== 'hybrid'),
  };
}

const CSR_BY_HAND = ['coo', 'csrc', 'csri', 'ell', 'sellp'];
const CSR_BY_LIBRARY = ['coo', 'csr', 'ell', 'sellp', 'hybrid'];

export const SPMV_DATASETS: readonly SpmvDataset[] = [
  {
    id: 'ginkgo',
    title: 'SpMV of Ginkgo on seven GPUs, double precision',
    file: 'ginkgo.csv.gz',
    source: 'ginkgo-project/ginkgo-data: times, converted to one unit, of about half of the matrices',
    licence: 'CC-BY 4.0',
    notes: [
      'On the K40m, P100 and TITAN V, the times of csrc fit the kernel of Ginkgo 1.0, which has one thread per row. On the Radeon VII, they fit a kernel with a group of threads per row.',
      'The measured start of a launch differs with driver and method, from 2 µs (V100) to 38 µs (Radeon VII). No data sheet gives it, and half of the products take little longer than this start.',
      'The columns of each row decide how many gathers miss the cache, but figures of row lengths do not show the columns.',
      'Figures of row lengths also do not show runs of empty rows, which csri visits one by one.',
      'A product is timed several times in sequence, so a matrix that fits in the level-2 cache stays there.',
    ],
    gpus: [
      ginkgoGpu('K40m', 'nvidia-k40m', [...CSR_BY_HAND, 'hybrid'], 'csr-thread'),
      ginkgoGpu('P100', 'nvidia-p100-pcie-16gb', CSR_BY_HAND, 'csr-thread'),
      ginkgoGpu('titanV', 'nvidia-titan-v', [...CSR_BY_HAND, 'hybrid'], 'csr-thread'),
      ginkgoGpu('V100-SXM2', 'nvidia-v100-sxm2-16gb', CSR_BY_LIBRARY),
      ginkgoGpu('RadeonVII', 'amd-radeon-vii', [...CSR_BY_HAND, 'hybrid']),
      ginkgoGpu('MI100', 'amd-mi100', CSR_BY_LIBRARY),
      ginkgoGpu('MI250X', 'amd-mi250x-gcd', CSR_BY_LIBRARY),
    ],
    unseen: [ginkgoGpu('A100', 'nvidia-a100-sxm4-40gb', CSR_BY_LIBRARY)],
  },
  {
    id: 'loops',
    title: 'SpMV schedules of gunrock/loops on one GPU, single precision',
    file: 'loops.csv.gz',
    source: 'gunrock/loops: times; ginkgo-project/ginkgo-data: summaries of the same matrices, joined by name and size',
    licence: 'Apache-2.0 (times), CC-BY 4.0 (summaries)',
    notes: [
      'The source does not name the GPU (compute capability ≥ 7.0). The data sheet of a V100 is assumed, because the times come close to its bandwidth.',
      'The file does not say how similar neighbouring rows are. The usual similarity in the matrices of Ginkgo is assumed.',
    ],
    gpus: [
      {
        column: 'unnamed',
        device: 'nvidia-v100-sxm2-16gb',
        implementations: [
          { name: 'thread_mapped', column: 'thread_mapped', implementation: 'thread-mapped' },
          { name: 'group_mapped', column: 'group_mapped', implementation: 'group-mapped' },
          { name: 'merge_path', column: 'merge_path', implementation: 'merge-path' },
        ],
        choices: ['thread_mapped', 'group_mapped', 'merge_path'],
      },
    ],
    unseen: [],
    unnamed: true,
  },
];

export function evidenceDevices(): readonly string[] {
  return [...new Set(SPMV_DATASETS.flatMap(({ gpus, unseen }) => [...gpus, ...unseen].map(({ device }) => device)))];
}
