import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { affordableLossDistribution } from '../../../src-workers/models/imbalance/binned.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { quantile } from '../../../src-workers/models/imbalance/distribution.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { resolveWorkload } from '../../../src-workers/parse/grammar.ts';
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
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number };
    /** How the quantiles were found; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number };
  }[];
}

/** The losses of a workload over group sizes (Swatman 2022): closed form for the moments, the distribution for quantiles. */
export async function lossReport(
  workload: string,
  groupSizes: readonly number[],
  folder: string,
  truncation?: number,
): Promise<Result<LossReport>> {
  const openFile = fileOpener(folder);
  const law = await resolveWorkload(workload, truncation === undefined ? { openFile } : { openFile, truncation });
  if (!law.ok) return law;
  const rows = lossMoments(law.value, groupSizes).map((row) => {
    const distribution = affordableLossDistribution(law.value, row.n);
    return {
      n: row.n,
      meanLoss: row.meanLoss,
      standardDeviationLoss: row.standardDeviationLoss,
      aggregateLoss: row.aggregateLoss,
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
      label: law.value.label,
      ...moments(law.value),
      truncatedMass: law.value.truncatedMass,
      fitted: law.value.fitted ?? false,
    },
    rows,
  });
}
