import type { BenchPlan } from '../../domain/benchmark.ts';
import { MAX_MEMORY_BYTES, type ContentionCase } from './shares.ts';

export const ASSUMED_CACHE_BYTES = 64 * 2 ** 20;
/** STREAM's rule: arrays must have at least four times the size of the last-level cache. */
const CACHES = 4;
/** With fewer bytes, starting the threads takes a noticeable fraction of the time. */
const MIN_BYTES = 256 * 2 ** 20;
/** The fraction of the 4 GiB of a WebAssembly memory, and of the machine's free memory, that a case may use. */
const MEMORY_FRACTION = 0.9;
const FREE_FRACTION = 0.5;

/** Returns the bytes of one pass of a case: more than the last-level caches hold, if the memory allows this. */
export function standardBytes(lastLevelCacheBytes: number, freeMemoryBytes: number): number {
  const wanted = Math.max(CACHES * lastLevelCacheBytes, MIN_BYTES);
  return Math.floor(Math.min(wanted, MEMORY_FRACTION * MAX_MEMORY_BYTES, FREE_FRACTION * freeMemoryBytes));
}

export interface CpuPlanOptions {
  readonly cores: number;
  readonly totalBytes: number;
}

/** Returns the contention suite of Langguth, Cai, Trotter. All cases move about the same number of bytes. */
export function contentionCases({ cores, totalBytes }: CpuPlanOptions): readonly ContentionCase[] {
  const unbalanced = Array.from({ length: cores - 1 }, (_, i) => i + 2);
  // Rows of the largest packed triangle that fits: rows·(rows + 1)/2 numbers of 8 bytes.
  const rows = Math.floor((Math.sqrt(1 + totalBytes) - 1) / 2);
  return [
    ...Array.from({ length: cores }, (_, i): ContentionCase => {
      const bytesPerCore = Math.floor(totalBytes / (i + 1));
      return { id: `stream-${i + 1}`, benchmark: 'stream', parameters: { cores: i + 1, bytesPerCore } };
    }),
    ...unbalanced.map((active): ContentionCase => {
      return { id: `triangular-${active}`, benchmark: 'triangular', parameters: { cores: active, rows } };
    }),
    ...unbalanced.map((active): ContentionCase => {
      const bytesPerShare = Math.floor(totalBytes / (2 * active));
      return {
        id: `imbalanced-stream-${active}`,
        benchmark: 'imbalanced-stream',
        parameters: { cores: active, bytesPerShare },
      };
    }),
  ];
}

export function cpuPlan(options: CpuPlanOptions): BenchPlan {
  return {
    format: 'lockstep-bench',
    version: 1,
    backend: 'cpu',
    cases: contentionCases(options),
    warmUps: 2,
    repeats: 15,
    seed: 1,
    caseTimeLimitMs: 120_000,
    workload: null,
  };
}
