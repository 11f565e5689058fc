import type { LossReport } from '../../../src-workers/domain/loss.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { countLengths } from '../../../src-workers/models/workload/generated.ts';
import { empiricalLaw } from '../../../src-workers/models/workload/laws.ts';
import { workloadWithFiles } from '../../../src-workers/parse/open-file.ts';
import { givenLengths } from '../../../src-workers/predict/ordered.ts';
import { lossReport } from '../../../src-workers/predict/loss.ts';
import type { OrderedLaw } from '../studies/workloads.ts';

/** The losses of a workload as written; its files are in `folder`. */
export async function workloadLoss(
  workload: string,
  groupSizes: readonly number[],
  folder: string,
  truncation?: number,
): Promise<Result<LossReport>> {
  const resolved = await workloadWithFiles({ text: workload, folder, truncation });
  if (!resolved.ok) return resolved;
  const { law, lengths, note } = resolved.value;
  const report = lossReport(law, lengths, groupSizes, true);
  return ok(note ? { ...report, workload: { ...report.workload, note } } : report);
}

/** The law of these lengths and their order: integers ≥ 0, one for each unit. */
export function lengthsInOrder(list: readonly number[]): Result<OrderedLaw> {
  const lengths = Float64Array.from(list);
  const law = empiricalLaw(countLengths(lengths), 'lengths');
  return law.ok ? ok({ law: law.value, order: givenLengths(lengths) }) : law;
}
