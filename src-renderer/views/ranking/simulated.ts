import type {
  MeasuredDesignTime,
  RankRow,
  RunProgress,
  RunSummary,
  SimulatedDesign,
  SimulatedTime,
} from '../../../src-main/contract/api.ts';
import { count, duration, inColumn, type TimeColumn } from '../../format/numbers.ts';

export type SimulatedTimes = ReadonlyMap<number, SimulatedTime>;

export function simulatedTimes(designs: readonly SimulatedDesign[]): SimulatedTimes {
  return new Map(designs.map(({ designIndex, simulated }) => [designIndex, simulated]));
}

export const BATCH = 20;

export function nextToSimulate(
  rows: readonly RankRow[],
  gpus: ReadonlySet<string>,
  known: SimulatedTimes,
  most: number,
): readonly number[] {
  return rows
    .filter((row) => row.invalid === null && row.rank > 0 && gpus.has(row.deviceId) && !known.has(row.designIndex))
    .slice(0, most)
    .map((row) => row.designIndex);
}

export function simulationCost(runs: readonly RunSummary[], designs: number): string {
  const last = runs.find(({ kind, state, valid }) => kind === 'simulate' && state === 'complete' && valid > 0);
  return last ? `about ${duration((last.elapsedMs / last.valid) * designs)}` : '';
}

/** Whether an event of a simulation or measurement may change rows of the sweep. */
export function isFindingOf(
  sweepRunId: number | null,
  { stage, runId }: RunProgress,
  runs: readonly RunSummary[],
): boolean {
  if (stage !== 'simulating' && stage !== 'measuring') return false;
  const run = runs.find(({ id }) => id === runId);
  // A run that is not in the list yet may belong to any sweep.
  return run === undefined || run.sourceRunId === sweepRunId;
}

export function replicationsHead(times: SimulatedTimes): string | null {
  const counts = [...times.values()].map(({ replications }) => replications);
  if (counts.length === 0) return null;
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  return `${low === high ? '' : `${count(low)}–`}${count(high)} seeds`;
}

export interface StripScale {
  readonly lowMs: number;
  readonly highMs: number;
}

/** The scale of strip plots ends at most at this multiple of the shortest time. Slower designs show numbers instead. */
const STRIP_SPAN = 1.25;

export function stripScale(designs: readonly Pick<SimulatedDesign, 'simulated' | 'predictedMs'>[]): StripScale | null {
  const all = designs.flatMap(({ simulated, predictedMs }) => [...simulated.timesMs, predictedMs]);
  if (all.length === 0) return null;
  const lowMs = all.reduce((a, b) => Math.min(a, b));
  const highMs = all.reduce((a, b) => (b <= lowMs * STRIP_SPAN ? Math.max(a, b) : a), lowMs);
  const margin = Math.max(0.03 * (highMs - lowMs), 1e-6 * lowMs);
  return { lowMs: lowMs - margin, highMs: highMs + margin };
}

export function isOnScale({ medianMs }: SimulatedTime, { lowMs, highMs }: StripScale): boolean {
  return medianMs >= lowMs && medianMs <= highMs;
}

export function intervalText({ lowMs, highMs }: SimulatedTime, times: TimeColumn): string {
  return `${inColumn(lowMs, times)} to ${inColumn(highMs, times)}`;
}

export function measuredText({ lowMs, highMs, repeats }: MeasuredDesignTime, times: TimeColumn): string {
  const interval = lowMs === null || highMs === null ? '' : `${inColumn(lowMs, times)} to ${inColumn(highMs, times)}, `;
  return `${interval}${count(repeats)} repeats`;
}
