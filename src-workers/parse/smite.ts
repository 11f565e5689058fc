import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { ok, type Result } from '../domain/result.ts';
import { caught, DECIMAL, readBytes, refuse, shown, type ByteSource } from './source.ts';

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
const MAX_RECORD_BYTES = 4096;

/**
 * Reads per-group results as github.com/stephenswat/smite publishes them: CSV with a header that names at least the four columns of
 * `COLUMNS`, in any order. A group without any work has loss 1.
 *
 * Fails, with line and column, on a missing column, a value that is no number ≥ 0, work that takes no time at all without
 * lockstep, a file without groups, or more than `MAX_GROUPS`.
 */
export function parseSmiteGroups(source: ByteSource, label: string): Promise<Result<SmiteGroups>> {
  return caught<SmiteGroups>(async () => {
    let positions: readonly number[] | undefined;
    const simulated = collector();
    const measured = collector();
    const takeRecord = (record: readonly string[], line: number): void => {
      if (!positions) {
        positions = COLUMNS.map((name) => {
          const position = record.indexOf(name);
          if (position < 0) refuse(label, { line }, `header ${shown(record.join(','))}; expected a column ${name}`);
          return position;
        });
        return;
      }
      if (simulated.losses.length === MAX_GROUPS) {
        refuse(label, { line }, `more than ${MAX_GROUPS} groups; expected at most that many`);
      }
      const [simtIterations, mimdIterations, simtCycles, mimdCycles] = positions.map((position) => {
        const field = record[position] ?? '';
        const value = DECIMAL.test(field) ? Number(field) : NaN;
        if (!(value >= 0 && Number.isFinite(value))) {
          refuse(label, { line, column: position + 1 }, `${shown(field)}; expected a number ≥ 0`);
        }
        return value;
      });
      for (const [into, simt, mimd] of [
        [simulated, simtIterations, mimdIterations],
        [measured, simtCycles, mimdCycles],
      ] as const) {
        if (mimd === 0 && simt > 0)
          refuse(label, { line }, `${simt} in lockstep and 0 without; expected a cost above 0`);
        into.add(simt, mimd);
      }
    };

    const parser = parse({
      bom: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_RECORD_BYTES,
      on_record: (record: string[], context) => {
        takeRecord(record, context.lines);
        return null;
      },
    });
    parser.resume();
    try {
      await pipeline(readBytes(source, label), parser);
    } catch (error) {
      if (error instanceof CsvError) {
        refuse(label, { line: Number(error['lines'] ?? 1) }, `${error.message}; expected groups as CSV`);
      }
      throw error;
    }
    if (simulated.losses.length === 0) {
      refuse(label, { line: parser.info.lines }, 'the file ends without a group; expected at least one');
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
