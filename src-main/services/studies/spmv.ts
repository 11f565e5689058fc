import { join } from 'node:path';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { KernelChange } from '../../../src-workers/domain/provenance.ts';
import type { Study } from '../../contract/study.ts';
import type { Context } from '../context.ts';
import { EXAMPLES_FOLDER } from './examples.ts';
import { readStudyFile } from './studies.ts';
import { STORED } from './workloads.ts';

const ELEMENT_BYTES = 8;

interface Matrix {
  readonly name: string;
  readonly lengths: string;
  readonly rows: number;
  readonly columns: number;
}

export async function spmvStudy({ store, resourceFolder }: Context, lengths: string): Promise<Result<Study>> {
  const [, hash, name = 'matrix'] = STORED.exec(lengths) ?? [];
  const record = hash === undefined ? ok(null) : await store.getWorkload(hash);
  if (!record.ok) return record;
  const { matrixColumns, order } = (record.value?.provenance ?? {}) as {
    readonly matrixColumns?: number;
    readonly order?: { readonly units: number };
  };
  if (matrixColumns === undefined || order === undefined)
    return badInput(`${name} is not an imported matrix. Import a Matrix Market file (.mtx) first.`);
  return spmvOf(resourceFolder, { name, lengths, rows: order.units, columns: matrixColumns });
}

const SPMV_EXAMPLE = 'spmv-implementations.json';

/** Returns the example's study for another matrix: its rows in order, and a vector with one element per column. */
export async function spmvOf(resourceFolder: string, { name, lengths, rows, columns }: Matrix): Promise<Result<Study>> {
  const example = await readStudyFile(join(resourceFolder, EXAMPLES_FOLDER, SPMV_EXAMPLE));
  if (!example.ok) return example;
  // The path of the schema is relative to the folder of the example, which is not the folder of the new study.
  const { $schema: _schema, ...study } = example.value.study;
  const footprintBytes = Math.max(1, columns) * ELEMENT_BYTES;
  const withVector = <Kernel extends KernelChange>(kernel: Kernel): Kernel => ({
    ...kernel,
    ...(kernel.accesses && {
      accesses: kernel.accesses.map((one) => (one.pattern === 'scattered' ? { ...one, footprintBytes } : one)),
    }),
  });
  return ok({
    ...study,
    name: `SpMV of ${name.replace(/\.mtx(\.gz)?$/i, '')}`.slice(0, 200),
    description: `Which kernel to write: eight ways to multiply ${name} by a vector of doubles, each with its own profile, ranked together. Instructions, registers, set-up and searches are assumed: measure one kernel before trusting a small difference.`,
    workload: { ...study.workload, lengths, units: rows },
    kernel: withVector(study.kernel),
    implementations: study.implementations!.map((one) => ({ ...one, kernel: withVector(one.kernel) })),
  });
}
