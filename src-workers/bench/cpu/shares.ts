import type { CaseOf } from '../../domain/benchmark.ts';
import { isPartition, type Design } from '../../domain/design.ts';
import { ok, type Result, badInput, unsupported } from '../../domain/result.ts';
import { parseBalancing } from '../../domain/balancing.ts';
import { evenRows } from '../../models/partition/partition.ts';
import { totalLoad } from '../../models/contention/loads.ts';
import { computeCoreLoads, type CpuLoads } from '../../predict/cpu.ts';

export type CaseShares =
  | {
      readonly kind: 'triad';
      /** The first element of each core, then the number of all elements. A core may have none. */
      readonly firstElement: readonly number[];
      readonly passes: number;
      /** Start of the arrays a, b and c, bytes. */
      readonly arrays: readonly [number, number, number];
      readonly memoryBytes: number;
      readonly loadBytes: readonly number[];
    }
  | {
      readonly kind: 'triangular';
      readonly firstRow: readonly number[];
      /** Start of the packed matrix, x and y, bytes. */
      readonly arrays: readonly [number, number, number];
      readonly memoryBytes: number;
      readonly loadBytes: readonly number[];
    };

export type ContentionCase = CaseOf<'stream' | 'triangular' | 'imbalanced-stream'>;

/** 2³² bytes minus one page, so that every address, including the end of the last array, is a 32-bit number. */
export const MAX_MEMORY_BYTES = 2 ** 32 - 65536;
/** Few machines have as many cores, and this many threads cannot exhaust a machine. */
const MAX_CORES = 1024;
/** Elements of one pass of the unrolled loop. A core's share is a whole number of passes. */
const PASS_ELEMENTS = 8;
const ELEMENT_BYTES = 8;
/** Counted as in STREAM: reading b and c, and writing a. Reading a line of a before it is written does not count. */
const TRIAD_BYTES_PER_ELEMENT = 24;
const PASS_BYTES = TRIAD_BYTES_PER_ELEMENT * PASS_ELEMENTS;
/** The gap between arrays. If arrays had equal offsets within a page, loads would wait for stores to other arrays. */
const GAP_BYTES = 1024 + 64;

/** Fails with `bad-input` on invalid numbers, with `unsupported` on too much memory. */
export function caseShares({ benchmark, parameters }: ContentionCase): Result<CaseShares> {
  const { cores } = parameters;
  if (!(Number.isSafeInteger(cores) && cores >= 1 && cores <= MAX_CORES))
    return badInput(`The number of cores must be an integer from 1 to ${MAX_CORES}, not ${cores}.`);
  const shares = new Array<number>(cores).fill(1);
  switch (benchmark) {
    case 'triangular':
      return triangularShares(cores, parameters.rows);
    case 'stream':
      return triadShares(parameters.bytesPerCore, shares);
    case 'imbalanced-stream':
      // Shares by Langguth, Cai, Trotter: the first of P cores gets P + 1 shares, every other core one share.
      return triadShares(parameters.bytesPerShare, shares.with(0, cores + 1));
  }
}

export interface DesignMachine {
  readonly passBytes: number;
  readonly maxThreads: number;
}

export interface DesignShares {
  readonly shares: CaseShares;
  /** Copies of its work that each core gets, ≥ 1 and not always whole. Launch times are divided by this number. */
  readonly copies: number;
}

/**
 * Each core's share of a triad is proportional to its predicted load. The work is repeated, also in part, until it
 * fills whole passes of `passBytes`. The work is a triad, because predictions use bandwidths that a triad measured.
 */
export function designShares(design: Design, loads: CpuLoads, machine: DesignMachine): Result<DesignShares> {
  const { gridBlocks: cores } = design;
  const balancing = parseBalancing(design.balancing);
  if (!balancing.ok) return balancing;
  if (!isPartition(balancing.value))
    return unsupported(`The balancing ${design.balancing} is for a GPU. Use a balancing for the cores of a CPU.`);
  if (!(Number.isSafeInteger(cores) && cores >= 1 && cores <= MAX_CORES))
    return badInput(`The number of cores must be an integer from 1 to ${MAX_CORES}, not ${cores}.`);
  if (cores > machine.maxThreads)
    return unsupported(`The design uses ${cores} cores, but this machine has only ${machine.maxThreads} threads.`);
  const bytes = computeCoreLoads(loads, balancing.value, cores);
  const total = totalLoad(bytes);
  if (!(total > 0)) return unsupported(`The workload moves ${total} bytes, so there is nothing to measure.`);
  const passes = Math.ceil(total / machine.passBytes);
  const elementsPerByte = machine.passBytes / total / TRIAD_BYTES_PER_ELEMENT;
  const elements = Array.from(bytes, (load) => Math.round((load * elementsPerByte) / PASS_ELEMENTS) * PASS_ELEMENTS);
  const shares = placedTriad(elements, passes);
  return shares.ok ? ok({ shares: shares.value, copies: (passes * machine.passBytes) / total }) : shares;
}

function triadShares(bytesPerShare: number, shares: readonly number[]): Result<CaseShares> {
  const elements = Math.floor(bytesPerShare / PASS_BYTES) * PASS_ELEMENTS;
  if (!(elements >= PASS_ELEMENTS))
    return badInput(`A share of ${bytesPerShare} bytes is too small. One pass needs ${PASS_BYTES} bytes.`);
  return placedTriad(
    shares.map((share) => share * elements),
    1,
  );
}

function placedTriad(elements: readonly number[], passes: number): Result<CaseShares> {
  const firstElement = [0];
  for (const own of elements) firstElement.push(firstElement.at(-1)! + own);
  const stride = firstElement.at(-1)! * ELEMENT_BYTES + GAP_BYTES;
  return withinMemory({
    kind: 'triad',
    firstElement,
    passes,
    arrays: [0, stride, 2 * stride],
    memoryBytes: 3 * stride,
    loadBytes: elements.map((own) => own * passes * TRIAD_BYTES_PER_ELEMENT),
  });
}

/** Row i has i + 1 elements. */
export function packedStart(row: number): number {
  return (row * (row + 1)) / 2;
}

function triangularShares(cores: number, rows: number): Result<CaseShares> {
  if (!(Number.isSafeInteger(rows) && rows >= cores && rows <= 2 ** 16))
    return badInput(`The number of rows must be an integer from ${cores} (one per core) to ${2 ** 16}, not ${rows}.`);
  const { rows: rowsOf, nonZeros } = evenRows(
    Float64Array.from({ length: rows }, (_, row) => row + 1),
    cores,
  );
  const firstRow = [0];
  for (const own of rowsOf) firstRow.push(firstRow.at(-1)! + own);
  const x = packedStart(rows) * ELEMENT_BYTES + GAP_BYTES;
  const y = x + rows * ELEMENT_BYTES + GAP_BYTES;
  return withinMemory({
    kind: 'triangular',
    firstRow,
    arrays: [0, x, y],
    memoryBytes: y + rows * ELEMENT_BYTES,
    // The vectors stay in the cache and do not count, since the matrix is far larger.
    loadBytes: Array.from(nonZeros, (entries) => entries * ELEMENT_BYTES),
  });
}

function withinMemory(shares: CaseShares): Result<CaseShares> {
  if (shares.memoryBytes <= MAX_MEMORY_BYTES) return ok(shares);
  return unsupported(`The case needs ${shares.memoryBytes} bytes, more than the limit of ${MAX_MEMORY_BYTES}.`);
}
