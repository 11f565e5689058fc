import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { kernelFileKind } from '../../../src-workers/domain/inspection.ts';
import { ok, type Result, badInput, unsupported } from '../../../src-workers/domain/result.ts';
import { TIME } from '../../../src-workers/parse/measured-times.ts';
import { shown } from '../../../src-workers/parse/source.ts';
import { MAX_IMPORT_BYTES } from '../../../src-workers/parse/unpack.ts';
import { readBytes } from '../files/files.ts';
import { IMPORTERS, KNOWN_FORMATS } from './formats.ts';
import { hasColumns, hasMembers, type FileContent, type Importer } from './importer.ts';

/** `lengths`: a matrix, a table that may be a workload, or a kernel. `message`: what the user can do with the file. */
export type FileKind =
  | { readonly kind: 'measurements'; readonly importer: Importer }
  | { readonly kind: 'study' | 'device' }
  | { readonly kind: 'lengths' | 'other'; readonly message: string };

/** The largest study, bytes. A larger JSON file counts as measurements. */
const MAX_STUDY_BYTES = 4_000_000;
const HEAD_BYTES = 65_536;

/** Reads a file to import or, in the folder of a bundle, the results of all its parts. Fails above the size limit. */
export async function readImportFile(path: string): Promise<Result<Uint8Array>> {
  const names = await readdir(path).catch(() => null);
  if (!names) return readBytes(path, MAX_IMPORT_BYTES);
  const results = names.filter((name) => /^results(-\d+)?\.jsonl$/.test(name)).sort();
  if (results.length === 0)
    return badInput(
      `${path} has neither results.jsonl nor parts of it (results-0.jsonl and so on). Specify a file, or the folder of a bundle that was measured.`,
    );
  // Each part begins with the plan. Reading the joined parts checks that all plans are the same.
  const parts: Uint8Array[] = [];
  for (const name of results) {
    const left = MAX_IMPORT_BYTES - parts.reduce((sum, part) => sum + part.length, 0);
    const bytes = await readBytes(join(path, name), left);
    if (!bytes.ok) return bytes;
    parts.push(bytes.value);
  }
  return ok(Buffer.concat(parts));
}

export function fileKind(bytes: Uint8Array, mapped: readonly string[] = []): FileKind {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  const isKernel = !head.startsWith('{') && kernelFileKind('', bytes) !== null;
  const columns = isKernel ? [] : splitHeader(head);
  const file: FileContent = { bytes, head, columns, mapped, json: parseObject(head, bytes) };
  const importer = IMPORTERS.find((each) => each.matches(file));
  if (importer) return { kind: 'measurements', importer };
  return isKernel ? KERNEL : head.startsWith('{') ? jsonKind(file) : tableKind(file);
}

const KERNEL: FileKind = {
  kind: 'lengths',
  message: 'The file describes a kernel, not its time. Open it under Kernel profile, or with lockstep kernel inspect.',
};

/** Returns the names of the columns of a table; none if the file is no table, or its first line has numbers. */
export function columnsOf(bytes: Uint8Array): readonly string[] {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  if (/^[{%#]|\0/.test(head) || kernelFileKind('', bytes) !== null) return [];
  const columns = splitHeader(head);
  return columns.some((name) => name === '' || Number.isFinite(Number(name))) ? [] : columns;
}

const splitHeader = (head: string): readonly string[] =>
  firstLine(head)
    .split(/[,;\t]/)
    .map((name) => name.replaceAll('"', '').trim());

const firstLine = (head: string): string => head.split(/\r?\n/, 1)[0];

function parseObject(head: string, bytes: Uint8Array): unknown {
  if (!head.startsWith('{') || bytes.length > MAX_STUDY_BYTES) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function jsonKind({ json }: FileContent): FileKind {
  if (hasMembers(json, 'lockstep', 'workload', 'kernel')) return { kind: 'study' };
  if (hasMembers(json, 'kind', 'id', 'sources')) return { kind: 'device' };
  if (hasMembers(json, 'lockstep', 'study', 'rows')) {
    return {
      kind: 'other',
      message: 'An exported ranking has no measurements. Import the study of the ranking and predict it again.',
    };
  }
  return { kind: 'other', message: `The format of the JSON file is not known. Lockstep imports ${KNOWN_FORMATS}.` };
}

function tableKind(file: FileContent): FileKind {
  const { head } = file;
  if (head === '') return { kind: 'other', message: `The file is empty. Lockstep imports ${KNOWN_FORMATS}.` };
  if (/^%%MatrixMarket/i.test(head)) {
    return { kind: 'lengths', message: 'A matrix is a workload. Use it in a study as mtx:FILE.' };
  }
  if (hasColumns(file, 'simulated_simt_iterations', 'measured_simt_cycles')) {
    return {
      kind: 'other',
      message:
        'The file has costs of work groups, not lengths. Import the file of means (columns distribution, n, groups, …).',
    };
  }
  if (/^[\w"]+([,;\t]["\w]+)?\s*$/.test(firstLine(head))) {
    return {
      kind: 'lengths',
      message: `Lengths of units are a workload. Use them in a study as file:FILE. Lockstep imports ${KNOWN_FORMATS}.`,
    };
  }
  const { columns } = file;
  const [times] = columns.filter((name) => TIME.test(name));
  const [other] = columns.filter((name) => name !== times);
  if (times !== undefined && other !== undefined) {
    const example = shown(`${other}=threads_per_unit`);
    return {
      kind: 'lengths',
      message: `The file has times (${times}), but no column that only designs have, such as threads_per_unit. Map its columns to axes (import --map ${example}), or rename them.`,
    };
  }
  const kind = head.includes('\0') ? 'other' : 'lengths';
  return { kind, message: `The format is not known. Lockstep imports ${KNOWN_FORMATS}.` };
}

export function importerOf(bytes: Uint8Array, mapped?: readonly string[]): Result<Importer> {
  const found = fileKind(bytes, mapped);
  switch (found.kind) {
    case 'measurements':
      return ok(found.importer);
    case 'study':
      return unsupported('This file is a study, not a measurement. Use Import study.');
    case 'device':
      return unsupported('This file is a device, not a measurement. Use Add device.');
    case 'lengths':
      return unsupported(found.message);
    case 'other':
      return badInput(found.message);
  }
}
