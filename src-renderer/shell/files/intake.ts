import { kernelFileKind } from '../../../src-workers/domain/inspection.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { sentenceCase } from '../../../src-workers/domain/terms.ts';
import { chooseFile, chooseFiles } from '../../components/save.ts';
import { bytes as bytesText, counted } from '../../format/numbers.ts';
import type { App } from '../../state/app.svelte.ts';
import { importResults } from '../../views/measure/import-results.ts';
import { withWorkload } from '../../views/study/edit.ts';
import { changeByFile, createStudy } from '../new-study.ts';
import { namesLengths, readDevice, withStoredLengths } from '../study-file.ts';
import type { toColumns } from './table-choice.ts';

const MAX_UPLOAD_BYTES = 250e6;
const LENGTH_FILES =
  '.csv,.tsv,.txt,.dat,.mtx,.npy,.npz,.parquet,.arrow,.feather,.edgelist,.adjlist,.graphml,.graph,.gz';
const KERNEL_FILES = '.cu,.ptx,.cubin,.sass,.log,.txt,.csv';

const RESULTS = /\.(db|sqlite3?|jsonl|ndjson)(\.gz)?$/i;
const SPREADSHEET = /\.(xlsx?|xlsm|ods|numbers)$/i;

/** Imports a file as a study, as lengths (the user chooses columns of a table), as results, or as kernel facts. */
export async function takeFile(app: App, file: File): Promise<void> {
  const refuse = (message: string) =>
    app.refuse({ title: `${file.name} could not be imported`, failure: { code: 'bad-input', message } });
  if (file.size > MAX_UPLOAD_BYTES)
    return refuse(
      `The file has ${bytesText(file.size)}; at most ${bytesText(MAX_UPLOAD_BYTES)} can be imported. ` +
        'Import a histogram of its lengths (a CSV of length and count), or name the file in the study as file:PATH, which has no limit.',
    );
  if (file.name.endsWith('.json')) return takeStudy(app, { fileName: file.name, text: await file.text() });
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (kernelFileKind(file.name, bytes) !== null) {
    if (app.location.studyId === null) await createStudy(app);
    if (app.location.view !== 'study') app.location.go('study');
    app.refuse(null);
    app.kernelFile = { fileName: file.name, bytes };
    return;
  }
  if (SPREADSHEET.test(file.name))
    return refuse('The file is a spreadsheet. Save it as CSV in a spreadsheet program, then import the CSV.');
  if (RESULTS.test(file.name)) {
    const imported = await importResults(app, file);
    return app.refuse(imported.ok ? null : { title: `${file.name} could not be imported`, failure: imported.error });
  }
  const inspected = await app.engine.call('workload.inspect', { fileName: file.name, bytes });
  const failure = !inspected.ok
    ? inspected.error
    : inspected.value === null
      ? await useFile(app, { fileName: file.name, bytes })
      : null;
  if (failure) return refuse(sentenceCase(failure.message.replace(file.name, '').replace(/^[:,] /, '')));
  if (!inspected.ok || inspected.value === null) return;
  app.refuse(null);
  app.table = { fileName: file.name, bytes, summary: inspected.value };
}

interface StudyFile {
  readonly fileName: string;
  readonly text: string;
  readonly folder?: string;
}

/** Opens a study, or adds the device that is saved beside a study. */
export async function takeStudy(app: App, file: StudyFile): Promise<void> {
  const device = readDevice(file.text);
  await (device === null ? app.importStudy(file) : addDevice(app, device, file.fileName));
}

async function addDevice(app: App, device: Readonly<Record<string, unknown>>, fileName: string): Promise<void> {
  const known = app.library.devices.find(({ id, own }) => own && id === device.id);
  if (known) return app.notices.show(`Your device ${known.id} was kept; it was not read from ${fileName}`);
  const saved = await app.engine.call('devices.save', { device });
  if (saved.ok) app.notices.show(`${saved.value.id} added to your devices`);
  else app.refuse({ title: `${fileName} was not added`, failure: saved.error });
}

/**
 * Imports the study among the files, with its lengths and devices if they are among them too. Without a study, imports
 * the first file.
 */
export async function takeFiles(app: App, files: readonly File[]): Promise<void> {
  let study: StudyFile | null = null;
  const others: File[] = [];
  for (const file of files) {
    const isRead = file.name.endsWith('.json') && file.size <= MAX_UPLOAD_BYTES;
    const text = isRead ? await file.text() : '';
    const device = readDevice(text);
    if (device !== null) await addDevice(app, device, file.name);
    else others.push(file);
    if (isRead && device === null) study ??= { fileName: file.name, text };
  }
  if (study === null) return others.length > 0 ? takeFile(app, others[0]) : undefined;
  const { fileName, text } = study;
  const lengths = others.find(({ name }) => namesLengths(text, name));
  if (!lengths || lengths.size > MAX_UPLOAD_BYTES) return app.importStudy(study);
  const bytes = new Uint8Array(await lengths.arrayBuffer());
  const uploaded = await app.engine.call('workload.upload', { fileName: lengths.name, bytes });
  if (!uploaded.ok) return app.refuse({ title: `${lengths.name} could not be imported`, failure: uploaded.error });
  return app.importStudy({ fileName, text: withStoredLengths(text, lengths.name, uploaded.value.lengths) });
}

/** Returns a file name for pasted text; null for text that is probably no file, such as a link or prose. */
export function pastedName(text: string): string | null {
  const lines = text.trim().split(/\r\n|\r|\n/);
  if (lines[0].startsWith('{')) return 'pasted.json';
  const hasNumbers = lines.some((line) =>
    line.split(/[\s,;]+/).some((word) => word !== '' && Number.isFinite(Number(word))),
  );
  const isCode = kernelFileKind('', new TextEncoder().encode(text)) !== null;
  return lines.length > 1 && (hasNumbers || isCode) ? 'pasted.csv' : null;
}

export async function takeText(app: App, text: string): Promise<void> {
  const name = pastedName(text);
  if (name === null) {
    const why = 'the pasted text is neither a table with numbers nor a study';
    // The guide covers notices.
    if (app.overlay !== 'guide') return app.notices.show(`Nothing was imported: ${why}`);
    const failure = { code: 'bad-input', message: `${sentenceCase(why)}.` } as const;
    return app.refuse({ title: 'Nothing was imported', failure });
  }
  await takeFile(app, new File([text], name, { type: 'text/plain' }));
}

/** Makes a file the workload of the open study, or of a new one. Returns the reason if this fails, otherwise null. */
export async function useFile(
  app: App,
  input: { fileName: string; bytes: Uint8Array<ArrayBuffer>; columns?: ReturnType<typeof toColumns> },
): Promise<Failure | null> {
  const result = await app.engine.call('workload.upload', input);
  if (!result.ok) return result.error;
  app.refuse(null);
  if (app.location.studyId === null) await createStudy(app);
  if (app.location.studyId !== null) await app.editor.open(app.location.studyId);
  const { lengths, units, note } = result.value;
  await changeByFile(
    app,
    input.fileName,
    'workload',
    `${input.fileName} imported${units === null ? '' : `: ${counted(units, 'unit')}`}${note ? `. ${note}` : ''}`,
    (study) => withWorkload(study, { lengths, ...(units !== null && { units }) }),
  );
  if (app.location.view !== 'study') app.location.go('study');
  return null;
}

/** A study and the file of its lengths can be chosen together. */
export const chooseStudyFile = (app: App): void =>
  chooseFiles('.json,application/json,.csv', (files) => takeFiles(app, files));

export const chooseLengthFile = (app: App): void => chooseFile(LENGTH_FILES, (file) => takeFile(app, file));

export const chooseKernelFile = (app: App): void => chooseFile(KERNEL_FILES, (file) => takeFile(app, file));
