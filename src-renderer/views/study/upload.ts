import type { App } from '../../state/app.svelte.ts';
import { bytes } from '../../format/numbers.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { withWorkload } from './edit.ts';

const MAX_UPLOAD_BYTES = 250e6;

export function isMatrixFile(fileName: string): boolean {
  return /\.mtx$/i.test(fileName);
}

/** Takes a file in as the workload of the open study: CSV of lengths, Matrix Market, or a study file, which is opened. */
export async function takeFile(app: App, file: File): Promise<void> {
  if (file.name.endsWith('.json')) return app.importStudy(file.name, await file.text());
  const refuse = (failure: Failure) => app.refuse({ title: `${file.name} could not be imported`, failure });
  if (file.size > MAX_UPLOAD_BYTES)
    return refuse({
      code: 'bad-input',
      message: `It has ${bytes(file.size)}; at most ${bytes(MAX_UPLOAD_BYTES)} can be imported.`,
    });
  const result = await app.engine.call('workload.upload', {
    fileName: file.name,
    bytes: new Uint8Array(await file.arrayBuffer()),
  });
  if (!result.ok) return refuse(result.error);
  app.refuse(null);
  const { lengths, units } = result.value;
  const matrix = isMatrixFile(file.name);
  app.editor.edit('workload', `import ${file.name}`, (study) =>
    // The rows of a matrix are the units; a histogram of lengths says nothing of how many there are.
    withWorkload(study, matrix ? { lengths, units } : { lengths }),
  );
  app.notices.show(`${file.name} imported`, () => app.editor.undo());
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
