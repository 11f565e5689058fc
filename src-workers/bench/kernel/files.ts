import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  LENGTHS_FILE_NAME,
  ORDER_FILE_NAME,
  type ElementArray,
  type KernelArgument,
  type KernelManifest,
  type KernelTask,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, systemReason, type Result } from '../../domain/result.ts';
import { readCsr, type CsrMatrix } from '../../parse/csr.ts';
import { elementArray, elementBytes, elementsOf, outputCount, type KernelContents } from './launches.ts';

/** The files that a manifest names. */

type SourceLanguage = 'cu' | 'wgsl';

/** Absolute path of the source in a language; null where the manifest has none. */
export function sourcePath(
  { manifest, file }: Pick<KernelTask, 'manifest' | 'file'>,
  language: SourceLanguage,
): string | null {
  const source = manifest.sources.find((path) => path.endsWith(`.${language}`));
  return source === undefined ? null : resolve(dirname(file), source);
}

/** Paths of all files that a measurement reads, absolute, each once. */
export function namedFiles(manifest: KernelManifest, file: string): readonly string[] {
  const named = manifest.arguments.flatMap(({ file: input, output }) => [input, output?.file, output?.reference]);
  const paths = [...manifest.sources, ...named].flatMap((path) =>
    path === undefined || isMade(path) ? [] : (MATRIX_PART.exec(path)?.[1] ?? path),
  );
  return [...new Set(paths.map((path) => resolve(dirname(file), path)))];
}

/** Whether the measurement makes this input. */
export const isMade = (path: string): boolean => path === LENGTHS_FILE_NAME || path === ORDER_FILE_NAME;

const MATRIX_PART = /^(.*\.mtx)#(rowStarts|columns|values)$/i;

/**
 * Reads the arguments' files. Fails with `not-found` on a file that cannot be read, and with `bad-input`, naming the field, on one that does
 * not hold what the manifest says.
 */
export async function readContents({ manifest, file, units }: KernelTask): Promise<Result<KernelContents>> {
  const folder = dirname(file);
  const matrices = new Map<string, Promise<Result<CsrMatrix>>>();
  const read = async (argument: KernelArgument, path: string): Promise<Result<ElementArray>> => {
    const part = MATRIX_PART.exec(path);
    try {
      if (!part) {
        const bytes = await readFile(resolve(folder, path));
        const size = elementBytes(argument.type);
        return bytes.length > 0 && bytes.length % size === 0
          ? ok(elementsOf(argument.type, bytes))
          : fail('bad-input', `${path} has ${bytes.length} bytes, which is no whole number of ${argument.type} elements of ${size} bytes`); // prettier-ignore
      }
      const matrixPath = resolve(folder, part[1]);
      if (!matrices.has(matrixPath)) matrices.set(matrixPath, readCsr(createReadStream(matrixPath), part[1]));
      const matrix = await matrices.get(matrixPath)!;
      if (!matrix.ok) return matrix;
      const { rows } = matrix.value;
      return rows === units
        ? ok(elementArray(argument.type, matrix.value[part[2] as 'rowStarts' | 'columns' | 'values']))
        : fail('bad-input', `${part[1]} has ${rows} rows, and the study ${units} units. Set "units" of its workload to ${rows}`); // prettier-ignore
    } catch (error) {
      return fail(
        'not-found',
        `${path} cannot be read (${systemReason(error)}). Files are looked for beside the manifest`,
      );
    }
  };
  const [initial, references]: (ElementArray | null)[][] = [[], []];
  for (const [at, argument] of manifest.arguments.entries()) {
    const { output } = argument;
    const parts = [
      [initial, argument.file ?? output?.file, argument.file === undefined ? 'output.file' : 'file'],
      [references, output?.reference, 'output.reference'],
    ] as const;
    for (const [list, path, field] of parts) {
      const contents = path === undefined || isMade(path) ? null : await read(argument, path);
      const named = `${file}: arguments[${at}].${field}`;
      if (contents?.ok === false) return fail(contents.error.code, `${named}: ${contents.error.message}.`);
      if (contents && output && contents.value.length !== outputCount(argument, units))
        return fail('bad-input', `${named}: ${path} has ${contents.value.length} elements, and "count" is ${outputCount(argument, units)}.`); // prettier-ignore
      list.push(contents?.value ?? null);
    }
  }
  return ok({ initial, references });
}
