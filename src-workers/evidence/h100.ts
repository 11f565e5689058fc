import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unwrap } from '../domain/result.ts';
import { eachCsvRecord } from '../parse/csv-records.ts';
import { bytesSource } from '../parse/source.ts';
import { unpacked } from '../parse/unpack.ts';

export const H100_LOOPS = 'h100-loops';
export const H100_PRODUCTS = 'h100-products';

// A type and not an interface, because the benchmarks list its values.
export type H100Launch = {
  readonly kernel: string;
  /** Name of the file of lengths. With the ending `-sorted`, the longest length is first. */
  readonly law: string;
  readonly units: number;
  readonly columns: number | null;
  readonly threadsPerUnit: number;
  readonly unitsPerThread: number;
  readonly balancing: string;
  readonly blockThreads: number;
  readonly gridBlocks: number;
  /** Reserved for each block to reduce the number of resident blocks. */
  readonly sharedBytes: number;
  readonly medianUs: number;
};

const FILE = 'h100.csv.gz';
const NUMBERS = [
  'units',
  'threadsPerUnit',
  'unitsPerThread',
  'blockThreads',
  'gridBlocks',
  'sharedBytes',
  'medianUs',
] as const;

/** Launches that do not do the work of the other designs: some without units, some with equal units. */
const LEFT_OUT: ReadonlySet<string> = new Set(['nested1-empty', 'uniform']);

export async function readH100(folder: string, dataset: string): Promise<readonly H100Launch[]> {
  const launches: H100Launch[] = [];
  const content = unwrap(await unpacked(await readFile(join(folder, FILE)), FILE));
  await eachCsvRecord(bytesSource(content), FILE, ['kernel', 'law', 'columns', ...NUMBERS], ({ text, number }) => {
    const kernel = text('kernel');
    const columns = text('columns') === '' ? null : number('columns');
    if (LEFT_OUT.has(kernel) || (columns !== null) !== (dataset === H100_PRODUCTS)) return;
    const numbers = Object.fromEntries(NUMBERS.map((name) => [name, number(name)]));
    const balancing = kernel === 'fetchone1' ? 'dynamic-fetch(1)' : 'none';
    launches.push({
      kernel,
      law: text('law'),
      columns,
      balancing,
      ...(numbers as Pick<H100Launch, (typeof NUMBERS)[number]>),
    });
  });
  return launches;
}
