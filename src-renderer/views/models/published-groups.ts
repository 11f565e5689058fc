import type { LawId } from './laws.ts';

/** Groups that the authors of Swatman et al. 2022 simulated and ran, in the bins of `lossDistribution`. */
export interface PublishedGroups {
  readonly law: LawId;
  readonly n: number;
  readonly groups: number;
  readonly simulated: readonly number[];
  readonly measured: readonly number[];
}

/**
 * The first 4,096 groups of 32 units of two files published with the code of Swatman et al. 2022
 * (doi:10.1109/MASCOTS56607.2022.00026; github.com/stephenswat/smite, Unlicense). `test/data/smite` holds the rows, and
 * a test counts them again. The end bins include all values beyond them.
 */
export const PUBLISHED_GROUPS: readonly PublishedGroups[] = [
  // prettier-ignore
  {
    law: 'geometric', n: 32, groups: 4096,
    simulated: [0, 0, 0, 0, 0, 1, 10, 48, 86, 150, 251, 304, 351, 348, 379, 318, 275, 266, 231, 197, 171, 100, 108, 84, 69, 60, 54, 50, 39, 28, 17, 20, 11, 13, 15, 7, 7, 6, 8, 2, 2, 1, 2, 1, 2, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    measured: [1, 3, 7, 11, 17, 8, 22, 86, 123, 227, 301, 371, 331, 378, 333, 305, 264, 223, 185, 149, 104, 106, 74, 63, 64, 48, 39, 35, 27, 20, 20, 19, 15, 13, 4, 10, 10, 6, 8, 6, 5, 5, 3, 6, 6, 5, 2, 3, 2, 1, 2, 1, 4, 0, 1, 0, 0, 1, 0, 13],
  },
  // prettier-ignore
  {
    law: 'uniform', n: 32, groups: 4096,
    simulated: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 6, 7, 12, 30, 36, 56, 90, 111, 178, 204, 232, 271, 303, 302, 333, 318, 261, 286, 237, 189, 164, 120, 94, 81, 54, 38, 27, 18, 14, 6, 6, 1, 1, 1, 3, 0, 0, 0, 0],
    measured: [0, 0, 0, 16, 4, 0, 0, 0, 4, 5, 16, 14, 10, 9, 9, 7, 0, 2, 1, 2, 3, 2, 8, 15, 14, 33, 44, 67, 79, 107, 126, 187, 212, 240, 244, 266, 238, 286, 235, 264, 219, 202, 163, 139, 135, 95, 82, 67, 52, 36, 23, 12, 19, 11, 6, 5, 5, 4, 0, 52],
  },
];
