export interface PredictionColumns {
  /** Milliseconds; NaN if and only if `invalidReason` is not 0. */
  readonly timeMs: Float64Array;
  readonly meanLoss: Float32Array;
  readonly aggregateLoss: Float32Array;
  readonly occupancyFraction: Float32Array;
  readonly residentBlocks: Uint16Array;
  /** Bits of `LIMITING_FACTORS`. */
  readonly limitedBy: Uint8Array;
  /** Position in `INVALID_REASONS`; 0 is valid. */
  readonly invalidReason: Uint8Array;
  readonly unitsPerThread: Float64Array;
  readonly gridBlocks: Float64Array;
}

export interface PredictionChunk extends PredictionColumns {
  readonly firstDesign: number;
  readonly count: number;
}

/** An `invalidReason` for "no prediction": the design was not predicted, or its prediction was not kept. */
export const NOT_SAVED = 255;

export function allocateChunk(firstDesign: number, count: number): PredictionChunk {
  return {
    firstDesign,
    count,
    timeMs: new Float64Array(count),
    meanLoss: new Float32Array(count),
    aggregateLoss: new Float32Array(count),
    occupancyFraction: new Float32Array(count),
    residentBlocks: new Uint16Array(count),
    limitedBy: new Uint8Array(count),
    invalidReason: new Uint8Array(count),
    unitsPerThread: new Float64Array(count),
    gridBlocks: new Float64Array(count),
  };
}
