import { allocateChunk, type PredictionColumns } from '../domain/columns.ts';
import { examine, type Candidate } from '../predict/design/candidate.ts';
import { predictInto, predictRanges } from '../predict/ranges.ts';
import type { TimedDesign } from '../predict/pipeline.ts';
import type { Predictor } from '../predict/tables.ts';
import { decodeInto } from '../space/axes.ts';
import { wavesOn } from '../sweep/ranking.ts';

/** Designs to look at: a stretch of them, or a list. */
export type DesignPart = { readonly first: number; readonly count: number } | Uint32Array;

/** What remains of a part: the designs that can be among the best. */
export interface Survey {
  readonly predicted: number;
  readonly valid: number;
  /** Designs within the band of the fastest of the part, ascending, and what was predicted of each. */
  readonly designs: Uint32Array;
  readonly columns: PredictionColumns;
}

/** Predicts a list of designs, one entry per design. As fast as in a sweep where neighbours stand together. */
export function predictDesigns(predictor: Predictor, designs: Uint32Array): PredictionColumns {
  const columns = allocateChunk(0, designs.length);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  const timed = {} as TimedDesign;
  designs.forEach((design, at) => {
    decodeInto(positions, predictor.counts, design);
    predictInto(columns, at, predictor, positions, candidate, timed);
  });
  return columns;
}

/** Waves of blocks that a design takes; NaN where it is invalid. */
export function wavesOf(predictor: Predictor, design: number): number {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, design);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  const { invalid, device, gridBlocks, shape } = candidate;
  return invalid === 0 ? wavesOn(device, gridBlocks, shape.residentBlocks) : NaN;
}

/** Times of a list of designs, ms; NaN where one is invalid. */
export function timesOf(predictor: Predictor, designs: Uint32Array): Float64Array {
  return predictDesigns(predictor, designs).timeMs;
}

/** Predicts a part, and keeps what lies within `fraction` of its fastest: all of it that can be within that of the fastest of all. */
export function surveyDesigns(predictor: Predictor, part: DesignPart, fraction: number): Survey {
  const list = part instanceof Uint32Array ? part : null;
  const columns = list
    ? predictDesigns(predictor, list)
    : predictRanges(predictor, [part as { first: number; count: number }])[0];
  const { timeMs } = columns;
  let best = Infinity;
  let valid = 0;
  for (const time of timeMs)
    if (!Number.isNaN(time)) {
      valid += 1;
      best = Math.min(best, time);
    }
  const entries: number[] = [];
  for (let at = 0; at < timeMs.length; at += 1) if (timeMs[at] <= best * (1 + fraction)) entries.push(at);
  const first = list ? 0 : (part as { first: number }).first;
  return {
    predicted: timeMs.length,
    valid,
    designs: Uint32Array.from(entries, (at) => (list ? list[at] : first + at)),
    columns: columnsAt(columns, entries),
  };
}

/** Some entries of columns, in the order given. */
export function columnsAt(columns: PredictionColumns, entries: readonly number[]): PredictionColumns {
  const out = allocateChunk(0, entries.length);
  for (const name of COLUMNS) entries.forEach((at, i) => (out[name][i] = columns[name][at]));
  return out;
}

const COLUMNS = Object.entries(allocateChunk(0, 0)).flatMap(([name, value]) =>
  ArrayBuffer.isView(value) ? [name as keyof PredictionColumns] : [],
);
