import type { SimulationOfRun } from '../../db/records.ts';
import type { StoreClient } from '../../db/store-api.ts';
import { ok, type Result } from '../../src-workers/domain/result.ts';
import type { RankRow, SimulatedTime } from '../contract/api.ts';

/** What is known of a sweep's designs beyond their prediction. */
export interface SimulatedDesigns {
  readonly times: ReadonlyMap<number, SimulatedTime>;
  /** Design indices by simulated mean; of equal means in the order of the designs. */
  readonly order: readonly number[];
}

/** What a saved simulation keeps beside its times. */
export interface SimulationDetail {
  readonly lowMs: number;
  readonly highMs: number;
  readonly precise: boolean;
}

/** Reads a saved simulation. One saved without an interval has the plainest that is certain: from its least to its greatest time. */
export function simulatedTime(record: SimulationOfRun): SimulatedTime {
  const { meanMs, medianMs, standardDeviationMs, minMs, maxMs, timesMs, runId } = record;
  const detail = (typeof record.detail === 'object' && record.detail !== null ? record.detail : {}) as Partial<
    Record<keyof SimulationDetail, unknown>
  >;
  const known = typeof detail.lowMs === 'number' && typeof detail.highMs === 'number';
  return {
    runId,
    meanMs,
    lowMs: known ? (detail.lowMs as number) : minMs,
    highMs: known ? (detail.highMs as number) : maxMs,
    medianMs,
    standardDeviationMs,
    minMs,
    maxMs,
    replications: timesMs.length,
    timesMs,
    precise: known && detail.precise === true,
  };
}

/** @param records oldest first: of a design simulated twice the newest counts */
export function simulatedDesigns(records: readonly SimulationOfRun[]): SimulatedDesigns {
  const times = new Map<number, SimulatedTime>();
  for (const record of records) if (record.designIndex !== null) times.set(record.designIndex, simulatedTime(record));
  const order = [...times.keys()].sort((a, b) => times.get(a)!.meanMs - times.get(b)!.meanMs || a - b);
  return { times, order };
}

export async function loadSimulatedDesigns(store: StoreClient, sweepRunId: number): Promise<Result<SimulatedDesigns>> {
  const records = await store.listSimulationsOf(sweepRunId);
  return records.ok ? ok(simulatedDesigns(records.value)) : records;
}

/** Whether two simulated means cannot be told apart: their intervals overlap. */
export function intervalsOverlap(a: SimulatedTime, b: SimulatedTime): boolean {
  return a.lowMs <= b.highMs && b.lowMs <= a.highMs;
}

/**
 * A predicted row with what the simulator found of its design: the one place where fidelities meet.
 * @param best the fastest simulated design of the list the row is in, if any
 */
export function atBestFidelity(row: RankRow, { times }: SimulatedDesigns, best: number | undefined): RankRow {
  const simulated = times.get(row.designIndex);
  if (!simulated || row.invalid !== null) return row;
  const fastest = best === undefined ? undefined : times.get(best);
  return {
    ...row,
    timeMs: simulated.meanMs,
    fidelity: 'simulated',
    simulated,
    tied: fastest ? intervalsOverlap(simulated, fastest) : row.tied,
  };
}

/**
 * Rows of one list, each at its best fidelity.
 * @param rows by prediction, all of the designs that are of interest
 */
export function rowsAtBestFidelity(rows: readonly RankRow[], simulated: SimulatedDesigns): readonly RankRow[] {
  const listed = new Set(rows.map((row) => row.designIndex));
  const best = simulated.order.find((design) => listed.has(design));
  return rows.map((row) => atBestFidelity(row, simulated, best));
}

/**
 * A ranked list with the simulated designs put first, by their simulated mean. A descending list is read from its end, so
 * for one they are put last.
 * @param within the simulated designs that are in the list, by their simulated mean
 */
export function simulatedFirst(list: Uint32Array, within: readonly number[], descending: boolean): Uint32Array {
  const chosen = new Set(within);
  const out = new Uint32Array(list.length);
  let at = descending ? 0 : within.length;
  for (const design of list) if (!chosen.has(design)) out[at++] = design;
  out.set(within, descending ? at : 0);
  return out;
}
