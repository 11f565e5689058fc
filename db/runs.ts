import { refuse } from './failure.ts';
import type { Ownership } from './ownership.ts';
import type { RunRecord } from './records.ts';
import { runDesigns } from './run-designs.ts';
import { runRows, type RunRows } from './run-rows.ts';
import { runStates } from './run-states.ts';
import { type Statements, now } from './statements.ts';

export function openRuns(statements: Statements, ownership: Ownership) {
  const rows = runRows(statements, ownership);
  return {
    ...rows,
    ...runStates(statements, ownership, rows),
    ...runDesigns(statements, rows),
    ...runMarks(statements, rows),
  };
}

function runMarks({ run, insert, write }: Statements, { rowOf, getRun }: RunRows) {
  function renameRun(runId: number, name: string): RunRecord {
    if (name.trim() === '') refuse('bad-input', `The name of run ${runId} must not be empty.`);
    if (run('UPDATE runs SET name = ? WHERE id = ?', name, runId) === 0) rowOf(runId);
    return getRun(runId);
  }

  function noteRun(runId: number, note: string): RunRecord {
    run('UPDATE runs SET note = ? WHERE id = ?', note, runId);
    return getRun(runId);
  }

  function tagRun(runId: number, tags: readonly string[]): RunRecord {
    write(() => {
      rowOf(runId);
      run('DELETE FROM run_tags WHERE run_id = ?', runId);
      for (const tag of new Set(tags)) {
        if (tag.trim() === '') refuse('bad-input', `A tag of run ${runId} must not be empty.`);
        insert('run_tags', { runId, tag });
      }
    });
    return getRun(runId);
  }

  function deleteRuns(runIds: readonly number[]): null {
    write(() => {
      for (const runId of runIds) {
        if (rowOf(runId).state === 'running')
          refuse(
            'conflict',
            `Run ${runId} is running. Cancel it first: with Ctrl+C in the terminal of its command, or with Cancel in the app.`,
            { runId },
          );
        run('UPDATE runs SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?', now(), runId);
      }
    });
    return null;
  }

  function restoreRuns(runIds: readonly number[]): null {
    write(() => {
      for (const runId of runIds) {
        if (rowOf(runId).deletedAt === null) refuse('conflict', `Run ${runId} is not in the bin.`, { runId });
        run('UPDATE runs SET deleted_at = NULL WHERE id = ?', runId);
      }
    });
    return null;
  }

  return { renameRun, noteRun, tagRun, deleteRuns, restoreRuns };
}
