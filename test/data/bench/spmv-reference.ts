import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import { readCsr } from '../../../src-workers/parse/csr.ts';

/*
 * x and y = A·x for a matrix: x uniform in 0…1, so that every column counts; y in double precision from single-precision x and values.
 * `node test/data/bench/spmv-reference.ts` writes those of the example.
 */
export async function spmvReference(file: string): Promise<{ x: Float32Array; y: Float32Array; rows: number }> {
  const { rows, columnCount, rowStarts, columns, values } = unwrap(await readCsr(createReadStream(file), file));
  const uniform = mersenneTwister(1);
  const x = Float32Array.from({ length: columnCount }, uniform);
  const y = Float32Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    for (let entry = rowStarts[row]; entry < rowStarts[row + 1]; entry++)
      sum += Math.fround(values[entry]) * x[columns[entry]];
    return sum;
  });
  return { x, y, rows };
}

if (import.meta.main) {
  const examples = join(import.meta.dirname, '../../../db/examples');
  const { x, y } = await spmvReference(join(examples, 'ca-GrQc.mtx'));
  writeFileSync(join(examples, 'kernels/spmv/x.f32'), x);
  writeFileSync(join(examples, 'kernels/spmv/y.f32'), y);
}
