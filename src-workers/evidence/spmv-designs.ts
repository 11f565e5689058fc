import type { LockstepBalancing } from '../domain/design.ts';
import type { GpuDevice } from '../domain/device.ts';
import type { AccessPattern, KernelProfile, MemoryAccess } from '../domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../domain/provenance.ts';
import type { GridLaunch } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { createBudget } from '../numeric/budget.ts';
import { kept, keptFor } from '../numeric/kept.ts';
import { mersenneTwister, shuffle } from '../numeric/random.ts';
import { createCaches } from '../predict/caches.ts';
import {
  computeBalancingCost,
  computeBalancingMilliseconds,
  PASS_OVERHEAD_MS,
} from '../predict/cost/balancing-cost.ts';
import { makeGivenLengths, makeUnitLaw, repeatUnits, type OrderedLengths } from '../predict/ordered.ts';
import type { SweepPlan } from '../predict/plan.ts';
import { computeFillMs } from '../predict/launch-costs.ts';
import { createPredictor } from '../predict/predictor.ts';
import { predictChunk } from '../predict/ranges.ts';
import type { Caches } from '../predict/tables.ts';
import { quantile } from '../models/workload/laws.ts';
import { nonzerosWithin, paddedCells, rowQuantile, SLICE_ROWS, type MatrixSummary } from '../models/spmv/summary.ts';
import { SPMV_PARAMETERS, type SpmvParameter, type SpmvParameters } from './spmv-parameters.ts';

export interface SpmvImplementation {
  readonly id: string;
  readonly takes: string;
  readonly parameters: readonly SpmvParameter[];
  microseconds(device: GpuDevice, matrix: MatrixSummary, parameters: SpmvParameters): number;
}

interface SpmvLaunch {
  readonly kernel: KernelProfile;
  readonly units: number;
  readonly work: Workload;
  readonly threadsPerUnit: number;
  readonly balancing: string;
  readonly blockThreads: number;
  readonly launch: GridLaunch;
  /** Number of launches before this one that take little more time than their start. */
  readonly further?: number;
}

interface Workload {
  readonly law: LengthLaw;
  readonly ordered: OrderedLengths | null;
}

// -- Rows --

const QUANTILES = 4096;
const MOST_ROWS = 1 << 15;
const SEED = 7;

/**
 * If it is unknown how similar neighbours are, the loss of slices is their loss in random order, raised to this power.
 * 0.71 is near the median over those matrices of Ginkgo's file whose slices lose a fifth or more in random order
 * (quartiles 0.45 and 0.89).
 */
const USUAL_LIKENESS = 0.71;

/** Makes row lengths from a summary, including the longest. `slicedCells` tells how similar neighbours are. */
function makeRows(matrix: MatrixSummary): Workload {
  const { rows, max, nonzeros, slicedCells } = matrix;
  const count = Math.min(rows, QUANTILES);
  const lengths = Float64Array.from({ length: count }, (_, i) => Math.round(rowQuantile(matrix, (i + 0.5) / count)));
  if (rows <= SLICE_ROWS) return { law: withLongest(lengths, rows, max), ordered: null };
  const loss =
    slicedCells === null
      ? slicedLoss(shuffled(lengths, lengths.length)) ** USUAL_LIKENESS
      : slicedCells / Math.max(1, nonzeros);
  const pattern = inOrder(lengths, loss);
  const order = repeatUnits(pattern, Math.min(rows, MOST_ROWS)).slice();
  order[order.length >> 1] = max;
  const ordered = makeGivenLengths(order);
  return { law: makeUnitLaw(matrix.name, ordered, rows), ordered };
}

function withLongest(lengths: Float64Array, rows: number, max: number): LengthLaw {
  const { support, probability } = makeUnitLaw('', makeGivenLengths(lengths), lengths.length);
  return withMasses([...support, max], [...probability.map((mass) => mass * (1 - 1 / rows)), 1 / rows]);
}

function withMasses(lengths: ArrayLike<number>, probability: ArrayLike<number>): LengthLaw {
  const masses = new Map<number, number>();
  for (let at = 0; at < lengths.length; at += 1)
    masses.set(lengths[at], (masses.get(lengths[at]) ?? 0) + probability[at]);
  const support = Float64Array.from(masses.keys()).sort();
  return { label: '', truncatedMass: 0, support, probability: support.map((length) => masses.get(length)!) };
}

/**
 * Finds an order whose slices lose about as much as the slices of the matrix. Lengths are shuffled within windows, and
 * then whole slices are shuffled. With a wider window, slices lose more.
 */
function inOrder(ascending: Float64Array, loss: number): Float64Array {
  let best = ascending;
  let nearest = Infinity;
  for (let window = SLICE_ROWS; ; window *= 2) {
    const order = shuffled(ascending, Math.min(window, ascending.length));
    const off = Math.abs(Math.log(slicedLoss(order) / loss));
    if (off < nearest) {
      nearest = off;
      best = order;
    }
    if (window >= ascending.length) return best;
  }
}

function shuffled(ascending: Float64Array, window: number): Float64Array {
  const uniform = mersenneTwister(SEED);
  const own = ascending.slice();
  for (let from = 0; from < own.length; from += window) shuffle(own.subarray(from, from + window), uniform);
  const slices = Uint32Array.from({ length: Math.ceil(own.length / SLICE_ROWS) }, (_, at) => at);
  shuffle(slices, uniform);
  const order = new Float64Array(own.length);
  let to = 0;
  for (const slice of slices) {
    const part = own.subarray(slice * SLICE_ROWS, (slice + 1) * SLICE_ROWS);
    order.set(part, to);
    to += part.length;
  }
  return order;
}

function slicedLoss(lengths: Float64Array): number {
  let cells = 0;
  let sum = 0;
  for (let from = 0; from < lengths.length; from += SLICE_ROWS) {
    let longest = 0;
    const end = Math.min(lengths.length, from + SLICE_ROWS);
    for (let at = from; at < end; at += 1) {
      longest = Math.max(longest, lengths[at]);
      sum += lengths[at];
    }
    cells += longest * (end - from);
  }
  return cells / Math.max(1, sum);
}

function rowsTogether(matrix: MatrixSummary, together: number): Workload {
  const { ordered, law } = makeRows(matrix);
  const rows =
    ordered?.iterations ?? Float64Array.from({ length: QUANTILES }, (_, i) => quantile(law, (i + 0.5) / QUANTILES));
  const sums = new Float64Array(Math.ceil(rows.length / together));
  rows.forEach((length, at) => (sums[Math.floor(at / together)] += length));
  const given = makeGivenLengths(sums);
  return { law: makeUnitLaw(matrix.name, given, Math.ceil(matrix.rows / together)), ordered: given };
}

function inPieces({ law, ordered }: Workload, pieces: number): Workload {
  if (pieces === 1) return { law, ordered };
  const each = (length: number): number => Math.ceil(length / pieces);
  if (ordered) {
    const shorter = ordered.iterations.map(each);
    const lengths = Float64Array.from({ length: shorter.length * pieces }, (_, at) => shorter[at % shorter.length]);
    const given = makeGivenLengths(lengths);
    return { law: makeUnitLaw('', given, lengths.length), ordered: given };
  }
  return { law: withMasses(law.support.map(each), law.probability), ordered: null };
}

const workloads = new Map<string, Workload>();
const KEPT_WORKLOADS = 512;
function getWorkload(matrix: MatrixSummary, key: string, make: () => Workload): Workload {
  const { name, rows, nonzeros, max } = matrix;
  return kept(workloads, KEPT_WORKLOADS, `${name} ${rows} ${nonzeros} ${max} ${matrix.slicedCells} ${key}`, make);
}

const getRows = (matrix: MatrixSummary): Workload => getWorkload(matrix, 'rows', () => makeRows(matrix));

// -- Kernels --

/** The instructions were counted by hand in the sources; they matter little, since memory decides the time. */
const COMMON: Omit<KernelProfile, 'name'> = {
  ...KERNEL_DEFAULTS,
  registersPerThread: 32,
  instructionsPerIteration: 10,
  integerShare: 0.4,
  fp64Share: 0.1,
  chainInstructions: 7,
  dependentLoadsPerIteration: 2,
  sharing: 'deal',
  prologue: { instructions: 20, integerShare: 0.9 },
  bytesPerUnit: 0,
  lengthsKnownBeforeLaunch: true,
};

/** Returns the accesses to values and indices. A repeated product finds them in the level-2 cache if they fit. */
function streamed(pattern: AccessPattern, value: number, index: number, elements: number): readonly MemoryAccess[] {
  return [value, index].map((elementBytes) => ({
    pattern,
    elementBytes,
    footprintBytes: (value + index) * elements,
    isWarm: true,
  }));
}

function gathered(matrix: MatrixSummary, elementBytes: number, missFraction: number): MemoryAccess {
  return {
    pattern: 'scattered',
    elementBytes,
    footprintBytes: Math.max(1, matrix.columns) * elementBytes,
    missFraction,
  };
}

/** Iterations of a simple loop that compilers unroll. Their loads are issued together. */
const UNROLLED = 4;

function csrKernel(matrix: MatrixSummary, value: number, missFraction: number, threads = 1): KernelProfile {
  return {
    ...COMMON,
    name: 'csr',
    dependentLoadsPerIteration:
      COMMON.dependentLoadsPerIteration / Math.max(1, Math.min(UNROLLED, matrix.mean / threads)),
    accesses: [...streamed('along-unit', value, 4, matrix.nonzeros), gathered(matrix, value, missFraction)],
    unit: { instructions: 18, integerShare: 0.9, chainInstructions: 12, dependentLoads: 1, bytes: 4 + value },
    combine: { instructions: 5, integerShare: 0.6, dependentExchanges: 2 },
  };
}

/** A load and a compare-and-swap, each assumed to run twice. */
const EXCHANGES_PER_ADDITION = 4;

/** Returns the kernel for a padded, column-major matrix. Threads of a row are in several groups and add one by one. */
function paddedKernel(matrix: MatrixSummary, cells: number, threads: number, missFraction: number): KernelProfile {
  const additions = (EXCHANGES_PER_ADDITION * threads) / Math.log2(Math.max(2, threads));
  return {
    ...csrKernel(matrix, 8, missFraction),
    name: 'ell',
    dependentLoadsPerIteration: COMMON.dependentLoadsPerIteration,
    accesses: [...streamed('across-lanes', 8, 4, cells), gathered(matrix, 8, missFraction)],
    unit: { instructions: 8, integerShare: 0.9, bytes: 8 },
    combine: { instructions: 6, integerShare: 0.6, dependentExchanges: additions },
  };
}

/**
 * A thread group takes one non-zero per lane in each pass. Each lane sums its own values until a row ends in a pass.
 * Then a segmented tree adds within rows, and one instruction adds the sums to the result.
 */
function evenKernel(
  matrix: MatrixSummary,
  format: 'coo' | 'csr',
  { threadGroupWidth, occupancy }: GpuDevice,
  missFraction: number,
): KernelProfile {
  const endsRow = 1 - (1 - 1 / Math.max(1, matrix.mean)) ** threadGroupWidth;
  // Before compute capability 6.0, compare-and-swap adds doubles (CUDA C++ Programming Guide, Atomic Functions).
  const isEmulated = occupancy.family === 'nvidia' && Number(occupancy.computeCapability) < 6;
  const walk = { instructions: 4, integerShare: 1, chainInstructions: 2, dependentLoads: 1 };
  return {
    ...COMMON,
    name: format,
    instructionsPerIteration: 12 + 30 * endsRow,
    chainInstructions: 8 + 18 * endsRow,
    dependentExchanges: 1 + 6 * endsRow,
    dependentLoadsPerIteration: COMMON.dependentLoadsPerIteration + (isEmulated ? 2 * endsRow : 0),
    accesses: [
      ...streamed('across-lanes', 8, format === 'coo' ? 8 : 4, matrix.nonzeros),
      gathered(matrix, 8, missFraction),
    ],
    unit: format === 'coo' ? { instructions: 0, bytes: 16 } : { ...walk, bytes: 20 },
    // In COO, one segmented tree adds all rows of a pass, so a row has no steps of its own. In CSR, it has.
    ...(format === 'coo' && { combine: { instructions: 0 } }),
    search: { instructions: 0 },
    carry: { instructions: 15, dependentLoads: 1 },
  };
}

// -- Launches --

const ONE_EACH: GridLaunch = { kind: 'units-per-thread', value: 1 };

function powerOfTwoWithin(value: number, limit: number): number {
  return Math.min(limit, 2 ** Math.floor(Math.log2(Math.max(1, value))));
}

/** Thread groups of a block in Ginkgo's CSR and COO kernels. */
const GROUPS_PER_BLOCK = 4;
const ELL_BLOCK_THREADS = 512;

type Launcher = (device: GpuDevice, matrix: MatrixSummary, missFraction: number) => readonly SpmvLaunch[];

const ofRows = (matrix: MatrixSummary): Omit<SpmvLaunch, 'kernel' | 'blockThreads'> => ({
  units: matrix.rows,
  work: getRows(matrix),
  threadsPerUnit: 1,
  balancing: 'none',
  launch: ONE_EACH,
});

const perRow =
  (value: number, blockThreads: number): Launcher =>
  (_device, matrix, missFraction) => [
    { ...ofRows(matrix), kernel: csrKernel(matrix, value, missFraction), blockThreads },
  ];

/** If each row gets a thread group, Ginkgo launches at most this many times as many groups as can run at once. */
const CLASSICAL_OVERSUBSCRIPTION = 32;

/** Vector and memory instructions that clang 15 makes of such a kernel for gfx908. Scalar ones issue beside them. */
const GCN_CSR = {
  instructionsPerIteration: 14,
  unit: { instructions: 32, integerShare: 0.9, chainInstructions: 18, dependentLoads: 1, bytes: 12 },
  combine: { instructions: 3, integerShare: 0, dependentExchanges: 1 },
};

/** Each row gets the threads that the longest row can use. A slot takes several rows if the grid would be too large. */
const groupPerRow: Launcher = (device, matrix, missFraction) => {
  const { threadGroupWidth: width } = device;
  const threadsPerUnit = powerOfTwoWithin(matrix.max, width);
  const blocks = Math.ceil((matrix.rows * threadsPerUnit) / (GROUPS_PER_BLOCK * width));
  const most = Math.floor((CLASSICAL_OVERSUBSCRIPTION * countGroups(device)) / GROUPS_PER_BLOCK);
  return [
    {
      ...ofRows(matrix),
      kernel: { ...csrKernel(matrix, 8, missFraction, threadsPerUnit), ...(device.vendor === 'amd' && GCN_CSR) },
      threadsPerUnit,
      blockThreads: GROUPS_PER_BLOCK * width,
      launch: { kind: 'grid', value: Math.min(blocks, most) },
    },
  ];
};

/** Returns the number of thread groups that a device can run at once, as Ginkgo computes it. */
function countGroups({ vendor, ...device }: GpuDevice): number {
  const { threadGroupWidth: width, schedulersPerMultiprocessor, fp32LanesPerMultiprocessor } = device;
  return device.multiprocessors * (vendor === 'amd' ? schedulersPerMultiprocessor : fp32LanesPerMultiprocessor / width);
}

function shareGroups(device: GpuDevice, nonzeros: number): number {
  const width = device.threadGroupWidth;
  const amd = device.vendor === 'amd';
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
  return Math.max(1, Math.min(multiple * countGroups(device), Math.ceil(nonzeros / width)));
}

const evenNonzeros =
  (format: 'coo' | 'csr'): Launcher =>
  (device, matrix, missFraction) => {
    const { law } = getRows(matrix);
    const groups = shareGroups(device, matrix.nonzeros);
    return [
      {
        kernel: evenKernel(matrix, format, device, missFraction),
        units: matrix.rows,
        work: { law, ordered: null },
        threadsPerUnit: device.threadGroupWidth,
        balancing: 'nonzero-split',
        blockThreads: GROUPS_PER_BLOCK * device.threadGroupWidth,
        launch: { kind: 'grid', value: Math.max(1, Math.floor(groups / GROUPS_PER_BLOCK)) },
        // A separate launch sets the results to zero, since the shares are added to them.
        further: 1,
      },
    ];
  };
const cooEven = evenNonzeros('coo');
const csrEven = evenNonzeros('csr');

/** Returns whether Ginkgo itself chooses even shares. Otherwise each row gets a group (core/matrix/csr.hpp). */
export function libraryTakesEvenShares({ vendor }: GpuDevice, { nonzeros, max }: MatrixSummary): boolean {
  const amd = vendor === 'amd';
  return nonzeros > (amd ? 1e8 : 1e6) || max > (amd ? 768 : 1024);
}

const libraryCsr: Launcher = (device, matrix, missFraction) =>
  (libraryTakesEvenShares(device, matrix) ? csrEven : groupPerRow)(device, matrix, missFraction);

/** The ratio of width to rows above which threads share a row in Ginkgo's ELL kernel (cuda/matrix/ell_kernels.cu). */
const WIDE_ELL = 0.01;
const ELL_MOST_THREADS = 32;
/** Several thread groups share a row as long as the launch has at most this many times the groups that run at once. */
const ELL_OVERSUBSCRIPTION = 4;

const ell: Launcher = (device, matrix, missFraction) => {
  const { rows, max } = matrix;
  const threads = max / rows > WIDE_ELL ? powerOfTwoWithin(max, ELL_MOST_THREADS) : 1;
  const pieces =
    threads < ELL_MOST_THREADS
      ? 1
      : Math.max(1, Math.floor(Math.min(max / ELL_MOST_THREADS, (ELL_OVERSUBSCRIPTION * countGroups(device)) / rows)));
  return [
    {
      kernel: paddedKernel(matrix, matrix.nonzeros, threads, missFraction),
      units: rows * pieces,
      work: getWorkload(matrix, `pieces ${pieces}`, () => inPieces(makeRows(matrix), pieces)),
      threadsPerUnit: threads,
      // A row ends at its first padding, so a thread group stops after the longest of its own rows.
      balancing: 'none',
      blockThreads: ELL_BLOCK_THREADS,
      launch: ONE_EACH,
      further: pieces > 1 ? 1 : 0,
    },
  ];
};

const sellp: Launcher = (_device, matrix, missFraction) => [
  {
    ...ofRows(matrix),
    kernel: paddedKernel(matrix, paddedCells(matrix, SLICE_ROWS), 1, missFraction),
    balancing: `padded-slice(${SLICE_ROWS})`,
    blockThreads: SLICE_ROWS,
  },
];

/** Fraction of the rows that the ELL part of Ginkgo's hybrid format covers (core/matrix/hybrid.hpp: automatic). */
const HYBRID_ROWS_COVERED = 1 / 3;
/** The maximum width of the ELL part, divided by the number of rows. */
const HYBRID_WIDTH_PER_ROW = 0.001;

/** The padded part covers up to a third of the rows in full. The other non-zeros are shared evenly. */
const hybrid: Launcher = (device, matrix, missFraction) => {
  const { rows, nonzeros, max } = matrix;
  const width = Math.min(rowQuantile(matrix, HYBRID_ROWS_COVERED), Math.floor(rows * HYBRID_WIDTH_PER_ROW));
  const within = width < 1 ? 0 : nonzerosWithin(matrix, width);
  const rest = nonzeros - within;
  const constant = (length: number): Workload => ({
    law: { label: '', support: Float64Array.of(length), probability: Float64Array.of(1), truncatedMass: 0 },
    ordered: null,
  });
  const parts: SpmvLaunch[] = [];
  if (within > 0)
    parts.push({
      kernel: paddedKernel(matrix, within, 1, missFraction),
      units: rows,
      work: constant(Math.round(width)),
      threadsPerUnit: 1,
      balancing: 'none',
      blockThreads: ELL_BLOCK_THREADS,
      launch: ONE_EACH,
    });
  if (rest > 1) {
    const long = Math.max(1, Math.min(rows, rest / Math.max(1, (max - width) / 4)));
    const each = { ...matrix, nonzeros: rest, rows: Math.ceil(long), mean: rest / Math.ceil(long) };
    parts.push({
      ...cooEven(device, matrix, missFraction)[0],
      kernel: evenKernel(each, 'coo', device, missFraction),
      units: each.rows,
      work: constant(Math.max(1, Math.round(each.mean))),
      launch: { kind: 'grid', value: Math.max(1, Math.floor(shareGroups(device, rest) / GROUPS_PER_BLOCK)) },
    });
  }
  return parts;
};

/**
 * Thread groups take one row per lane, and their lanes share all non-zeros of these rows. For each non-zero, a lane
 * searches its row in shared memory and adds the product atomically.
 */
const groupOfRows: Launcher = ({ threadGroupWidth }, matrix, missFraction) => [
  {
    kernel: {
      ...csrKernel(matrix, 4, missFraction),
      name: 'group',
      instructionsPerIteration: 40,
      chainInstructions: 30,
      dependentExchanges: 7,
      dependentLoadsPerIteration: 3,
    },
    units: Math.ceil(matrix.rows / threadGroupWidth),
    work: getWorkload(matrix, `together ${threadGroupWidth}`, () => rowsTogether(matrix, threadGroupWidth)),
    threadsPerUnit: threadGroupWidth,
    balancing: 'none',
    blockThreads: GROUPS_PER_BLOCK * threadGroupWidth,
    launch: ONE_EACH,
  },
];

/** Rows and non-zeros of a merge-path thread, and threads per block, as in the loops library (merge_path_flat.cuh). */
const MERGE_ITEMS = 5;
const MERGE_BLOCK_THREADS = 128;

const mergePath: Launcher = (_device, matrix, missFraction) => [
  {
    // A block finds its rows first, and then its threads search among these rows in shared memory. Their loops are
    // unrolled and wait only for shared memory, so all loads of a share are in flight at once. A thread group loads
    // contiguous data, so every sector in the first-level cache is used in full.
    kernel: {
      ...csrKernel(matrix, 4, missFraction),
      name: 'merge',
      dependentLoadsPerIteration: 2 / MERGE_ITEMS,
      accesses: [...streamed('across-lanes', 4, 4, matrix.nonzeros), gathered(matrix, 4, missFraction)],
      unit: { instructions: 6, bytes: 8 },
      search: { instructions: 4, dependentExchanges: 0.5 },
      carry: { instructions: 15 },
    },
    units: matrix.rows,
    work: { law: getRows(matrix).law, ordered: null },
    threadsPerUnit: 1,
    balancing: 'merge-path',
    blockThreads: MERGE_BLOCK_THREADS,
    launch: { kind: 'grid', value: Math.ceil((matrix.rows + matrix.nonzeros) / (MERGE_BLOCK_THREADS * MERGE_ITEMS)) },
  },
];

// -- Times --

const DESIGN_BYTES = 2 ** 20;
const caches = new WeakMap<Workload, Map<string, Caches>>();

/** Predicts the time of a launch without its start, µs. */
function launchMicroseconds(device: GpuDevice, launch: SpmvLaunch): number {
  const { kernel, units, work, threadsPerUnit, balancing, blockThreads } = launch;
  const plan: SweepPlan = {
    id: kernel.name,
    units,
    law: work.law,
    ordered: work.ordered,
    kernel,
    constraints: [],
    pipeline: {},
    axes: {
      devices: [device],
      threadsPerUnit: [threadsPerUnit],
      loop: ['nested'],
      balancing: [balancing],
      registerCap: [null],
      blockThreads: [blockThreads],
      launch: [launch.launch],
    },
  };
  const key = `${balancing} ${threadsPerUnit} ${blockThreads}`;
  const own = keptFor(caches, work, Infinity, key, () => createCaches(createBudget(DESIGN_BYTES)));
  const predictor = createPredictor(plan, own);
  // Measured times do not include the conversion of a matrix to the format of the kernel, so its cost is subtracted.
  const stored = computeBalancingMilliseconds(
    device,
    computeBalancingCost(predictor.balancing[0] as LockstepBalancing, units, kernel),
  );
  return (predictChunk(predictor, 0, 1).timeMs[0] - stored) * 1e3;
}

function countBlocks({ launch, units, threadsPerUnit, blockThreads }: SpmvLaunch): number {
  return launch.kind === 'grid' ? launch.value : Math.ceil((units * threadsPerUnit) / blockThreads);
}

function implementation(
  id: string,
  takes: string,
  parameters: readonly SpmvParameter[],
  launches: Launcher,
): readonly [string, SpmvImplementation] {
  return [
    id,
    {
      id,
      takes,
      parameters,
      microseconds: (device, matrix, given) => {
        const value = (name: SpmvParameter): number => given[name] ?? SPMV_PARAMETERS[name].initial;
        const own: GpuDevice = {
          ...device,
          achievedBandwidthFraction: value('bandwidthFraction'),
          memoryLatencyCycles: device.memoryLatencyCycles * value('latencyRatio'),
          launchMicroseconds: 0,
          fillMicroseconds: 0,
        };
        // Many shares add to the result of the longest row, and these atomic additions run one after another.
        const width = device.threadGroupWidth;
        const contended = parameters.includes('contendedAtomicNs')
          ? (Math.ceil(matrix.max / Math.max(width, matrix.nonzeros / shareGroups(device, matrix.nonzeros))) - 1) *
            value('contendedAtomicNs') *
            1e-3
          : 0;
        const parts = launches(own, matrix, value('missFraction'));
        const work = parts.reduce((sum, launch) => sum + launchMicroseconds(own, launch), 0);
        const further = parts.reduce((sum, launch) => sum + (launch.further ?? 0), 0) * PASS_OVERHEAD_MS * 1e3;
        // Launches that follow one another fill the device once.
        const blocks = Math.max(1, ...parts.map(countBlocks));
        const { fillMicroseconds = device.fillMicroseconds } = given;
        const fill = computeFillMs({ ...device, fillMicroseconds }, blocks) * 1e3;
        return value('startMicroseconds') + fill + further + Math.max(work, contended);
      },
    },
  ];
}

const OF_ROWS = ['startMicroseconds', 'fillMicroseconds', 'bandwidthFraction', 'latencyRatio', 'missFraction'] as const;
const OF_SHARES = [...OF_ROWS, 'contendedAtomicNs'] as const;

export const SPMV_IMPLEMENTATIONS: ReadonlyMap<string, SpmvImplementation> = new Map([
  implementation('csr-thread', 'a thread per row of CSR', OF_ROWS, perRow(8, 64)),
  implementation('csr-group', 'a group of threads per row of CSR, sized for the longest row', OF_ROWS, groupPerRow),
  implementation('csr-even', 'even shares of CSR non-zeros; each steps through its rows', OF_SHARES, csrEven),
  implementation(
    'csr-library',
    'a group of threads per row, or even shares of non-zeros if rows are long',
    OF_SHARES,
    libraryCsr,
  ),
  implementation('coo', 'even shares of non-zeros stored with their rows, added by atomics', OF_SHARES, cooEven),
  implementation('ell', 'padded to the longest row; in wide matrices, threads share a row', OF_ROWS, ell),
  implementation('sellp', 'padded per slice of 64 rows, a block per slice', OF_ROWS, sellp),
  implementation('hybrid', 'padded up to a width; non-zeros beyond it in even shares', OF_SHARES, hybrid),
  implementation('thread-mapped', 'a thread per row', OF_ROWS, perRow(4, 128)),
  implementation('group-mapped', 'a thread group per 32 rows, sharing all their non-zeros', OF_ROWS, groupOfRows),
  implementation('merge-path', 'even shares of rows and non-zeros', OF_ROWS, mergePath),
]);
