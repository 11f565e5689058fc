import { NOTHING_MEASURED, type CaseResult } from '../domain/benchmark.ts';
import { ok, type Result } from '../domain/result.ts';
import { eachCsvRecord } from './csv-records.ts';
import { parseWorkload } from './grammar.ts';
import { caught, refuse, type ByteSource } from './source.ts';

/** Losses of work groups, one entry per group, and over all of them together. */
export interface GroupLosses {
  /** Lockstep cost over the cost of the same units without lockstep; simulated ones are ≥ 1. */
  readonly loss: Float64Array;
  /** Mean of `loss`. */
  readonly meanLoss: number;
  /** Total lockstep cost over total cost without. */
  readonly aggregateLoss: number;
}

/** A file of the SMITE repository: the same work groups simulated (iterations) and measured (GPU cycles). */
export interface SmiteGroups {
  readonly groups: number;
  readonly simulated: GroupLosses;
  readonly measured: GroupLosses;
}

const COLUMNS = [
  'simulated_simt_iterations',
  'simulated_mimd_iterations',
  'measured_simt_cycles',
  'measured_mimd_cycles',
] as const;

/** 32 times the published number of groups. */
const MAX_GROUPS = 2 ** 22;

/**
 * Reads per-group results as github.com/stephenswat/smite publishes them: CSV with a header that names at least the four columns of
 * `COLUMNS`, in any order. A group without any work has loss 1.
 *
 * Fails, with line and column, on a missing column, a value that is no number ≥ 0, work that takes no time at all without
 * lockstep, a file without groups, or more than `MAX_GROUPS`.
 */
export function parseSmiteGroups(source: ByteSource, label: string): Promise<Result<SmiteGroups>> {
  return caught<SmiteGroups>(async () => {
    const simulated = collector();
    const measured = collector();
    const { lines } = await eachCsvRecord(source, label, COLUMNS, (record) => {
      const { line } = record;
      if (simulated.losses.length === MAX_GROUPS) {
        refuse(label, { line }, `more than ${MAX_GROUPS} groups, the limit`);
      }
      const [simtIterations, mimdIterations, simtCycles, mimdCycles] = COLUMNS.map((name) => record.number(name));
      for (const [into, simt, mimd] of [
        [simulated, simtIterations, mimdIterations],
        [measured, simtCycles, mimdCycles],
      ] as const) {
        if (mimd === 0 && simt > 0)
          refuse(
            label,
            { line },
            `the cost is ${simt} in lockstep and 0 without. A cost without lockstep must be above 0`,
          );
        into.add(simt, mimd);
      }
    });
    if (simulated.losses.length === 0) {
      refuse(label, { line: lines }, 'the file has no groups');
    }
    return ok({ groups: simulated.losses.length, simulated: simulated.result(), measured: measured.result() });
  });
}

function collector() {
  const losses: number[] = [];
  let simtTotal = 0;
  let mimdTotal = 0;
  return {
    losses,
    add(simt: number, mimd: number): void {
      losses.push(mimd === 0 ? 1 : simt / mimd);
      simtTotal += simt;
      mimdTotal += mimd;
    },
    result(): GroupLosses {
      const meanLoss = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
      return {
        loss: Float64Array.from(losses),
        meanLoss,
        aggregateLoss: mimdTotal === 0 ? 1 : simtTotal / mimdTotal,
      };
    },
  };
}

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
 * Reads mean and aggregate losses over many work groups, simulated and measured, computed from the SMITE repository: CSV with a
 * row per distribution and group size n. Each row becomes a case of matrix powers in lockstep, with its losses as values and
 * no time. The paper measured with explicit synchronisation (Swatman 2022, Section IV-B, doi:10.1109/MASCOTS56607.2022.00026).
 *
 * Fails, with the line, on a missing column, an invalid distribution or number, or a file without rows.
 */
export function parseSmiteMeans(source: ByteSource, label: string): Promise<Result<readonly CaseResult[]>> {
  return caught<readonly CaseResult[]>(async () => {
    const cases: CaseResult[] = [];
    const { lines } = await eachCsvRecord(source, label, MEAN_COLUMNS, (record) => {
      const { line } = record;
      if (cases.length === MAX_MEANS) {
        refuse(label, { line }, `more than ${MAX_MEANS} rows, the limit`);
      }
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
