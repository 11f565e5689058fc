import { lossComparison } from '../../../src-workers/models/imbalance/loss-comparison.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import type { Divergence } from '../../../src-workers/models/divergence/costs.ts';
import { runLoops, type LoopKernel } from '../../../src-workers/models/divergence/figures.ts';
import { STACK_LANES } from '../../../src-workers/models/divergence/program.ts';
import { lengthSampler, mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { lawOf, type LawId } from './laws.ts';

/** Figures that take longer than a frame. `Background` computes them in a worker, so their data must be plain. */

/** The number of bins of a loss distribution, the same as in `published-groups.ts`. */
export const LOSS_BINS = 60;
/** With so many groups, the standard error of the mean loss is 1/128 of the standard deviation of a group. */
const SIMULATED_GROUPS = 16_384;

/** Computes Fig. 2 of Swatman et al. 2022: the distribution of the loss by the model and in sampled groups. */
function lossDistribution({ law, n, seed }: { law: LawId; n: number; seed: number }) {
  const lengths = lawOf(law);
  const draw = lengthSampler(lengths);
  const uniform = mersenneTwister(seed);
  const losses = Float64Array.from({ length: SIMULATED_GROUPS }, () => {
    let longest = 0;
    let sum = 0;
    for (let unit = 0; unit < n; unit += 1) {
      const length = draw(uniform);
      sum += length;
      longest = Math.max(longest, length);
    }
    return sum === 0 ? 1 : (n * longest) / sum;
  });
  return {
    ...lossComparison(lengths, n, [losses], LOSS_BINS),
    groups: SIMULATED_GROUPS,
    modelledMean: lossMoments(lengths, [n])[0].meanLoss,
    simulatedMean: losses.reduce((sum, loss) => sum + loss, 0) / SIMULATED_GROUPS,
  };
}

function stackByLanes(kernel: LoopKernel): readonly Divergence[] {
  return Array.from({ length: STACK_LANES }, (_, n) => {
    const { divergentBranches, spills } = runLoops(kernel, n);
    return { divergentBranches, spills };
  });
}

export const FIGURES = { lossDistribution, stackByLanes } as const;
export type FigureName = keyof typeof FIGURES;
export type FigureInput<Name extends FigureName> = Parameters<(typeof FIGURES)[Name]>[0];
export type FigureOutput<Name extends FigureName> = ReturnType<(typeof FIGURES)[Name]>;

export interface FigureRequest {
  readonly id: number;
  readonly name: FigureName;
  readonly input: unknown;
}
export interface FigureAnswer {
  readonly id: number;
  readonly output: unknown;
}
