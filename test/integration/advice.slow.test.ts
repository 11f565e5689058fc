import { it } from 'vitest';
import { agreesWithRanking, agreesWithSweep, useEngine } from './advice-agreement.ts';

useEngine();

it.each([['collatz'], ['mandelbrot'], ['spmv-skewed', 2 ** 14]])(
  'the recommendation of %s equals that of the full ranking while ten fields change',
  (name, mostUnits?: number) => agreesWithRanking(name, 5, mostUnits),
);

// This device has the narrowest tie band, so a changed input moves designs out of the band.
it('the sensitivity of collatz agrees with a sweep at each value, and at the ends of its ranges', () =>
  agreesWithSweep('collatz', 'nvidia-k20'));
