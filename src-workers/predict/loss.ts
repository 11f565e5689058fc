import type { LossReport } from '../domain/loss.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { affordableLossDistribution } from '../models/imbalance/binned.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { quantile } from '../models/imbalance/distribution.ts';
import { moments } from '../models/workload/laws.ts';
import { computeLossInOrder } from './dealing/given.ts';

/**
 * Reports losses by group size (Swatman 2022): in closed form for independent units, exact for `lengths` in order.
 * @param quantiles whether to compute quantiles too, which takes up to half a second for each group size
 */
export function reportLoss(
  law: LengthLaw,
  lengths: Float64Array | null,
  groupSizes: readonly number[],
  quantiles: boolean,
): LossReport {
  const rows = lossMoments(law, groupSizes).map((row) => {
    const distribution = quantiles ? affordableLossDistribution(law, row.n) : null;
    return {
      ...row,
      givenOrder: lengths && computeLossInOrder(lengths, lengths.length, row.n),
      quantiles: distribution && {
        p50: quantile(distribution, 0.5),
        p95: quantile(distribution, 0.95),
        p99: quantile(distribution, 0.99),
      },
      distribution: distribution && { method: distribution.method, resolution: distribution.resolution },
    };
  });
  return {
    workload: { label: law.label, ...moments(law), truncatedMass: law.truncatedMass, fitted: law.fitted ?? false },
    rows,
  };
}
