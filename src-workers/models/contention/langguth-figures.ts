/**
 * Figures as printed in Langguth, Cai, Trotter, "Modelling Load Imbalance in Shared Memory Multicore Systems", slides:
 * ten CPUs, and in their order the measured and predicted bandwidth of two unbalanced workloads, GB/s.
 */

export interface PublishedCpu {
  readonly cpu: string;
  readonly cores: number;
  readonly singleCoreBandwidthGbS: number;
  readonly fullBandwidthGbS: number;
  readonly kneeCores: number;
}

export type PublishedPrediction = readonly [bandwidthGbS: number, errorPercent: number];

// prettier-ignore
export const LANGGUTH_CPUS: readonly PublishedCpu[] = ([
  ['AMD Epyc 7302P (Rome)', 16, 22.83, 90.91, 5],
  ['AMD Epyc 7413 (Milan)', 24, 31.83, 102.58, 4],
  ['AMD Epyc 7601 (Naples)', 32, 18.15, 85.42, 5],
  ['AMD Epyc 7763 (Milan)', 64, 30.93, 121.23, 4],
  ['Intel Xeon Gold 6130', 16, 13.42, 74.74, 6],
  ['Intel Xeon Platinum 8168', 24, 11.81, 68.96, 6],
  ['Intel Xeon Platinum 8360Y', 36, 14.9, 158.21, 11],
  ['Cavium ThunderX2', 32, 15.51, 118.54, 8],
  ['HiSilicon Kunpeng 920', 64, 12.35, 131.54, 11],
  ['NVIDIA Grace GH200', 72, 27.16, 316.45, 12],
] as const).map(([cpu, cores, singleCoreBandwidthGbS, fullBandwidthGbS, kneeCores]) => ({
  cpu, cores, singleCoreBandwidthGbS, fullBandwidthGbS, kneeCores,
}));

// prettier-ignore
export const LANGGUTH_TRIANGULAR = ([
  [60.24, [46.92, -22], [188.53, 213], [90.91, 51], [83.16, 41], [57.26, -5], 91.3],
  [88.21, [52.38, -41], [390.03, 342], [102.58, 16], [100.25, 14], [91.06, 3], 96.7],
  [66.9, [43.39, -35], [295.02, 341], [85.42, 28], [83.02, 24], [72.1, 8], 96.4],
  [127.07, [61.09, -52], [997.44, 685], [121.23, -5], [120.71, -5], [117.41, -8], 99.4],
  [44.1, [38.58, -13], [110.82, 151], [74.74, 69], [63.42, 44], [50.55, 15], 81.5],
  [63.98, [35.21, -45], [144.68, 126], [68.96, 8], [63.61, -1], [59.97, -6], 90.6],
  [89.67, [80.22, -11], [272.01, 203], [158.21, 76], [137.77, 54], [129.36, 44], 85.7],
  [74.09, [60.21, -19], [252.12, 240], [118.54, 60], [108.67, 47], [96.28, 30], 90.4],
  [92.46, [66.29, -28], [398.32, 331], [131.54, 42], [125.62, 36], [102.17, 10], 95],
  [273.57, [159.34, -42], [984.78, 260], [316.45, 16], [302.77, 11], [309.8, 13], 95.3],
] as const).map(([measuredGbS, fullContention, noContention, noImbalance, twoPhase, staircase, phase1Percent]) => ({
  measuredGbS, fullContention, noContention, noImbalance, twoPhase, staircase, phase1Percent,
}));

// prettier-ignore
export const LANGGUTH_AMDAHL = ([
  [33.07, [10.69, -67.66], [42.97, 29.94], [90.91, 174.89], [36.49, 10.35]],
  [43.52, [8.21, -81.15], [61.1, 40.4], [102.58, 135.69], [48.58, 11.62]],
  [22.46, [5.18, -76.95], [35.2, 56.72], [85.42, 280.3], [29.94, 33.29]],
  [47.34, [3.73, -92.12], [60.9, 28.65], [121.23, 156.09], [49.28, 4.11]],
  [22.07, [8.79, -60.16], [25.26, 14.46], [74.74, 238.64], [22.75, 3.1]],
  [20.75, [5.52, -73.41], [22.67, 9.25], [68.96, 232.36], [20.16, -2.84]],
  [28.14, [8.55, -69.61], [29, 3.03], [158.21, 462.14], [27.24, -3.22]],
  [26.9, [7.18, -73.29], [30.08, 11.84], [118.54, 340.71], [27.43, 1.99]],
  [22.21, [4.05, -81.78], [24.32, 9.5], [131.54, 492.29], [22.58, 1.67]],
  [51.84, [8.67, -83.28], [53.58, 3.36], [316.45, 510.42], [50.03, -3.49]],
] as const).map(([measuredGbS, fullContention, noContention, noImbalance, twoPhase]) => ({
  measuredGbS, fullContention, noContention, noImbalance, twoPhase,
}));
