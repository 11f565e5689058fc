import { allocateChunk, type PredictionChunk, type PredictionColumns } from '../domain/columns.ts';
import { AXIS, decodeInto, productOf } from '../domain/space.ts';
import { examine, type Candidate } from './design/candidate.ts';
import { timeDesign, type TimedDesign } from './time-design.ts';
import type { Predictor } from './tables.ts';

/** The part of a range on one device, in positions among that device's designs. */
interface Segment {
  readonly columns: PredictionChunk;
  readonly deviceAt: number;
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/**
 * Predicts ranges of designs. This is fastest if the ranges contain the same designs for every device.
 * @returns one chunk per range, one entry per design; an invalid design has timeMs NaN and its reason
 */
export function predictRanges(
  predictor: Predictor,
  ranges: readonly { readonly first: number; readonly count: number }[],
): PredictionChunk[] {
  const { counts } = predictor;
  const [launches, caps, blocks] = [counts[AXIS.launch], counts[AXIS.registerCap], counts[AXIS.blockThreads]];
  const perDevice = productOf(counts) / counts[0];
  const chunks = ranges.map(({ first, count }) => allocateChunk(first, count));
  const segments: Segment[] = [];
  for (const columns of chunks) {
    const end = columns.firstDesign + columns.count;
    for (let at = columns.firstDesign; at < end;) {
      const deviceAt = Math.floor(at / perDevice);
      const origin = deviceAt * perDevice;
      const to = Math.min(end - origin, perDevice);
      segments.push({ columns, deviceAt, from: at - origin, to, offset: origin - columns.firstDesign });
      at = origin + to;
    }
  }
  const from = Math.min(...segments.map((segment) => segment.from));
  const to = Math.max(...segments.map((segment) => segment.to));
  const perLaunch = caps * blocks;
  const positions = new Int32Array(counts.length);
  const candidate = {} as Candidate;
  const timed = {} as TimedDesign;
  // Launches of a family (one implementation, number of threads per unit, loop and balancing) with the same block size
  // share laws, so the designs of a family are predicted one block size after another.
  for (let tile = Math.floor(from / perLaunch); tile * perLaunch < to;) {
    const firstLaunch = tile % launches;
    const lastTile = Math.min(tile - firstLaunch + launches, Math.ceil(to / perLaunch));
    decodeInto(positions, counts, tile * perLaunch);
    for (let block = 0; block < blocks; block += 1) {
      positions[AXIS.blockThreads] = block;
      for (let at = tile; at < lastTile; at += 1) {
        positions[AXIS.launch] = firstLaunch + at - tile;
        for (const segment of segments) {
          const first = at * perLaunch + block;
          if (first >= segment.to || first + perLaunch <= segment.from) continue;
          positions[AXIS.device] = segment.deviceAt;
          for (let cap = 0, design = first; cap < caps; cap += 1, design += blocks) {
            if (design < segment.from || design >= segment.to) continue;
            positions[AXIS.registerCap] = cap;
            predictInto(segment.columns, segment.offset + design, predictor, positions, candidate, timed);
          }
        }
      }
    }
    tile = lastTile;
  }
  return chunks;
}

export function predictInto(
  columns: PredictionColumns,
  i: number,
  predictor: Predictor,
  positions: Int32Array,
  candidate: Candidate,
  timed: TimedDesign,
): void {
  examine(predictor, positions, candidate);
  writeInto(columns, i, candidate, timed);
}

export function writeInto(columns: PredictionColumns, i: number, candidate: Candidate, timed: TimedDesign): void {
  columns.invalidReason[i] = candidate.invalid;
  columns.occupancyFraction[i] = candidate.shape.occupancyFraction;
  columns.residentBlocks[i] = candidate.shape.residentBlocks;
  columns.limitedBy[i] = candidate.shape.limitedBy;
  columns.unitsPerThread[i] = candidate.unitsPerThread;
  columns.gridBlocks[i] = candidate.gridBlocks;
  if (candidate.invalid === 0) {
    timeDesign(candidate, timed);
    if (Number.isNaN(timed.timeMs)) throw new RangeError(describeNoTime(candidate));
    columns.timeMs[i] = timed.timeMs;
    columns.meanLoss[i] = timed.meanLoss;
    columns.aggregateLoss[i] = timed.aggregateLoss;
  } else columns.timeMs[i] = NaN;
}

/** Readers of columns take NaN for an invalid design, so without an exception they would leave this design out. */
function describeNoTime({ device, threadsPerUnit, balancing, gridBlocks, unitsPerThread }: Candidate): string {
  return `The predicted time of a valid design is not a number, which is a fault of the model (on ${device.id}, ${threadsPerUnit} threads per unit, balancing ${balancing.kind}, ${gridBlocks} blocks, ${unitsPerThread} units per thread).`;
}

export function predictChunk(predictor: Predictor, first: number, count: number): PredictionChunk {
  return predictRanges(predictor, [{ first, count }])[0];
}
