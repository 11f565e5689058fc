import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { affordableLossDistribution } from '../../../src-workers/models/imbalance/binned.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { quantile } from '../../../src-workers/models/imbalance/distribution.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { resolveOrderedWorkload } from '../../../src-workers/parse/grammar.ts';
import { lossInOrder, type GivenLoss } from '../../../src-workers/predict/dealing/given.ts';
import { fileOpener } from '../studies/workloads.ts';

export interface LossReport {
  readonly workload: {
    readonly label: string;
    readonly mean: number;
    readonly standardDeviation: number;
    readonly supportMin: number;
    readonly supportMax: number;
    readonly truncatedMass: number;
    /** Whether the law was fitted to figures, and otherwise assumed. */
    readonly fitted: boolean;
  };
  readonly rows: readonly {
    readonly n: number;
    readonly meanLoss: number;
    readonly standardDeviationLoss: number;
    readonly aggregateLoss: number;
    /** Of groups of n consecutive units in the order of the workload, exact; `null` where it has none. */
    readonly givenOrder: GivenLoss | null;
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number };
    /** How the quantiles were found; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number };
  }[];
}

/**
 * The losses of a workload over group sizes (Swatman 2022): of independent units in closed form, with quantiles from the distribution;
 * of units in their order exactly.
 */
export async function lossReport(
  workload: string,
  groupSizes: readonly number[],
  folder: string,
  truncation?: number,
): Promise<Result<LossReport>> {
  const openFile = fileOpener(folder);
  const resolved = await resolveOrderedWorkload(
    workload,
    truncation === undefined ? { openFile } : { openFile, truncation },
  );
  if (!resolved.ok) return resolved;
  const { law, lengths } = resolved.value;
  const rows = lossMoments(law, groupSizes).map((row) => {
    const distribution = affordableLossDistribution(law, row.n);
    return {
      n: row.n,
      meanLoss: row.meanLoss,
      standardDeviationLoss: row.standardDeviationLoss,
      aggregateLoss: row.aggregateLoss,
      givenOrder: lengths && lossInOrder(lengths, lengths.length, row.n),
      quantiles: {
        p50: quantile(distribution, 0.5),
        p95: quantile(distribution, 0.95),
        p99: quantile(distribution, 0.99),
      },
      distribution: { method: distribution.method, resolution: distribution.resolution },
    };
  });
  return ok({
    workload: {
      label: law.label,
      ...moments(law),
      truncatedMass: law.truncatedMass,
      fitted: law.fitted ?? false,
    },
    rows,
  });
}
