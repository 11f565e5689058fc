import type { RunRecord, RunSummary as StoredRun } from '../../../db/records.ts';
import type { RunKind, RunSummary } from '../../contract/api.ts';

const RUN_KIND_TEXT: Readonly<Record<RunKind, string>> = {
  sweep: 'a sweep',
  simulate: 'a simulation',
  bench: 'a measurement',
  import: 'an import',
};

export function kindText({ kind, sourceRunId }: Pick<StoredRun, 'kind' | 'sourceRunId'>): string {
  return sourceRunId === null ? RUN_KIND_TEXT[kind] : `${RUN_KIND_TEXT[kind]} of run ${sourceRunId}`;
}

export function runSummary(run: StoredRun | RunRecord, bytes: number): RunSummary {
  return {
    id: run.id,
    kind: run.kind,
    state: run.state,
    studyId: run.studyId,
    name: run.name,
    tags: run.tags,
    note: run.note,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    elapsedMs: run.elapsedMs,
    sourceRunId: run.sourceRunId,
    enumerated: run.enumeratedCount,
    valid: run.validCount,
    invalid: run.invalidCount,
    kept: run.kept && { wanted: run.kept.wanted, predicted: run.kept.predicted },
    bytes,
    bestTimeMs: run.best?.timeMs ?? null,
    bestDesign: run.best?.design ?? null,
    error: 'failure' in run ? (run.failure?.message ?? null) : null,
    deletedAt: run.deletedAt,
  };
}
