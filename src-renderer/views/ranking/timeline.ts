import type { SimulationTimeline } from '../../../src-main/contract/api.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import { count, counted, numericTimes } from '../../format/numbers.ts';

/** The heights of a block slot, of a multiprocessor with the gap under it, and of all rows, px. */
export type RowGeometry = ReturnType<typeof rowGeometry>;

const GAP_PX = 4;
const MIN_LANE_PX = 2;
const MAX_LANE_PX = 12;

/** Makes block slots as tall as the room allows, from 2 to 12 px. Rows that do not fit scroll. */
export function rowGeometry(rows: number, lanes: number, roomPx: number) {
  const fit = (roomPx / Math.max(1, rows) - GAP_PX) / Math.max(1, lanes);
  const lanePx = Math.max(MIN_LANE_PX, Math.min(MAX_LANE_PX, Math.floor(fit)));
  const rowPx = lanes * lanePx + GAP_PX;
  return { lanePx, rowPx, totalPx: rows * rowPx };
}

/** Returns the index of the first bar of each row, and the number of bars as entry `rows`. `blockRow` is ascending. */
export function rowStarts(blockRow: ArrayLike<number>, rows: number): Int32Array {
  const starts = new Int32Array(rows + 1);
  for (let i = 0; i < blockRow.length; i += 1) starts[blockRow[i] + 1] += 1;
  for (let row = 0; row < rows; row += 1) starts[row + 1] += starts[row];
  return starts;
}

export function barAt(timeline: SimulationTimeline, starts: Int32Array, row: number, lane: number, ms: number): number {
  for (let i = starts[row] ?? 0; i < (starts[row + 1] ?? 0); i += 1)
    if (timeline.blockLane[i] === lane && timeline.blockStartMs[i] <= ms && ms <= timeline.blockEndMs[i]) return i;
  return -1;
}

export function alternation({ blockRow, blockLane }: SimulationTimeline): Uint8Array {
  const turns = new Map<string, number>();
  return Uint8Array.from(blockRow, (row, i) => {
    const slot = `${row} ${blockLane[i]}`;
    const turn = turns.get(slot) ?? 0;
    turns.set(slot, 1 - turn);
    return turn;
  });
}

/** Returns the mean duration of the blocks of each bar, from 0 (the shortest) to 1 (the longest), and both extremes. */
export function relativeDurations({ blockStartMs, blockEndMs, blockCount }: SimulationTimeline): {
  readonly shortestMs: number;
  readonly longestMs: number;
  readonly relative: Float64Array;
} {
  const durations = blockStartMs.map((start, i) => (blockEndMs[i] - start) / blockCount[i]);
  const shortestMs = durations.reduce((a, b) => Math.min(a, b), Infinity);
  const longestMs = durations.reduce((a, b) => Math.max(a, b), -Infinity);
  const span = longestMs - shortestMs;
  return {
    shortestMs,
    longestMs,
    relative: durations.map((duration) => (span > 0 ? (duration - shortestMs) / span : 0)),
  };
}

export function partShown(timeline: SimulationTimeline, term: Term): string {
  const shown = timeline.shownMultiprocessors.length;
  const joined = timeline.blockCount.reduce((a, b) => Math.max(a, b), 1);
  const some =
    shown < timeline.multiprocessors
      ? `${count(shown)} of ${count(timeline.multiprocessors)} ${term('multiprocessor', 'many')}, evenly spaced`
      : `All ${count(shown)} ${term('multiprocessor', 'many')}`;
  const bars =
    joined > 1 ? `a bar is up to ${count(joined)} ${term('block', 'many')} in a row` : `a bar is one ${term('block')}`;
  const launches = timeline.launchStartMs.length;
  const launched =
    launches > 1
      ? `launched in ${count(launches)} launches, one for each class of lengths, up to ${count(timeline.residentBlocks)}`
      : `launched, ${count(timeline.residentBlocks)}`;
  return `${some}; ${bars}; ${counted(timeline.gridBlocks, term('block'), term('block', 'many'))} ${launched} resident on each.`;
}

export function timelineTable(timeline: SimulationTimeline): readonly (readonly (string | number)[])[] {
  const { unit, of } = numericTimes(timeline.blockEndMs);
  return [
    ['multiprocessor', 'slot', 'first block', 'blocks', `start, ${unit}`, `end, ${unit}`],
    ...Array.from(timeline.blockRow, (row, i) => [
      timeline.shownMultiprocessors[row],
      timeline.blockLane[i],
      timeline.blockIndex[i],
      timeline.blockCount[i],
      of(timeline.blockStartMs[i]),
      of(timeline.blockEndMs[i]),
    ]),
  ];
}
