import { allocateChunk, type PredictionColumns } from '../domain/columns.ts';
import { examineDesign, type Candidate } from '../predict/design/candidate.ts';
import { predictInto, predictRanges } from '../predict/ranges.ts';
import type { TimedDesign } from '../predict/time-design.ts';
import type { Predictor } from '../predict/tables.ts';
import { decodeInto } from '../domain/space.ts';
import { wavesOn } from '../sweep/ranking.ts';
import { AGREEMENT_FRACTION, widestFraction, type TieTable } from '../sweep/ties.ts';
import { predictPromising, type SearchOptions } from './bound.ts';
import { cellBests, type CellBests } from './maps.ts';

export type DesignPart = { readonly first: number; readonly count: number } | Uint32Array;

export interface Survey {
  /** Number of designs that were predicted, excluded by their bounds, or found invalid. */
  readonly predicted: number;
  readonly invalid: number;
  /** Designs at most `AGREEMENT_FRACTION` slower than the fastest of the surveyed `DesignPart`. */
  readonly designs: Uint32Array;
  readonly columns: PredictionColumns;
  /** Designs that can be tied with the fastest design of the space, and their times. */
  readonly tied: Uint32Array;
  readonly tiedMs: Float64Array;
  readonly cells: CellBests;
}

export function shortestTime(timeMs: Float64Array): number {
  return timeMs.reduce((least, time) => (time < least ? time : least), Infinity);
}

/** Predicts a list of designs, as fast as a sweep if neighbours in the list are neighbours in the space. */
function predictDesigns(predictor: Predictor, designs: Uint32Array): PredictionColumns {
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

/** Counts how many times a design's blocks fill the device; NaN if the design is invalid. */
export function countWaves(predictor: Predictor, design: number): number {
  const { invalid, device, gridBlocks, shape } = examineDesign(predictor, design).candidate;
  return invalid === 0 ? wavesOn(device, gridBlocks, shape.residentBlocks) : NaN;
}

/** Predicts the times of a list of designs, ms; NaN if a design is invalid. */
export function predictTimes(predictor: Predictor, designs: Uint32Array): Float64Array {
  return predictDesigns(predictor, designs).timeMs;
}

export function surveyDesigns(predictor: Predictor, part: DesignPart, ties: TieTable): Survey {
  if (!(part instanceof Uint32Array))
    return surveyColumns(predictor.counts, predictRanges(predictor, [part])[0], ties, (at) => part.first + at);
  return surveyColumns(predictor.counts, predictDesigns(predictor, part), ties, (at) => part[at]);
}

/**
 * Finds only designs within `AGREEMENT_FRACTION` of the fastest of `part`, and of `options.bestMs`. Most others are not
 * predicted, so `tied` and `cells` stay empty.
 */
export function surveyFastest(predictor: Predictor, part: DesignPart, options: SearchOptions = {}): Survey {
  const designs =
    part instanceof Uint32Array ? part : Uint32Array.from({ length: part.count }, (_, at) => part.first + at);
  const { columns, unreached } = predictPromising(predictor, designs, AGREEMENT_FRACTION, options);
  const best = shortestTime(columns.timeMs);
  const entries = [...designs.keys()].filter((at) => columns.timeMs[at] <= best * (1 + AGREEMENT_FRACTION));
  return {
    ...ONLY_FASTEST,
    predicted: designs.length - unreached,
    invalid: countInvalid(columns),
    designs: Uint32Array.from(entries, (at) => designs[at]),
    columns: pickColumns(columns, entries),
  };
}

const NONE = new Uint32Array();
export const ONLY_FASTEST = {
  tied: NONE,
  tiedMs: new Float64Array(),
  cells: { designs: NONE, timeMs: new Float64Array() },
};

export function surveyColumns(
  counts: readonly number[],
  columns: PredictionColumns,
  ties: TieTable,
  designAt: (entry: number) => number,
): Survey {
  const { timeMs } = columns;
  const best = shortestTime(timeMs);
  const entries: number[] = [];
  const tied: number[] = [];
  const widest = best * (1 + widestFraction(ties));
  for (let at = 0; at < timeMs.length; at += 1) {
    if (timeMs[at] <= best * (1 + AGREEMENT_FRACTION)) entries.push(at);
    if (timeMs[at] <= widest) tied.push(at);
  }
  return {
    predicted: timeMs.length,
    invalid: countInvalid(columns),
    designs: Uint32Array.from(entries, designAt),
    columns: pickColumns(columns, entries),
    tied: Uint32Array.from(tied, designAt),
    tiedMs: Float64Array.from(tied, (at) => timeMs[at]),
    cells: cellBests(counts, timeMs, designAt),
  };
}

function countInvalid({ invalidReason }: PredictionColumns): number {
  return invalidReason.reduce((count, reason) => count + Number(reason !== 0), 0);
}

export function pickColumns(columns: PredictionColumns, entries: readonly number[] | Uint32Array): PredictionColumns {
  const out = allocateChunk(0, entries.length);
  for (const name of COLUMNS) for (let i = 0; i < entries.length; i += 1) out[name][i] = columns[name][entries[i]];
  return out;
}

export function copyColumns(from: PredictionColumns, to: PredictionColumns, at: number): void {
  for (const name of COLUMNS) to[name].set(from[name], at);
}

const COLUMNS = Object.entries(allocateChunk(0, 0)).flatMap(([name, value]) =>
  ArrayBuffer.isView(value) ? [name as keyof PredictionColumns] : [],
);
