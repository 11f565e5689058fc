/**
 * Predictions of consecutive designs, one entry per design index, struct of arrays (all of length `count`).
 * An invalid design has timeMs NaN and a non-zero invalidReason (index into INVALID_REASONS).
 */
export interface PredictionColumns {
  readonly firstDesign: number;
  readonly count: number;
  readonly timeMs: Float64Array;
  readonly meanLoss: Float32Array;
  readonly aggregateLoss: Float32Array;
  readonly occupancyFraction: Float32Array;
  readonly residentBlocks: Uint16Array;
  /** Bit mask of LIMITING_FACTORS. */
  readonly limitedBy: Uint8Array;
  readonly invalidReason: Uint8Array;
  readonly unitsPerThread: Float64Array;
  readonly gridBlocks: Float64Array;
}

export function allocateColumns(firstDesign: number, count: number): PredictionColumns {
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

/** The buffers of the columns, for a transfer list. */
export function columnBuffers(columns: PredictionColumns): ArrayBuffer[] {
  return Object.values(columns)
    .filter((value) => ArrayBuffer.isView(value))
    .map((view) => view.buffer as ArrayBuffer);
}
