/**
 * Compares predictions with launches on an H100 (test/data/measured/README.md), grouped by lengths and kernel. They are
 * those of `lockstep evidence`, predicted anew, and those of a Triton kernel. `node test/bench/h100.ts [--ptx]
 * [--all]`: `--ptx` reads PTX instead of machine code. `--all` lists every launch.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { atMiddle } from '../../src-workers/advise/assumed.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { H100_LOOPS, H100_PRODUCTS, readH100, type H100Launch } from '../../src-workers/evidence/h100.ts';
import { H100, orderOf, predictH100 } from './h100-launches.ts';
import { predictLaunch, readRows, withGathers, type LoopLaunch } from './loop-launches.ts';
import { reportErrors, say, type Compared } from './report.ts';

const { values: options } = parseArgs({
  options: { all: { type: 'boolean', default: false }, ptx: { type: 'boolean', default: false } },
});
const root = join(import.meta.dirname, '..', '..');
const evidence = join(root, 'db/evidence');

/** Times are in µs. */
interface Launch<Row = H100Launch> extends Compared {
  readonly row: Row;
  /** The predicted time if the user also states how the gathers of a product behave. */
  readonly stated: number;
}

function predict(row: H100Launch): Launch {
  const from = options.ptx ? 'ptx' : 'sass';
  const { columns, medianUs: actual } = row;
  const predicted = predictH100(row, from);
  if (columns === null) return { row, actual, predicted, stated: predicted };
  return { row, actual, predicted, stated: predictH100(row, from, (kernel) => withGathers(kernel, columns)) };
}

function report(title: string, some: readonly Launch<LoopLaunch>[], which: 'predicted' | 'stated' = 'predicted'): void {
  const rows = some.map((launch) => ({ predicted: launch[which], actual: launch.actual }));
  if (rows.length > 2) reportErrors(title, rows, true);
}

const launches = [...(await readH100(evidence, H100_LOOPS)), ...(await readH100(evidence, H100_PRODUCTS))].map(predict);
const kindOf = ({ kernel, columns, sharedBytes }: H100Launch): string =>
  columns !== null ? `products, ${columns} columns` : kernel.startsWith('nested') ? (sharedBytes === 0 ? 'nested' : 'less occupancy') : kernel; // prettier-ignore
const titleOf = ({ row }: Launch): string => `${kindOf(row)}, ${row.law}, ${row.units} units`;
for (const [title, some] of Map.groupBy(launches, titleOf)) {
  report(title, some);
  const isOverThreads = ({ row }: Launch): boolean => row.blockThreads === 128 && row.unitsPerThread === 1;
  if (title.startsWith('nested')) report('  over the threads per unit', some.filter(isOverThreads));
  if (!title.startsWith('products')) continue;
  report('  with size of x and random columns stated', some, 'stated');
  report('  the same over the threads per unit', some.filter(isOverThreads), 'stated');
}

// Inputs that are assumed get their usual values, as in a sweep.
const study = atMiddle(
  unwrap(parseStudy(readFileSync(join(root, 'db/examples/kernels/jagged/jagged.json'), 'utf8'), 'jagged.json')),
  [H100],
);
const jagged = readRows(join(root, 'test/data/measured/h100-triton.csv')).map((row): Launch<LoopLaunch> => {
  const { units } = study.workload;
  const [u, m, blockThreads] = [row.threadsPerUnit, row.unitsPerThread, 32 * Number(row.warps)].map(Number);
  const design = { ...row, law: 'ca-GrQc', blockThreads, gridBlocks: Math.ceil((units * u) / (blockThreads * m)) };
  const kernel: KernelProfile = { ...KERNEL_DEFAULTS, ...study.kernel };
  const launch = { device: H100, kernel, units, ordered: orderOf('ca-GrQc', units) };
  const predicted = 1e3 * predictLaunch(design, launch);
  return { row: design, actual: Number(row.us), predicted, stated: predicted };
});
report('Triton: jagged sums', jagged);

if (options.all)
  for (const { row, actual, predicted } of [...launches, ...jagged])
    say(`${Object.values(row).join(' ')}: ${actual.toFixed(1)} µs, predicted ${predicted.toFixed(1)}`);
