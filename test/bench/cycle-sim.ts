/**
 * Compares predictions with launches timed by a cycle-level simulator (test/data/cycle-sim). `stated`: the study also
 * states the size of x and that its columns are random. Each launch is predicted
 * as in a sweep, with only the profile that `kernel inspect loops.ptx --entry KERNEL --into STUDY` writes for its
 * kernel. `node test/bench/cycle-sim.ts [--all]`: with `--all` every launch is listed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { validateDevice } from '../../src-workers/parse/device.ts';
import { makeGivenLengths, type OrderedLengths } from '../../src-workers/predict/ordered.ts';
import { once, predictLaunch, profileOf, readLengths, readRows, withGathers, type Row } from './loop-launches.ts';
import { percent, reportErrors, say, type Compared } from './report.ts';

const { values: options } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const folder = join(import.meta.dirname, '..', 'data', 'cycle-sim');

const devices = new Map<string, GpuDevice>();
const orders = new Map<string, OrderedLengths>();

function predict(row: Row, isStated = false): number {
  const read = () =>
    unwrap(validateDevice(JSON.parse(readFileSync(join(folder, `${row.device}.device.json`), 'utf8'))));
  const device = once(devices, row.device, () => read() as GpuDevice);
  const ordered = once(orders, row.law, () => makeGivenLengths(readLengths(row.law)));
  const kernel = isStated ? withGathers(profileOf(row.kernel), Number(row.columns)) : profileOf(row.kernel);
  const registersPerThread = Number(row.registers ?? kernel.registersPerThread);
  const launch = { device, kernel: { ...kernel, registersPerThread }, units: Number(row.units ?? row.rows), ordered };
  return predictLaunch(row, launch) * device.clockMhz * 1e3;
}

interface Launch extends Compared {
  readonly row: Row;
}
const launches: readonly Launch[] = ['designs.csv', 'spmv.csv']
  .flatMap((name) => readRows(join(folder, name)))
  .map((row) => ({ row, actual: Number(row.cycles), predicted: predict(row) }));

const report = (title: string, of: (launch: Launch) => boolean): void => reportErrors(title, launches.filter(of), true);

const isNested = ({ row }: Launch): boolean => /^(nested\d+|flat1)$/.test(row.kernel);
const isOneLoop = ({ row }: Launch): boolean => /^(flatone|fetchone)1$/.test(row.kernel);
const isWithoutCap = ({ row }: Launch): boolean =>
  /^nested/.test(row.kernel) && row.blockThreads === '128' && row.unitsPerThread === '1' && Number(row.registers) < 32;
for (const law of ['geometric', 'uniform', 'pareto']) {
  const isOwn = ({ row }: Launch): boolean => row.law === law && row.device === 'turing-2sm';
  report(`${law}: nested`, (one) => isOwn(one) && isNested(one));
  report(`${law}: threads per unit`, (one) => isOwn(one) && isWithoutCap(one));
  report(`${law}: flattened and fetching`, (one) => isOwn(one) && isOneLoop(one));
  report(`${law}: all but products and chains`, (one) => isOwn(one) && (isNested(one) || isOneLoop(one)));
}
report('sorted orders', ({ row }) => row.law.endsWith('-sorted'));
report('five multiprocessors', ({ row }) => row.device === 'turing-5sm');
report('four chains', ({ row }) => row.kernel === 'ilp1');
for (const law of ['geometric', 'pareto'])
  report(`${law}: sparse products`, ({ row }) => row.law === law && row.rows !== undefined);
report('sparse products', ({ row }) => row.rows !== undefined);

const further = readRows(join(folder, 'further.csv')).map((row): Launch => ({
  row,
  actual: Number(row.cycles),
  predicted: predict({ ...row, balancing: row.balancing === 'none' ? 'none' : 'dynamic-fetch(1)' }),
}));
const kindOf = (launch: Launch): string =>
  launch.row.columns ? `${launch.row.columns} columns` : isNested(launch) ? 'nested' : 'flattened and fetching';
say('\nfurther launches');
for (const [title, some] of Map.groupBy(further, (one) => `${one.row.device}, ${one.row.law}: ${kindOf(one)}`)) {
  reportErrors(title, some, true);
  if (some[0].row.columns)
    reportErrors(
      '  stated',
      some.map(({ row, actual }) => ({ actual, predicted: predict(row, true) })),
      true,
    );
}

if (options.all)
  for (const { row, actual, predicted } of [...launches, ...further])
    say(
      `${row.device} ${row.law} ${row.kernel} ${row.unitsPerThread || 'fetched'} × ${row.blockThreads} × ${row.gridBlocks} ${row.registers ?? ''}: ${actual}, predicted ${predicted.toFixed(0)} (${percent(predicted / actual - 1)})`,
    );
