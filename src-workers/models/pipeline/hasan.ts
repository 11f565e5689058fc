/**
 * Execution efficiency of a launch after Hasan, Chatterjee, Radhakrishnan, Antonio, "Performance Prediction Model and
 * Analysis for Compute-Intensive Tasks on GPUs", NPC 2014, doi:10.1007/978-3-662-44917-2_65: Eq. 1–3 as printed.
 */

/** Kepler K20 as in the paper. Times jump above 208 blocks, which are 16 blocks on each of 13 SMs. */
export const HASAN_KEPLER20 = {
  multiprocessors: 13,
  residentThreadGroups: 64,
  residentBlocks: 16,
  threadGroupWidth: 32,
};

/** τ in the figures of the paper, ms (Fig. 1). */
export const HASAN_IDEAL_TIME_MS = 14.5;

/** Eq. 3, κ: execution efficiency on the K20, 0…1. The ideal time τ cancels. */
export function hasanEfficiency(blocks: number, threadsPerBlock: number): number {
  const { multiprocessors, residentThreadGroups, residentBlocks, threadGroupWidth } = HASAN_KEPLER20;
  // Eq. 2, ξ_rw/τ, printed without a ceiling.
  const resident = (blocks * threadsPerBlock) / (residentThreadGroups * threadGroupWidth * multiprocessors);
  // Eq. 1, ξ_rb/τ, from the waves of resident blocks.
  const waves = resident <= 1 ? 1 : Math.max(1, Math.ceil(blocks / (residentBlocks * multiprocessors)));
  return 1 / (waves + resident);
}

export const HASAN_THREADS_PER_BLOCK = [32, 64, 96, 128, 160, 192, 224, 256, 288, 320] as const;

/** Table 2 as printed: measured times of the Sum of Binomial Series, ms, one per entry of `HASAN_THREADS_PER_BLOCK`. */
export const HASAN_TABLE_2: readonly { readonly blocks: number; readonly timeMs: readonly number[] }[] = [
  { blocks: 16, timeMs: [14.61, 14.61, 14.62, 14.63, 14.62, 14.62, 14.62, 14.62, 14.63, 14.64] },
  { blocks: 64, timeMs: [14.61, 14.6, 14.63, 14.62, 15.42, 15.91, 16.9, 17.73, 21.34, 22.57] },
  { blocks: 112, timeMs: [14.6, 14.53, 15.2, 16.69, 21.38, 24.35, 27.93, 42.31, 42.74, 41.72] },
  { blocks: 160, timeMs: [14.54, 15.19, 17.84, 22.47, 40.29, 40.58, 44.35, 45.28, 52.16, 65.71] },
  { blocks: 208, timeMs: [14.55, 15.83, 20.8, 27.64, 43, 45.12, 52.69, 55.23, 70.21, 77.9] },
  { blocks: 224, timeMs: [29.02, 30.36, 35.3, 42.16, 42.97, 46.65, 56.08, 69.69, 75.5, 78.63] },
  { blocks: 272, timeMs: [29.05, 30.37, 35.47, 43.4, 50.6, 66.41, 70.39, 79.28, 84.12, 95.45] },
  { blocks: 320, timeMs: [29.07, 30.54, 36.56, 45.43, 67.23, 71.02, 80.39, 98.46, 102.9, 117.3] },
  { blocks: 368, timeMs: [29.08, 31.6, 39.95, 51.77, 69.03, 78.6, 96.55, 103.4, 123.5, 127.1] },
  { blocks: 416, timeMs: [29.02, 31.63, 41.58, 55.38, 75.08, 93.54, 102.2, 110.4, 129.7, 147.5] },
  { blocks: 432, timeMs: [43.45, 46.13, 56.03, 69.73, 78.6, 94.69, 105.3, 124.9, 134.9, 147.9] },
  { blocks: 480, timeMs: [43.5, 46.15, 56.19, 70.99, 93.14, 99.24, 124.6, 134.3, 153.7, 170.8] },
  { blocks: 528, timeMs: [43.51, 46.32, 58.16, 74.42, 94.91, 117.8, 132.6, 152.3, 164.8, 178.4] },
  { blocks: 576, timeMs: [43.5, 46.75, 60.69, 79.36, 101.6, 120.7, 139.1, 161.9, 181.4, 199.4] },
  { blocks: 624, timeMs: [43.51, 47.41, 62.39, 83.1, 105.8, 130.2, 152.4, 165.5, 192.9, 209.2] },
  { blocks: 640, timeMs: [57.87, 61.91, 76.75, 97.3, 118.9, 131.1, 156.4, 180.1, 203.4, 222.6] },
];
