import type { GpuDevice } from '../../domain/device.ts';
import {
  inFlightMicroseconds,
  iterationMicroseconds,
  launchMicroseconds,
  overlapped,
  transferMicroseconds,
} from '../memory/time.ts';
import { bytesAlongRun, gatheredBytes, hitFraction, sectorBytes } from '../memory/traffic.ts';
import { SPMV_PARAMETERS, type SpmvParameter, type SpmvParameters } from './parameters.ts';
import { nonzerosWithin, paddedCells, rowQuantile, SLICE_ROWS, type MatrixSummary } from './summary.ts';

/**
 * Ways to multiply a sparse matrix by a vector, as the libraries of the evidence write them: how work is taken, what is read, what
 * waits for what. Sources: Ginkgo (cuda/matrix and common/cuda_hip/matrix, versions 1.0 to 1.5), gunrock/loops (examples/spmv).
 */
export interface SpmvImplementation {
  readonly id: string;
  /** How it takes the work. */
  readonly takes: string;
  /** At most six, those that the data determine. */
  readonly parameters: readonly SpmvParameter[];
  /** Values of parameters that are not fitted for it, where they are not the usual ones. */
  readonly fixed?: SpmvParameters;
  /** Time of one multiplication, µs. */
  readonly microseconds: (device: GpuDevice, matrix: MatrixSummary, values: SpmvParameters) => number;
}

/** Sizes of what is stored, bytes. */
interface Elements {
  readonly value: number;
  readonly index: number;
}
const DOUBLE: Elements = { value: 8, index: 4 };
const SINGLE: Elements = { value: 4, index: 4 };

/** One launch of work on memory. All counts of the whole launch. */
interface MemoryWork {
  /** Bytes read and written in streams, as moved. */
  readonly streamBytes: number;
  /** Bytes that the streams occupy in a cache. */
  readonly footprintBytes: number;
  readonly gathers: number;
  readonly elements: Elements;
  /** Dependent iterations of the longest chain. */
  readonly chainIterations: number;
  /** Iterations of all thread groups. */
  readonly groupIterations: number;
  readonly blocks: number;
  /** Further work that overlaps with the above, µs. */
  readonly beside?: readonly number[];
  /** Row ends read one after another: by the longest chain, by all thread groups. */
  readonly walked?: { readonly chain: number; readonly all: number };
  /** Phases that nothing overlaps, µs. */
  readonly after?: number;
}

/** Values that stand where an implementation does not fit a parameter; no cost where it has none of the kind. */
const UNFITTED: Readonly<Record<SpmvParameter, number>> = {
  startMicroseconds: SPMV_PARAMETERS.startMicroseconds.initial,
  multiprocessorStartNs: 0,
  bandwidthFraction: SPMV_PARAMETERS.bandwidthFraction.initial,
  gatherMissFraction: 0.1,
  latencyNs: 600,
  missLatencyRatio: 2,
  concurrencyFraction: 1,
  atomicNs: 0,
  contendedAtomicNs: 0,
  rowWalkNs: 0,
  searchStepNs: 0,
  neighbourDeviations: 0,
};

type Values = Readonly<Record<SpmvParameter, number>>;

function timeOf(device: GpuDevice, matrix: MatrixSummary, work: MemoryWork, values: Values): number {
  const { value } = work.elements;
  const cached = hitFraction(work.footprintBytes + value * matrix.columns, device.l2Bytes);
  const bytes =
    work.streamBytes + gatheredBytes(work.gathers, matrix.columns, value, values.gatherMissFraction, device);
  const iteration = iterationMicroseconds(values.latencyNs, values.missLatencyRatio, cached);
  const walk = values.rowWalkNs * 1e-3;
  const { chain, all } = work.walked ?? { chain: 0, all: 0 };
  return (
    launchMicroseconds(work.blocks, device, values.startMicroseconds, values.multiprocessorStartNs) +
    overlapped(
      transferMicroseconds(bytes, device, values.bandwidthFraction, cached),
      work.chainIterations * iteration + chain * walk,
      inFlightMicroseconds(work.groupIterations, iteration, device, values.concurrencyFraction) +
        inFlightMicroseconds(all, walk, device, values.concurrencyFraction),
      ...(work.beside ?? []),
    ) +
    (work.after ?? 0)
  );
}

/** Bytes of a result and of a row's offset. */
const ROW_BYTES = 12;
/** Iterations that a row costs besides its elements: its offsets and its result. Assumed for CSR kernels; see `fixed`. */
const ROW_ITERATIONS = 2;

/** Largest power of two that is at most `value`, 1 … `limit`. */
function powerOfTwoWithin(value: number, limit: number): number {
  return Math.min(limit, 2 ** Math.floor(Math.log2(Math.max(1, value))));
}

/** Share of the sectors of a thread per row that stay in the first-level cache until they are used up. Assumed. */
const SECTOR_REUSE = 0.5;

/** One thread for each row of CSR: a lane walks along its row. */
function threadPerRow(elements: Elements, blockThreads: number) {
  return (device: GpuDevice, matrix: MatrixSummary): MemoryWork => {
    const { nonzeros, rows, mean, max } = matrix;
    const sector = sectorBytes(device);
    const each =
      bytesAlongRun(elements.value, mean, SECTOR_REUSE, sector) +
      bytesAlongRun(elements.index, mean, SECTOR_REUSE, sector);
    const width = device.threadGroupWidth;
    return {
      streamBytes: each * nonzeros + ROW_BYTES * rows,
      footprintBytes: (elements.value + elements.index) * nonzeros + ROW_BYTES * rows,
      gathers: nonzeros,
      elements,
      chainIterations: max + ROW_ITERATIONS,
      groupIterations: paddedCells(matrix, width) / width,
      blocks: rows / blockThreads,
    };
  };
}

/** Threads of a block of Ginkgo's CSR and COO kernels: four thread groups. */
const GROUPS_PER_BLOCK = 4;

/** u threads for each row, the largest power of two that the longest row fills, up to a thread group: coalesced along the row. */
function groupPerRow(device: GpuDevice, matrix: MatrixSummary): MemoryWork {
  const { nonzeros, rows, max } = matrix;
  const width = device.threadGroupWidth;
  const threads = powerOfTwoWithin(max, width);
  const rowsPerGroup = width / threads;
  const iterations = Math.max(paddedCells(matrix, rowsPerGroup) / width, rows / rowsPerGroup);
  // The offsets of a row are read once for all: one further iteration.
  const perRow = 1;
  return {
    streamBytes: 12 * nonzeros + ROW_BYTES * rows,
    footprintBytes: 12 * nonzeros + ROW_BYTES * rows,
    gathers: nonzeros,
    elements: DOUBLE,
    chainIterations: Math.ceil(max / threads) + perRow,
    groupIterations: iterations + (perRow * rows) / rowsPerGroup,
    blocks: rows / (rowsPerGroup * GROUPS_PER_BLOCK),
  };
}

/** Thread groups that Ginkgo launches for even shares of non-zeros: more for larger matrices, so that each walks several lines. */
function evenShares(device: GpuDevice, nonzeros: number): { readonly groups: number; readonly lines: number } {
  const width = device.threadGroupWidth;
  const amd = device.vendor === 'amd';
  const perMultiprocessor = amd ? device.schedulersPerMultiprocessor : device.fp32LanesPerMultiprocessor / width;
  const steps: readonly (readonly [number, number])[] = amd
    ? [
        [1e7, 64],
        [1e6, 16],
      ]
    : [
        [2e8, 2048],
        [2e7, 512],
        [2e6, 128],
        [2e5, 32],
      ];
  const multiple = steps.find(([from]) => nonzeros >= from)?.[1] ?? 8;
  const lines = Math.max(1, Math.ceil(nonzeros / width));
  const groups = Math.min(multiple * device.multiprocessors * perMultiprocessor, lines);
  return { groups, lines: Math.ceil(lines / groups) };
}

/**
 * Even non-zeros: a thread group walks lines of its share, adds up within rows and to the result by atomics. COO stores the row of
 * each element, CSR has it looked for by walking over row ends.
 */
function evenNonzeros(format: 'coo' | 'csr') {
  return (device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork => {
    const { nonzeros, rows, max, median } = matrix;
    const width = device.threadGroupWidth;
    const { groups, lines } = evenShares(device, nonzeros);
    const streamBytes = format === 'coo' ? 16 * (nonzeros + rows) : 12 * nonzeros + 20 * rows;
    // Rows that end within one line: as many as short rows are beside one another.
    const rowsInLine = width / Math.max(1, median);
    return {
      streamBytes,
      footprintBytes: streamBytes,
      gathers: nonzeros,
      elements: DOUBLE,
      chainIterations: lines + ROW_ITERATIONS,
      groupIterations: nonzeros / width,
      blocks: groups / GROUPS_PER_BLOCK,
      beside: [
        (rows + groups) * values.atomicNs * 1e-3,
        Math.ceil(max / width / lines) * values.contendedAtomicNs * 1e-3,
      ],
      ...(format === 'csr' && { walked: { chain: lines * rowsInLine, all: rows } }),
    };
  };
}
const cooEven = evenNonzeros('coo');
const csrEven = evenNonzeros('csr');

/** Ginkgo's own choice: even shares for long rows and many non-zeros, else a group of threads per row (core/matrix/csr.hpp). */
export function libraryTakesEvenShares({ vendor }: GpuDevice, { nonzeros, max }: MatrixSummary): boolean {
  const amd = vendor === 'amd';
  return nonzeros > (amd ? 1e8 : 1e6) || max > (amd ? 768 : 1024);
}

function libraryCsr(device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork {
  return libraryTakesEvenShares(device, matrix) ? csrEven(device, matrix, values) : groupPerRow(device, matrix);
}

/** Above this ratio of width to rows, Ginkgo's ELL kernel shares a row among threads (cuda/matrix/ell_kernels.cu). */
const WIDE_ELL = 0.01;
const ELL_BLOCK_THREADS = 512;
const ELL_MAX_THREADS_PER_ROW = 32;

/** Padded to the longest row, column-major. A row ends at its first padding, so that a thread group stops at its own longest row. */
function padded(device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork {
  const { nonzeros, rows, max } = matrix;
  const width = device.threadGroupWidth;
  const wide = max / rows > WIDE_ELL;
  const threads = wide ? powerOfTwoWithin(max, ELL_MAX_THREADS_PER_ROW) : 1;
  const cells = paddedCells(matrix, width);
  const bytes = 12 * cells + 8 * rows;
  return {
    streamBytes: bytes,
    footprintBytes: bytes,
    gathers: nonzeros,
    elements: DOUBLE,
    chainIterations: Math.ceil(max / threads) + (wide ? ROW_ITERATIONS : 0),
    groupIterations: cells / width,
    blocks: (rows * threads) / ELL_BLOCK_THREADS,
    // Threads of a row add up by atomics in shared memory, between two barriers.
    after: wide ? rows * threads * values.atomicNs * 1e-3 : 0,
  };
}

/** Padded per slice of 64 rows, column-major, a block for each slice; padding is loaded. */
function sliced(device: GpuDevice, matrix: MatrixSummary): MemoryWork {
  const cells = paddedCells(matrix, SLICE_ROWS);
  const bytes = 12 * cells + 16 * matrix.rows;
  return {
    streamBytes: bytes,
    footprintBytes: bytes,
    gathers: cells,
    elements: DOUBLE,
    chainIterations: matrix.max,
    groupIterations: cells / device.threadGroupWidth,
    blocks: matrix.rows / SLICE_ROWS,
  };
}

/** Ginkgo's bound on the width of the ELL part, and the share of rows that it covers (core/matrix/hybrid.hpp: automatic). */
const HYBRID_ROWS_COVERED = 1 / 3;
const HYBRID_WIDTH_PER_ROW = 0.001;

/** A padded part as wide as a third of the rows, and the rest by even non-zeros, one after the other. */
function hybrid(device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork {
  const { rows, nonzeros, max } = matrix;
  const lane = device.threadGroupWidth;
  const width = Math.min(rowQuantile(matrix, HYBRID_ROWS_COVERED), Math.floor(rows * HYBRID_WIDTH_PER_ROW));
  const rest = Math.max(0, nonzeros - nonzerosWithin(matrix, width));
  const { groups, lines } = evenShares(device, rest);
  const bytes = 12 * rows * width + 24 * rows + 16 * rest;
  const paddedBlocks = (rows * Math.min(width, 1)) / ELL_BLOCK_THREADS;
  return {
    streamBytes: bytes,
    footprintBytes: bytes,
    gathers: nonzeros,
    elements: DOUBLE,
    chainIterations: width + lines + ROW_ITERATIONS,
    groupIterations: (rows * width + rest) / lane,
    blocks:
      Math.min(Math.min(groups / GROUPS_PER_BLOCK, rest), device.multiprocessors) +
      Math.min(paddedBlocks, device.multiprocessors),
    beside: [
      (Math.min(rows, rest) + groups) * values.atomicNs * 1e-3,
      Math.ceil(Math.max(0, max - width) / lane / lines) * values.contendedAtomicNs * 1e-3,
    ],
  };
}

/** A thread group takes as many rows as it has lanes and shares all their non-zeros evenly; each is added by an atomic. */
function groupOfRows(device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork {
  const { rows, nonzeros, mean, max, variance } = matrix;
  const width = device.threadGroupWidth;
  const groups = Math.ceil(rows / width);
  const beside = mean + 4 * values.neighbourDeviations * Math.sqrt(variance);
  const longest = Math.min(nonzeros, width * max, max + (width - 1) * beside);
  return {
    streamBytes: 8 * nonzeros + ROW_BYTES * rows,
    footprintBytes: 12 * nonzeros + ROW_BYTES * rows,
    gathers: nonzeros,
    elements: SINGLE,
    // Not whole numbers: the fit follows the derivative by the deviations.
    chainIterations: Math.max(1, longest / width) + ROW_ITERATIONS,
    groupIterations: nonzeros / width + (1 + ROW_ITERATIONS) * groups,
    blocks: groups / GROUPS_PER_BLOCK,
    beside: [nonzeros * values.atomicNs * 1e-3],
  };
}

/** Rows and non-zeros of a thread of the merge path, and threads of a block, as loops launches it. */
const MERGE_ITEMS = 7;
const MERGE_BLOCK_THREADS = 128;

/** Merge path: even shares of rows and non-zeros together, found by a search along the diagonal. */
function mergePath(device: GpuDevice, matrix: MatrixSummary, values: Values): MemoryWork {
  const { rows, nonzeros } = matrix;
  const items = rows + nonzeros;
  const bytes = 8 * nonzeros + ROW_BYTES * rows;
  return {
    streamBytes: bytes,
    footprintBytes: bytes,
    gathers: nonzeros,
    elements: SINGLE,
    chainIterations: MERGE_ITEMS + ROW_ITERATIONS,
    groupIterations: items / device.threadGroupWidth,
    blocks: items / (MERGE_BLOCK_THREADS * MERGE_ITEMS),
    after: values.searchStepNs * 1e-3 * Math.log2(1 + items),
  };
}

interface Definition extends Omit<SpmvImplementation, 'microseconds'> {
  readonly work: (device: GpuDevice, matrix: MatrixSummary, values: Values) => MemoryWork;
}

const DEFINITIONS: readonly Definition[] = [
  {
    id: 'csr-thread',
    takes: 'a thread per row of CSR',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'missLatencyRatio',
      'concurrencyFraction',
      'multiprocessorStartNs',
    ],
    work: threadPerRow(DOUBLE, 64),
  },
  {
    id: 'csr-group',
    takes: 'a group of threads per row of CSR, as many as the longest row fills',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'missLatencyRatio',
      'concurrencyFraction',
      'multiprocessorStartNs',
    ],
    work: groupPerRow,
  },
  {
    id: 'csr-even',
    takes: 'even non-zeros of CSR, rows found by walking',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'rowWalkNs',
      'contendedAtomicNs',
      'multiprocessorStartNs',
    ],
    work: csrEven,
  },
  {
    id: 'csr-library',
    takes: 'a group of threads per row, or even non-zeros where rows are long',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'rowWalkNs',
      'contendedAtomicNs',
      'multiprocessorStartNs',
    ],
    // Of the groups that fit, a quarter has its loads in flight: each row begins with two loads that nothing hides.
    fixed: { concurrencyFraction: 0.25, missLatencyRatio: 1.3 },
    work: libraryCsr,
  },
  {
    id: 'coo',
    takes: 'even non-zeros with their rows, atomics',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'gatherMissFraction',
      'contendedAtomicNs',
      'atomicNs',
      'multiprocessorStartNs',
    ],
    work: cooEven,
  },
  {
    id: 'ell',
    takes: 'padded to the longest row; rows of wide matrices shared by threads',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'missLatencyRatio',
      'atomicNs',
      'multiprocessorStartNs',
    ],
    work: padded,
  },
  {
    id: 'sellp',
    takes: 'padded per slice of 64 rows, a block per slice',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'missLatencyRatio',
      'gatherMissFraction',
      'multiprocessorStartNs',
    ],
    work: sliced,
  },
  {
    id: 'hybrid',
    takes: 'a padded part for short rows, even non-zeros for the rest',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'gatherMissFraction',
      'contendedAtomicNs',
      'latencyNs',
      'multiprocessorStartNs',
    ],
    work: hybrid,
  },
  {
    id: 'thread-mapped',
    takes: 'a thread per row of CSR, single precision',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'latencyNs',
      'missLatencyRatio',
      'concurrencyFraction',
      'multiprocessorStartNs',
    ],
    work: threadPerRow(SINGLE, 128),
  },
  {
    id: 'group-mapped',
    takes: 'as many rows as lanes for each thread group, their non-zeros shared evenly',
    parameters: [
      'startMicroseconds',
      'latencyNs',
      'missLatencyRatio',
      'neighbourDeviations',
      'atomicNs',
      'concurrencyFraction',
    ],
    work: groupOfRows,
  },
  {
    id: 'merge-path',
    takes: 'even shares of rows and non-zeros together',
    parameters: [
      'startMicroseconds',
      'bandwidthFraction',
      'gatherMissFraction',
      'searchStepNs',
      'latencyNs',
      'multiprocessorStartNs',
    ],
    work: mergePath,
  },
];

/** By id. */
export const SPMV_IMPLEMENTATIONS: ReadonlyMap<string, SpmvImplementation> = new Map(
  DEFINITIONS.map(({ work, ...definition }) => [
    definition.id,
    {
      ...definition,
      microseconds: (device, matrix, fitted) => {
        const values = { ...UNFITTED, ...definition.fixed, ...fitted };
        return timeOf(device, matrix, work(device, matrix, values), values);
      },
    } satisfies SpmvImplementation,
  ]),
);
