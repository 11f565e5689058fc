import { crc32 } from 'node:zlib';

import type { Database } from 'better-sqlite3';

import { type ColumnName, COLUMN_NAMES, columnBytes, emptyColumns } from './columns.ts';
import { refuse } from './failure.ts';
import type { BestDesigns, CommittedChunk, PredictionChunk, PredictionColumns, RunColumns } from './records.ts';

/** Packed columns have a digest, because SQLite does not detect flipped bits. Older chunks have none. */
const DIGEST = 'crc32';

/** Measured: 128 rows per statement write twice as fast as one row; more rows gain little. */
const ROWS_PER_STATEMENT = 128;
const INSERT = 'INSERT INTO predictions VALUES ';
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
const VALUES_PER_ROW = 11;

/** The values are in the order of `COLUMN_NAMES`. */
type PredictionRow = readonly [designIndex: number, ...values: (number | null)[]];

/**
 * Stores predictions as rows, which any SQLite tool can read, and as packed columns, which load faster. A caller that
 * writes has checked the designs and opened a transaction. Reading fails with `storage` if designs are missing.
 */
export function predictionTable(db: Database) {
  const rows = openRows(db);
  const packed = openPacked(db);
  return {
    insert(runId: number, chunk: PredictionChunk): void {
      rows.insert(runId, chunk, chunk.count, (entry) => chunk.firstDesign + entry);
      packed.insert(runId, chunk, 0, chunk);
    },
    replace(runId: number, best: BestDesigns): void {
      rows.remove(runId);
      rows.insert(runId, best, best.designs.length, (entry) => best.designs[entry]);
    },
    loadBest: (runId: number, count: number): RunColumns => rows.readAll(runId, count),
    /** For a chunk without intact packed columns, reads the rows instead, and returns the chunk in `rebuilt`. */
    load(runId: number, count: number, chunks: readonly CommittedChunk[]) {
      const columns = emptyColumns(count);
      const { isWhole, digests } = packed.read(runId, columns, chunks);
      const rebuilt = chunks.filter((chunk) => !isWhole(chunk));
      for (const chunk of rebuilt) {
        const { firstDesign, count: size } = chunk;
        const copy = computeDigest(columns, firstDesign, size);
        rows.read(runId, columns, chunk);
        const known = digests.get(firstDesign);
        const read = computeDigest(columns, firstDesign, size);
        // If the rows equal the packed copy, only the digest was damaged.
        if (known && !read.equals(known) && !read.equals(copy))
          refuse(
            'storage',
            `The two saved copies of run ${runId} differ, starting at design ${firstDesign}: the database is damaged. Restore a backup of it, or predict the study again.`,
            { runId },
          );
      }
      return { columns, rebuilt };
    },
    pack(runId: number, columns: PredictionColumns, chunks: readonly CommittedChunk[]): void {
      for (const chunk of chunks) packed.insert(runId, columns, chunk.firstDesign, chunk);
    },
  };
}

function openPacked(db: Database) {
  const insertColumn = db.prepare(
    'INSERT OR REPLACE INTO run_columns (run_id, first_design, name, data) VALUES (?, ?, ?, ?)',
  );
  const selectColumns = db.prepare<[number], { first_design: number; name: string; data: Buffer }>(
    'SELECT first_design, name, data FROM run_columns WHERE run_id = ?',
  );

  function insert(runId: number, columns: PredictionColumns, at: number, { firstDesign, count }: CommittedChunk): void {
    for (const name of COLUMN_NAMES) insertColumn.run(runId, firstDesign, name, columnBytes(columns, name, at, count));
    insertColumn.run(runId, firstDesign, DIGEST, computeDigest(columns, at, count));
  }

  function read(runId: number, columns: RunColumns, chunks: readonly CommittedChunk[]) {
    const sizes = new Map(chunks.map((chunk) => [chunk.firstDesign, chunk.count]));
    const found = new Map<number, number>();
    const digests = new Map<number, Buffer>();
    for (const { first_design: firstDesign, name, data } of selectColumns.iterate(runId)) {
      const size = sizes.get(firstDesign);
      if (name === DIGEST) digests.set(firstDesign, data);
      if (size === undefined || !isColumnName(name)) continue;
      const target = columnBytes(columns, name, firstDesign, size);
      if (data.length !== target.length) continue;
      target.set(data);
      found.set(firstDesign, (found.get(firstDesign) ?? 0) + 1);
    }
    const isWhole = ({ firstDesign, count }: CommittedChunk): boolean =>
      found.get(firstDesign) === COLUMN_NAMES.length &&
      digests.get(firstDesign)?.equals(computeDigest(columns, firstDesign, count)) !== false;
    return { isWhole, digests };
  }

  return { insert, read };
}

function openRows(db: Database) {
  const insertMany = db.prepare(INSERT + Array<string>(ROWS_PER_STATEMENT).fill(ROW).join(', '));
  const insertOne = db.prepare(INSERT + ROW);
  const selectRows = db
    .prepare<[number, number, number], PredictionRow>(
      `SELECT design_index, time_ms, mean_loss, aggregate_loss, occupancy_fraction, resident_blocks, limited_by,
         invalid_reason, units_per_thread, grid_blocks FROM predictions
       WHERE run_id = ? AND design_index >= ? AND design_index < ? ORDER BY design_index`,
    )
    .raw();
  const deleteRows = db.prepare('DELETE FROM predictions WHERE run_id = ?');

  function insert(runId: number, chunk: PredictionColumns, count: number, designAt: (entry: number) => number): void {
    const { timeMs, meanLoss, aggregateLoss, occupancyFraction, residentBlocks } = chunk;
    const { limitedBy, invalidReason, unitsPerThread, gridBlocks } = chunk;
    // The array is filled with fractions from the start, so that V8 stores it as unboxed doubles.
    const values = new Array<number>(ROWS_PER_STATEMENT * VALUES_PER_ROW).fill(0.5);
    const fill = (at: number, i: number): void => {
      values[at] = runId;
      values[at + 1] = designAt(i);
      // better-sqlite3 binds NaN as NULL.
      values[at + 2] = timeMs[i];
      values[at + 3] = meanLoss[i];
      values[at + 4] = aggregateLoss[i];
      values[at + 5] = occupancyFraction[i];
      values[at + 6] = residentBlocks[i];
      values[at + 7] = limitedBy[i];
      values[at + 8] = invalidReason[i];
      values[at + 9] = unitsPerThread[i];
      values[at + 10] = gridBlocks[i];
    };
    let i = 0;
    while (i + ROWS_PER_STATEMENT <= count) {
      for (let row = 0; row < ROWS_PER_STATEMENT; row++, i++) fill(row * VALUES_PER_ROW, i);
      insertMany.run(values);
    }
    for (; i < count; i++) {
      fill(0, i);
      insertOne.run(values.slice(0, VALUES_PER_ROW));
    }
  }

  function read(runId: number, columns: RunColumns, { firstDesign, count }: CommittedChunk): void {
    let found = 0;
    for (const row of selectRows.iterate(runId, firstDesign, firstDesign + count)) {
      found += 1;
      readRow(columns, row[0], row);
    }
    checkFound(runId, found, count, firstDesign);
  }

  function readAll(runId: number, count: number): RunColumns {
    const rows = selectRows.all(runId, 0, Number.MAX_SAFE_INTEGER);
    checkFound(runId, rows.length, count, rows[0]?.[0] ?? 0);
    const columns = emptyColumns(rows.length);
    rows.forEach((row, entry) => readRow(columns, entry, row));
    return { ...columns, designs: Uint32Array.from(rows, ([design]) => design) };
  }

  return { insert, read, readAll, remove: (runId: number) => deleteRows.run(runId) };
}

function checkFound(runId: number, found: number, count: number, firstDesign: number): void {
  if (found !== count)
    refuse(
      'storage',
      `Run ${runId} has ${found} of the ${count} designs from design ${firstDesign} on: the database is damaged. Restore a backup of it, or predict the study again.`,
      { runId, firstDesign },
    );
}

function readRow(columns: RunColumns, i: number, [, ...values]: PredictionRow): void {
  COLUMN_NAMES.forEach((name, at) => (columns[name][i] = values[at] ?? NaN));
}

function computeDigest(columns: PredictionColumns, first: number, count: number): Buffer {
  const digest = Buffer.alloc(4);
  const sum = COLUMN_NAMES.reduce((before, name) => crc32(columnBytes(columns, name, first, count), before), 0);
  digest.writeUInt32LE(sum);
  return digest;
}

function isColumnName(name: string): name is ColumnName {
  return (COLUMN_NAMES as readonly string[]).includes(name);
}
