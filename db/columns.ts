import { NOT_SAVED } from '../src-workers/domain/columns.ts';
import { INVALID_REASONS } from '../src-workers/domain/design.ts';
import { refuse } from './failure.ts';
import type { BestDesigns, PredictionChunk, PredictionColumns, RunColumns } from './records.ts';

export type ColumnName = keyof PredictionColumns;

/** The table `run_columns` stores these names. */
const COLUMNS = {
  timeMs: Float64Array,
  meanLoss: Float32Array,
  aggregateLoss: Float32Array,
  occupancyFraction: Float32Array,
  residentBlocks: Uint16Array,
  limitedBy: Uint8Array,
  invalidReason: Uint8Array,
  unitsPerThread: Float64Array,
  gridBlocks: Float64Array,
} as const satisfies { readonly [Name in ColumnName]: new (length: number) => PredictionColumns[Name] };

export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[];

export function emptyColumns(count: number): RunColumns {
  const columns = Object.fromEntries(
    // A missing value is NaN, which becomes 0 in an array of integers.
    COLUMN_NAMES.map((name) => [name, new COLUMNS[name](count).fill(NaN)]),
  ) as unknown as PredictionColumns;
  columns.invalidReason.fill(NOT_SAVED);
  return { ...columns, count, designs: null };
}

export function columnBytes(columns: PredictionColumns, name: ColumnName, first: number, count: number): Uint8Array {
  const column = columns[name];
  const width = column.BYTES_PER_ELEMENT;
  return new Uint8Array(column.buffer, column.byteOffset + first * width, count * width);
}

/** Checks a chunk, and returns the number of its valid designs. Throws a `bad-input` failure if a value is wrong. */
export function checkChunk(chunk: PredictionChunk, enumeratedCount: number): number {
  const { firstDesign, count } = chunk;
  if (!Number.isSafeInteger(firstDesign) || !Number.isSafeInteger(count) || firstDesign < 0 || count < 1)
    refuse(
      'bad-input',
      `A chunk must have at least 1 design and begin at design 0 or later. This one has ${count} and begins at ${firstDesign}.`,
    );
  if (firstDesign + count > enumeratedCount)
    refuse(
      'bad-input',
      `The chunk has designs ${firstDesign}…${firstDesign + count - 1}, but the run has only ${enumeratedCount} designs.`,
    );
  return checkColumns(chunk, count, (at) => firstDesign + at);
}

export function checkBest(best: BestDesigns, enumeratedCount: number): number {
  const { designs, predicted } = best;
  if (!Number.isSafeInteger(predicted) || predicted < designs.length)
    refuse(
      'bad-input',
      `The number of predicted designs (${predicted}) must not be below the number of best designs (${designs.length}).`,
    );
  designs.forEach((design, at) => {
    if (design >= enumeratedCount || (at > 0 && design <= designs[at - 1]))
      refuse(
        'bad-input',
        `Designs must be numbers below ${enumeratedCount} in ascending order. The design at position ${at + 1} is ${design}.`,
      );
  });
  return checkColumns(best, designs.length, (at) => designs[at]);
}

function checkColumns(chunk: PredictionColumns, count: number, designAt: (at: number) => number): number {
  const { timeMs, invalidReason, unitsPerThread, gridBlocks } = chunk;
  for (const name of COLUMN_NAMES) {
    if (!(chunk[name] instanceof COLUMNS[name])) refuse('bad-input', `Column ${name} is not a ${COLUMNS[name].name}.`);
    if (chunk[name].length !== count)
      refuse('bad-input', `Column ${name} has ${chunk[name].length} entries, but the chunk has ${count} designs.`);
  }
  let validCount = 0;
  for (let i = 0; i < count; i++) {
    const reason = invalidReason[i];
    const time = timeMs[i];
    if (reason === 0 ? !(time >= 0 && time < Infinity) : !Number.isNaN(time))
      refuse(
        'bad-input',
        reason === 0
          ? `Design ${designAt(i)} is valid, so it must have a finite time ≥ 0, not ${time} ms.`
          : `Design ${designAt(i)} has invalid reason ${reason}, so it must have no time (NaN), not ${time} ms.`,
      );
    if (reason >= INVALID_REASONS.length)
      refuse(
        'bad-input',
        `Design ${designAt(i)} has invalid reason ${reason}, but the last known reason is ${INVALID_REASONS.length - 1}.`,
      );
    if (!isCount(unitsPerThread[i]) || !isCount(gridBlocks[i]))
      refuse(
        'bad-input',
        `Units per thread and blocks of design ${designAt(i)} must be whole numbers or NaN, not ${unitsPerThread[i]} and ${gridBlocks[i]}.`,
      );
    if (reason === 0) validCount++;
  }
  return validCount;
}

function isCount(value: number): boolean {
  return Number.isNaN(value) || Number.isSafeInteger(value);
}

/** Prepares columns for another thread. A view is copied first, because posting it would copy its whole buffer. */
export function handOver<T extends PredictionColumns>(
  columns: T,
): { readonly message: T; readonly transfer: ArrayBuffer[] } {
  const message = { ...columns };
  const transfer: ArrayBuffer[] = [];
  for (const name of COLUMN_NAMES) {
    const column = columns[name];
    const { buffer } = column;
    if (!(buffer instanceof ArrayBuffer)) continue; // Both threads share this memory.
    const whole = column.byteLength === buffer.byteLength;
    const posted = whole ? column : column.slice();
    Object.assign(message, { [name]: posted });
    transfer.push(posted.buffer as ArrayBuffer);
  }
  return { message, transfer };
}
