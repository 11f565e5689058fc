import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { badInput, fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import type { ImportedFile } from '../../../src-main/contract/measuring.ts';
import { chooseFile } from '../../components/save.ts';
import { bytes, counted } from '../../format/numbers.ts';
import { withoutOptions } from '../../format/runs.ts';
import type { App, OpenResults } from '../../state/app.svelte.ts';

/** The largest file that can be imported, bytes, because the page reads a file as a whole. */
const MAX_IMPORT_BYTES = 250e6;

const KINDS: Readonly<Record<ImportedFile['kind'], string>> = {
  results: 'results of a bundle',
  'kernel-tuner-cache': 'Kernel Tuner cache',
  'kernel-tuner-t4': 'Kernel Tuner T4 file',
  'kernel-tuner-stored': 'Kernel Tuner results',
  optuna: 'study of Optuna',
  smite: 'published losses',
  loops: 'measured loops',
  times: 'measured times',
};

function importedText(fileName: string, { kind, cases, failed, linked, warnings }: ImportedFile): string {
  return [
    `${fileName}: ${KINDS[kind]}, ${counted(cases, 'case')}`,
    ...(linked ? [`${counted(linked.designs, 'design')} of run ${linked.runId}`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warnings.length > 0 ? [withoutOptions(warnings[0])] : []),
  ].join('; ');
}

/** Imports measured results and shows their run. Returns null if a sheet must first ask the user. */
export async function importResults(app: App, file: File): Promise<Result<ImportedFile | null>> {
  if (file.size > MAX_IMPORT_BYTES)
    return badInput(`${file.name} has ${bytes(file.size)}; at most ${bytes(MAX_IMPORT_BYTES)} can be imported`);
  const { run } = app;
  const openRunId = run?.kind === 'sweep' && run.state !== 'running' ? run.id : null;
  const content = new Uint8Array(await file.arrayBuffer());
  const open = { fileName: file.name, bytes: content, openRunId };
  const questions = await app.engine.call('import.inspect', {
    fileName: file.name,
    bytes: content,
    ...(openRunId !== null && { openRunId }),
  });
  if (!questions.ok) return questions;
  if (questions.value === null) return importAnswered(app, open, {});
  app.results = { ...open, questions: questions.value };
  return ok(null);
}

export async function importAnswered(
  app: App,
  { fileName, bytes: content, openRunId }: Pick<OpenResults, 'fileName' | 'bytes' | 'openRunId'>,
  answers: Pick<ProcedureInput<'import.file'>, 'parameters' | 'timeUnit' | 'studyName' | 'deviceName'>,
): Promise<Result<ImportedFile>> {
  const result = await app.engine.call('import.file', {
    fileName,
    bytes: content,
    ...(openRunId !== null && { openRunId }),
    ...answers,
  });
  if (!result.ok) return fail(result.error.code, withoutOptions(result.error.message), result.error.context);
  await app.library.load('runs');
  const run = app.library.runs.find(({ id }) => id === result.value.runId);
  if (run) app.openRun(run, 'measure');
  app.notices.show(importedText(fileName, result.value));
  return result;
}

export const chooseResults = (take: (file: File) => void): void =>
  chooseFile('.jsonl,.ndjson,.json,.csv,.gz,.tar,.txt,.log,.db,.sqlite,.sqlite3', take);
