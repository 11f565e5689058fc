import type { LossReport } from '../../../src-workers/domain/loss.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { countLengths } from '../../../src-workers/models/workload/generated.ts';
import { empiricalLaw } from '../../../src-workers/models/workload/laws.ts';
import { workloadWithFiles } from '../../../src-workers/parse/open-file.ts';
import { makeGivenLengths } from '../../../src-workers/predict/ordered.ts';
import { reportLoss } from '../../../src-workers/predict/loss.ts';
import type { OrderedLaw } from '../studies/workloads.ts';

export async function writtenLaw(workload: string, folder: string): Promise<Result<LengthLaw>> {
  const found = await workloadWithFiles({ text: workload, folder });
  return found.ok ? ok(found.value.law) : found;
}

export async function workloadLoss(
  workload: string,
  groupSizes: readonly number[],
  folder: string,
  truncation?: number,
): Promise<Result<LossReport>> {
  const resolved = await workloadWithFiles({ text: workload, folder, truncation });
  if (!resolved.ok) return resolved;
  const { law, lengths, note } = resolved.value;
  return ok(withNote(reportLoss(law, lengths, groupSizes, true), note));
}

export function withNote(report: LossReport, note: string | undefined): LossReport {
  return note ? { ...report, workload: { ...report.workload, note } } : report;
}

export function lossOf(
  lengths: ArrayLike<number> | LengthLaw,
  groupSizes: readonly number[],
  quantiles: boolean,
): Result<LossReport> {
  const wrong = groupSizes.find((n) => !Number.isSafeInteger(n) || n < 1);
  if (wrong !== undefined) return badInput(`The units per group must be whole numbers ≥ 1, not ${wrong}.`);
  if ('support' in lengths) return ok(reportLoss(lengths, null, groupSizes, quantiles));
  const known = lengthsInOrder(lengths);
  return known.ok ? ok(reportLoss(known.value.law, known.value.order!.iterations, groupSizes, quantiles)) : known;
}

export function lengthsInOrder(list: ArrayLike<number>): Result<OrderedLaw> {
  const lengths = Float64Array.from(list);
  const law = empiricalLaw(countLengths(lengths), 'lengths');
  return law.ok ? ok({ law: law.value, order: makeGivenLengths(lengths) }) : law;
}
