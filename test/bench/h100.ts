/**
 * Compares predictions with launches on an H100 (test/data/measured/README.md): the kernels of `test/data/cycle-sim`
 * with the profile that `kernel inspect` writes for each entry, and a Triton kernel with the study of the example.
 * Nothing is fitted. `node test/bench/h100.ts [--ptx] [--all]`: with `--ptx` the profiles are read from PTX instead of
 * machine code, as without a disassembler. With `--all` every launch is listed.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { atMiddle } from '../../src-main/services/studies/assumed.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { readCsr } from '../../src-workers/parse/csr.ts';
import { makeGivenLengths, type OrderedLengths } from '../../src-workers/predict/ordered.ts';
import { gpu } from '../catalogue.ts';
import { once, predictLaunch, profileOf, readRows, reportLaunches, say, type Row } from './loop-launches.ts';

const { values: options } = parseArgs({
  options: { all: { type: 'boolean', default: false }, ptx: { type: 'boolean', default: false } },
});
const root = join(import.meta.dirname, '..', '..');
const measured = join(root, 'test/data/measured');
const device = gpu('nvidia-h100-sxm5-80gb');

async function readLengths(law: string): Promise<Float64Array> {
  if (!/^(ca-GrQc|cage8)$/.test(law)) {
    const text = readFileSync(join(root, `test/data/cycle-sim/lengths/${law}.csv`), 'utf8');
    return Float64Array.from(text.trim().split(/\r?\n/).slice(1), Number);
  }
  const { rows, rowStarts } = unwrap(await readCsr(createReadStream(join(root, `db/examples/${law}.mtx`)), law));
  return Float64Array.from({ length: rows }, (_, row) => rowStarts[row + 1] - rowStarts[row]);
}
const lengths = new Map<string, Float64Array>();
for (const law of ['geometric', 'uniform', 'pareto', 'ca-GrQc', 'cage8']) lengths.set(law, await readLengths(law));

let order: { readonly key: string; readonly ordered: OrderedLengths } | null = null;

/** The lengths of a file, repeated; `-sorted`: longest first. */
function orderOf(law: string, units: number): OrderedLengths {
  const key = `${law} ${units}`;
  if (order?.key !== key) {
    const own = lengths.get(law.replace('-sorted', ''))!;
    const all = Float64Array.from({ length: units }, (_, unit) => own[unit % own.length]);
    order = { key, ordered: makeGivenLengths(law.endsWith('-sorted') ? all.sort().reverse() : all) };
  }
  return order.ordered;
}

interface Launch {
  readonly row: Row;
  readonly us: number;
  readonly predicted: number;
  /** The prediction where the user also states how the gathers of a product behave. */
  readonly stated: number;
}

function predict(row: Row): Launch {
  const units = Number(row.units);
  const own = profileOf(row.kernel, options.ptx ? 'ptx' : 'sass');
  const inspected = { ...own, sharedMemoryBytesPerBlock: Number(row.sharedBytes) };
  const launch = { device, kernel: inspected, units, ordered: orderOf(row.law, units) };
  const predicted = 1e3 * predictLaunch(row, launch);
  if (row.columns === '') return { row, us: Number(row.medianUs), predicted, stated: predicted };
  // The columns are drawn from all of x, so every gather needs its own sector.
  const accesses = own.accesses?.map((access) =>
    access.pattern === 'scattered' ? { ...access, footprintBytes: 4 * Number(row.columns), missFraction: 1 } : access,
  );
  const stated = 1e3 * predictLaunch(row, { ...launch, kernel: { ...inspected, accesses } });
  return { row, us: Number(row.medianUs), predicted, stated };
}

function report(title: string, some: readonly Launch[], which: 'predicted' | 'stated' = 'predicted'): void {
  const column = (name: 'us' | typeof which): Float64Array => Float64Array.from(some, (launch) => launch[name]);
  if (some.length > 2) reportLaunches(title, column(which), column('us'));
}

// Launches of the loop without units, and without work.
const others = new Set(['uniform', 'nested1-empty']);
const launches = readRows(join(measured, 'h100-loops.csv'))
  .filter(({ kernel }) => !others.has(kernel))
  .map(predict);
const kindOf = ({ kernel, columns, sharedBytes }: Row): string =>
  kernel.startsWith('spmv') ? `products, ${columns} columns` : kernel.startsWith('nested') ? (sharedBytes === '0' ? 'nested' : 'less occupancy') : kernel; // prettier-ignore
const groups = new Map<string, Launch[]>();
for (const one of launches)
  once(groups, `${kindOf(one.row)}, ${one.row.law}, ${one.row.units} units`, () => []).push(one);
for (const [title, some] of groups) {
  report(title, some);
  const isOverThreads = ({ row }: Launch): boolean => row.blockThreads === '128' && row.unitsPerThread === '1';
  if (title.startsWith('nested')) report('  over the threads per unit', some.filter(isOverThreads));
  if (!title.startsWith('products')) continue;
  report('  with size of x and random columns stated', some, 'stated');
  report('  the same over the threads per unit', some.filter(isOverThreads), 'stated');
}

// As a sweep does, with the usual value of each assumed input.
const study = atMiddle(
  unwrap(parseStudy(readFileSync(join(root, 'db/examples/kernels/jagged/jagged.json'), 'utf8'), 'jagged.json')),
  [device],
);
const jagged = readRows(join(measured, 'h100-triton.csv')).map((row): Launch => {
  const { units } = study.workload;
  const [u, m, blockThreads] = [row.threadsPerUnit, row.unitsPerThread, 32 * Number(row.warps)].map(Number);
  const design = { ...row, law: 'ca-GrQc', blockThreads: String(blockThreads), gridBlocks: String(Math.ceil((units * u) / (blockThreads * m))) }; // prettier-ignore
  const kernel: KernelProfile = { ...KERNEL_DEFAULTS, ...study.kernel };
  const launch = { device, kernel, units, ordered: orderOf('ca-GrQc', units) };
  const predicted = 1e3 * predictLaunch(design, launch);
  return { row: design, us: Number(row.us), predicted, stated: predicted };
});
report('Triton: jagged sums', jagged);

if (options.all)
  for (const { row, us, predicted } of [...launches, ...jagged])
    say(`${Object.values(row).join(' ')}: ${us.toFixed(1)} µs, predicted ${predicted.toFixed(1)}`);
