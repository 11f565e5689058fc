/** One row of Table I: mean performance loss as the authors modelled, simulated and measured it (A100). */
export interface PublishedLoss {
  readonly workload: string;
  readonly n: number;
  readonly modelled: number;
  readonly simulated: number;
  readonly measured: number;
}

/**
 * Table I of Swatman, Varbanescu, Krasznahorkay, Pimentel: Modelling Performance Loss due to Thread Imbalance in Stochastic
 * Variable-Length SIMT Workloads, MASCOTS 2022, doi:10.1109/MASCOTS56607.2022.00026. Figures as printed.
 */
export const TABLE_I: readonly PublishedLoss[] = [
  { workload: 'binomial(40,0.5)', n: 2, modelled: 1.09, simulated: 1.09, measured: 1.099 },
  { workload: 'binomial(40,0.5)', n: 4, modelled: 1.163, simulated: 1.163, measured: 1.173 },
  { workload: 'binomial(40,0.5)', n: 8, modelled: 1.225, simulated: 1.225, measured: 1.236 },
  { workload: 'binomial(40,0.5)', n: 16, modelled: 1.278, simulated: 1.278, measured: 1.287 },
  { workload: 'binomial(40,0.5)', n: 32, modelled: 1.325, simulated: 1.325, measured: 1.326 },
  { workload: 'geometric(0.05)', n: 2, modelled: 1.476, simulated: 1.477, measured: 1.497 },
  { workload: 'geometric(0.05)', n: 4, modelled: 2.047, simulated: 2.047, measured: 2.065 },
  { workload: 'geometric(0.05)', n: 8, modelled: 2.668, simulated: 2.668, measured: 2.689 },
  { workload: 'geometric(0.05)', n: 16, modelled: 3.317, simulated: 3.317, measured: 3.321 },
  { workload: 'geometric(0.05)', n: 32, modelled: 3.979, simulated: 3.979, measured: 3.915 },
  { workload: 'poisson(30)', n: 2, modelled: 1.104, simulated: 1.104, measured: 1.11 },
  { workload: 'poisson(30)', n: 4, modelled: 1.191, simulated: 1.191, measured: 1.198 },
  { workload: 'poisson(30)', n: 8, modelled: 1.268, simulated: 1.268, measured: 1.275 },
  { workload: 'poisson(30)', n: 16, modelled: 1.335, simulated: 1.335, measured: 1.341 },
  { workload: 'poisson(30)', n: 32, modelled: 1.397, simulated: 1.397, measured: 1.393 },
  { workload: 'uniform(20,40)', n: 2, modelled: 1.118, simulated: 1.118, measured: 1.124 },
  { workload: 'uniform(20,40)', n: 4, modelled: 1.213, simulated: 1.213, measured: 1.22 },
  { workload: 'uniform(20,40)', n: 8, modelled: 1.275, simulated: 1.275, measured: 1.282 },
  { workload: 'uniform(20,40)', n: 16, modelled: 1.309, simulated: 1.309, measured: 1.316 },
  { workload: 'uniform(20,40)', n: 32, modelled: 1.326, simulated: 1.326, measured: 1.328 },
  { workload: 'negative-binomial(5,0.3)', n: 2, modelled: 1.301, simulated: 1.301, measured: 1.323 },
  { workload: 'negative-binomial(5,0.3)', n: 4, modelled: 1.587, simulated: 1.586, measured: 1.608 },
  { workload: 'negative-binomial(5,0.3)', n: 8, modelled: 1.86, simulated: 1.86, measured: 1.885 },
  { workload: 'negative-binomial(5,0.3)', n: 16, modelled: 2.123, simulated: 2.124, measured: 2.142 },
  { workload: 'negative-binomial(5,0.3)', n: 32, modelled: 2.375, simulated: 2.375, measured: 2.358 },
];

/** Losses over 131,072 work groups: simulated iterations, and cycles measured on a GPU. */
export interface PublicGroups {
  readonly workload: string;
  readonly n: number;
  readonly simulatedMean: number;
  readonly simulatedAggregate: number;
  readonly measuredMean: number;
  readonly measuredAggregate: number;
}

/** Groups behind every row of `PUBLIC_GROUPS`. */
export const PUBLIC_GROUP_COUNT = 131_072;

/**
 * Means over the per-group data the same authors published with their code (github.com/stephenswat/smite, Unlicense). Another
 * run than Table I's; n = 1, where nothing can be lost, shows the measurement's own floor.
 */
export const PUBLIC_GROUPS: readonly PublicGroups[] = [
  {
    workload: 'binomial(40,0.5)',
    n: 1,
    simulatedMean: 1.0,
    simulatedAggregate: 1.0,
    measuredMean: 1.004642,
    measuredAggregate: 1.003867,
  },
  {
    workload: 'binomial(40,0.5)',
    n: 2,
    simulatedMean: 1.089991,
    simulatedAggregate: 1.088824,
    measuredMean: 1.091234,
    measuredAggregate: 1.088165,
  },
  {
    workload: 'binomial(40,0.5)',
    n: 4,
    simulatedMean: 1.163123,
    simulatedAggregate: 1.162059,
    measuredMean: 1.162666,
    measuredAggregate: 1.155011,
  },
  {
    workload: 'binomial(40,0.5)',
    n: 8,
    simulatedMean: 1.22458,
    simulatedAggregate: 1.223835,
    measuredMean: 1.240389,
    measuredAggregate: 1.230627,
  },
  {
    workload: 'binomial(40,0.5)',
    n: 16,
    simulatedMean: 1.27811,
    simulatedAggregate: 1.277647,
    measuredMean: 1.302455,
    measuredAggregate: 1.287856,
  },
  {
    workload: 'binomial(40,0.5)',
    n: 32,
    simulatedMean: 1.324921,
    simulatedAggregate: 1.324647,
    measuredMean: 1.345098,
    measuredAggregate: 1.328047,
  },
  {
    workload: 'geometric(0.05)',
    n: 1,
    simulatedMean: 1.0,
    simulatedAggregate: 1.0,
    measuredMean: 1.01566,
    measuredAggregate: 1.004574,
  },
  {
    workload: 'geometric(0.05)',
    n: 2,
    simulatedMean: 1.476026,
    simulatedAggregate: 1.486902,
    measuredMean: 1.464614,
    measuredAggregate: 1.474837,
  },
  {
    workload: 'geometric(0.05)',
    n: 4,
    simulatedMean: 2.045423,
    simulatedAggregate: 2.055167,
    measuredMean: 2.009425,
    measuredAggregate: 2.014716,
  },
  {
    workload: 'geometric(0.05)',
    n: 8,
    simulatedMean: 2.666735,
    simulatedAggregate: 2.671722,
    measuredMean: 2.698883,
    measuredAggregate: 2.671546,
  },
  {
    workload: 'geometric(0.05)',
    n: 16,
    simulatedMean: 3.314332,
    simulatedAggregate: 3.317961,
    measuredMean: 3.343538,
    measuredAggregate: 3.277781,
  },
  {
    workload: 'geometric(0.05)',
    n: 32,
    simulatedMean: 3.974512,
    simulatedAggregate: 3.975985,
    measuredMean: 3.897866,
    measuredAggregate: 3.780285,
  },
  {
    workload: 'uniform(20,40)',
    n: 1,
    simulatedMean: 1.0,
    simulatedAggregate: 1.0,
    measuredMean: 1.003191,
    measuredAggregate: 1.002726,
  },
  {
    workload: 'uniform(20,40)',
    n: 2,
    simulatedMean: 1.117901,
    simulatedAggregate: 1.116465,
    measuredMean: 1.119381,
    measuredAggregate: 1.116563,
  },
  {
    workload: 'uniform(20,40)',
    n: 4,
    simulatedMean: 1.213399,
    simulatedAggregate: 1.209581,
    measuredMean: 1.213804,
    measuredAggregate: 1.203332,
  },
  {
    workload: 'uniform(20,40)',
    n: 8,
    simulatedMean: 1.27493,
    simulatedAggregate: 1.271174,
    measuredMean: 1.294411,
    measuredAggregate: 1.278412,
  },
  {
    workload: 'uniform(20,40)',
    n: 16,
    simulatedMean: 1.30903,
    simulatedAggregate: 1.306468,
    measuredMean: 1.335666,
    measuredAggregate: 1.320395,
  },
  {
    workload: 'uniform(20,40)',
    n: 32,
    simulatedMean: 1.326291,
    simulatedAggregate: 1.324779,
    measuredMean: 1.353091,
    measuredAggregate: 1.337899,
  },
];
