/**
 * Figures as printed in Langguth, Cai, Trotter, "Modelling Load Imbalance in Shared Memory Multicore Systems", slides: ten CPUs,
 * and the bandwidth that two unbalanced workloads reached and were predicted to reach, GB/s (10⁹ bytes).
 */

export interface PublishedCpu {
  readonly cpu: string;
  readonly cores: number;
  readonly singleCoreBandwidthGbS: number;
  readonly fullBandwidthGbS: number;
  /** K as listed. */
  readonly kneeCores: number;
}

/** A predicted bandwidth, GB/s, and its printed error against the measurement, %. */
export type PublishedPrediction = readonly [bandwidthGbS: number, errorPercent: number];

interface PublishedResult {
  readonly measuredGbS: number;
  readonly fullContention: PublishedPrediction;
  readonly noContention: PublishedPrediction;
  readonly twoPhase: PublishedPrediction;
}

export interface PublishedTriangular extends PublishedResult {
  readonly noImbalance: PublishedPrediction;
  readonly phase1Percent: number;
  /** Needs bandwidths by active cores that are not printed. */
  readonly staircase: PublishedPrediction;
}

export interface PublishedAmdahl extends PublishedResult {
  readonly noImbalance: PublishedPrediction;
}

export const LANGGUTH_CPUS: readonly PublishedCpu[] = [
  { cpu: 'AMD Epyc 7302P (Rome)', cores: 16, singleCoreBandwidthGbS: 22.83, fullBandwidthGbS: 90.91, kneeCores: 5 },
  { cpu: 'AMD Epyc 7413 (Milan)', cores: 24, singleCoreBandwidthGbS: 31.83, fullBandwidthGbS: 102.58, kneeCores: 4 },
  { cpu: 'AMD Epyc 7601 (Naples)', cores: 32, singleCoreBandwidthGbS: 18.15, fullBandwidthGbS: 85.42, kneeCores: 5 },
  { cpu: 'AMD Epyc 7763 (Milan)', cores: 64, singleCoreBandwidthGbS: 30.93, fullBandwidthGbS: 121.23, kneeCores: 4 },
  { cpu: 'Intel Xeon Gold 6130', cores: 16, singleCoreBandwidthGbS: 13.42, fullBandwidthGbS: 74.74, kneeCores: 6 },
  { cpu: 'Intel Xeon Platinum 8168', cores: 24, singleCoreBandwidthGbS: 11.81, fullBandwidthGbS: 68.96, kneeCores: 6 },
  {
    cpu: 'Intel Xeon Platinum 8360Y',
    cores: 36,
    singleCoreBandwidthGbS: 14.9,
    fullBandwidthGbS: 158.21,
    kneeCores: 11,
  },
  { cpu: 'Cavium ThunderX2', cores: 32, singleCoreBandwidthGbS: 15.51, fullBandwidthGbS: 118.54, kneeCores: 8 },
  { cpu: 'HiSilicon Kunpeng 920', cores: 64, singleCoreBandwidthGbS: 12.35, fullBandwidthGbS: 131.54, kneeCores: 11 },
  { cpu: 'NVIDIA Grace GH200', cores: 72, singleCoreBandwidthGbS: 27.16, fullBandwidthGbS: 316.45, kneeCores: 12 },
];

/** In the order of `LANGGUTH_CPUS`. */
export const LANGGUTH_TRIANGULAR: readonly PublishedTriangular[] = [
  {
    measuredGbS: 60.24,
    fullContention: [46.92, -22],
    noContention: [188.53, 213],
    noImbalance: [90.91, 51],
    phase1Percent: 91.3,
    staircase: [57.26, -5],
    twoPhase: [83.16, 41],
  },
  {
    measuredGbS: 88.21,
    fullContention: [52.38, -41],
    noContention: [390.03, 342],
    noImbalance: [102.58, 16],
    phase1Percent: 96.7,
    staircase: [91.06, 3],
    twoPhase: [100.25, 14],
  },
  {
    measuredGbS: 66.9,
    fullContention: [43.39, -35],
    noContention: [295.02, 341],
    noImbalance: [85.42, 28],
    phase1Percent: 96.4,
    staircase: [72.1, 8],
    twoPhase: [83.02, 24],
  },
  {
    measuredGbS: 127.07,
    fullContention: [61.09, -52],
    noContention: [997.44, 685],
    noImbalance: [121.23, -5],
    phase1Percent: 99.4,
    staircase: [117.41, -8],
    twoPhase: [120.71, -5],
  },
  {
    measuredGbS: 44.1,
    fullContention: [38.58, -13],
    noContention: [110.82, 151],
    noImbalance: [74.74, 69],
    phase1Percent: 81.5,
    staircase: [50.55, 15],
    twoPhase: [63.42, 44],
  },
  {
    measuredGbS: 63.98,
    fullContention: [35.21, -45],
    noContention: [144.68, 126],
    noImbalance: [68.96, 8],
    phase1Percent: 90.6,
    staircase: [59.97, -6],
    twoPhase: [63.61, -1],
  },
  {
    measuredGbS: 89.67,
    fullContention: [80.22, -11],
    noContention: [272.01, 203],
    noImbalance: [158.21, 76],
    phase1Percent: 85.7,
    staircase: [129.36, 44],
    twoPhase: [137.77, 54],
  },
  {
    measuredGbS: 74.09,
    fullContention: [60.21, -19],
    noContention: [252.12, 240],
    noImbalance: [118.54, 60],
    phase1Percent: 90.4,
    staircase: [96.28, 30],
    twoPhase: [108.67, 47],
  },
  {
    measuredGbS: 92.46,
    fullContention: [66.29, -28],
    noContention: [398.32, 331],
    noImbalance: [131.54, 42],
    phase1Percent: 95,
    staircase: [102.17, 10],
    twoPhase: [125.62, 36],
  },
  {
    measuredGbS: 273.57,
    fullContention: [159.34, -42],
    noContention: [984.78, 260],
    noImbalance: [316.45, 16],
    phase1Percent: 95.3,
    staircase: [309.8, 13],
    twoPhase: [302.77, 11],
  },
];

/** In the order of `LANGGUTH_CPUS`. */
export const LANGGUTH_AMDAHL: readonly PublishedAmdahl[] = [
  {
    measuredGbS: 33.07,
    fullContention: [10.69, -67.66],
    noContention: [42.97, 29.94],
    noImbalance: [90.91, 174.89],
    twoPhase: [36.49, 10.35],
  },
  {
    measuredGbS: 43.52,
    fullContention: [8.21, -81.15],
    noContention: [61.1, 40.4],
    noImbalance: [102.58, 135.69],
    twoPhase: [48.58, 11.62],
  },
  {
    measuredGbS: 22.46,
    fullContention: [5.18, -76.95],
    noContention: [35.2, 56.72],
    noImbalance: [85.42, 280.3],
    twoPhase: [29.94, 33.29],
  },
  {
    measuredGbS: 47.34,
    fullContention: [3.73, -92.12],
    noContention: [60.9, 28.65],
    noImbalance: [121.23, 156.09],
    twoPhase: [49.28, 4.11],
  },
  {
    measuredGbS: 22.07,
    fullContention: [8.79, -60.16],
    noContention: [25.26, 14.46],
    noImbalance: [74.74, 238.64],
    twoPhase: [22.75, 3.1],
  },
  {
    measuredGbS: 20.75,
    fullContention: [5.52, -73.41],
    noContention: [22.67, 9.25],
    noImbalance: [68.96, 232.36],
    twoPhase: [20.16, -2.84],
  },
  {
    measuredGbS: 28.14,
    fullContention: [8.55, -69.61],
    noContention: [29, 3.03],
    noImbalance: [158.21, 462.14],
    twoPhase: [27.24, -3.22],
  },
  {
    measuredGbS: 26.9,
    fullContention: [7.18, -73.29],
    noContention: [30.08, 11.84],
    noImbalance: [118.54, 340.71],
    twoPhase: [27.43, 1.99],
  },
  {
    measuredGbS: 22.21,
    fullContention: [4.05, -81.78],
    noContention: [24.32, 9.5],
    noImbalance: [131.54, 492.29],
    twoPhase: [22.58, 1.67],
  },
  {
    measuredGbS: 51.84,
    fullContention: [8.67, -83.28],
    noContention: [53.58, 3.36],
    noImbalance: [316.45, 510.42],
    twoPhase: [50.03, -3.49],
  },
];
