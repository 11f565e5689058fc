import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  elementType,
  LENGTHS_FILE_NAME,
  ORDER_FILE_NAME,
  type KernelArgument,
  type KernelManifest,
  type KernelTask,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, systemReason, type Result, badInput, notFound } from '../../domain/result.ts';
import { readCsr, type CsrMatrix } from '../../parse/csr.ts';
import { LENGTHS_FILE } from '../plan-files.ts';
import { outputCount, valueBytes, type KernelContents } from './launches.ts';

export type SourceLanguage = 'cu' | 'hip' | 'wgsl' | 'cl';

export function sourcePath(
  { manifest, file }: Pick<KernelTask, 'manifest' | 'file'>,
  language: SourceLanguage,
): string | null {
  const ending = (one: SourceLanguage) => manifest.sources.find((path) => path.endsWith(`.${one}`));
  const source = ending(language) ?? (language === 'hip' ? ending('cu') : undefined);
  return source === undefined ? null : resolve(dirname(file), source);
}

export function namedFiles(manifest: KernelManifest, file: string): readonly string[] {
  const named = manifest.arguments.flatMap(({ file, value, output }) => [
    file,
    structFile(value),
    output?.file,
    output?.reference,
  ]);
  const paths = [...manifest.sources, ...named].flatMap((path) =>
    path === undefined || isMade(path) ? [] : (MATRIX_PART.exec(path)?.[1] ?? path),
  );
  return [...new Set(paths.map((path) => resolve(dirname(file), path)))];
}

const structFile = (value: KernelArgument['value']): string | undefined =>
  typeof value === 'object' ? value.file : undefined;

const isMade = (path: string): boolean => path === LENGTHS_FILE_NAME || path === ORDER_FILE_NAME;

const MATRIX_PART = /^(.*\.mtx)#(rowStarts|columns|values)$/i;

/** Fails with `not-found` if a file cannot be read, and with `bad-input` and the field if a content does not fit. */
export async function readContents({ manifest, file, units }: KernelTask): Promise<Result<KernelContents>> {
  const folder = dirname(file);
  const matrices = new Map<string, Promise<Result<CsrMatrix>>>();
  const read = async (argument: KernelArgument, path: string): Promise<Result<Uint8Array<ArrayBuffer>>> => {
    const part = MATRIX_PART.exec(path);
    const type = elementType(argument.type)!;
    try {
      if (!part) {
        const bytes = await readFile(resolve(folder, path));
        return bytes.length > 0 && bytes.length % type.bytes === 0
          ? ok(new Uint8Array(bytes))
          : badInput(bytes.length === 0 ? `${path} is empty` : `${path} has ${bytes.length} bytes, which is not a whole number of ${argument.type} elements of ${type.bytes} bytes`); // prettier-ignore
      }
      const matrixPath = resolve(folder, part[1]);
      if (!matrices.has(matrixPath)) matrices.set(matrixPath, readCsr(createReadStream(matrixPath), part[1]));
      const matrix = await matrices.get(matrixPath)!;
      if (!matrix.ok) return matrix;
      const { rows } = matrix.value;
      const values = matrix.value[part[2] as 'rowStarts' | 'columns' | 'values'];
      if (/^[iu]/.test(type.value) && !values.every(Number.isInteger))
        return badInput(`${path} has values that are not whole, but the type is ${argument.type}. Use f32 or f64`); // prettier-ignore
      return rows === units
        ? ok(valueBytes(type.value, values))
        : badInput(`${part[1]} has ${rows} rows, but the study has ${units} units. Set "units" of its workload to ${rows}`); // prettier-ignore
    } catch (error) {
      return notFound(`${path} cannot be read (${systemReason(error)}). Paths are relative to the manifest's folder`);
    }
  };
  const [initial, references]: (Uint8Array<ArrayBuffer> | null)[][] = [[], []];
  for (const [at, argument] of manifest.arguments.entries()) {
    const { output, value } = argument;
    const ofStruct = structFile(value);
    const count = output ? outputCount(argument, units) : ok(ofStruct === undefined ? null : 1);
    if (!count.ok) return badInput(`${file}: arguments[${at}].output: ${count.error.message}.`);
    const input = argument.file === undefined ? (value === undefined ? 'output.file' : 'value.file') : 'file';
    const parts = [
      [initial, argument.file ?? ofStruct ?? output?.file, input],
      [references, output?.reference, 'output.reference'],
    ] as const;
    for (const [list, path, field] of parts) {
      const contents = path === undefined || isMade(path) ? null : await read(argument, path);
      const named = `${file}: arguments[${at}].${field}`;
      if (contents?.ok === false) return fail(contents.error.code, `${named}: ${contents.error.message}.`);
      const found = contents === null ? null : contents.value.length / elementType(argument.type)!.bytes;
      if (found !== null && count.value !== null && found !== count.value)
        return badInput(`${named}: ${path} has ${found} elements, and ${output ? `"count" is ${count.value}` : 'a struct has one'}.`); // prettier-ignore
      list.push(contents?.value ?? null);
    }
  }
  return ok({ initial, references });
}

export async function writeContents(
  manifest: KernelManifest,
  { initial, references }: KernelContents,
  folder: string,
): Promise<void> {
  for (const at of manifest.arguments.keys())
    for (const [what, array] of [
      ['argument', initial[at]],
      ['reference', references[at]],
    ] as const)
      if (array) await writeFile(join(folder, fileName(what, at)), array);
}

export const fileName = (what: 'argument' | 'reference', at: number): string => `${what}-${at}.bin`;

/** Returns the file of an argument: a name, `order` for the order of a design's units, or null for none. */
export function inputFile({ file, value, output }: KernelArgument, at: number): string | null {
  if (file === LENGTHS_FILE_NAME) return LENGTHS_FILE;
  if (file === ORDER_FILE_NAME) return 'order';
  return file === undefined && typeof value !== 'object' && output?.file === undefined
    ? null
    : fileName('argument', at);
}
