import type { App } from '../../state/app.svelte.ts';
import { count } from '../../format/numbers.ts';
import { withWorkload } from './edit.ts';

const MAX_UPLOAD_BYTES = 250e6;

export function isMatrixFile(fileName: string): boolean {
  return /\.mtx$/i.test(fileName);
}

/** Takes a file in as the workload of the open study: CSV of lengths, Matrix Market, or a study file, which is opened. */
export async function takeFile(app: App, file: File): Promise<void> {
  if (file.name.endsWith('.json')) {
    const result = await app.engine.call('studies.import', { text: await file.text() });
    if (!result.ok) return app.report(result.error);
    await app.library.load('studies');
    app.location.openStudy(result.value.id, 'study');
    return;
  }
  if (file.size > MAX_UPLOAD_BYTES) {
    app.notices.show(`${file.name} has ${count(file.size)} bytes; at most ${count(MAX_UPLOAD_BYTES)} can be taken in`);
    return;
  }
  const result = await app.engine.call('workload.upload', {
    fileName: file.name,
    bytes: new Uint8Array(await file.arrayBuffer()),
  });
  if (!result.ok) return app.report(result.error);
  const { lengths, units } = result.value;
  const matrix = isMatrixFile(file.name);
  app.editor.edit('workload', `take in ${file.name}`, (study) =>
    // The rows of a matrix are the units; a histogram of lengths says nothing of how many there are.
    withWorkload(study, matrix ? { lengths, units } : { lengths }),
  );
  app.notices.show(`${file.name} taken in`, () => app.editor.undo());
}

/** Lets the person choose a file for `takeFile`. */
export function chooseFile(app: App, accept: string): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = accept;
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    if (file) void takeFile(app, file);
  });
  input.click();
}
