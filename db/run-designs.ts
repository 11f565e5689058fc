import { checkBest, checkChunk } from './columns.ts';
import { refuse } from './failure.ts';
import { predictionTable } from './predictions.ts';
import type { BestDesigns, CommittedChunk, PredictionChunk, RunColumns } from './records.ts';
import type { RunRows } from './run-rows.ts';
import type { Statements } from './statements.ts';

export function runDesigns({ all, get, run, insert, write, db }: Statements, { rowOf, ownRow }: RunRows) {
  const predictions = predictionTable(db);

  function savePredictionChunk(runId: number, chunk: PredictionChunk): null {
    write(() => {
      const row = ownRow(runId);
      if (row.bestWanted !== null) refuse('conflict', `Run ${runId} keeps only its best designs.`, { runId });
      const validCount = checkChunk(chunk, row.enumeratedCount);
      const { firstDesign, count } = chunk;
      const overlapping = get<CommittedChunk>(
        `SELECT first_design, count FROM run_chunks
         WHERE run_id = ? AND first_design < ? AND first_design + count > ?`,
        runId,
        firstDesign + count,
        firstDesign,
      );
      if (overlapping) {
        const saved = `${overlapping.firstDesign}…${overlapping.firstDesign + overlapping.count - 1}`;
        refuse(
          'conflict',
          `Designs ${firstDesign}…${firstDesign + count - 1} of run ${runId} cannot be saved, because ${saved} are already saved.`,
          { runId, firstDesign },
        );
      }
      insert('run_chunks', { runId, firstDesign, count });
      predictions.insert(runId, chunk);
      countResults(runId, validCount, count - validCount);
    });
    return null;
  }

  function saveBestDesigns(runId: number, best: BestDesigns): null {
    write(() => {
      const row = ownRow(runId);
      const wanted = row.bestWanted ?? 0;
      const count = checkBest(best, row.enumeratedCount);
      if (best.designs.length > wanted || count < best.designs.length)
        refuse(
          'conflict',
          `Run ${runId} can keep ${wanted} best designs, all valid. Of these ${best.designs.length}, ${count} are valid.`,
          { runId },
        );
      predictions.replace(runId, best);
      run(
        'UPDATE runs SET valid_count = ?, predicted_count = ?, picked_design = ? WHERE id = ?',
        count,
        best.predicted,
        best.picked,
        runId,
      );
    });
    return null;
  }

  function listChunks(runId: number): readonly CommittedChunk[] {
    rowOf(runId);
    return all<CommittedChunk>(
      'SELECT first_design, count FROM run_chunks WHERE run_id = ? ORDER BY first_design',
      runId,
    );
  }

  function countResults(runId: number, validCount: number, invalidCount: number): void {
    run(
      'UPDATE runs SET valid_count = valid_count + ?, invalid_count = invalid_count + ? WHERE id = ?',
      validCount,
      invalidCount,
      runId,
    );
  }

  function loadRunColumns(runId: number): RunColumns {
    // Chunks and columns are read in one transaction, so that they match even while other processes write.
    const { columns, rebuilt } = db.transaction(() => {
      const row = rowOf(runId);
      if (row.bestWanted !== null) return { columns: predictions.loadBest(runId, row.validCount), rebuilt: [] };
      return predictions.load(runId, row.enumeratedCount, listChunks(runId));
    })();
    if (rebuilt.length > 0 && !db.readonly) write(() => predictions.pack(runId, columns, rebuilt));
    return columns;
  }

  return { savePredictionChunk, saveBestDesigns, listChunks, countResults, loadRunColumns };
}
