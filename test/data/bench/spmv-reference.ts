import { copyFileSync, createReadStream, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import { inspectedFields, withInspected, type Inspection } from '../../../src-workers/domain/inspection.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { readCsr } from '../../../src-workers/parse/csr.ts';

// Writes the examples' SpMV kernels for any matrix; run alone, those of the example. x is uniform in 0…1, so that every
// column counts; y = A·x is computed in double precision from single-precision x and values.
const EXAMPLES = join(import.meta.dirname, '../../../db/examples');
const SPMV = join(EXAMPLES, 'kernels/spmv');

/** Returns the files of all matrices but netscience.mtx, whose indices start at 0, which the format forbids. */
export function matrixFiles(): readonly string[] {
  return [EXAMPLES, join(import.meta.dirname, '../matrices')].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.mtx') && name !== 'netscience.mtx')
      .map((name) => join(folder, name)),
  );
}

interface SpmvReference {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly lengths: Uint32Array<ArrayBuffer>;
  /** Largest sum of absolute values in a row. Rounding errors are relative to it. */
  readonly largest: number;
}

export async function spmvReference(matrix: string): Promise<SpmvReference> {
  const { rows, columnCount, rowStarts, columns, values } = unwrap(await readCsr(createReadStream(matrix), matrix));
  const uniform = mersenneTwister(1);
  const x = Float32Array.from({ length: columnCount }, uniform);
  let largest = 0;
  const y = Float32Array.from({ length: rows }, (_, row) => {
    let [sum, size] = [0, 0];
    for (let entry = rowStarts[row]; entry < rowStarts[row + 1]; entry++) {
      const product = Math.fround(values[entry]) * x[columns[entry]];
      sum += product;
      size += Math.abs(product);
    }
    largest = Math.max(largest, size);
    return sum;
  });
  const lengths = Uint32Array.from({ length: rows }, (_, row) => rowStarts[row + 1] - rowStarts[row]);
  return { x, y, lengths, largest };
}

/** Tolerance relative to the largest row sum. It allows some tens of single-precision roundings. */
const TOLERANCE = 2e-6;

/** Writes the sources, vectors and manifest of the kernels for a matrix into a folder. @param matrix absolute path */
export async function writeSpmvKernel(
  matrix: string,
  folder: string,
): Promise<SpmvReference & { readonly file: string }> {
  mkdirSync(folder, { recursive: true });
  const reference = await spmvReference(matrix);
  for (const source of ['spmv.cu', 'spmv.cl', 'spmv.wgsl']) copyFileSync(join(SPMV, source), join(folder, source));
  writeFileSync(join(folder, 'x.f32'), reference.x);
  writeFileSync(join(folder, 'y.f32'), reference.y);
  const file = join(folder, 'spmv.kernel.json');
  const manifest = readFileSync(join(SPMV, 'spmv.kernel.json'), 'utf8')
    .replaceAll('../../ca-GrQc.mtx', matrix)
    .replace('"absolute": 1e-6', `"absolute": ${TOLERANCE * reference.largest}`);
  writeFileSync(file, manifest);
  return { ...reference, file };
}

/** The entry of each implementation, and the threads per row at which its code is read. */
const INSPECTED: Readonly<
  Record<string, { readonly entry: string; readonly threadsPerRow: number; readonly iterationsPerLoop?: number }>
> = {
  'Thread per row': { entry: 'threadPerRow', threadsPerRow: 1 },
  '2 to 32 threads per row': { entry: 'threadsPerRow', threadsPerRow: 8 },
  'Block per row': { entry: 'threadsPerRow', threadsPerRow: 128 },
  // The compiler unrolls this kernel's loop four times, with branches between the copies.
  'Merge path': { entry: 'mergePath', threadsPerRow: 1, iterationsPerLoop: 4 },
  Mixed: { entry: 'classOfRows', threadsPerRow: 8 },
};
const INSPECTED_BLOCK_THREADS = 128;

/**
 * Returns the study spmv.json with the figures that the kernels' code has on a GPU. The figures in the file are fitted
 * to a software adapter.
 * @param columns the number of elements of x, which rows read in scattered order
 * @param inspect compiles a source and reads one of its kernels
 */
export async function inspectedSpmvStudy(
  study: StudyFile,
  columns: number,
  inspect: (input: Omit<ProcedureInput<'kernel.inspect'>, 'arch' | 'client'>) => Promise<Inspection>,
): Promise<StudyFile> {
  const bytes = readFileSync(join(SPMV, 'spmv.cu'));
  const implementations = [];
  for (const one of study.implementations ?? []) {
    const { entry, threadsPerRow, iterationsPerLoop } = INSPECTED[one.name];
    const found = inspectedFields(
      await inspect({
        fileName: 'spmv.cu',
        bytes,
        entry,
        flags: [`-DBLOCK_THREADS=${INSPECTED_BLOCK_THREADS}`, `-DTHREADS_PER_ROW=${threadsPerRow}`],
        ...(iterationsPerLoop !== undefined && { iterationsPerLoop }),
      }),
    );
    const scattered = found.accesses?.filter(({ pattern }) => pattern === 'scattered').length;
    // Only the read of x is scattered, but the merge path's code does not show which of its reads are contiguous.
    const accesses = found.accesses?.map((access) =>
      scattered === 1 && access.pattern === 'scattered' ? { ...access, footprintBytes: 4 * columns } : access,
    );
    implementations.push({
      ...one,
      kernel: withInspected(one.kernel ?? {}, { ...found, ...(accesses && { accesses }) }),
    });
  }
  const { instructionsPerIteration: _fitted, ...kernel } = study.kernel;
  // Every implementation states its own number of instructions.
  const [{ kernel: first }] = implementations;
  return {
    ...study,
    kernel: { ...kernel, instructionsPerIteration: first.instructionsPerIteration!, origins: {} },
    implementations,
  };
}

if (import.meta.main) {
  const { x, y } = await spmvReference(join(EXAMPLES, 'ca-GrQc.mtx'));
  writeFileSync(join(SPMV, 'x.f32'), x);
  writeFileSync(join(SPMV, 'y.f32'), y);
}
