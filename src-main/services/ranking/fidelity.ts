import { isDeepStrictEqual } from 'node:util';
import type { MeasurementOfRun, SimulationOfRun } from '../../../db/records.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import type { MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import type { MeasuredDesignTime, RankRow, SimulatedTime } from '../../contract/api.ts';
import { isSameDevice } from '../measuring/device.ts';
import { measuredRunStudy } from '../measuring/records.ts';
import { measuredTime } from '../measuring/times.ts';

export interface SimulatedDesigns {
  readonly times: ReadonlyMap<number, SimulatedTime>;
  readonly order: readonly number[];
}

export type SimulationDetail = Pick<SimulatedTime, 'lowMs' | 'highMs' | 'precise'>;

/** A simulation without an interval gets the range from its smallest to its largest time. */
function simulatedTime(record: SimulationOfRun): SimulatedTime {
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

/** @param records the simulations, oldest first; if a design was simulated twice, the newer one counts */
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

export interface MeasuredDesigns {
  readonly times: ReadonlyMap<number, MeasuredDesignTime>;
  readonly order: readonly number[];
}

/**
 * A row of a ranking is about one device, so it shows only measurements on that device (`isSameDevice`). Others are
 * shown only in comparisons of their run, where both devices are named. A wrong result does not count.
 * @param records the measurements, oldest first; of several times of a design, the newest counts
 */
function measuredDesigns(
  records: readonly MeasurementOfRun[],
  devices: readonly Device[],
  measuredBy: ReadonlyMap<number, Pick<MeasuringDevice, 'name' | 'multiprocessors'>>,
): MeasuredDesigns {
  const times = new Map<number, MeasuredDesignTime>();
  for (const record of records) {
    const { designIndex, runId, failure, correct, deviceId } = record;
    const device = devices.find(({ id }) => id === deviceId);
    const measuring = measuredBy.get(runId);
    if (designIndex === null || !device || !measuring || !isSameDevice(device, measuring)) continue;
    const time = failure === null && correct !== false ? measuredTime(record) : null;
    if (!time) continue;
    const { medianMs, lowMs, highMs, repeats } = time;
    times.set(designIndex, { runId, medianMs, lowMs, highMs, repeats, measuredOn: measuring.name });
  }
  const order = [...times.keys()].sort((a, b) => times.get(a)!.medianMs - times.get(b)!.medianMs || a - b);
  return { times, order };
}

export async function loadMeasuredDesigns(
  store: StoreClient,
  sweepRunId: number,
  devices: readonly Device[],
): Promise<Result<MeasuredDesigns>> {
  const records = await store.listMeasurementsOf(sweepRunId);
  if (!records.ok) return records;
  const measuredBy = new Map<number, MeasuringDevice>();
  for (const runId of new Set(records.value.map((record) => record.runId))) {
    const run = await store.getRun(runId);
    if (!run.ok) return run;
    const device = run.value.measuringDevice as MeasuringDevice | null;
    const measuring = measuredRunStudy(run.value);
    // A time for fewer units is not the time of the design in the sweep.
    const ofPart = measuring.ok && measuring.value.request.part !== undefined;
    if (device && !ofPart) measuredBy.set(runId, device);
  }
  return ok(measuredDesigns(records.value, devices, measuredBy));
}

interface Interval {
  readonly lowMs: number | null;
  readonly highMs: number | null;
}

export function intervalsOverlap(a: Interval, b: Interval): boolean {
  if (a.lowMs === null || a.highMs === null || b.lowMs === null || b.highMs === null) return false;
  return a.lowMs <= b.highMs && b.lowMs <= a.highMs;
}

export interface Findings {
  readonly simulated: SimulatedDesigns;
  readonly measured: MeasuredDesigns;
}

export interface FastestFound {
  readonly simulated: SimulatedTime | null;
  readonly measured: MeasuredDesignTime | null;
}

export function fastestFound({ simulated, measured }: Findings, isListed: (design: number) => boolean): FastestFound {
  const firstOf = <T>({ times, order }: { times: ReadonlyMap<number, T>; order: readonly number[] }): T | null => {
    const first = order.find(isListed);
    return first === undefined ? null : times.get(first)!;
  };
  return { simulated: firstOf(simulated), measured: firstOf(measured) };
}

/**
 * Adds the simulated and measured times of a design to its predicted row. No other function combines the three.
 * @param tiesBy `simulated` if simulated intervals decide about ties, even for a design that was also measured
 */
export function atBestFidelity(
  row: RankRow,
  findings: Findings,
  fastest: FastestFound,
  tiesBy: 'best' | 'simulated' = 'best',
): RankRow {
  if (row.invalid !== null) return row;
  const simulated = findings.simulated.times.get(row.designIndex) ?? null;
  const measured = findings.measured.times.get(row.designIndex) ?? null;
  if (!simulated && !measured) return row;
  const isTied = <T extends Interval>(time: T, best: T | null): boolean =>
    best ? time === best || intervalsOverlap(time, best) : row.tied;
  const tied =
    measured && (!simulated || tiesBy === 'best')
      ? isTied(measured, fastest.measured)
      : isTied(simulated!, fastest.simulated);
  return measured
    ? { ...row, timeMs: measured.medianMs, fidelity: 'measured', simulated, measured, tied }
    : { ...row, timeMs: simulated!.meanMs, fidelity: 'simulated', simulated, tied };
}

export function fastestOf(findings: Findings, list: Uint32Array): FastestFound {
  const listed = new Uint8Array(list.reduce((last, design) => Math.max(last, design), 0) + 1);
  for (const design of list) listed[design] = 1;
  return fastestFound(findings, (design) => listed[design] === 1);
}

type FoundOrder = Readonly<Record<'simulatedMs' | 'measuredMs', readonly number[]>>;

const MAX_ORDERS = 8;

/** Keeps the orders of lists on screen, by number. A list keeps the order that it had when it was opened. */
export function createFoundOrders() {
  const orders = new Map<number, FoundOrder>();
  let last = 0;
  const at = (number: number): FoundOrder | undefined => {
    const order = orders.get(number);
    return order && keep(orders, MAX_ORDERS, number, order);
  };
  return {
    add({ simulated, measured }: Findings) {
      const order = { simulatedMs: simulated.order, measuredMs: measured.order };
      if (isDeepStrictEqual(orders.get(last), order)) return { newest: last, at };
      const newest = ++last;
      keep(orders, MAX_ORDERS, newest, order);
      return { newest, at };
    },
  };
}

export type FoundOrders = ReturnType<ReturnType<typeof createFoundOrders>['add']>;

/**
 * Returns a ranked list with the simulated (or measured) designs first, in their own order.
 * @param within the simulated (or measured) designs that are in the list
 */
export function foundFirst(list: Uint32Array, within: ArrayLike<number> & Iterable<number>): Uint32Array {
  const chosen = new Set(within);
  const out = new Uint32Array(list.length);
  let at = within.length;
  for (const design of list) if (!chosen.has(design)) out[at++] = design;
  out.set(within);
  return out;
}
