import type { MessagePort } from 'node:worker_threads';
import { mersenneTwister } from '../../numeric/random.ts';
import { arriveAndWait } from './barrier.ts';
import { PAGE_BYTES } from './assembler.ts';
import { STREAMED_ROWS, UNROLLED_BYTES, type Kernels } from './kernels.ts';
import { packedStart, type CaseShares } from './shares.ts';

export interface ThreadTask {
  readonly rank: number;
  readonly threads: number;
  readonly shares: CaseShares;
  readonly module: WebAssembly.Module;
  readonly barrier: Int32Array;
  /** For each launch, the common start and then the end of each thread, in ns of the system's monotonic clock. */
  readonly clock: BigInt64Array;
  /** For each launch and thread, the fraction of the time until its end that the thread was on a core, 0…1. */
  readonly onCore: Float64Array;
  readonly launches: number;
  readonly seed: number;
  readonly ports: readonly MessagePort[];
}

export type ThreadMessage =
  | {
      readonly kind: 'launch';
      readonly launch: number;
      readonly timeNs: number;
      readonly endNs: readonly number[];
      readonly onCoreFraction: readonly number[];
    }
  | { readonly kind: 'checked'; readonly rank: number; readonly message: string };

/** Enough spins for threads to leave a barrier together; if threads outnumber cores, a small delay. */
const START_SPINS = 20_000;
const SCALE = 3;
const CHECKED_ROWS = 32;

// Sums of products of small whole numbers are exact in double precision, in any order.
const tripleB = (i: number): number => 1 + (i & 1023);
const tripleC = (i: number): number => 2 + (i % 509);
const matrixAt = (k: number): number => Math.imul(k, 0x9e3779b1) >>> 28;
const vectorAt = (j: number): number => 1 + (j % 7);

/** Runs one thread of a case. The thread fills its own share, so that the pages are near its core. */
export async function runThread(task: ThreadTask, send: (message: ThreadMessage) => void): Promise<void> {
  const { rank, threads, shares, barrier, clock, onCore, launches } = task;
  const memory = await sharedMemory(task);
  const instance = new WebAssembly.Instance(task.module, { host: { memory } });
  const share = makeShare(shares, rank, memory.buffer, instance.exports as unknown as Kernels, task.seed);
  share.fill();
  for (let launch = 0; launch < launches; launch += 1) {
    const at = launch * (threads + 1);
    arriveAndWait(barrier, threads, START_SPINS, () => (clock[at] = process.hrtime.bigint()));
    const before = process.threadCpuUsage();
    share.launch();
    clock[at + 1 + rank] = process.hrtime.bigint();
    const { user, system } = process.threadCpuUsage(before);
    onCore[launch * threads + rank] = Math.min(1, ((user + system) * 1000) / Number(clock[at + 1 + rank] - clock[at]));
    // A waiting thread sleeps, since it must not take time from working threads.
    arriveAndWait(barrier, threads, 0);
    if (rank === 0) {
      const endNs = Array.from({ length: threads }, (_, w) => Number(clock[at + 1 + w] - clock[at]));
      const onCoreFraction = Array.from(onCore.subarray(launch * threads, (launch + 1) * threads));
      send({ kind: 'launch', launch, timeNs: Math.max(...endNs), endNs, onCoreFraction });
    }
  }
  send({ kind: 'checked', rank, message: share.check() });
}

async function sharedMemory({ rank, shares, ports }: ThreadTask): Promise<WebAssembly.Memory> {
  if (rank === 0) {
    const initial = Math.ceil(shares.memoryBytes / PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial, maximum: 65536, shared: true });
    for (const port of ports) port.postMessage(memory);
    for (const port of ports) port.close();
    return memory;
  }
  return new Promise((resolve) => ports[0].once('message', (memory: WebAssembly.Memory) => resolve(memory)));
}

interface Share {
  readonly fill: () => void;
  readonly launch: () => void;
  readonly check: () => string;
}

function makeShare(shares: CaseShares, rank: number, buffer: ArrayBufferLike, kernels: Kernels, seed: number): Share {
  switch (shares.kind) {
    case 'triad':
      return triadShare(shares, rank, buffer, kernels);
    case 'triangular':
      return triangularShare(shares, rank, buffer, kernels, seed);
  }
}

function triadShare(
  shares: Extract<CaseShares, { kind: 'triad' }>,
  rank: number,
  buffer: ArrayBufferLike,
  kernels: Kernels,
): Share {
  const first = shares.firstElement[rank];
  const count = shares.firstElement[rank + 1] - first;
  const [atA, atB, atC] = shares.arrays.map((at) => at + first * 8);
  const a = new Float64Array(buffer, atA, count);
  const b = new Float64Array(buffer, atB, count);
  const c = new Float64Array(buffer, atC, count);
  return {
    fill: () => {
      for (let i = 0; i < count; i += 1) {
        a[i] = -1;
        b[i] = tripleB(first + i);
        c[i] = tripleC(first + i);
      }
    },
    launch: () => {
      if (count === 0) return;
      for (let pass = 0; pass < shares.passes; pass += 1) kernels.triad(atA, atB, atC, count * 8, SCALE);
    },
    check: () => {
      for (let i = 0; i < count; i += 1) {
        const expected = tripleB(first + i) + SCALE * tripleC(first + i);
        if (a[i] !== expected) return `element ${first + i} is ${a[i]} instead of ${expected}`;
      }
      return '';
    },
  };
}

function triangularShare(
  shares: Extract<CaseShares, { kind: 'triangular' }>,
  rank: number,
  buffer: ArrayBufferLike,
  kernels: Kernels,
  seed: number,
): Share {
  const from = shares.firstRow[rank];
  const to = shares.firstRow[rank + 1];
  const rows = shares.firstRow.at(-1)!;
  const [atMatrix, atX, atY] = shares.arrays;
  const y = new Float64Array(buffer, atY, rows);
  return {
    fill: () => {
      const start = packedStart(from);
      const matrix = new Float64Array(buffer, atMatrix + start * 8, packedStart(to) - start);
      for (let k = 0; k < matrix.length; k += 1) matrix[k] = matrixAt(start + k);
      const x = new Float64Array(buffer, atX, rows);
      for (let row = from; row < to; row += 1) {
        x[row] = vectorAt(row);
        y[row] = NaN;
      }
    },
    launch: () => {
      let row = from;
      for (; row + STREAMED_ROWS <= to; row += STREAMED_ROWS) {
        const bytes = (row + 1) * 8;
        kernels.dotRows(atMatrix + packedStart(row) * 8, atX, atY + row * 8, bytes);
        const done = bytes - (bytes % UNROLLED_BYTES);
        for (let k = row; k < row + STREAMED_ROWS; k += 1)
          y[k] += kernels.dot(atMatrix + packedStart(k) * 8 + done, atX + done, (k + 1) * 8 - done);
      }
      for (; row < to; row += 1) y[row] = kernels.dot(atMatrix + packedStart(row) * 8, atX, (row + 1) * 8);
    },
    check: () => {
      const missing = y.subarray(from, to).findIndex((value) => !Number.isFinite(value));
      if (missing >= 0) return `Row ${from + missing} of the result is ${y[from + missing]} instead of a number.`;
      const uniform = mersenneTwister(seed + rank);
      const drawn = Array.from({ length: CHECKED_ROWS }, () => from + Math.floor(uniform() * (to - from)));
      for (const row of [from, to - 1, ...drawn]) {
        const start = packedStart(row);
        let expected = 0;
        for (let j = 0; j <= row; j += 1) expected += matrixAt(start + j) * vectorAt(j);
        if (y[row] !== expected) return `row ${row} is ${y[row]} instead of ${expected}`;
      }
      return '';
    },
  };
}
