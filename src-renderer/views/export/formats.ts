import type { ExportFormat } from '../../../src-main/contract/api.ts';

export interface FormatEntry {
  readonly id: ExportFormat;
  readonly label: string;
  /** Its purpose. */
  readonly text: string;
  /** More words by which the palette finds it. */
  readonly words?: string;
  readonly about: 'report' | 'table' | 'code' | 'tuner';
  /** Whether the number of rows matters. */
  readonly rows: boolean;
}

export const FORMATS: readonly FormatEntry[] = [
  {
    id: 'html',
    label: 'HTML report',
    text: 'One file with plots and reasons',
    about: 'report',
    rows: false,
    words: 'send share landscape',
  },
  {
    id: 'pdf',
    label: 'PDF report',
    text: 'The same report on paper',
    about: 'report',
    rows: false,
    words: 'print paper acrobat',
  },
  {
    id: 'markdown',
    label: 'Markdown report',
    text: 'The same, for an issue or README',
    about: 'report',
    rows: false,
  },
  {
    id: 'trace',
    label: 'Launch trace',
    text: 'A simulated launch, for Perfetto',
    about: 'report',
    rows: false,
    words: 'perfetto chrome timeline json gantt',
  },
  {
    id: 'csv',
    label: 'CSV',
    text: 'The best designs, for a spreadsheet',
    about: 'table',
    rows: true,
    words: 'table spreadsheet',
  },
  { id: 'json', label: 'JSON', text: 'The best designs, and their study', about: 'table', rows: true },
  { id: 't4', label: 'Kernel Tuner T4', text: 'The results format of auto-tuners', about: 'table', rows: true },
  {
    id: 'cuda',
    label: 'CUDA header',
    text: 'Launch shape, bounds and grid helper',
    about: 'code',
    rows: false,
    words: 'c++ launch bounds',
  },
  {
    id: 'cuda-kernel',
    label: 'CUDA kernel',
    text: 'The loop and launch around your work',
    about: 'code',
    rows: false,
    words: 'c++ hip skeleton template loop',
  },
  {
    id: 'wgsl',
    label: 'WGSL constants',
    text: 'Constants to put before a shader',
    about: 'code',
    rows: false,
    words: 'webgpu shader',
  },
  {
    id: 'wgsl-kernel',
    label: 'WGSL kernel',
    text: 'The loop around your work',
    about: 'code',
    rows: false,
    words: 'webgpu shader skeleton loop',
  },
  {
    id: 'python',
    label: 'Python launch parameters',
    text: 'A dictionary for CuPy, Numba, PyCUDA',
    about: 'code',
    rows: false,
    words: 'cupy numba pycuda dict',
  },
  {
    id: 'kokkos',
    label: 'Kokkos policy',
    text: 'TeamPolicy: league, team and vector',
    about: 'code',
    rows: false,
    words: 'c++ teampolicy launchbounds',
  },
  {
    id: 'sycl',
    label: 'SYCL range',
    text: 'nd_range, and the required sizes',
    about: 'code',
    rows: false,
    words: 'c++ nd_range oneapi work-group sub-group',
  },
  {
    id: 'cub',
    label: 'CUB segments',
    text: 'Thread, warp or block by thresholds',
    about: 'code',
    rows: false,
    words: 'cccl thresholds mixed classes segmented',
  },
  {
    id: 'triton',
    label: 'Triton configurations',
    text: 'For autotune, pruned by prediction',
    about: 'tuner',
    rows: true,
    words: 'autotune perf_model top_k early_config_prune',
  },
  {
    id: 'kernel-tuner',
    label: 'Kernel Tuner script',
    text: 'With the predictions as its cache',
    about: 'tuner',
    rows: true,
    words: 'restrictions x0 cache',
  },
  {
    id: 'optuna',
    label: 'Optuna trials',
    text: 'The first of a study, in Python',
    about: 'tuner',
    rows: true,
    words: 'enqueue_trial warm start',
  },
];

export const ABOUT = [
  { id: 'report', label: 'Reports' },
  { id: 'table', label: 'Tables' },
  { id: 'code', label: 'Code' },
  { id: 'tuner', label: 'Tuners' },
] as const;
