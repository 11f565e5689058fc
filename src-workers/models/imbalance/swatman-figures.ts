/** Mean losses as printed in Swatman et al. 2022, Table I, doi:10.1109/MASCOTS56607.2022.00026; measured on an A100. */
export const TABLE_I = [
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

export const PUBLIC_GROUP_COUNT = 131_072;

/**
 * Means over the per-group data that the authors published with their code (github.com/stephenswat/smite, Unlicense),
 * from a different run than Table I. At n = 1 there is no loss, so these rows show the error of the measurement.
 */
// prettier-ignore
export const PUBLIC_GROUPS = ([
  ['binomial(40,0.5)', 1, 1, 1, 1.004642, 1.003867],
  ['binomial(40,0.5)', 2, 1.089991, 1.088824, 1.091234, 1.088165],
  ['binomial(40,0.5)', 4, 1.163123, 1.162059, 1.162666, 1.155011],
  ['binomial(40,0.5)', 8, 1.22458, 1.223835, 1.240389, 1.230627],
  ['binomial(40,0.5)', 16, 1.27811, 1.277647, 1.302455, 1.287856],
  ['binomial(40,0.5)', 32, 1.324921, 1.324647, 1.345098, 1.328047],
  ['geometric(0.05)', 1, 1, 1, 1.01566, 1.004574],
  ['geometric(0.05)', 2, 1.476026, 1.486902, 1.464614, 1.474837],
  ['geometric(0.05)', 4, 2.045423, 2.055167, 2.009425, 2.014716],
  ['geometric(0.05)', 8, 2.666735, 2.671722, 2.698883, 2.671546],
  ['geometric(0.05)', 16, 3.314332, 3.317961, 3.343538, 3.277781],
  ['geometric(0.05)', 32, 3.974512, 3.975985, 3.897866, 3.780285],
  ['uniform(20,40)', 1, 1, 1, 1.003191, 1.002726],
  ['uniform(20,40)', 2, 1.117901, 1.116465, 1.119381, 1.116563],
  ['uniform(20,40)', 4, 1.213399, 1.209581, 1.213804, 1.203332],
  ['uniform(20,40)', 8, 1.27493, 1.271174, 1.294411, 1.278412],
  ['uniform(20,40)', 16, 1.30903, 1.306468, 1.335666, 1.320395],
  ['uniform(20,40)', 32, 1.326291, 1.324779, 1.353091, 1.337899],
] as const).map(([workload, n, simulatedMean, simulatedAggregate, measuredMean, measuredAggregate]) => ({
  workload, n, simulatedMean, simulatedAggregate, measuredMean, measuredAggregate,
}));
