import { NOTHING_MEASURED, type CaseResult } from '../domain/benchmark.ts';
import { ok, type Result } from '../domain/result.ts';
import { eachCsvRecord } from './csv-records.ts';
import { parseWorkload } from './grammar.ts';
import { caught, refuse, type ByteSource } from './source.ts';

const MEAN_COLUMNS = [
  'distribution',
  'n',
  'groups',
  'simulated_mean_loss',
  'simulated_aggregate_loss',
  'measured_mean_loss',
  'measured_aggregate_loss',
] as const;
const MAX_MEANS = 10_000;

/**
 * Reads simulated and measured losses from the SMITE repository, one case for each distribution and group size. The
 * paper measured with explicit synchronisation (Swatman 2022, Section IV-B, doi:10.1109/MASCOTS56607.2022.00026).
 */
export function parseSmiteMeans(source: ByteSource, label: string): Promise<Result<readonly CaseResult[]>> {
  return caught<readonly CaseResult[]>(async () => {
    const cases: CaseResult[] = [];
    const { lines } = await eachCsvRecord(source, label, MEAN_COLUMNS, (record) => {
      const { line } = record;
      if (cases.length === MAX_MEANS) refuse(label, { line }, `the file has more rows than the limit of ${MAX_MEANS}`);
      const lengths = record.text('distribution');
      const law = parseWorkload(lengths);
      if (!law.ok) refuse(label, { line }, law.error.message);
      const [unitsPerGroup, workGroups] = (['n', 'groups'] as const).map((name) => {
        const value = record.number(name);
        return Number.isSafeInteger(value) && value >= 1
          ? value
          : refuse(label, { line }, `${name} ${value} is not a whole number ≥ 1`);
      });
      cases.push({
        ...NOTHING_MEASURED,
        case: {
          id: `c${cases.length}`,
          benchmark: 'matrix-power',
          parameters: { lengths, unitsPerGroup, workGroups, execution: 'lockstep', synchronised: true },
        },
        values: {
          meanLoss: record.number('measured_mean_loss'),
          aggregateLoss: record.number('measured_aggregate_loss'),
          simulatedMeanLoss: record.number('simulated_mean_loss'),
          simulatedAggregateLoss: record.number('simulated_aggregate_loss'),
        },
      });
    });
    if (cases.length === 0) refuse(label, { line: lines }, 'the file has no rows');
    return ok(cases);
  });
}
