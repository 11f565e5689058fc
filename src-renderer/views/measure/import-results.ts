import { fail, type Result } from '../../../src-workers/domain/result.ts';
import type { ImportedFile } from '../../../src-main/contract/measuring.ts';
import { bytes, counted } from '../../format/numbers.ts';
import type { App } from '../../state/app.svelte.ts';

/** Larger files are not read into the page. */
const MAX_IMPORT_BYTES = 250e6;

const KINDS: Readonly<Record<ImportedFile['kind'], string>> = {
  results: 'results of a bundle',
  'kernel-tuner-cache': 'Kernel Tuner cache',
  'kernel-tuner-t4': 'Kernel Tuner T4 file',
  optuna: 'study of Optuna',
  smite: 'published losses',
  loops: 'measured loops',
  times: 'measured times',
};

/** What an import made, in one line. */
export function importedText(fileName: string, { kind, cases, failed, linked, warnings }: ImportedFile): string {
  return [
    `${fileName}: ${KINDS[kind]}, ${counted(cases, 'case')}`,
    ...(linked ? [`${counted(linked.designs, 'design')} of run ${linked.runId}`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warnings.length > 0 ? [warnings[0]] : []),
  ].join('; ');
}

/** Takes a file of measured results in and shows the run it became. */
export async function importResults(app: App, file: File): Promise<Result<ImportedFile>> {
  if (file.size > MAX_IMPORT_BYTES)
    return fail(
      'bad-input',
      `${file.name} has ${bytes(file.size)}; at most ${bytes(MAX_IMPORT_BYTES)} can be imported`,
    );
  const { run: open } = app;
  const result = await app.engine.call('import.file', {
    fileName: file.name,
    bytes: new Uint8Array(await file.arrayBuffer()),
    ...(open?.kind === 'sweep' && open.state !== 'running' ? { openRunId: open.id } : {}),
  });
  if (!result.ok) return result;
  await app.library.load('runs');
  const run = app.library.runs.find(({ id }) => id === result.value.runId);
  if (run) app.openRun(run, 'measure');
  app.notices.show(importedText(file.name, result.value));
  return result;
}

/** Lets the person choose a file of results. */
export function chooseResults(take: (file: File) => void): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = '.jsonl,.ndjson,.json,.csv,.gz,.tar,.txt,.db,.sqlite,.sqlite3';
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    if (file) take(file);
  });
  input.click();
}
