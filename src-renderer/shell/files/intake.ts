import { kernelFileKind } from '../../../src-workers/domain/inspection.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { bytes as bytesText, counted } from '../../format/numbers.ts';
import type { App } from '../../state/app.svelte.ts';
import { createStudy } from '../new-study.ts';
import type { toColumns } from './table-choice.ts';

const MAX_UPLOAD_BYTES = 250e6;
export const LENGTH_FILES = '.csv,.tsv,.txt,.dat,.mtx';
const KERNEL_FILES = '.cu,.ptx,.cubin,.sass,.log,.txt,.csv';

const isMatrix = (fileName: string): boolean => /\.mtx$/i.test(fileName);

/** Why a file cannot be read as text, and what to do; `null` where it can. */
export function notText(fileName: string, head: Uint8Array): string | null {
  if (/\.(xlsx?|xlsm|ods|numbers)$/i.test(fileName))
    return 'It is a spreadsheet. Save it as CSV there (File, Save as, CSV), then choose that file.';
  if (/\.(gz|zip|zst|bz2|xz|7z|tar)$/i.test(fileName))
    return 'It is compressed. Unpack it, then choose the file in it.';
  if (/\.(parquet|arrow|feather|npy|npz|h5|hdf5)$/i.test(fileName))
    return 'It is a binary table. Write its column of lengths as CSV, then choose that file.';
  const utf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (!utf16 && head.subarray(0, 4096).includes(0))
    return 'It is not a text file. Choose a CSV of lengths, a Matrix Market file (.mtx) or a study (.json).';
  return null;
}

/**
 * Takes a file: a study is opened, a matrix becomes the workload, of a table the person chooses the columns, and what a file says of a kernel
 * is shown beside the kernel profile.
 */
export async function takeFile(app: App, file: File): Promise<void> {
  const refuse = (message: string) =>
    app.refuse({ title: `${file.name} could not be imported`, failure: { code: 'bad-input', message } });
  if (file.size > MAX_UPLOAD_BYTES)
    return refuse(
      `It has ${bytesText(file.size)}; at most ${bytesText(MAX_UPLOAD_BYTES)} can be imported. ` +
        'Count its lengths first: a CSV of length and count is read alike. Or name it in the study as file:PATH, which has no such limit.',
    );
  if (file.name.endsWith('.json')) return app.importStudy(file.name, await file.text());
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (kernelFileKind(file.name, bytes) !== null) {
    if (app.location.studyId === null) await createStudy(app);
    if (app.location.view !== 'study') app.location.go('study');
    app.refuse(null);
    app.kernelFile = { fileName: file.name, bytes };
    return;
  }
  const binary = notText(file.name, bytes);
  if (binary) return refuse(binary);
  if (isMatrix(file.name)) {
    const failure = await useFile(app, { fileName: file.name, bytes });
    if (failure) app.refuse({ title: `${file.name} could not be imported`, failure });
    return;
  }
  const inspected = await app.engine.call('workload.inspect', { fileName: file.name, bytes });
  if (!inspected.ok) return app.refuse({ title: `${file.name} could not be imported`, failure: inspected.error });
  app.refuse(null);
  app.table = { fileName: file.name, bytes, summary: inspected.value };
}

/** Takes pasted text: a study, or a table. */
export async function takeText(app: App, text: string): Promise<void> {
  const name = text.trimStart().startsWith('{') ? 'pasted.json' : 'pasted.csv';
  await takeFile(app, new File([text], name, { type: 'text/plain' }));
}

/** Makes a file the workload of the open study, or of a new one. Returns why it could not. */
export async function useFile(
  app: App,
  input: { fileName: string; bytes: Uint8Array<ArrayBuffer>; columns?: ReturnType<typeof toColumns> },
): Promise<Failure | null> {
  const result = await app.engine.call('workload.upload', input);
  if (!result.ok) return result.error;
  app.refuse(null);
  if (app.location.studyId === null) await createStudy(app);
  if (app.location.studyId !== null) await app.editor.open(app.location.studyId);
  const { lengths, units } = result.value;
  const before = app.editor.study?.workload;
  app.editor.edit('workload', `import ${input.fileName}`, (study) => ({
    ...study,
    workload: { ...study.workload, lengths, ...(units !== null && { units }) },
  }));
  if (app.location.view !== 'study') app.location.go('study');
  app.notices.show(
    units === null ? `${input.fileName} imported` : `${input.fileName} imported: ${counted(units, 'unit')}`,
    before
      ? () => app.editor.edit('workload', `undo of ${input.fileName}`, (study) => ({ ...study, workload: before }))
      : null,
  );
  return null;
}

/** Lets the person choose a file. */
export function chooseFile(app: App, accept = LENGTH_FILES): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = accept;
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    if (file) void takeFile(app, file);
  });
  input.click();
}

/** Lets the person choose what a kernel was compiled from or to. */
export const chooseKernelFile = (app: App): void => chooseFile(app, KERNEL_FILES);
